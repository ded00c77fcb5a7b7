# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.pipelining: a network cut into stages on different ranks, fed with parts of a batch."""
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS"]


def __getattr__(name):
    if name in ("pipeline", "SplitPoint", "pipe_split", "Pipe"):
        raise AttributeError("torch.distributed.pipelining.%s is not supported: cut the module into stages yourself (PipelineStage)" % name)
    raise AttributeError("module 'torch.distributed.pipelining' has no attribute '%s'" % name)
