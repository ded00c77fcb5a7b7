# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor.parallel: modules whose parameters are spread over a mesh, by a plan."""
from ...._refused import rest as _rest
from .api import parallelize_module
from .loss import loss_parallel
from .style import (ColwiseParallel, ParallelStyle, PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput, RowwiseParallel, SequenceParallel)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel", "parallelize_module",
           "loss_parallel"]

__getattr__ = _rest("torch.distributed.tensor.parallel")
