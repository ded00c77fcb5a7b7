# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.optim: optimisers whose state is spread over ranks, or whose parameters are elsewhere."""
from ..._refused import rest as _rest
from .optimizer import DistributedOptimizer
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = _rest("torch.distributed.optim")
