# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.fsdp: parameters, gradients and the state of optimisers cut over the ranks (fully_shard)."""
from .api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .fully_shard_ import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


def __getattr__(name):
    if name in ("FullyShardedDataParallel", "ShardingStrategy", "MixedPrecision", "StateDictType"):
        raise AttributeError("torch.distributed.fsdp.%s is not supported: fully_shard(module) does the same" % name)
    raise AttributeError("module 'torch.distributed.fsdp' has no attribute '%s'" % name)
