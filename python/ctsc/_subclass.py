# SPDX-License-Identifier: Apache-2.0
"""_subclass.py - classes of tensors that say what functions make of them: __torch_function__, of subclasses of Tensor, of classes of their own, and of modes.

Subclasses register themselves when they are made (Tensor.__init_subclass__); the extension gives calls with tensors of theirs, and calls that cannot take an
argument, to dispatch(). Functions are what ctsc calls operators: ctsc.add, Tensor.add; those that Python composes (F.mse_loss) are seen by the operators they call.
"""
import contextlib
import functools
import sys

from . import _C, _intercept
from ._intercept import disabled_torch_function

Tensor = _C.Tensor
_classes, _modes = set(), []


class DisableTorchFunctionSubclass(contextlib.ContextDecorator):
    """Calls are made as if all tensors were Tensors."""

    def __enter__(self):
        self._before = _C._overriding_off(True)
        return self

    def __exit__(self, *exception):
        _C._overriding_off(self._before)


def _as(cls, value):
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        items = [_as(cls, v) for v in value]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


def torch_function(cls, func, types, args=(), kwargs=None):
    """The call as it is; tensors among its results are of the class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is Tensor else _as(cls, result)


def _off(method):
    @functools.wraps(method)
    def run(self, *args, **kwargs):
        with DisableTorchFunctionSubclass():
            return method(self, *args, **kwargs)
    return run


def register(cls):
    """A subclass of Tensor: its functions are its own from now on."""
    if getattr(cls.__torch_function__, "__func__", None) is disabled_torch_function:
        return
    if not _classes:
        Tensor.__repr__ = _off(Tensor.__repr__)
    _classes.add(cls)
    _C._set_overriding(_classes)
    _intercept.overrides[0] = dispatch


def _among(values, found):
    for v in values:
        if type(v) in (list, tuple):
            _among(v, found)
        elif type(v) is not Tensor and (type(v) in _classes or not isinstance(v, (Tensor, type)) and hasattr(type(v), "__torch_function__")):
            if not any(type(v) is type(o) for o in found):
                found.append(v)
    return found


def overloaded(args, kwargs):
    """Arguments whose classes are asked, the first of each class: subclasses before their bases."""
    found = _among(list(args) + list(kwargs.values()), [])
    ordered = []
    for v in found:
        at = next((i for i, o in enumerate(ordered) if issubclass(type(v), type(o))), len(ordered))
        ordered.insert(at, v)
    return ordered


def function_of(name, method):
    """What programs know the operator as: a name of the package, which is whole by the time that there are subclasses."""
    ctsc = sys.modules[__package__]
    first, second = (Tensor, ctsc) if method else (ctsc, Tensor)
    return getattr(first, name, None) or getattr(second, name, None)


def handle(func, args, kwargs):
    """(result,) of the first class that has one; None: nobody was to be asked."""
    objects = overloaded(args, kwargs)
    types = tuple(type(o) for o in objects)
    if _modes:
        mode = _modes.pop()
        try:
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            _modes.append(mode)
        if result is not NotImplemented:
            return (result,)
    if not objects:
        return None
    for o in objects:
        result = type(o).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return (result,)
    raise TypeError("no implementation found for 'torch.%s' on types that implement __torch_function__: %s" % (
        getattr(func, "__name__", func), [t.__module__ + "." + t.__name__ for t in types]))


def dispatch(op, args, kwargs):
    name = op.__name__
    return handle(function_of(name, True) or op, tuple(args), kwargs)


def failed(name, args, kwargs, method):
    """(result,) of a call that could not take an argument, where the argument's class takes the call; or what that raised."""
    if not overloaded(args, kwargs):
        return None
    try:
        return handle(function_of(name, method), args, kwargs)
    except Exception as e: # raised by who calls
        return e


class TorchFunctionMode:
    """with TorchFunctionMode(): each call is its __torch_function__'s."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _intercept.overrides[0] = dispatch
        _modes.append(self)
        _intercept.changed(+1)
        return self

    def __exit__(self, *exception):
        _modes.remove(self)
        _intercept.changed(-1)
