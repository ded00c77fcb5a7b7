# SPDX-License-Identifier: Apache-2.0
"""array_api.py - the namespace of the array API standard (2024.12): what Tensor.__array_namespace__() gives.

Its functions are ctsc's, with the standard's names, keywords, defaults and dtypes. What PyTorch's operators do otherwise is put right here: 0-dim tensors take part
in promotion, sums of small integers are int64, shifts and roots keep their dtypes. Unsigned integers beyond uint8 there are none. Operators of Tensor (x + y) are PyTorch's.
"""
import builtins
import math
from collections import namedtuple

from . import _C
from . import _functions as _f
from ._types import Size, device as _device

Tensor = _C.Tensor
_op = _C._operator
_int = builtins.int

__array_api_version__ = "2024.12"
uint8, int8, int16, int32, int64 = _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64
float32, float64, complex64, complex128, bool = _C.float32, _C.float64, _C.complex64, _C.complex128, _C.bool
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
from_dlpack = _f.from_dlpack

_SIGNED, _UNSIGNED, _REAL, _COMPLEX = (int8, int16, int32, int64), (uint8,), (float32, float64), (complex64, complex128)
_INTEGRAL = _SIGNED + _UNSIGNED
_ALL = (bool,) + _INTEGRAL + _REAL + _COMPLEX


# ---- dtypes


def finfo(type, /):
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = _f.finfo(dtype)
    info.dtype = {complex64: float32, complex128: float64}.get(dtype, dtype)
    return info


def iinfo(type, /):
    dtype = type.dtype if isinstance(type, Tensor) else type
    info = _f.iinfo(dtype)
    info.dtype = dtype
    return info


_kinds = {"bool": (bool,), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED, "integral": _INTEGRAL, "real floating": _REAL, "complex floating": _COMPLEX,
          "numeric": _INTEGRAL + _REAL + _COMPLEX}


def isdtype(dtype, kind):
    if isinstance(kind, str):
        if kind not in _kinds:
            raise ValueError("unrecognized data type kind: %r" % kind)
        return dtype in _kinds[kind]
    if isinstance(kind, tuple):
        return any_of(isdtype(dtype, k) for k in kind)
    return dtype is kind


any_of = builtins.any


def _promoted(a, b):
    if a is b:
        return a
    return _f.result_type(_op("empty")([1], dtype=a), _op("empty")([1], dtype=b))


def result_type(*arrays_and_dtypes):
    """Of arrays, dtypes, and numbers of Python's, which have the dtype of the others."""
    dtypes, numbers = [], []
    for x in arrays_and_dtypes:
        if isinstance(x, Tensor):
            dtypes.append(x.dtype)
        elif isinstance(x, _C.dtype):
            dtypes.append(x)
        else:
            numbers.append(x)
    if not dtypes:
        raise ValueError("at least one array or dtype is required")
    found = dtypes[0]
    for d in dtypes[1:]:
        found = _promoted(found, d)
    for n in numbers:
        if isinstance(n, complex) and found in _REAL:
            found = _promoted(found, complex64)
        elif isinstance(n, float) and found in _INTEGRAL + (bool,):
            found = float32
    return found


def can_cast(from_, to, /):
    source = from_.dtype if isinstance(from_, Tensor) else from_
    return _promoted(source, to) is to


def astype(x, dtype, /, *, copy=True, device=None):
    return (x.real if x.dtype.is_complex and not dtype.is_complex else x).to(dtype=dtype, device=device, copy=copy)


def __array_namespace_info__():
    return _Info()


class _Info:
    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        return _device("cpu")

    def devices(self):
        return [_device("cpu")] + [_device("cuda", i) for i in range(_C.cuda_device_count())]

    def default_dtypes(self, *, device=None):
        return {"real floating": float32, "complex floating": complex64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        return {d.name: d for d in _ALL if kind is None or isdtype(d, kind)}


# ---- creation


def _shape(shape):
    return [shape] if isinstance(shape, _int) else list(shape)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    if isinstance(obj, Tensor):
        t = obj if dtype is None or obj.dtype is dtype else None
        if t is None and copy is False:
            raise ValueError("a copy is needed for another dtype")
        t = obj.to(dtype=dtype, device=device, copy=builtins.bool(copy)) if t is None or device is not None else t
        return t.clone() if copy and t is obj else t
    if copy is False and not hasattr(obj, "__dlpack__") and not hasattr(obj, "__array_interface__"):
        raise ValueError("numbers cannot be taken without a copy")
    t = _f.tensor(obj, dtype=dtype, device=device) if copy or not (hasattr(obj, "__dlpack__") or hasattr(obj, "__array_interface__")) else _f.as_tensor(obj, dtype, device)
    return t


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    start, stop = (0, start) if stop is None else (start, stop)
    if step > 0 and stop <= start or step < 0 and stop >= start:
        if dtype is None:
            dtype = int64 if all_of(isinstance(v, _int) for v in (start, stop, step)) else float32
        return _op("empty")([0], dtype=dtype, device=device)
    if step < 0: # the operator counts upwards only
        n = _int(math.ceil((stop - start) / step))
        made = dtype or (int64 if all_of(isinstance(v, _int) for v in (start, stop, step)) else float32)
        return (_op("arange")(0, n, 1, dtype=made if made.is_floating_point else int64) * step + start).to(made)
    return _op("arange")(start, stop, step, dtype=dtype, device=device)


all_of = builtins.all


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    if not endpoint:
        return _op("linspace")(start, stop, num + 1, dtype=dtype, device=device)[:-1]
    if isinstance(start, complex) or isinstance(stop, complex) or (dtype is not None and dtype.is_complex):
        parts = [_op("linspace")(complex(start).real, complex(stop).real, num, dtype=float64), _op("linspace")(complex(start).imag, complex(stop).imag, num, dtype=float64)]
        return _op("complex")(*parts).to(dtype or complex64)
    return _op("linspace")(start, stop, num, dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    return _op("empty")(_shape(shape), dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    return _op("zeros")(_shape(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    return _op("ones")(_shape(shape), dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    return _f.full(_shape(shape), fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    return _op("empty_like")(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    return _op("zeros_like")(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    return _op("ones_like")(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return _op("full_like")(x, fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    n_cols = n_rows if n_cols is None else n_cols
    z = zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        z.diagonal(k).fill_(1)
    return z


def tril(x, /, *, k=0):
    return _op("tril")(x, k)


def triu(x, /, *, k=0):
    return _op("triu")(x, k)


def meshgrid(*arrays, indexing="xy"):
    return list(_f.meshgrid(*arrays, indexing=indexing))


# ---- element by element


def _unary(name, call=None, same=False):
    call = call or _op(name)

    def function(x, /):
        if same and x.dtype in _INTEGRAL:
            return x.clone()
        return call(x)
    function.__name__ = name
    return function


def _pair(x1, x2):
    """Both as arrays of their common dtype."""
    dtype = result_type(x1, x2)
    return [x.to(dtype) if isinstance(x, Tensor) else full((), x, dtype=dtype) for x in (x1, x2)]


def _binary(name, call=None):
    call = call or _op(name)

    def function(x1, x2, /):
        return call(*_pair(x1, x2))
    function.__name__ = name
    return function


for _name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not",
              "reciprocal", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "real", "positive", "imag"):
    globals()[_name] = _unary(_name)
for _name in ("ceil", "floor", "trunc", "round"):
    globals()[_name] = _unary(_name, same=True)
for _name, _call in (("conj", lambda x: _op("conj_physical")(x)), ("negative", _op("neg")), ("bitwise_invert", _op("bitwise_not"))):
    globals()[_name] = _unary(_name, _call)
for _name in ("add", "atan2", "copysign", "divide", "hypot", "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "subtract",
              "bitwise_and", "bitwise_or", "bitwise_xor"):
    globals()[_name] = _binary(_name)
for _name, _call in (("equal", "eq"), ("not_equal", "ne"), ("less", "lt"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge")):
    globals()[_name] = _binary(_name, _op(_call))
real, positive = (lambda x, /: x.real), (lambda x, /: x.clone())
imag = lambda x, /: x.imag


def _complex_expm1(x):
    """Without the difference of near numbers: e^a cos b - 1 = expm1(a) cos b - 2 sin(b / 2)^2."""
    a, b = x.real, x.imag
    return _op("complex")(expm1(a) * cos(b) - 2 * sin(b / 2) ** 2, exp(a) * sin(b))


def _complex_log1p(x):
    a, b = x.real, x.imag
    return _op("complex")(log1p(a * (2 + a) + b * b) / 2, atan2(b, 1 + a))


def _or_complex(call, of_complex):
    return lambda x, /: of_complex(x) if x.dtype.is_complex else call(x)


expm1, log1p = _or_complex(expm1, _complex_expm1), _or_complex(log1p, _complex_log1p)


def abs(x, /):
    return _op("abs")(x)


def sign(x, /):
    if x.dtype.is_complex:
        return _op("sgn")(x)
    result = _op("sign")(x)
    return _f.where(isnan(x), x, result) if x.dtype.is_floating_point else result


def signbit(x, /):
    return _op("signbit")(x)


def pow(x1, x2, /):
    return _op("pow")(*_pair(x1, x2))


def floor_divide(x1, x2, /):
    x1, x2 = _pair(x1, x2)
    result = _op("floor_divide")(x1, x2)
    return _f.where(isinf(x1) | isinf(x2), floor(x1 / x2), result) if x1.dtype.is_floating_point else result


def remainder(x1, x2, /):
    x1, x2 = _pair(x1, x2)
    result = _op("remainder")(x1, x2)
    return _f.where(result == 0, copysign(result, x2), result) if x1.dtype.is_floating_point else result


def bitwise_left_shift(x1, x2, /):
    x1, x2 = _pair(x1, x2)
    return _op("aten::__lshift__")(x1, x2)


def bitwise_right_shift(x1, x2, /):
    x1, x2 = _pair(x1, x2)
    return _op("aten::__rshift__")(x1, x2)


def clip(x, /, min=None, max=None):
    for bound, call in ((min, _op("maximum")), (max, _op("minimum"))):
        if bound is not None:
            bound = bound.to(x.dtype) if isinstance(bound, Tensor) else full((), bound, dtype=x.dtype)
            x = call(x, bound)
    return x.clone() if min is None and max is None else x


# ---- statistics


def _axes(axis, ndim):
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim if -ndim <= a < ndim else a for a in ((axis,) if isinstance(axis, _int) else axis))


def _kept(result, x, axis, keepdims):
    return result.reshape([1] * x.ndim) if keepdims and axis is None else result


def _one_by_one(call, x, axis, keepdims):
    """A reduction over several axes by one that takes one."""
    axes = sorted(_axes(axis, x.ndim))
    if not axes and x.ndim:
        return x.clone()
    if not x.ndim:
        return call(x.reshape([1]), 0, False)
    for a in reversed(axes):
        x = call(x, a, True)
    return x if keepdims else x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _sum_dtype(x, dtype):
    if dtype is not None:
        return dtype
    return int64 if x.dtype in _INTEGRAL + (bool,) else x.dtype


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    x = x.to(_sum_dtype(x, dtype))
    axes = _axes(axis, x.ndim)
    return x.clone() if not axes else _op("sum")(x, axes, keepdims, dtype=x.dtype)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    return _one_by_one(lambda v, a, keep: _op("prod")(v, a, keep, dtype=v.dtype), x.to(_sum_dtype(x, dtype)), axis, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    axes = _axes(axis, x.ndim)
    return x.clone() if not axes else _op("amax")(x, axes, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    axes = _axes(axis, x.ndim)
    return x.clone() if not axes else _op("amin")(x, axes, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    axes = _axes(axis, x.ndim)
    return x.clone() if not axes else _op("mean")(x, axes, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    axes = _axes(axis, x.ndim)
    if not axes:
        return x - x # NaN of NaN and infinities
    n = math.prod(x.shape[a] for a in axes) if x.ndim else 1
    d = x - _op("mean")(x, axes, True)
    total = _op("sum")(d * d, axes, keepdims)
    return total / (n - correction) if n != correction else total / 0.0


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return _op("sqrt")(var(x, axis=axis, correction=correction, keepdims=keepdims))


def all(x, /, *, axis=None, keepdims=False):
    return _one_by_one(lambda v, a, keep: _op("all")(v, a, keep), x.to(bool), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    return _one_by_one(lambda v, a, keep: _op("any")(v, a, keep), x.to(bool), axis, keepdims)


def _scan(name):
    call = _op(name)

    def function(x, /, *, axis=None, dtype=None, include_initial=False):
        if axis is None:
            if x.ndim > 1:
                raise ValueError("axis must be given for arrays with more than one dimension")
            axis = 0
        x = x.reshape([1]) if x.ndim == 0 else x
        dtype = _sum_dtype(x, dtype)
        result = call(x.to(dtype), axis, dtype=dtype)
        if include_initial:
            shape = list(result.shape)
            shape[axis] = 1
            first = full(shape, 0 if name == "cumsum" else 1, dtype=result.dtype)
            result = concat([first, result], axis=axis)
        return result
    return function


cumulative_sum, cumulative_prod = _scan("cumsum"), _scan("cumprod")


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return sum(x != 0, axis=axis, keepdims=keepdims)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    parts = [p for p in (prepend, x, append) if p is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        m = x.shape[axis]
        x = _op("sub")(x.narrow(axis, 1, m - 1), x.narrow(axis, 0, m - 1)) if x.dtype is not bool else x.narrow(axis, 1, m - 1) ^ x.narrow(axis, 0, m - 1)
    return x


# ---- searching, sorting, sets


def argmax(x, /, *, axis=None, keepdims=False):
    r = _op("argmax")(x.reshape(-1) if axis is None else x, 0 if axis is None else axis, keepdims and axis is not None)
    return _kept(r, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    r = _op("argmin")(x.reshape(-1) if axis is None else x, 0 if axis is None else axis, keepdims and axis is not None)
    return _kept(r, x, axis, keepdims)


def nonzero(x, /):
    if x.ndim == 0:
        raise ValueError("nonzero() does not support zero-dimensional arrays")
    return _f.nonzero(x, as_tuple=True)


def where(condition, x1, x2, /):
    dtype = result_type(x1, x2)
    x1, x2 = (x.to(dtype) if isinstance(x, Tensor) else full((), x, dtype=dtype) for x in (x1, x2))
    return _f.where(condition, x1, x2)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    if sorter is not None:
        x1 = x1[sorter]
    dtype = result_type(x1, x2)
    return _op("searchsorted")(x1.to(dtype).contiguous(), x2.to(dtype).contiguous(), right=side == "right")


def sort(x, /, *, axis=-1, descending=False, stable=True):
    return _op("aten::sort.stable")(x, stable=stable, dim=axis, descending=descending)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    return _op("aten::sort.stable")(x, stable=stable, dim=axis, descending=descending)[1]


UniqueAll = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCountsResult", "values counts")
UniqueInverse = namedtuple("UniqueInverseResult", "values inverse_indices")


def _unique(x):
    """(values, inverse, counts); complex numbers in the order of their parts."""
    if not x.dtype.is_complex:
        return _f.unique(x, True, True, True)
    pairs, inverse, counts = _op("unique_dim")(_op("view_as_real")(x.reshape(-1).contiguous()), 0, True, True, True)
    return _op("view_as_complex")(pairs.contiguous()), inverse.reshape(x.shape), counts


def unique_all(x, /):
    values, inverse, counts = _unique(x)
    order = argsort(inverse.reshape(-1))
    starts = cumulative_sum(counts, axis=0) - counts
    indices = order[starts] if values.numel() else starts
    return UniqueAll(values, indices, inverse, counts)


def unique_counts(x, /):
    values, inverse, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    return UniqueInverse(*_unique(x)[:2])


def unique_values(x, /):
    return _unique(x)[0]


# ---- shapes


def broadcast_to(x, /, shape):
    return x.expand(tuple(shape))


def broadcast_arrays(*arrays):
    return list(_f.broadcast_tensors(*arrays))


def broadcast_shapes(*shapes):
    return tuple(_f.broadcast_shapes(*shapes))


def concat(arrays, /, *, axis=0):
    dtype = result_type(*arrays)
    arrays = [a.to(dtype) for a in arrays]
    return _op("cat")([a.reshape(-1) for a in arrays] if axis is None else arrays, 0 if axis is None else axis)


def stack(arrays, /, *, axis=0):
    dtype = result_type(*arrays)
    return _op("stack")([a.to(dtype) for a in arrays], axis)


def unstack(x, /, *, axis=0):
    return tuple(_op("unbind")(x, axis))


def expand_dims(x, /, axis=0):
    axes = (axis,) if isinstance(axis, _int) else tuple(axis)
    ndim = x.ndim + len(axes)
    for a in axes:
        if not -ndim <= a < ndim:
            raise IndexError("axis %d is out of bounds for %d dimensions" % (a, ndim))
    for a in sorted(a % ndim for a in axes):
        x = x.unsqueeze(a)
    return x


def squeeze(x, /, axis):
    axes = _axes(axis, x.ndim)
    if any_of(x.shape[a] != 1 for a in axes):
        raise ValueError("squeezed dimensions must have size 1")
    return x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def flip(x, /, *, axis=None):
    return _op("flip")(x, _axes(axis, x.ndim))


def moveaxis(x, source, destination, /):
    return _op("movedim")(x, source, destination) if x.ndim else x


def matrix_transpose(x, /):
    if x.ndim < 2:
        raise ValueError("matrix_transpose needs two dimensions")
    return x.transpose(-1, -2)


def permute_dims(x, /, axes):
    return x.permute(tuple(axes))


def reshape(x, /, shape, *, copy=None):
    if copy is False:
        return x.view(tuple(shape))
    return x.clone().reshape(tuple(shape)) if copy else x.reshape(tuple(shape))


def roll(x, /, shift, *, axis=None):
    return _op("roll")(x, shift, [] if axis is None else axis)


def repeat(x, repeats, /, *, axis=None):
    if axis is None:
        x, axis = x.reshape(-1), 0
    if not isinstance(repeats, Tensor):
        return _op("repeat_interleave")(x, repeats, axis)
    return _op("repeat_interleave")(x, repeats.to(int64).expand(x.shape[axis]).contiguous(), axis)


def tile(x, repetitions, /):
    return _op("tile")(x, tuple(repetitions))


def take(x, indices, /, *, axis=None):
    return _op("index_select")(x, 0 if axis is None else axis, indices)


def take_along_axis(x, indices, /, *, axis=-1):
    indices = indices.to(int64)
    return _op("take_along_dim")(x, _f.where(indices < 0, indices + x.shape[axis], indices), axis)


# ---- matrices


def matmul(x1, x2, /):
    return _op("matmul")(*_pair(x1, x2))


def tensordot(x1, x2, /, *, axes=2):
    x1, x2 = _pair(x1, x2)
    a, b = (list(range(x1.ndim - axes, x1.ndim)), list(range(axes))) if isinstance(axes, _int) else (list(axes[0]), list(axes[1]))
    return _op("tensordot")(x1, x2, a, b)


def vecdot(x1, x2, /, *, axis=-1):
    x1, x2 = _pair(x1, x2)
    x1, x2 = _f.broadcast_tensors(x1, x2)
    if x1.dtype.is_complex:
        x1 = conj(x1)
    return _op("sum")(x1 * x2, axis).to(x1.dtype)


class _Part:
    """linalg, fft: functions of these names."""

    def __init__(self, name, functions):
        self.__name__, self.__all__ = name, sorted(functions)
        self.__dict__.update(functions)


_EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
_QRResult = namedtuple("QRResult", "Q R")
_SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
_SVDResult = namedtuple("SVDResult", "U S Vh")


def _linalg():
    def call(name):
        return _op("linalg_" + name)

    def cross(x1, x2, /, *, axis=-1):
        x1, x2 = _f.broadcast_tensors(*_pair(x1, x2))
        return call("cross")(x1, x2, dim=axis)

    def svdvals(x, /):
        if x.dtype not in (complex64, complex128):
            return call("svdvals")(x)
        # Of B + iC those of the real matrix [[B, -C], [C, B]], which has each twice.
        b, c = x.real, x.imag
        both = _op("cat")([_op("cat")([b, -c], -1), _op("cat")([c, b], -1)], -2)
        return call("svdvals")(both)[..., ::2]

    def matrix_norm(x, /, *, keepdims=False, ord="fro"):
        if ord in (2, -2, "nuc") and x.dtype in (complex64, complex128):
            s = svdvals(x)
            found = _op("sum")(s, -1) if ord == "nuc" else _op("amax" if ord == 2 else "amin")(s, (-1,))
            return found[..., None, None] if keepdims else found
        return call("matrix_norm")(x, ord, (-2, -1), keepdims)

    def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
        axes = _axes(axis, x.ndim)
        if not axes: # of each element
            return (x != 0).to(float64 if x.dtype in (float64, complex128) else float32) if ord == 0 else _op("abs")(x)
        return call("vector_norm")(x, ord, axes, keepdims)

    def svd(x, /, *, full_matrices=True):
        return _SVDResult(*call("svd")(x, full_matrices))

    def matrix_rank(x, /, *, rtol=None):
        s = svdvals(x)
        rtol = math_max(x.shape[-2:]) * finfo(s.dtype).eps if rtol is None else rtol
        limit = _op("amax")(s, (-1,), True) * (rtol.unsqueeze(-1) if isinstance(rtol, Tensor) else rtol)
        return _op("sum")(s > limit, -1)

    def pinv(x, /, *, rtol=None):
        return call("pinv")(x) if rtol is None else call("pinv")(x, rtol=rtol)

    def solve(x1, x2, /):
        x1, x2 = _pair(x1, x2)
        if x2.ndim != 1: # a stack of matrices, whatever its sizes
            batch = _f.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
            return call("solve")(x1.expand(tuple(batch) + tuple(x1.shape[-2:])), x2.expand(tuple(batch) + tuple(x2.shape[-2:])))
        return call("solve")(x1, x2.unsqueeze(-1)).squeeze(-1)

    def trace(x, /, *, offset=0, dtype=None):
        return sum(_op("diagonal")(x, offset, -2, -1), axis=-1, dtype=dtype)

    def cholesky(x, /, *, upper=False):
        low = call("cholesky")(x)
        return conj(matrix_transpose(low)).clone() if upper else low

    def qr(x, /, *, mode="reduced"):
        return _QRResult(*call("qr")(x, mode))
    return _Part("linalg", {
        "cholesky": cholesky, "cross": cross, "det": lambda x, /: call("det")(x), "diagonal": lambda x, /, *, offset=0: _op("diagonal")(x, offset, -2, -1),
        "eigh": lambda x, /: _EighResult(*call("eigh")(x)), "eigvalsh": lambda x, /: call("eigvalsh")(x), "inv": lambda x, /: call("inv")(x), "matmul": matmul,
        "matrix_norm": matrix_norm, "matrix_power": lambda x, n, /: call("matrix_power")(x, n), "matrix_rank": matrix_rank, "matrix_transpose": matrix_transpose,
        "outer": lambda x1, x2, /: multiply(x1.reshape([-1, 1]), x2.reshape([1, -1])), "pinv": pinv, "qr": qr, "slogdet": lambda x, /: _SlogdetResult(*call("slogdet")(x)),
        "solve": solve, "svd": svd, "svdvals": svdvals, "tensordot": tensordot, "trace": trace, "vecdot": vecdot, "vector_norm": vector_norm})


math_max = builtins.max


def _fft():
    def one(name):
        def function(x, /, *, n=None, axis=-1, norm="backward"):
            return _op("fft_" + name)(x, n, axis, norm)
        return function

    def many(name):
        def function(x, /, *, s=None, axes=None, norm="backward"):
            return _op("fft_" + name)(x, s, axes, norm)
        return function

    def freq(name):
        def function(n, /, *, d=1.0, dtype=None, device=None):
            return _op("fft_" + name)(n, d, dtype=dtype, device=device)
        return function

    def shift(name):
        def function(x, /, *, axes=None):
            return _op("fft_" + name)(x, axes)
        return function
    found = {n: one(n) for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
    found.update({n: many(n) for n in ("fftn", "ifftn", "rfftn", "irfftn")})
    found.update({n: freq(n) for n in ("fftfreq", "rfftfreq")})
    found.update({n: shift(n) for n in ("fftshift", "ifftshift")})
    return _Part("fft", found)


linalg, fft = _linalg(), _fft()
del _name, _call
