# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.pipelining: a network cut into stages on different ranks, fed with parts of a batch."""
from ..._refused import rest as _rest
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble, ScheduleLoopedBFS
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS"]

__getattr__ = _rest("torch.distributed.pipelining")
