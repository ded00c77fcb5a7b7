# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor: tensors that are spread over a mesh of ranks, and modules of them (parallel)."""
from ..._refused import rest as _rest
from . import _rules_elements, _rules_products, _rules_views, placement_types
from ._api import (DTensor, DeviceMesh, DTensorSpec, Partial, Placement, Replicate, Shard, distribute_module, distribute_tensor, empty, full, init_device_mesh, ones, rand, randn,
                   zeros)
from .placement_types import TensorMeta

from . import experimental, parallel # noqa: E402

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]

__getattr__ = _rest("torch.distributed.tensor")
