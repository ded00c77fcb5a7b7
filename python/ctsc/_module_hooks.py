# SPDX-License-Identifier: Apache-2.0
"""_module_hooks.py - hooks of ctsc.nn's modules, in Python: before and after forward, and on the gradients of a module's inputs and outputs.

Those on gradients stand on two functions that are the identity: one that the inputs go through, one for the outputs. What comes back to the first is the
module's grad_input, what comes to the second its grad_output.
"""
import warnings
from collections import OrderedDict

from . import _C
from .autograd import is_grad_enabled
from .autograd.function import MISSING, RemovableHandle

Tensor = _C.Tensor
_next = 0
# of all modules
_global = {kind: OrderedDict() for kind in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")}


class _Hook:
    """A hook with options; without, modules hold the hook itself, as PyTorch's do."""

    def __init__(self, hook, with_kwargs=False, always=False):
        self.hook, self.with_kwargs, self.always = hook, with_kwargs, always

    def __call__(self, *args):
        return self.hook(*args)


def _put(registry, hook, prepend=False):
    global _next
    _next += 1
    registry[_next] = hook
    if prepend:
        registry.move_to_end(_next, last=False)
    return RemovableHandle(registry, _next)


def _own(module, kind):
    return module.__dict__.setdefault(kind, OrderedDict())


def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
    """hook(module, args) before forward, or hook(module, args, kwargs); what it returns takes their place."""
    return _put(_own(self, "_forward_pre_hooks"), _Hook(hook, with_kwargs) if with_kwargs else hook, prepend)


def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
    """hook(module, args, output), or hook(module, args, kwargs, output); what it returns takes the output's place."""
    return _put(_own(self, "_forward_hooks"), _Hook(hook, with_kwargs, always_call) if with_kwargs or always_call else hook, prepend)


def register_full_backward_pre_hook(self, hook, prepend=False):
    """hook(module, grad_output); what it returns takes its place."""
    return _put(_own(self, "_backward_pre_hooks"), hook, prepend)


def register_full_backward_hook(self, hook, prepend=False):
    """hook(module, grad_input, grad_output): tuples; what it returns takes the place of grad_input."""
    return _put(_own(self, "_backward_hooks"), hook, prepend)


def register_module_forward_pre_hook(hook):
    return _put(_global["_forward_pre_hooks"], hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    return _put(_global["_forward_hooks"], _Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook):
    return _put(_global["_backward_pre_hooks"], hook)


def register_module_full_backward_hook(hook):
    return _put(_global["_backward_hooks"], hook)


def _hooks(module, kind):
    return list(_global[kind].values()) + list(module.__dict__.get(kind, {}).values())


# ---- gradients


def _identity(name, tensors, function):
    """The tensors, whose gradients go through function on their way; None: they have none."""
    if not is_grad_enabled() or not any(t.requires_grad for t in tensors) or _C.Trace.is_tracing():
        return None
    own = tuple(t.detach() for t in tensors)
    _C._record(name, lambda grads, saved: function(grads), tuple(tensors), own, (), tuple(t.requires_grad for t in tensors), MISSING)
    return own


class _Gradients:
    """One call of a module with hooks on gradients."""

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs, self.at, self.count = None, None, 0

    @staticmethod
    def _spread(items, at, count):
        full = [None] * count
        for i, x in zip(at, items):
            full[i] = x
        return tuple(full)

    def inputs(self, args):
        at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        own = _identity("BackwardHookFunctionBackward", [args[i] for i in at], self._of_inputs)
        self.count = len(args)
        if own is None:
            return args
        self.at = at
        changed = list(args)
        for i, t in zip(at, own):
            changed[i] = t
        return tuple(changed)

    def outputs(self, result):
        single = isinstance(result, Tensor)
        many = (result,) if single else result
        if not isinstance(many, tuple):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received %s" % type(result), stacklevel=4)
            return result
        at = [i for i, o in enumerate(many) if isinstance(o, Tensor)]
        own = _identity("BackwardHookFunctionBackward", [many[i] for i in at], lambda grads: self._of_outputs(grads, at, len(many)))
        if own is None:
            return result
        changed = list(many)
        for i, t in zip(at, own):
            changed[i] = t
        if single:
            return changed[0]
        return type(many)(*changed) if hasattr(many, "_fields") else tuple(changed)

    def _of_outputs(self, grads, at, count):
        self.grad_outputs = self._spread(grads, at, count)
        for hook in self.pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != count:
                raise RuntimeError("Backward pre hook returned an invalid number of grad_output, got %d, but expected %d" % (len(changed), count))
            self.grad_outputs = changed
        found = tuple(self.grad_outputs[i] for i in at)
        if self.at is None: # no input has a gradient
            for hook in self.hooks:
                changed = hook(self.module, (None,) * self.count, self.grad_outputs)
                if changed is not None and not (isinstance(changed, tuple) and all(g is None for g in changed)):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None for all gradients.")
            self.grad_outputs = None
        return found

    def _of_inputs(self, grads):
        if self.grad_outputs is None: # the gradient came past the outputs
            return grads
        found = self._spread(grads, self.at, self.count)
        for hook in self.hooks:
            changed = hook(self.module, found, self.grad_outputs)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(found):
                raise RuntimeError("Backward hook returned an invalid number of grad_input, got %d, but expected %d" % (len(changed), len(found)))
            found = changed
        self.grad_outputs = None
        return tuple(found[i] for i in self.at)


# ---- calls


def _before(module, args, kwargs):
    for hook in _hooks(module, "_forward_pre_hooks"):
        keyed = type(hook) is _Hook and hook.with_kwargs
        changed = hook(module, args, kwargs) if keyed else hook(module, args)
        if changed is None:
            continue
        if keyed:
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got %s." % (changed,))
            args, kwargs = changed
        else:
            args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _after(module, hooks, args, kwargs, result):
    while hooks:
        hook = hooks.pop(0)
        keyed = type(hook) is _Hook and hook.with_kwargs
        changed = hook(module, args, kwargs, result) if keyed else hook(module, args, result)
        if changed is not None:
            result = changed
    return result


def _call_with_hooks(self, args, kwargs):
    hooks, result, gradients = _hooks(self, "_forward_hooks"), None, None
    try:
        args, kwargs = _before(self, args, kwargs)
        on, before = _hooks(self, "_backward_hooks"), _hooks(self, "_backward_pre_hooks")
        if on or before:
            gradients = _Gradients(self, on, before)
            args = gradients.inputs(args)
        result = self.forward(*args, **kwargs)
        result = _after(self, hooks, args, kwargs, result)
        return result if gradients is None else gradients.outputs(result)
    except Exception:
        for hook in [h for h in hooks if type(h) is _Hook and h.always]:
            try:
                _after(self, [hook], args, kwargs, result)
            except Exception as e:
                warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in forward: %s" % e)
        raise


def call(self, *args, **kwargs):
    own = self.__dict__
    if (own["_forward_pre_hooks"] or own["_forward_hooks"] or own["_backward_hooks"] or own.get("_backward_pre_hooks") or _global["_forward_hooks"]
            or _global["_forward_pre_hooks"] or _global["_backward_hooks"] or _global["_backward_pre_hooks"]):
        return _call_with_hooks(self, args, kwargs)
    return self.forward(*args, **kwargs)


def install(names):
    """Puts them into module.py, whose names these are."""
    module = names["Module"]
    for f in (register_forward_pre_hook, register_forward_hook, register_full_backward_pre_hook, register_full_backward_hook):
        setattr(module, f.__name__, f)
    module.register_backward_hook = register_full_backward_hook
    module.__call__ = call
    for f in (register_module_forward_pre_hook, register_module_forward_hook, register_module_full_backward_pre_hook, register_module_full_backward_hook):
        names[f.__name__] = f
    names["_register_hook"] = _put # of state_dict and load_state_dict
    names["RemovableHandle"] = RemovableHandle
