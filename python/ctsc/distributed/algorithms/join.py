# SPDX-License-Identifier: Apache-2.0
"""join.py - torch.distributed.algorithms.join: ranks that run out of inputs take part in the collectives of those that have not."""
import warnings

from .. import distributed_c10d as dist


class JoinHook:
    def main_hook(self):
        """What a rank without inputs does for each iteration of the others."""

    def post_hook(self, is_last_joiner):
        """What all do when nobody has inputs any more."""


class _JoinConfig:
    def __init__(self, enable=False, throw_on_early_termination=False, is_first_joinable=False):
        self.enable, self.throw_on_early_termination, self.is_first_joinable = enable, throw_on_early_termination, is_first_joinable

    @classmethod
    def construct_disabled_join_config(cls):
        return cls()


class Joinable:
    """What takes part: its __call__ begins with Join.notify_join_context(self)."""

    def __init__(self):
        self._join_config = _JoinConfig()

    def join_hook(self, **kwargs):
        raise NotImplementedError

    join_device = join_process_group = None


class Join:
    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable, self._throw = joinables, enable, throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        for i, j in enumerate(joinables):
            j._join_config = _JoinConfig(enable, throw_on_early_termination, i == 0)
        groups = {j.join_process_group for j in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group, self._rank = groups.pop(), dist.get_rank()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if not self._enable or kind:
            return
        all_joined, is_last, i = False, True, 0
        while not all_joined:
            left = self._active(False)
            if left == 0:
                all_joined = True
                continue
            if self._throw:
                self._tell()
            is_last = False
            for hook in self._hooks:
                hook.main_hook()
            i += 1
            if i == 1000:
                warnings.warn("Detected uneven input skew of greater than %d. This means that rank %d has at least %d fewer inputs than other currently-active ranks."
                              % (i, self._rank, i), stacklevel=2)
        for hook in self._hooks:
            hook.post_hook(is_last)
        for j in self._joinables:
            j._join_config = _JoinConfig()

    def _active(self, here):
        """How many ranks have inputs."""
        from ctsc import tensor
        count = tensor([1.0 if here else 0.0])
        dist.all_reduce(count, group=self._group)
        return int(count.item())

    def _tell(self):
        from ctsc import tensor
        dist.all_reduce(tensor([1.0]), group=self._group)
        raise RuntimeError("Rank %d exhausted all inputs." % self._rank)

    @staticmethod
    def notify_join_context(joinable):
        """Says that this rank has inputs; a work, or None outside of the context and for all but its first joinable."""
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        from ctsc import tensor
        work = dist.all_reduce(tensor([1.0]), group=joinable.join_process_group, async_op=True)
        if config.throw_on_early_termination:
            ended = tensor([0.0])
            dist.all_reduce(ended, group=joinable.join_process_group)
            if ended.item() >= 1:
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
