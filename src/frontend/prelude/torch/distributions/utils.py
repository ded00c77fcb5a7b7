# SPDX-License-Identifier: Apache-2.0
# utils.py - what the constructors share.
from typing import Tuple

import torch
from torch import Tensor


def broadcast_all(a: Tensor, b: Tensor) -> Tuple[Tensor, Tensor]:
    both = torch.broadcast_tensors(torch.as_tensor(a), torch.as_tensor(b))
    return both[0], both[1]
