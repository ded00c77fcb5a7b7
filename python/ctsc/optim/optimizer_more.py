# SPDX-License-Identifier: Apache-2.0
# optimizer_more.py - hooks of optimisers: around step, state_dict and load_state_dict, whoever's these are.
import functools

from ..autograd.function import RemovableHandle

_kinds = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


class _Hooks(OrderedDict):
    """RemovableHandle refers to it weakly."""


def _registered(kind):
    def register(self, hook, prepend=False):
        hooks = self.__dict__.setdefault("_hooks", {}).setdefault(kind, _Hooks())
        key = max(hooks, default=-1) + 1
        hooks[key] = hook
        if prepend:
            hooks.move_to_end(key, last=False)
        return RemovableHandle(hooks, key)
    register.__name__ = "register_%s_hook" % kind
    return register


for _kind in _kinds:
    setattr(Optimizer, "register_%s_hook" % _kind, _registered(_kind))


def _of(self, kind):
    return list(self._hooks.get(kind, {}).values())


def _hooked(name, plain):
    """What is called without hooks within a call with them (super().step()) is a part of it."""
    @functools.wraps(plain)
    def run(self, *args, **kwargs):
        hooks = self.__dict__.get("_hooks")
        if not hooks or self.__dict__.get("_in_hooks") == name:
            return plain(self, *args, **kwargs)
        self._in_hooks = name
        try:
            for hook in _of(self, name + "_pre"):
                changed = hook(self, (self,) + args, kwargs) if name == "step" else hook(self, *args)
                if changed is None:
                    continue
                if name != "step":
                    args = (changed,)
                elif isinstance(changed, tuple) and len(changed) == 2:
                    args, kwargs = tuple(changed[0])[1:], changed[1]
                else:
                    raise RuntimeError("%s must return None or a tuple of (new_args, new_kwargs), but got %s." % (hook, changed))
            found = plain(self, *args, **kwargs)
            for hook in _of(self, name + "_post"):
                if name == "step":
                    hook(self, (self,) + args, kwargs)
                elif name == "state_dict":
                    changed = hook(self, found)
                    found = found if changed is None else changed
                else:
                    hook(self)
            return found
        finally:
            del self._in_hooks
    return run


def _with_hooks(cls, **kwargs):
    for name in ("step", "state_dict", "load_state_dict"):
        if name in cls.__dict__:
            setattr(cls, name, _hooked(name, cls.__dict__[name]))


Optimizer.__init_subclass__ = classmethod(_with_hooks)
for _class in (Optimizer, NativeOptimizer):
    _with_hooks(_class)


ParamsT = object # of annotations


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(fused, foreach): neither is faster here."""
    return False, False


def _get_capturable_supported_devices(supports_xla=True):
    return []


def _use_grad_for_differentiable(func):
    """step of an optimiser: without gradients, unless its defaults say differentiable."""
    @functools.wraps(func)
    def run(self, *args, **kwargs):
        with (enable_grad if self.defaults.get("differentiable") else no_grad)():
            return func(self, *args, **kwargs)
    return run


def _get_value(x):
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x):
    return x


_dispatch_sqrt = lambda x: x.sqrt() if isinstance(x, Tensor) else x ** 0.5
