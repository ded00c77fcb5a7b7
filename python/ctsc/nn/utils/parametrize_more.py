# SPDX-License-Identifier: Apache-2.0
# parametrize_more.py - appended to the prelude's parametrize.py: tensors are computed at each access, as gradients need it.
#
# A parametrized module is of a class of its own, which has the tensor as a property. ctsc.script compiles it with the tensor as it is (_instance.py).
import copyreg
from contextlib import contextmanager

from ..modules.module import Module

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


def _begun(module):
    pass


def _installed(module, name):
    base, names = type_before_parametrizations(module), list(module.parametrizations)
    object.__setattr__(module, "__class__", _made(base, names) if names else base)


def _changed(module, name):
    pass


def _removed(module, name):
    _installed(module, name)
    if not len(module.parametrizations):
        del module._modules["parametrizations"]


def is_parametrized(module, tensor_name=None):
    parametrizations = getattr(module, "_modules", {}).get("parametrizations") if isinstance(module, Module) else None
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def type_before_parametrizations(module):
    return getattr(type(module), "_parametrized_", type(module))
