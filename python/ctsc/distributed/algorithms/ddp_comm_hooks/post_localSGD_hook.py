# SPDX-License-Identifier: Apache-2.0
"""post_localSGD_hook.py - gradients averaged over all ranks for some steps, afterwards over a subgroup; models are then averaged now and again (PeriodicModelAverager)."""
from ctsc.futures import Future

from ... import distributed_c10d as dist
from .default_hooks import allreduce_hook


class PostLocalSGDState:
    """What the hook keeps: the groups, and how many steps there were."""

    def __init__(self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True):
        self.process_group, self.subgroup, self.start_localSGD_iter = process_group, subgroup, start_localSGD_iter
        self.post_local_gradient_allreduce, self.iter = post_local_gradient_allreduce, 0

    def maybe_increase_iter(self, bucket):
        """A step more, once all its buckets were there."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state, bucket):
    """A hook for DistributedDataParallel.register_comm_hook."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        made = Future()
        made.set_result(bucket.buffer())
        return made
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
