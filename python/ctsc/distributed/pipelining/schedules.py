# SPDX-License-Identifier: Apache-2.0
"""schedules.py - in which order the parts of a batch pass the stages of a rank, forward and backward. Gradients are the same in all: they are added in the order of the parts."""
from ctsc import _C
from ctsc.autograd import is_grad_enabled, no_grad

from .microbatch import TensorChunkSpec, _parts, merge_chunks, split_args_kwargs_into_chunks

Tensor = _C.Tensor
_stack = _C._operator("stack")


def _merged(parts, spec):
    if spec is None and isinstance(parts[0], Tensor) and not parts[0].dim():
        return _stack(parts)
    return merge_chunks(parts, spec)


class _Schedule:
    def __init__(self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None, output_merge_spec=None, scale_grads=True):
        self._stages, self._n_microbatches, self._loss_fn, self.scale_grads = stages, n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec, self._output_merge_spec = args_chunk_spec, kwargs_chunk_spec, output_merge_spec
        self._has_backward = loss_fn is not None

    def _order(self):
        """(stage, part, whether backward), in the order of this rank."""
        raise NotImplementedError

    def step(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None, arg_mbs=None, kwarg_mbs=None, target_mbs=None, **kwargs):
        """One batch forward and backward. arg_mbs, kwarg_mbs, target_mbs: instead of whole arguments, those of each part."""
        if self._has_backward and not is_grad_enabled():
            raise RuntimeError("step() requires gradients to be enabled for backward computation; it should not be used under torch.no_grad() context. Please call eval() instead.")
        parts = self._cut(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs)
        outputs = self._run(*parts, losses, loss_kwargs or {}, self._has_backward)
        return outputs if return_outputs else None

    def eval(self, *args, target=None, losses=None, arg_mbs=None, kwarg_mbs=None, target_mbs=None, **kwargs):
        """One batch forward alone."""
        with no_grad():
            return self._run(*self._cut(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs), losses, {}, False)

    def _cut(self, args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs):
        """The arguments and targets of each part."""
        n = self._n_microbatches
        if arg_mbs is None and kwarg_mbs is None and target_mbs is None:
            targets = [None] * n if target is None else _parts(target, TensorChunkSpec(0), n)
            if not args and not kwargs:
                return [()] * n, [{}] * n, targets
            found = split_args_kwargs_into_chunks(args, kwargs, n, self._args_chunk_spec, self._kwargs_chunk_spec)
            if len(found[0]) != n:
                raise ValueError("Expecting %d arg_mbs but got %d" % (n, len(found[0])))
            return found + (targets,)
        if args:
            raise ValueError("When using pre-split inputs, pass pre-split positional inputs through arg_mbs=... instead of positional args.")
        if kwargs:
            raise ValueError("Unexpected keyword arguments with pre-split inputs: %s. Pass pre-split keyword inputs through kwarg_mbs=..." % ", ".join(sorted(kwargs)))
        if target is not None:
            raise ValueError("When using pre-split inputs, pass pre-split targets through target_mbs=... instead of target=...")
        found = []
        for name, given, kind, empty in (("arg_mbs", arg_mbs, tuple, ()), ("kwarg_mbs", kwarg_mbs, dict, {}), ("target_mbs", target_mbs, None, None)):
            given = [empty] * n if given is None else given
            if not isinstance(given, list):
                raise TypeError("%s must be a list but got a %s" % (name, type(given)))
            if len(given) != n:
                raise ValueError("Expecting %d %s but got %d" % (n, name, len(given)))
            for i, x in enumerate(given):
                if kind is not None and not isinstance(x, kind):
                    raise TypeError("%s must be a list of %ss, but %s[%d] is a %s" % (name, kind.__name__, name, i, type(x)))
            found.append(given)
        return tuple(found)

    def _run(self, args, kwargs, targets, losses, loss_kwargs, trains):
        n = self._n_microbatches
        if losses is not None and not isinstance(losses, list):
            raise TypeError("losses must be a list but got a %s" % type(losses))
        by_index = {s.stage_index: s for s in self._stages}
        outputs, loss_of, local = {}, {}, {}
        for stage in self._stages:
            stage.clear()
        for index, part, backward in self._order():
            stage = by_index[index]
            if backward:
                if trains:
                    stage.backward(part, loss_of.pop(part) if stage.is_last else None, local)
                continue
            out = stage.forward(part, args[part], kwargs[part], local)
            if stage.is_last:
                outputs[part] = _detached(out)
                if self._loss_fn is not None and targets[part] is not None:
                    loss_of[part] = self._loss_fn(out, targets[part], **loss_kwargs)
                    if losses is not None:
                        if part == 0:
                            losses.clear()
                        losses.append(loss_of[part].detach())
        for stage in self._stages:
            stage.finish()
            if trains and self.scale_grads:
                stage.scale_grads(n)
        return _merged([outputs[i] for i in range(n)], self._output_merge_spec) if outputs else None


def _detached(out):
    return type(out)(t.detach() for t in out) if isinstance(out, (tuple, list)) else out.detach()


class _Single(_Schedule):
    def __init__(self, stage, n_microbatches, loss_fn=None, **options):
        super().__init__([stage], n_microbatches, loss_fn, **options)
        self._stage = stage


class ScheduleGPipe(_Single):
    """All forward, then all backward."""

    def _order(self):
        n, s = self._n_microbatches, self._stage.stage_index
        return [(s, i, False) for i in range(n)] + [(s, i, True) for i in range(n)]


class Schedule1F1B(_Single):
    """As many forward as stages follow, then one backward and one forward in turns: fewer parts are kept at a time."""

    def __init__(self, stage, n_microbatches, loss_fn=None, **options):
        super().__init__(stage, n_microbatches, loss_fn, **options)
        if n_microbatches < stage.num_stages:
            raise ValueError("Number of microbatches (%d) must be greater than or equal to the number of stages (%d)." % (n_microbatches, stage.num_stages))

    def _order(self):
        n, s = self._n_microbatches, self._stage.stage_index
        ahead = min(n, self._stage.num_stages - s)
        found = [(s, i, False) for i in range(ahead)]
        for i in range(n):
            found.append((s, i, True))
            if ahead + i < n:
                found.append((s, ahead + i, False))
        return found


class _Several(_Schedule):
    """Several stages of a rank, the parts one after another through each."""

    def __init__(self, stages, n_microbatches, loss_fn=None, **options):
        if len(stages) < 2:
            raise ValueError("Multi-stage schedule expects at least two stages but got %d" % len(stages))
        super().__init__(list(stages), n_microbatches, loss_fn, **options)

    def _order(self):
        parts, own = range(self._n_microbatches), sorted(s.stage_index for s in self._stages)
        return [(s, i, False) for s in own for i in parts] + [(s, i, True) for s in reversed(own) for i in parts]


class ScheduleLoopedBFS(_Several):
    pass


class ScheduleInterleaved1F1B(_Several):
    """In the order of ScheduleLoopedBFS: the results are the same, more parts are kept at a time."""


class ScheduleInterleavedZeroBubble(_Several):
    """In the order of ScheduleLoopedBFS, backward passes whole: the results are the same, ranks wait longer for one another."""
