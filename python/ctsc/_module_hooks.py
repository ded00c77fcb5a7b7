# SPDX-License-Identifier: Apache-2.0
"""_module_hooks.py - hooks of ctsc.nn's modules, in Python: before and after forward, and on the gradients of a module's inputs and outputs.

Those on gradients stand on two functions that are the identity: one that the inputs go through, one for the outputs. What comes back to the first is the
module's grad_input, what comes to the second its grad_output.
"""
import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Mapping

from . import _C
from .autograd import is_grad_enabled
from .autograd.function import MISSING, RemovableHandle

Tensor = _C.Tensor
_next = 0
# Those of all modules are variables of nn.modules.module, as in PyTorch: programs put new dicts there to be rid of them.
_names = {"_global" + kind: OrderedDict() for kind in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_buffer_registration_hooks",
                                                       "_module_registration_hooks", "_parameter_registration_hooks")}
_names["_global_is_full_backward_hook"] = None


class _Hook:
    """A hook with options; without, modules hold the hook itself, as PyTorch's do."""

    def __init__(self, hook, with_kwargs=False, always=False):
        self.hook, self.with_kwargs, self.always = hook, with_kwargs, always

    def __call__(self, *args):
        return self.hook(*args)


class _Marked(Mapping):
    """The keys of the hooks in a registry that have an option, as PyTorch's `_forward_hooks_with_kwargs`."""

    def __init__(self, registry, option):
        self._registry, self._option = registry, option

    def __iter__(self):
        return (k for k, h in self._registry().items() if type(h) is _Hook and getattr(h, self._option))

    def __len__(self):
        return sum(1 for _ in self)

    def __getitem__(self, key):
        if any(k == key for k in self):
            return True
        raise KeyError(key)


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
    if self._is_full_backward_hook is False:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.")
    self.__dict__["_is_full_backward_hook"] = True
    return _put(_own(self, "_backward_hooks"), hook, prepend)


def register_module_forward_pre_hook(hook):
    return _put(_names["_global_forward_pre_hooks"], hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    return _put(_names["_global_forward_hooks"], _Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook):
    return _put(_names["_global_backward_pre_hooks"], hook)


def _put_backward(hook, full):
    if _names["_global_backward_hooks"] and _names["_global_is_full_backward_hook"] is not full:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them.")
    _names["_global_is_full_backward_hook"] = full
    return _put(_names["_global_backward_hooks"], hook)


def register_module_full_backward_hook(hook):
    return _put_backward(hook, True)


def register_module_backward_hook(hook):
    """hook(module, grad_input, grad_output) for all modules, as register_module_full_backward_hook; warns where PyTorch's would see other gradients."""
    return _put_backward(hook, False)


def register_backward_hook(self, hook):
    """As register_full_backward_hook, and warns where PyTorch would call such a hook with other gradients."""
    if self._is_full_backward_hook:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.")
    self.__dict__["_is_full_backward_hook"] = False
    return _put(_own(self, "_backward_hooks"), hook)


def _hooks(module, kind):
    return list(_names["_global" + kind].values()) + list(module.__dict__.get(kind, {}).values())


# ---- registration of parameters, buffers and modules


def _registering(kind):
    def register(hook):
        _watch_registrations()
        return _put(_names["_global_%s_registration_hooks" % kind], hook)
    register.__name__ = register.__qualname__ = "register_module_%s_registration_hook" % kind
    register.__doc__ = "hook(module, name, %s) when one is registered with any module; what it returns takes its place." % kind
    return register


def _registered(kind, module, name, value):
    if value is not None:
        for hook in list(_names["_global_%s_registration_hooks" % kind].values()):
            changed = hook(module, name, value)
            value = value if changed is None else changed
    return value


def _watch_registrations():
    """Has modules ask these hooks, from the first one on: what registers is replaced once."""
    module = _names["Module"]
    if getattr(module.register_buffer, "asks_hooks", False):
        return
    set_attribute = module.__setattr__

    def asking(kind, plain):
        def register(self, name, value, *args, **kwargs):
            return plain(self, name, _registered(kind, self, name, value), *args, **kwargs)
        return functools.update_wrapper(register, plain)

    def __setattr__(self, name, value):
        if isinstance(value, module) and "_modules" in self.__dict__:
            value = _registered("module", self, name, value)
        elif type(value) is Tensor and name in self.__dict__.get("_buffers", ()):
            value = _registered("buffer", self, name, value)
        set_attribute(self, name, value)

    module.register_buffer = asking("buffer", module.register_buffer)
    module.register_parameter = asking("parameter", module.register_parameter)
    module.add_module = asking("module", module.add_module)
    module.__setattr__ = __setattr__
    module.register_buffer.asks_hooks = True


# ---- hooks of load_state_dict


class _WithModule:
    """A hook that gets the module first. Modules do not hold themselves through it, and it pickles."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args):
        return self.hook(self.module(), *args)

    def __getstate__(self):
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state):
        self.hook, self.module = state["hook"], weakref.ref(state["module"])


def _register_load_state_dict_pre_hook(self, hook, with_module=False):
    return _put(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)


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
    own, hooks, result, gradients = self.__dict__, _hooks(self, "_forward_hooks"), None, None
    try:
        args, kwargs = _before(self, args, kwargs)
        on, before = _hooks(self, "_backward_hooks"), _hooks(self, "_backward_pre_hooks")
        if on or before:
            gradients = _Gradients(self, on, before)
            args = gradients.inputs(args)
        result = self.forward(*args, **kwargs)
        result = _after(self, hooks, args, kwargs, result)
        if on and (own["_is_full_backward_hook"] is False or _names["_global_is_full_backward_hook"] is False and _names["_global_backward_hooks"]):
            _warn_of_plain(self, args, result)
        return result if gradients is None else gradients.outputs(result)
    except Exception:
        for hook in [h for h in hooks if type(h) is _Hook and h.always]:
            try:
                _after(self, [hook], args, kwargs, result)
            except Exception as e:
                warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in forward: %s" % e)
        raise


def _warn_of_plain(module, args, result):
    """PyTorch's hooks on backward that are not full ones see the gradients of one node: it says where that is not the module."""
    several = "To ensure all gradients are seen, use register_full_backward_hook; a plain hook gets those of the last node alone."
    inputs, outputs = args, (result,) if isinstance(result, Tensor) else result
    if not isinstance(outputs, tuple) or not all(isinstance(o, Tensor) for o in outputs):
        warnings.warn("A backward hook that is not full is on a Module that does not return a single Tensor or a tuple of Tensors. " + several, FutureWarning, stacklevel=4)
    elif not all(isinstance(i, Tensor) for i in inputs):
        warnings.warn("A backward hook that is not full is on a Module that does not take as input a single Tensor or a tuple of Tensors. " + several, FutureWarning, stacklevel=4)
    else:
        nodes = [o.grad_fn for o in outputs if o.grad_fn is not None]
        if len({id(n) for n in nodes}) > 1 or len(nodes) > 1 and any(n is not nodes[0] for n in nodes):
            warnings.warn("A backward hook that is not full is on a Module whose outputs are generated by different autograd Nodes. " + several, FutureWarning, stacklevel=4)
        elif nodes:
            known = {i.grad_fn for i in inputs if i.requires_grad}
            if any(n is not None and n not in known and "AccumulateGrad" not in n.name() for n, _ in nodes[0].next_functions):
                warnings.warn("A backward hook that is not full is on a Module where the forward contains multiple autograd Nodes. " + several, FutureWarning, stacklevel=4)


def call(self, *args, **kwargs):
    own, names = self.__dict__, _names
    if (own["_forward_pre_hooks"] or own["_forward_hooks"] or own["_backward_hooks"] or own.get("_backward_pre_hooks") or names["_global_forward_hooks"]
            or names["_global_forward_pre_hooks"] or names["_global_backward_hooks"] or names["_global_backward_pre_hooks"]):
        return _call_with_hooks(self, args, kwargs)
    return self.forward(*args, **kwargs)


def install(names):
    """Puts them into module.py, whose names these are."""
    global _names
    module = names["Module"]
    for name, value in _names.items():
        names[name] = value
    _names = names
    for kind, option, name in (("_forward_hooks", "with_kwargs", "_forward_hooks_with_kwargs"), ("_forward_pre_hooks", "with_kwargs", "_forward_pre_hooks_with_kwargs"),
                               ("_forward_hooks", "always", "_forward_hooks_always_called")):
        setattr(module, name, property(lambda self, kind=kind, option=option: _Marked(lambda: self.__dict__[kind], option)))
        names["_global" + name] = _Marked(lambda kind=kind: names["_global" + kind], option)
    for f in (register_forward_pre_hook, register_forward_hook, register_full_backward_pre_hook, register_full_backward_hook, register_backward_hook,
              _register_load_state_dict_pre_hook):
        setattr(module, f.__name__, f)
    module.__call__ = call
    for f in (register_module_forward_pre_hook, register_module_forward_hook, register_module_full_backward_pre_hook, register_module_full_backward_hook,
              register_module_backward_hook, _registering("buffer"), _registering("module"), _registering("parameter")):
        names[f.__name__] = f
    names["_register_hook"] = _put # of state_dict and load_state_dict
    names["RemovableHandle"] = RemovableHandle
