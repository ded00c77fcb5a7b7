# SPDX-License-Identifier: Apache-2.0
"""function.py - autograd.Function: a function of Python with its own gradient; hooks on gradients.

The library records a call of a Function as one node: what it saves is kept there (with the check that nobody has written it since), and forgotten with it.
"""
import functools
import inspect
import weakref

from .. import _C
from . import is_grad_enabled, no_grad

Tensor = _C.Tensor
MISSING, AFTER = 1, 1 # CTSC_GRADIENT_MISSING, CTSC_HOOK_AFTER


class RemovableHandle:
    """Of a hook: remove(), or the end of a with block, ends it."""

    def __init__(self, registry, key):
        self.hooks_dict_ref, self.id = weakref.ref(registry), key

    def remove(self):
        registry = self.hooks_dict_ref()
        if registry is not None:
            registry.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


class _Called:
    """What the library holds and calls. Not the handle, which holds the library's entry."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, grad):
        return None if self.hook is None else self.hook(grad)


class _TensorHandle:
    def __init__(self, called, entry):
        self._called, self._entry = called, entry

    def remove(self):
        if self._entry is not None:
            self._called.hook = None
            _C._remove_hook(self._entry)
            self._called = self._entry = None

    __enter__, __exit__ = RemovableHandle.__enter__, RemovableHandle.__exit__


def add_hook(tensor, hook, after=False):
    called = _Called(hook)
    return _TensorHandle(called, _C._add_hook(tensor, called, AFTER if after else 0))


def add_hook_after(tensor, hook):
    """hook gets the very object that it was registered with, as long as that lives: programs find their parameters by it."""
    known = weakref.ref(tensor)

    def run(leaf):
        given = known()
        hook(leaf if given is None else given)
    return add_hook(tensor, run, True)


class FunctionCtx:
    """What forward tells backward."""

    _to_save, _dirty, _fixed, _materialize, _saved = (), (), (), True, None
    needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Tensors for backward, as saved_tensors; None may be among them."""
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        pass

    def mark_dirty(self, *tensors):
        """Inputs that forward has written; it returns them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Outputs that have no gradient."""
        self._fixed = tensors

    def set_materialize_grads(self, value):
        """False: backward gets None for a gradient that does not arrive, not zeros."""
        self._materialize = value

    @property
    def saved_tensors(self):
        if self._saved is None:
            if self._to_save:
                raise RuntimeError("saved_tensors are there while backward runs")
            return ()
        return self._saved


def _among(tensor, tensors):
    return any(t is tensor for t in tensors)


def _as_it_was(t, needed):
    """A saved tensor that took part in the graph says so: backward asks requires_grad to leave work out."""
    if needed and not t.requires_grad and not is_grad_enabled():
        t.requires_grad = True
    return t


def _gradients(cls, ctx, inputs, outputs, name):
    """What the library calls: (gradients of the tensors among outputs, saved tensors) -> gradients of the tensors among inputs."""
    tensor_at = [isinstance(o, Tensor) for o in outputs]
    part = [t for t in (*outputs, *inputs) if isinstance(t, Tensor) and not _among(t, ctx._fixed) and (t.requires_grad or not _among(t, inputs))]
    needed = [None if t is None else t.requires_grad or (_among(t, part) and (t.dtype.is_floating_point or t.dtype.is_complex)) for t in ctx._to_save]
    is_tensor = [isinstance(a, Tensor) for a in inputs]

    def run(grads, saved):
        grads, saved = iter(grads), iter(saved)
        ctx._saved = tuple(_as_it_was(next(saved), n) if n is not None else None for n in needed)
        try:
            found = cls._backward(ctx, *[next(grads) if there else None for there in tensor_at])
        finally:
            ctx._saved = None
        found = found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)
        if len(found) > len(is_tensor) and all(g is None for g in found[len(is_tensor):]):
            found = found[:len(is_tensor)]
        if len(found) != len(is_tensor):
            raise RuntimeError("function %s returned an incorrect number of gradients (expected %d, got %d)" % (name, len(is_tensor), len(found)))
        for i, (g, tensor) in enumerate(zip(found, is_tensor)):
            if g is not None and not tensor:
                raise RuntimeError("function %s returned a gradient different from None at position %d, but the corresponding forward input was not a Variable"
                                   % (name, i + 1))
            if g is not None and not isinstance(g, Tensor):
                raise TypeError("function %s: expected Tensor or None for argument %d, got %s" % (name, i + 1, type(g).__name__))
        return tuple(g for g, tensor in zip(found, is_tensor) if tensor)
    return run


def _as_output(out, ctx, inputs):
    """Its own object, without history: an input that comes back unchanged is another view of it."""
    if not isinstance(out, Tensor) or _among(out, ctx._dirty):
        return out
    return out.detach() if _among(out, inputs) or out.requires_grad else out


class Function:
    """forward(ctx, *args) computes, or forward(*args) and setup_context(ctx, inputs, output); backward(ctx, *grads) gives a gradient for each argument. Called
    by apply."""

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        raise RuntimeError("%s: a Function is not made; its forward and backward are static methods, and %s.apply(...) calls it" % ((type(self).__name__,) * 2))

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD.")

    vjp = backward
    setup_context = None

    @classmethod
    def _backward(cls, ctx, *grads):
        return (cls.backward if cls.backward is not Function.backward else cls.vjp)(ctx, *grads)

    @classmethod
    def apply(cls, *args, **kwargs):
        if kwargs or cls.setup_context is not None:
            bound = inspect.signature(cls.forward).bind(*((args if cls.setup_context is not None else (None,) + args)), **kwargs)
            bound.apply_defaults()
            args = bound.args if cls.setup_context is not None else bound.args[1:]
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        if _C.Trace.is_tracing():
            return cls._forward(ctx, args)
        recorded = is_grad_enabled() and any(ctx.needs_input_grad)
        with no_grad():
            result = cls._forward(ctx, args)
        if not recorded:
            return result
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        if not all(_among(t, outputs) for t in ctx._dirty):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. "
                               "The inputs that are modified inplace must all be outputs of the Function.")
        if not all(t is None or isinstance(t, Tensor) for t in ctx._to_save):
            raise TypeError("save_for_backward can only save variables, but argument is of type %s" % type(
                next(t for t in ctx._to_save if t is not None and not isinstance(t, Tensor))).__name__)
        own = tuple(_as_output(o, ctx, args) for o in outputs)
        swapped = [(o, n) for o, n in zip(outputs, own) if o is not n]
        # what was saved and is an output now is the output
        saved = tuple(next((n for o, n in swapped if o is t and not _among(t, args)), t) for t in ctx._to_save if t is not None)
        name = cls.__name__ + "Backward"
        tensors = tuple(o for o in own if isinstance(o, Tensor))
        _C._record(name, _gradients(cls, ctx, args, own, name), tuple(a for a in args if isinstance(a, Tensor)), tensors, saved,
                   tuple(not _among(o, ctx._fixed) for o in outputs if isinstance(o, Tensor)), 0 if ctx._materialize else MISSING)
        ctx._to_save, ctx._dirty, ctx._fixed = (), (), ()
        return own if isinstance(result, (tuple, list)) else own[0]

    @classmethod
    def _forward(cls, ctx, args):
        if cls.setup_context is None:
            return cls.forward(ctx, *args)
        result = cls.forward(*args)
        cls.setup_context(ctx, args, result)
        return result


def _refuse_twice(grads, saved):
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(backward):
    """Of a backward that is not differentiable itself: it runs with nothing recorded, and who differentiates its result is told."""
    @functools.wraps(backward)
    def run(ctx, *grads):
        with no_grad():
            found = backward(ctx, *grads)
        sources = tuple(g for g in grads if isinstance(g, Tensor) and g.requires_grad)
        if not is_grad_enabled() or not sources:
            return found
        many = found if isinstance(found, tuple) else (found,)
        own = tuple(g.detach() if isinstance(g, Tensor) else g for g in many)
        tensors = tuple(g for g in own if isinstance(g, Tensor))
        if tensors:
            _C._record("DelayedErrorBackward", _refuse_twice, sources, tensors, (), (True,) * len(tensors), 0)
        return own if isinstance(found, tuple) else own[0]
    return run
