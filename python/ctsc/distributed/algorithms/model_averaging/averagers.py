# SPDX-License-Identifier: Apache-2.0
"""averagers.py - when parameters are averaged over the ranks."""
from ctsc.autograd import no_grad

from ... import distributed_c10d as dist
from ..._group import ReduceOp


class ModelAverager:
    def __init__(self, process_group=None):
        self.process_group, self.step = dist._group_or_default(process_group), 0

    def average_parameters(self, params):
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Each `period` steps, from warmup_steps on."""

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params):
        """params: parameters, or groups of them."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            found = [p for g in params for p in (g["params"] if isinstance(g, dict) else [g])]
            with no_grad():
                for w in [dist.all_reduce(p.detach(), ReduceOp.AVG, self.process_group, True) for p in found if p.requires_grad]:
                    w.wait()
        self.step += 1
