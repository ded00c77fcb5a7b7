# SPDX-License-Identifier: Apache-2.0
"""parametrize.py - tensors of a module that are computed from others, at each access, as gradients need it.

A parametrized module is of a class of its own, which has the tensor as a property. ctsc.script compiles it with the tensor as it is (_instance.py).
"""
import copyreg
from contextlib import contextmanager

import ctsc as torch

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

Tensor = torch.Tensor
_cache, _caching = {}, [0]


@contextmanager
def cached():
    """In the block tensors are computed once."""
    _caching[0] += 1
    try:
        yield
    finally:
        _caching[0] -= 1
        if not _caching[0]:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check(tensor, before, name_before, name_after):
    if not isinstance(tensor, Tensor):
        raise ValueError("A parametrization must return a tensor. Got %s." % type(tensor).__name__)
    for what in ("dtype", "shape"):
        if getattr(tensor, what) != getattr(before, what):
            raise ValueError("Registering a parametrization may not change the %s of the tensor, unless `unsafe` flag is enabled.\n%s %s: %s\n%s %s: %s" % (
                what, name_before, what, getattr(before, what), name_after, what, getattr(tensor, what)))


class ParametrizationList(ModuleList):
    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with torch.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, (list, tuple)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got %s" % type(new).__name__)
        self.ntensors = 1 if self.is_tensor else len(new)
        parameter = isinstance(original, Parameter)
        if self.is_tensor and parameter: # the object stays, which optimisers may hold
            with torch.no_grad():
                original.data = new.detach()
            self.register_parameter("original", original)
        else:
            for i, tensor in enumerate([new] if self.is_tensor else new):
                _register(self, "original" if self.is_tensor else "original%d" % i, Parameter(tensor.detach(), original.requires_grad) if parameter else tensor)
        if not unsafe:
            _check(self(), original, "unparametrized", "parametrized")

    def originals(self):
        return [getattr(self, "original" if self.is_tensor else "original%d" % i) for i in range(self.ntensors)]

    def right_inverse(self, value):
        with torch.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError("parametrization %s does not implement right_inverse." % type(module).__name__)
                value = module.right_inverse(value)
            for original, new in zip(self.originals(), [value] if self.is_tensor else value):
                original.data = new

    def forward(self):
        parts = list(self)
        x = parts[0](*self.originals())
        for part in parts[1:]:
            x = part(x)
        return x


def _property(name):
    def get(self):
        parametrization = self.parametrizations[name]
        if not _caching[0]:
            return parametrization()
        key = id(self), name
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)
    return property(get, put)


def _made(base, names):
    """The class of modules of class base with parametrized tensors."""
    made = type("Parametrized" + base.__name__, (base,), {"__module__": base.__module__, "_parametrized_": base, **{n: _property(n) for n in names}})
    copyreg.pickle(made, _reduce)
    made.__reduce_ex__ = lambda self, protocol: _reduce(self)
    return made


def _rebuilt(base, names):
    return object.__new__(_made(base, names))


def _reduce(module):
    return _rebuilt, (type_before_parametrizations(module), tuple(module.parametrizations)), dict(module.__dict__)


def _names_changed(module):
    base, names = type_before_parametrizations(module), list(module.parametrizations)
    object.__setattr__(module, "__class__", _made(base, names) if names else base)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            _check(parametrization(before), before, "module." + tensor_name + ".", "parametrization(module." + tensor_name + ").")
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = made
        _names_changed(module)
    else:
        raise ValueError("Module '%s' does not have a parameter, a buffer, or a parametrized element with name '%s'" % (module, tensor_name))
    return module


def is_parametrized(module, tensor_name=None):
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations") if isinstance(module, Module) else None
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    if not is_parametrized(module, tensor_name):
        raise ValueError("Module %s does not have a parametrization on %s" % (module, tensor_name))
    parametrization = module.parametrizations[tensor_name]
    if not leave_parametrized and not parametrization.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    original = parametrization.originals()[0]
    if leave_parametrized:
        with torch.no_grad():
            value = getattr(module, tensor_name).detach()
        if parametrization.is_tensor:
            original.data = value
            tensor = original
        else:
            tensor = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    else:
        tensor = original
    del module.parametrizations[tensor_name]
    _names_changed(module)
    if not len(module.parametrizations):
        del module._modules["parametrizations"]
    _register(module, tensor_name, tensor)
    return module


def type_before_parametrizations(module):
    return getattr(type(module), "_parametrized_", type(module))


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """The parametrizations of one module, or of one of its tensors, in another one."""
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for part in from_module.parametrizations[name]:
            register_parametrization(to_module, name, part, unsafe=True)
        for original, to in zip(from_module.parametrizations[name].originals(), to_module.parametrizations[name].originals()):
            to.data = original.detach().clone()
    return to_module
