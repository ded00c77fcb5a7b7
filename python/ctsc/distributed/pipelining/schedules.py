# SPDX-License-Identifier: Apache-2.0
"""schedules.py - in which order the parts of a batch pass the stages of a rank, forward and backward. Gradients are the same in all: they are added in the order of the parts."""
from ctsc import _C
from ctsc.autograd import no_grad

Tensor = _C.Tensor
_cat, _stack = _C._operator("cat"), _C._operator("stack")


def _chunks(x, n):
    if not isinstance(x, Tensor):
        return [x] * n
    found = list(x.chunk(n, 0))
    if len(found) != n:
        raise RuntimeError("a batch of %d does not make %d microbatches" % (x.shape[0], n))
    return found


def _merged(parts):
    if isinstance(parts[0], (tuple, list)):
        return type(parts[0])(_merged([p[i] for p in parts]) for i in range(len(parts[0])))
    return _stack(parts) if not parts[0].dim() else _cat(parts, 0)


class _Schedule:
    def __init__(self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None, output_merge_spec=None, scale_grads=True):
        if args_chunk_spec is not None or kwargs_chunk_spec is not None or output_merge_spec is not None:
            raise NotImplementedError("chunk specs of pipelines are not supported: batches are cut in dimension 0")
        self._stages, self._n_microbatches, self._loss_fn, self.scale_grads = stages, n_microbatches, loss_fn, scale_grads
        self._has_backward = loss_fn is not None

    def _order(self):
        """(stage, part, whether backward), in the order of this rank."""
        raise NotImplementedError

    def step(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        return self._run(args, kwargs, target, losses, self._has_backward)

    def eval(self, *args, target=None, losses=None, **kwargs):
        with no_grad():
            return self._run(args, kwargs, target, losses, False)

    def _run(self, args, kwargs, target, losses, trains):
        n = self._n_microbatches
        args = [_chunks(a, n) for a in args]
        kwargs = {k: _chunks(v, n) for k, v in kwargs.items()}
        targets = _chunks(target, n) if target is not None else [None] * n
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
            out = stage.forward(part, [a[part] for a in args], {k: v[part] for k, v in kwargs.items()}, local)
            if stage.is_last:
                outputs[part] = _detached(out)
                if self._loss_fn is not None and target is not None:
                    loss_of[part] = self._loss_fn(out, targets[part])
                    if losses is not None:
                        if part == 0:
                            losses.clear()
                        losses.append(loss_of[part].detach())
        for stage in self._stages:
            stage.finish()
            if trains and self.scale_grads:
                stage.scale_grads(n)
        return _merged([outputs[i] for i in range(n)]) if outputs else None


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
