# SPDX-License-Identifier: Apache-2.0
"""zero_redundancy_optimizer.py - ZeroRedundancyOptimizer: each rank updates some of the parameters, keeps the state of these alone, and sends them to the others.

Parameters are given out by size, the largest first, each to the rank that has least."""
import copy

from ctsc import _C
from ctsc.autograd import enable_grad, no_grad
from ctsc.optim import Optimizer

from .. import _objects
from .. import distributed_c10d as dist
from ..algorithms.join import Joinable, JoinHook


class _ZeROJoinHook(JoinHook):
    def __init__(self, zero):
        self.zero = zero

    def main_hook(self):
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False, **defaults):
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer(overlap_with_ddp=True) is not supported")
        params = list(params) if not isinstance(params, _C.Tensor) else params
        everything = [p for g in params for p in (g["params"] if isinstance(g, dict) else [g])] if not isinstance(params, _C.Tensor) else []
        for p in everything:
            if not isinstance(p, _C.Tensor):
                raise TypeError("params argument should be an iterable of Tensors, but got an element of type %s" % type(p))
        Joinable.__init__(self)
        self.process_group = dist._group_or_default(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.optim = None # while the base class takes the groups
        self._class, self._defaults, self._given = optimizer_class, defaults, [0] * self.world_size
        self._owner, self._saved = {}, []
        Optimizer.__init__(self, params, dict(defaults))
        self._make()

    # ---- who has what

    def _give_out(self, group):
        for p in sorted(group["params"], key=lambda t: t.numel(), reverse=True):
            rank = self._given.index(min(self._given))
            self._owner[id(p)] = rank
            self._given[rank] += p.numel()

    def _own(self, group):
        return [p for p in group["params"] if self._owner[id(p)] == self.rank]

    def _make(self):
        for g in self.param_groups:
            self._give_out(g)
        groups = [dict(g, params=self._own(g)) for g in self.param_groups]
        self.optim = self._class(groups, **self._defaults)
        for own, g in zip(self.optim.param_groups, self.param_groups):
            g.update({k: v for k, v in own.items() if k != "params" and k not in g})
        self.defaults = dict(self.optim.defaults)

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        if self.optim is not None:
            group = self.param_groups[-1]
            self._give_out(group)
            self.optim.add_param_group(dict(group, params=self._own(group)))

    def _tell(self):
        """Hyperparameters that programs or schedules changed."""
        for own, g in zip(self.optim.param_groups, self.param_groups):
            own.update({k: v for k, v in g.items() if k != "params"})

    # ---- steps

    def step(self, closure=None, **kwargs):
        if self._join_config.enable:
            from ..algorithms.join import Join
            Join.notify_join_context(self)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._tell()
        if any(g["params"] for g in self.optim.param_groups):
            self.optim.step(**kwargs)
        with no_grad():
            works = [dist.broadcast(p.detach(), group=self.process_group, group_src=self._owner[id(p)], async_op=True) for g in self.param_groups for p in g["params"]]
            for w in works:
                w.wait()
        return loss

    def join_hook(self, **kwargs):
        return _ZeROJoinHook(self)

    join_device = property(lambda self: self.param_groups[0]["params"][0].device)
    join_process_group = property(lambda self: self.process_group)

    # ---- state

    @property
    def state(self):
        return self.optim.state if self.optim is not None else {}

    @state.setter
    def state(self, value):
        if value:
            raise AttributeError("the state is changed by load_state_dict")

    def consolidate_state_dict(self, to=0):
        """Brings the state of all parameters to one rank."""
        self._tell()
        own = self.optim.state_dict()
        collected = [None] * self.world_size if self.rank == to else None
        _objects.gather_object(own, collected, group=self.process_group, group_dst=to)
        self._saved = collected or []

    def state_dict(self):
        if not self._saved:
            raise RuntimeError("Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to=%d)` on all ranks beforehand if you meant to save the "
                               "global state." % self.rank)
        numbers, state = self._numbers(), {}
        for rank, saved in enumerate(self._saved):
            for g, own in zip(self.param_groups, saved["param_groups"]):
                theirs = [p for p in g["params"] if self._owner[id(p)] == rank]
                for p, number in zip(theirs, own["params"]):
                    if number in saved["state"]:
                        state[numbers[id(p)]] = saved["state"][number]
        groups = [dict({k: v for k, v in g.items() if k != "params"}, params=[numbers[id(p)] for p in g["params"]]) for g in self.param_groups]
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict):
        state_dict = copy.deepcopy(state_dict)
        self._check_groups(state_dict["param_groups"])
        mine, groups = {}, []
        own = self.optim.state_dict()["param_groups"]
        for g, saved, local in zip(self.param_groups, state_dict["param_groups"], own):
            here = [n for p, n in zip(g["params"], saved["params"]) if self._owner[id(p)] == self.rank]
            mine.update({number: state_dict["state"][n] for number, n in zip(local["params"], here) if n in state_dict["state"]})
            groups.append(dict({k: v for k, v in saved.items() if k != "params"}, params=local["params"]))
            g.update({k: v for k, v in saved.items() if k != "params"})
        self.optim.load_state_dict({"state": mine, "param_groups": groups})
        self._saved = []


ZeroRedundancyOptimizer.__module__ = "torch.distributed.optim.zero_redundancy_optimizer"
