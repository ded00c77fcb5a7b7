# SPDX-License-Identifier: Apache-2.0
# function.py - torch.autograd.Function: what its forward computes; and its backward, where module-level code takes gradients.
import torch


class FunctionCtx:
    def __init__(self):
        self.saved_tensors = ()
        self.needs_input_grad = ()
        self.materialize_grads = True
        self._constants = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        pass

    def mark_dirty(self, *args):
        pass

    def mark_non_differentiable(self, *args):
        self._constants = args

    def set_materialize_grads(self, value):
        self.materialize_grads = value


def _is_differentiable(t):
    return isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())


class Function:
    generate_vmap_rule = False

    @classmethod
    def apply(cls, *args, **kwargs):
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
        if not torch._C._records() or not any(ctx.needs_input_grad):
            return cls._forward(ctx, args, kwargs)
        with torch.no_grad():
            output = cls._forward(ctx, args, kwargs)
        return cls._record(ctx, args, output)

    @classmethod
    def _forward(cls, ctx, args, kwargs):
        if not hasattr(cls, 'setup_context'):
            return cls.forward(ctx, *args, **kwargs)
        output = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, output)
        return output

    @classmethod
    def _record(cls, ctx, args, output):
        # an argument that comes back is another tensor from here on
        results = [o.detach() if any(o is a for a in args) else o for o in (output if isinstance(output, tuple) else (output,))]
        at = [i for i, o in enumerate(results) if _is_differentiable(o) and not any(o is c for c in ctx._constants)]
        places = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
        shapes = [o.shape if isinstance(o, torch.Tensor) else () for o in results]
        dtypes = [o.dtype if isinstance(o, torch.Tensor) else torch.float32 for o in results]

        def gradients(grads):
            given = [None] * len(shapes)
            for i, g in zip(at, grads):
                given[i] = g
            if ctx.materialize_grads:
                given = [torch.zeros(s, dtype=d) if g is None else g for g, s, d in zip(given, shapes, dtypes)]
            found = cls.backward(ctx, *given)
            found = found if isinstance(found, tuple) else (found,)
            if len(found) < len(args):
                raise RuntimeError('function {}Backward returned an incorrect number of gradients (expected {}, got {})'.format(
                    cls.__name__, len(args), len(found)))
            return [found[i] for i in places]

        torch._C._record_call(gradients, [args[i] for i in places], [results[i] for i in at])
        return tuple(results) if isinstance(output, tuple) else results[0]


def once_differentiable(fn):
    return fn
