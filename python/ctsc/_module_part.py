# SPDX-License-Identifier: Apache-2.0
"""_module_part.py - programs as parts of ctsc.nn's modules: what a module's walks over its parts ask of each, and the class that isinstance() takes programs for.

The tensors that these give are new objects each time, on the program's tensors, as everywhere.
"""
import functools

from . import _C

ScriptModule, Tensor = _C.ScriptModule, _C.Tensor


def _own(kind):
    def get(self):
        return {name: v for name, v, *is_ in self._attributes() if is_[kind] and isinstance(v, Tensor) and "." not in name}
    return property(get)


def _children(self):
    return {name: getattr(self, name) for name, is_module in self._names() if is_module}


def _named_modules(self, prefix="", seen=None):
    seen = set() if seen is None else seen
    if id(self) in seen:
        return []
    seen.add(id(self))
    found = [(prefix, self)]
    for name, m in self._modules.items():
        found += m._named_modules(prefix + "." + name if prefix else name, seen)
    return found


def named_modules(self, memo=None, prefix="", remove_duplicate=True):
    """Parts of programs are new objects each time that they are asked for: what is one module at two places is not seen as that."""
    return iter(self._named_modules(prefix, memo))


def state_dict(self, *, destination=None, prefix="", keep_vars=False):
    """Parameters and buffers by name; the tensors are the module's."""
    destination = {} if destination is None else destination
    for name, v in self._state().items():
        destination[prefix + name] = v if keep_vars else v.detach()
    return destination


def _load_all(self, state, prefix, missing, unexpected, errors):
    own, given = self.state_dict(), {}
    for name, v in own.items():
        key = prefix + name
        if key not in state:
            missing.append(key)
        elif tuple(state[key].shape) != tuple(v.shape):
            errors.append("size mismatch for %s: copying a param with shape %s from checkpoint, the shape in current model is %s." % (key, state[key].shape, v.shape))
        else:
            given[name] = state[key].detach().to(v.dtype)
    unexpected += [key for key in state if key[len(prefix):] not in own]
    if not errors:
        self._load_state(dict(own, **given))


def _apply(self, fn, recurse=True):
    """fn of each parameter and buffer in its place. What was shared stays shared."""
    made = {}
    for path, v, is_parameter, is_buffer in self._attributes():
        if not (is_parameter or is_buffer) or not isinstance(v, Tensor):
            continue
        key = v.data_ptr(), v.shape, v.stride()
        if key not in made or not v.numel():
            with _no_grad():
                old = v.detach()
                new = fn(old)
            if new is old:
                continue
            made[key] = new.detach()
            made[key].requires_grad = v.requires_grad
        *parts, name = path.split(".")
        setattr(functools.reduce(getattr, parts, self), name, made[key])
    return self


def _no_grad():
    from .autograd import no_grad
    return no_grad()


def apply(self, fn):
    for m in self.children():
        m.apply(fn)
    fn(self)
    return self


def get_submodule(self, target):
    return functools.reduce(getattr, target.split("."), self) if target else self


def get_parameter(self, target):
    path, _, name = target.rpartition(".")
    found = self.get_submodule(path)._parameters
    if name not in found:
        raise AttributeError("`%s` is not an nn.Parameter" % name)
    return found[name]


def get_buffer(self, target):
    path, _, name = target.rpartition(".")
    found = self.get_submodule(path)._buffers
    if name not in found:
        raise AttributeError("`%s` is not a buffer" % name)
    return found[name]


def share_memory(self):
    return self._apply(lambda t: t.share_memory_())


for _f in (named_modules, _named_modules, state_dict, _load_all, _apply, apply, get_submodule, get_parameter, get_buffer, share_memory):
    setattr(ScriptModule, _f.__name__, _f)
ScriptModule._modules, ScriptModule._parameters, ScriptModule._buffers = property(_children), _own(0), _own(1)
ScriptModule._non_persistent_buffers_set = frozenset()
ScriptModule._get_name = lambda self: "ScriptModule"
ScriptModule.extra_repr = lambda self: "original_name=" + self.original_name


def _joins(program):
    """As a part of a module: in training mode its calls are recorded from now on."""
    if program.training and any(p.requires_grad for p in program.parameters()):
        program._record(True)


def install(module):
    """Into ctsc.nn.Module. isinstance(program, nn.Module) holds from now on."""
    set_attribute, add = module.__setattr__, module.add_module

    def __setattr__(self, name, value):
        if type(value) is ScriptModule:
            _joins(value)
        set_attribute(self, name, value)

    def add_module(self, name, module):
        """A module of the given name."""
        if type(module) is ScriptModule:
            _joins(module)
        add(self, name, module)
    module.__setattr__, module.add_module = __setattr__, add_module
    _C._set_module_class(type("RecursiveScriptModule", (module,), {"__module__": "ctsc.jit", "__doc__": "What programs are, for isinstance()."}))
