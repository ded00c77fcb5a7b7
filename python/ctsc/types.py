# SPDX-License-Identifier: Apache-2.0
"""types.py - torch.types: names of annotations."""
from typing import Any, List, Optional, Sequence, Tuple, Union

from ._C import dtype as _dtype
from ._functions import Tensor
from ._types import Size, device as _device

Number, Device = Union[int, float, bool], Optional[Union[_device, str, int]]
_int, _float, _bool = int, float, bool
_size = Union[Size, List[int], Tuple[int, ...]]
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
Storage = FileLike = Any
