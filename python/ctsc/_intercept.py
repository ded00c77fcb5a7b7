# SPDX-License-Identifier: Apache-2.0
"""_intercept.py - what changes the meaning of all operators while it holds: autocast (the thread's), another default dtype or default device (the process's).

While one of them holds, the extension gives each call of an operator to intercept() (hook "intercept"), which calls it by _C._plain with other arguments, or again.
"""
import threading

from . import _C
from ._autocast import FULL, LOWER, WIDEST # PyTorch's lists for CPUs

Tensor = _C.Tensor
_state = threading.local()
overrides = [None] # _subclass.dispatch, once there are classes or modes that are to be asked
_held, _default, _device, _lock, _watcher = [0], [_C.float32], [None], threading.Lock(), [None]

# Factories whose dtype is the default one; full and arange where a number is a float.
_FACTORIES = frozenset("zeros ones empty rand randn eye linspace logspace hann_window hamming_window blackman_window bartlett_window kaiser_window "
                       "fft_fftfreq fft_rfftfreq empty_strided".split())
_BY_NUMBER = frozenset("full arange range scalar_tensor normal".split())
_ON_DEVICE = _FACTORIES | _BY_NUMBER | frozenset("randint randperm tril_indices triu_indices".split())
_AS_GIVEN = frozenset("to _to_copy float type_as view_as_real result_type multinomial bernoulli".split())


def autocast_state():
    return _state


def changed(by):
    with _lock:
        _held[0] += by
        _C._set_intercept(_held[0] > 0 or _default[0] is not _C.float32 or _device[0] is not None)


def watch(watcher):
    """watcher(call, op, args, kwargs) calls all operators from now on; None: nobody does."""
    before, _watcher[0] = _watcher[0], watcher
    changed((watcher is not None) - (before is not None))


def get_default_dtype():
    return _default[0]


def set_default_dtype(d):
    if not isinstance(d, _C.dtype) or not d.is_floating_point or d.is_complex:
        raise TypeError("only floating-point types are supported as the default type")
    _default[0] = d
    changed(0)


def default_device():
    """None: the CPU."""
    return _device[0]


def set_default_device(d):
    _device[0] = None if d is None or d.type == "cpu" else d
    changed(0)


def default_of(data):
    """The dtype of a tensor of numbers: None where it is not another than it would be."""
    if _default[0] is _C.float32:
        return None
    found = _C._tensor(data, -1).dtype
    return {_C.float32: _default[0], _C.complex64: _complex(_default[0])}.get(found) if not _holds_arrays(data) else None


def _holds_arrays(data):
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return hasattr(data, "dtype")


def _cast(x, dtype, device):
    if isinstance(x, Tensor):
        kind = x.dtype
        if kind.is_floating_point and kind not in (dtype, _C.float64) and x.device.type == device:
            return x.to(dtype)
        return x
    if isinstance(x, (list, tuple)) and x and isinstance(x[0], Tensor):
        return type(x)(_cast(t, dtype, device) for t in x)
    return x


def _tensors(args):
    for a in args:
        if isinstance(a, Tensor):
            yield a
        elif isinstance(a, (list, tuple)) and a and isinstance(a[0], Tensor):
            yield from a


def _complex(d):
    return _C.complex128 if d is _C.float64 else _C.complex64


def _float_arguments(args, kwargs):
    return [a for a in list(args) + list(kwargs.values()) if isinstance(a, (float, complex))]


def intercept(op, args, kwargs):
    if overrides[0] is not None and not _C._overriding_off(None):
        found = overrides[0](op, args, kwargs)
        if found is not None:
            return found[0]
    watcher = _watcher[0]
    return _changed_call(op, args, kwargs) if watcher is None else watcher(_changed_call, op, args, kwargs)


def _changed_call(op, args, kwargs):
    name = op.__name__
    args = list(args)
    for device in ("cpu", "cuda"):
        dtype = getattr(_state, device, None)
        if dtype is not None:
            if name in LOWER:
                args, kwargs = [_cast(a, dtype, device) for a in args], {k: _cast(v, dtype, device) for k, v in kwargs.items()}
            elif name in FULL:
                args = [_cast(a, _C.float32, device) for a in args]
            elif name in WIDEST:
                found = {t.dtype for t in _tensors(args)}
                if _C.float32 in found and dtype in found:
                    args = [_cast(a, _C.float32, device) for a in args]
    if _device[0] is not None and name in _ON_DEVICE and kwargs.get("device") is None and kwargs.get("out") is None and not any(True for _ in _tensors(args)):
        kwargs = dict(kwargs, device=_device[0])
    default = _default[0]
    if default is _C.float32:
        return _C._plain(op, args, kwargs)
    if kwargs.get("dtype") is None and kwargs.get("out") is None:
        if name in _FACTORIES or (name in _BY_NUMBER and _float_arguments(args, kwargs) and not any(True for _ in _tensors(args))):
            numbers = _float_arguments(args, kwargs)
            kwargs = dict(kwargs, dtype=_complex(default) if any(isinstance(n, complex) for n in numbers) else default)
            return _C._plain(op, args, kwargs)
    result = _C._plain(op, args, kwargs)
    first = result[0] if isinstance(result, tuple) and result and isinstance(result[0], Tensor) else result
    if (isinstance(first, Tensor) and first.dtype in (_C.float32, _C.complex64) and name not in _AS_GIVEN and not name.endswith("_") and
            kwargs.get("dtype") is None and kwargs.get("out") is None and not any(isinstance(a, _C.dtype) for a in args)):
        given = list(_tensors(args)) + list(_tensors(kwargs.values()))
        if given and not any(t.dtype.is_floating_point or t.dtype.is_complex for t in given):
            # integers that became numbers with a point
            wide = lambda x: x.to(default) if isinstance(x, Tensor) and x.dtype is not _C.bool else x
            if all(t.dtype is _C.bool for t in given):
                wide = lambda x: x.to(default) if isinstance(x, Tensor) else x
            return _C._plain(op, [wide(a) for a in args], {k: wide(v) for k, v in kwargs.items()})
    return result


_C.set_hooks({"intercept": intercept})


def disabled_torch_function(cls, func, types, args=(), kwargs=None):
    return NotImplemented
