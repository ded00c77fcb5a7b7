# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.fsdp: parameters, gradients and the state of optimisers cut over the ranks (fully_shard)."""
from ..._refused import rest as _rest
from .api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .fully_shard_ import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

__getattr__ = _rest("torch.distributed.fsdp")
