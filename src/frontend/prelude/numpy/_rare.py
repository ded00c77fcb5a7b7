# SPDX-License-Identifier: Apache-2.0
# numpy._rare - functions of numpy that few modules use while they are built: looked for here when __init__.py lacks a name.
import math

import torch

import numpy as _here
from numpy._along import *
from numpy import _binary, _common, _dtype, _floating, _joined, _number, _sizes, _tensor, _Type, _unary, _wrap, array, asarray, atleast_1d, concatenate, float64, int64, \
    ndarray, ones, stack, transpose, vstack, hstack, zeros

integer, signedinteger, unsignedinteger, floating, number, generic = int, int, int, float, (int, float), (int, float, bool)
uint16, uint32, uint64 = _Type('uint16', torch.uint16, int), _Type('uint32', torch.uint32, int), _Type('uint64', torch.uint64, int)
complex64, complex128 = _Type('complex64', torch.complex64, complex), _Type('complex128', torch.complex128, complex)
single, half, intp, int_, float_, longlong = _Type('float32', torch.float32, float), _Type('float16', torch.float16, float), int64, int64, float64, int64


# ---- making arrays

def copy(x, order='K'):
    return array(x)


def empty(shape, dtype=float64, order='C'):
    return zeros(shape, dtype)


def empty_like(x, dtype=None):
    return zeros(_tensor(x).shape, _tensor(x).dtype if dtype is None else dtype)


def full_like(x, value, dtype=None):
    return array(torch.full_like(_tensor(x), value), dtype=dtype)


def ascontiguousarray(x, dtype=None):
    return array(_tensor(x).contiguous(), dtype=dtype)


asfortranarray = asanyarray = ascontiguousarray


def geomspace(start, stop, num=50, endpoint=True):
    step = (stop / start) ** (1.0 / ((num - 1 if endpoint else num) or 1))
    values = [float(start) * step ** i for i in range(num)]
    if endpoint and num > 1:
        values[num - 1] = float(stop)
    return array(values, dtype=float64) if num else zeros(0)


def fromiter(x, dtype=float64, count=-1):
    return array(list(x), dtype=dtype)


def fromfunction(f, shape, dtype=float64):
    return f(*[array(t, dtype=dtype) for t in torch.meshgrid([torch.arange(n) for n in shape], indexing='ij')])


def tri(n, m=None, k=0, dtype=float64):
    return array(torch.tril(torch.ones(n, n if m is None else m), k), dtype=dtype)


def vander(x, n=None, increasing=False):
    t = torch.linalg.vander(_tensor(x), N=len(_tensor(x)) if n is None else n)
    return ndarray(t if increasing else t.flip(1))


def indices(shape):
    return ndarray(torch.stack(torch.meshgrid([torch.arange(n) for n in shape], indexing='ij')))


class _Grid:
    def __init__(self, joined):
        self.joined = joined

    def _axis(self, s):
        start, step = s.start or 0, 1 if s.step is None else s.step
        if isinstance(step, complex):
            n = int(abs(step.imag))
            return torch.tensor([start + (s.stop - start) * i / ((n - 1) or 1) for i in range(n)], dtype=torch.float64)
        return array([start + i * step for i in range(int(math.ceil((s.stop - start) / step)))])._t

    def __getitem__(self, key):
        if isinstance(key, slice):
            return ndarray(self._axis(key))
        grids = torch.meshgrid([self._axis(s) for s in key], indexing='ij')
        if self.joined:
            return ndarray(_joined(grids, torch.stack))
        return [ndarray(self._axis(s).reshape([-1 if i == k else 1 for i in range(len(key))])) for k, s in enumerate(key)]


mgrid, ogrid = _Grid(True), _Grid(False)


class _Rows:
    def __init__(self, axis):
        self.axis = axis

    def __getitem__(self, key):
        parts = [mgrid[k] if isinstance(k, slice) else atleast_1d(k) for k in (key if isinstance(key, tuple) else (key,))]
        return column_stack(parts) if self.axis else concatenate(parts)


r_, c_ = _Rows(0), _Rows(1)


# Windows of n points; kaiser takes beta.
def _window(n, f):
    return ones(n) if n == 1 else array([f(i, n - 1) for i in range(n)], dtype=float64) if n > 0 else zeros(0)


def hanning(n):
    return _window(n, lambda i, m: 0.5 - 0.5 * math.cos(2 * math.pi * i / m))


def hamming(n):
    return _window(n, lambda i, m: 0.54 - 0.46 * math.cos(2 * math.pi * i / m))


def blackman(n):
    return _window(n, lambda i, m: 0.42 - 0.5 * math.cos(2 * math.pi * i / m) + 0.08 * math.cos(4 * math.pi * i / m))


def bartlett(n):
    return _window(n, lambda i, m: 1.0 - math.fabs(2.0 * i / m - 1.0))


def kaiser(n, beta):
    return ones(n) if n == 1 else ndarray(torch.kaiser_window(n, periodic=False, beta=float(beta), dtype=torch.float64))


# ---- shapes

def tril_indices(n, k=0, m=None):
    return tuple([ndarray(t) for t in torch.tril_indices(n, n if m is None else m, k)])


def triu_indices(n, k=0, m=None):
    return tuple([ndarray(t) for t in torch.triu_indices(n, n if m is None else m, k)])


def diag_indices(n, ndim=2):
    return tuple([ndarray(torch.arange(n)) for _ in range(ndim)])


def flip(x, axis=None):
    t = _tensor(x)
    return ndarray(t.flip(list(range(t.dim())) if axis is None else [axis] if isinstance(axis, int) else list(axis)))


def flipud(x):
    return flip(x, 0)


def fliplr(x):
    return flip(x, 1)


def rot90(x, k=1, axes=(0, 1)):
    return ndarray(torch.rot90(_tensor(x), k, list(axes)))


def repeat(x, repeats, axis=None):
    t = _tensor(x)
    n = repeats if isinstance(repeats, int) else _tensor(repeats)
    return ndarray(torch.repeat_interleave(t.reshape(-1), n, 0) if axis is None else torch.repeat_interleave(t, n, axis))


def broadcast_to(x, shape):
    return ndarray(_tensor(x).expand(_sizes(shape)))


def broadcast_arrays(*xs):
    return [ndarray(t) for t in torch.broadcast_tensors(*[_tensor(x) for x in xs])]


def atleast_3d(x):
    t = _tensor(x)
    return ndarray(t.reshape(1, -1, 1) if t.dim() < 2 else t.unsqueeze(2) if t.dim() == 2 else t)


def column_stack(xs):
    return concatenate([t.unsqueeze(1) if t.dim() == 1 else t for t in [_tensor(x) for x in xs]], 1)


def dstack(xs):
    return concatenate([atleast_3d(x) for x in xs], 2)


def append(x, values, axis=None):
    return concatenate([_tensor(x).reshape(-1), _tensor(values).reshape(-1)]) if axis is None else concatenate([x, values], axis)


def _without(n, obj):
    if isinstance(obj, slice):
        gone = list(range(n))[obj]
    else:
        gone = [int(i) % n for i in _tensor(obj).reshape(-1).tolist()]
    return [i for i in range(n) if i not in gone]


def delete(x, obj, axis=None):
    t = _tensor(x).reshape(-1) if axis is None else _tensor(x)
    a = axis or 0
    return ndarray(t.index_select(a, torch.tensor(_without(t.shape[a], obj), dtype=torch.int64)))


def insert(x, obj, values, axis=None):
    t = _tensor(x).reshape(-1) if axis is None else _tensor(x)
    a = axis or 0
    v = _tensor(values).to(t.dtype)
    v = v.reshape([-1 if i == a else 1 for i in range(t.dim())]) if v.dim() < t.dim() else v
    v = v.expand([v.shape[i] if i == a else t.shape[i] for i in range(t.dim())])
    return ndarray(torch.cat([t.narrow(a, 0, obj), v, t.narrow(a, obj, t.shape[a] - obj)], a))


def array_split(x, parts, axis=0):
    t = _tensor(x)
    return [ndarray(s) for s in torch.tensor_split(t, parts if isinstance(parts, int) else [int(i) for i in parts], axis)]


def split(x, parts, axis=0):
    if isinstance(parts, int) and _tensor(x).shape[axis] % parts:
        raise ValueError('array split does not result in an equal division')
    return array_split(x, parts, axis)


def hsplit(x, parts):
    return split(x, parts, 1 if _tensor(x).dim() > 1 else 0)


def vsplit(x, parts):
    return split(x, parts, 0)


def _pad_widths(width, n):
    if isinstance(width, int):
        return [(width, width)] * n
    w = [tuple(p) if isinstance(p, (list, tuple)) else p for p in width]
    if isinstance(w[0], int):
        return [(w[0], w[-1])] * n
    return [(p[0], p[-1]) for p in (w * n if len(w) == 1 else w)]


def _pad_index(i, n, mode):
    if mode == 'edge':
        return 0 if i < 0 else n - 1 if i >= n else i
    if mode == 'wrap':
        return i % n
    period = 2 * n if mode == 'symmetric' else 2 * n - 2 or 1
    i = i % period
    return i if i < n else period - i - (1 if mode == 'symmetric' else 0)


def pad(x, pad_width, mode='constant', constant_values=0):
    t = _tensor(x)
    widths = _pad_widths(pad_width, t.dim())
    if mode == 'constant':
        flat = []
        for before, after in widths[::-1]:
            flat += [before, after]
        return ndarray(torch.nn.functional.pad(t, flat, value=constant_values))
    if mode not in ('edge', 'wrap', 'reflect', 'symmetric'):
        raise NotImplementedError("numpy.pad with mode '{}' is not supported here".format(mode))
    for a, (before, after) in enumerate(widths):
        n = t.shape[a]
        t = t.index_select(a, torch.tensor([_pad_index(i, n, mode) for i in range(-before, n + after)], dtype=torch.int64))
    return ndarray(t)


def fill_diagonal(a, value, wrap=False):
    a._t.fill_diagonal_(value, wrap)


def diagonal(x, offset=0, axis1=0, axis2=1):
    return ndarray(torch.diagonal(_tensor(x), offset, axis1, axis2))


def trace(x, offset=0):
    return _wrap(torch.diagonal(_tensor(x), offset).sum())


def unravel_index(i, shape):
    rest, out = _tensor(i), []
    for n in list(shape)[::-1]:
        out = [_wrap(rest % n)] + out
        rest = rest // n
    return tuple(out)


def ravel_multi_index(index, shape):
    at = _tensor(index[0])
    for i, n in zip(index[1:], list(shape)[1:]):
        at = at * n + _tensor(i)
    return _wrap(at)


def ndindex(*shape):
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    out = [()]
    for n in sizes:
        out = [i + (k,) for i in out for k in range(n)]
    return iter(out)


def ndenumerate(x):
    t = _tensor(x)
    return iter([(i, _wrap(t[i])) for i in ndindex(tuple(t.shape))])


def ix_(*xs):
    return tuple([ndarray(_tensor(x).reshape([-1 if i == k else 1 for i in range(len(xs))])) for k, x in enumerate(xs)])


# ---- element by element

def arcsin(x):
    return _unary(x, torch.asin)


def arccos(x):
    return _unary(x, torch.acos)


def sinh(x):
    return _unary(x, torch.sinh)


def cosh(x):
    return _unary(x, torch.cosh)


def arcsinh(x):
    return _unary(x, torch.asinh)


def arccosh(x):
    return _unary(x, torch.acosh)


def arctanh(x):
    return _unary(x, torch.atanh)


def expm1(x):
    return _unary(x, torch.expm1)


def exp2(x):
    return _unary(x, torch.exp2)


def cbrt(x):
    return _unary(x, lambda t: t.sign() * t.abs() ** (1.0 / 3.0))


def sinc(x):
    return _unary(x, torch.sinc)


def trunc(x):
    return _unary(x, torch.trunc)


fix = trunc


def fabs(x):
    return _unary(x, torch.abs)


def degrees(x):
    return _unary(x, torch.rad2deg)


rad2deg = degrees


def negative(x):
    return _wrap(-_tensor(x))


def reciprocal(x):
    return _unary(x, torch.reciprocal)


def hypot(a, b):
    return _binary(_floating(a), _floating(b), torch.hypot)


def logaddexp(a, b):
    return _binary(_floating(a), _floating(b), torch.logaddexp)


def heaviside(a, b):
    return _binary(_floating(a), _floating(b), torch.heaviside)


def float_power(a, b):
    return _binary(array(a, dtype=float64), array(b, dtype=float64), lambda x, y: x ** y)


def floor_divide(a, b):
    return _binary(a, b, lambda x, y: x // y)


remainder = lambda a, b: _binary(a, b, lambda x, y: x % y)
true_divide = lambda a, b: _binary(_floating(a), _floating(b), lambda x, y: x / y)


def divmod(a, b):
    return floor_divide(a, b), remainder(a, b)


def isnan(x):
    return _wrap(torch.isnan(_tensor(x)))


def isinf(x):
    return _wrap(torch.isinf(_tensor(x)))


def isfinite(x):
    return _wrap(torch.isfinite(_tensor(x)))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return _wrap(torch.nan_to_num(_tensor(x), nan, posinf, neginf))


def logical_and(a, b):
    return _binary(_tensor(a) != 0, _tensor(b) != 0, lambda x, y: x & y)


def logical_or(a, b):
    return _binary(_tensor(a) != 0, _tensor(b) != 0, lambda x, y: x | y)


def logical_xor(a, b):
    return _binary(_tensor(a) != 0, _tensor(b) != 0, lambda x, y: x ^ y)


def logical_not(x):
    return _wrap(_tensor(x) == 0)


def equal(a, b):
    return _binary(a, b, lambda x, y: x == y)


def not_equal(a, b):
    return _binary(a, b, lambda x, y: x != y)


def greater(a, b):
    return _binary(a, b, lambda x, y: x > y)


def greater_equal(a, b):
    return _binary(a, b, lambda x, y: x >= y)


def less(a, b):
    return _binary(a, b, lambda x, y: x < y)


def less_equal(a, b):
    return _binary(a, b, lambda x, y: x <= y)


def allclose(a, b, rtol=1e-05, atol=1e-08):
    x, y = torch.broadcast_tensors(_floating(a).to(torch.float64), _floating(b).to(torch.float64))
    return torch.allclose(x, y, rtol, atol)


def array_equal(a, b):
    x, y = _tensor(a), _tensor(b)
    return tuple(x.shape) == tuple(y.shape) and bool((x == y).all())


def isscalar(x):
    return isinstance(x, (int, float, complex, bool, str))


def vectorize(f, otypes=None):
    def each(*xs):
        ts = torch.broadcast_tensors(*[_tensor(x) for x in xs])
        values = [f(*row) for row in zip(*[[_number(v) for v in t.reshape(-1).tolist()] for t in ts])]
        return _wrap(array(values)._t.reshape(ts[0].shape))
    return each


# ---- products

def kron(a, b):
    return ndarray(torch.kron(*_common([_tensor(a), _tensor(b)], [False, False])))


def inner(a, b):
    return _binary(asarray(a), asarray(b), torch.inner)


def vdot(a, b):
    return _wrap(torch.dot(*_common([_tensor(a).reshape(-1), _tensor(b).reshape(-1)], [False, False])))


def tensordot(a, b, axes=2):
    dims = axes if isinstance(axes, int) else [[i] if isinstance(i, int) else list(i) for i in axes]
    return _wrap(torch.tensordot(*_common([_tensor(a), _tensor(b)], [False, False]), dims=dims))


def cross(a, b, axis=-1):
    return ndarray(torch.linalg.cross(*_common([_tensor(a), _tensor(b)], [False, False]), dim=axis))


def convolve(a, v, mode='full'):
    x, y = _common([_tensor(a), _tensor(v)], [False, False])
    if len(x) < len(y):
        x, y = y, x
    n, m = len(x), len(y)
    out = torch.zeros(n + m - 1, dtype=x.dtype)
    for i in range(m):
        out[i:i + n] += x * y[i]
    first = (m - 1) // 2
    return ndarray(out if mode == 'full' else out[first:first + n] if mode == 'same' else out[m - 1:n])


def correlate(a, v, mode='valid'):
    return convolve(a, flip(v), mode)


def polyval(p, x):
    y = 0.0
    for c in _tensor(p).tolist():
        y = x * y + c
    return y


def polyfit(x, y, deg):
    t = _floating(x).to(torch.float64)
    a = torch.stack([t ** (deg - i) for i in range(deg + 1)], 1)
    return ndarray(torch.linalg.lstsq(a, _floating(y).to(torch.float64).reshape(len(t), -1)).solution.reshape([-1] if _tensor(y).dim() == 1 else [deg + 1, -1]))


# ---- settings, which change nothing here

class errstate:
    def __init__(self, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


def shape(x):
    return tuple(_tensor(x).shape)


def size(x, axis=None):
    return _tensor(x).numel() if axis is None else _tensor(x).shape[axis]


def bitwise_and(a, b):
    return _binary(a, b, torch.bitwise_and)


def bitwise_or(a, b):
    return _binary(a, b, torch.bitwise_or)


def bitwise_xor(a, b):
    return _binary(a, b, torch.bitwise_xor)


def gcd(a, b):
    return _binary(a, b, torch.gcd)


def lcm(a, b):
    return _binary(a, b, torch.lcm)


def real(x):
    t = _tensor(x)
    return _wrap(t.real if t.is_complex() else t)


def imag(x):
    t = _tensor(x)
    return _wrap(t.imag if t.is_complex() else torch.zeros_like(t))


def conj(x):
    return _wrap(_tensor(x).conj().resolve_conj())


conjugate = conj


def angle(x, deg=False):
    t = _tensor(x)
    return _wrap(torch.angle(t if t.is_complex() else _floating(x)) * (180 / math.pi if deg else 1))


def take_along_axis(x, indices, axis):
    return _wrap(torch.take_along_dim(_tensor(x), _tensor(indices), axis))


def histogram(x, bins=10, range=None, weights=None, density=False):
    t = _floating(x).to(torch.float64).reshape(-1)
    w = None if weights is None else _floating(weights).to(torch.float64).reshape(-1)
    if isinstance(bins, int):
        counts, edges = torch.histogram(t, bins, range=None if range is None else (float(range[0]), float(range[1])), weight=w, density=density)
    else:
        counts, edges = torch.histogram(t, _floating(bins).to(torch.float64), weight=w, density=density)
    return ndarray(counts if density or w is not None else counts.to(torch.int64)), ndarray(edges)


def intersect1d(a, b):
    u = unique(a)
    return u[isin(u, b)]


def setdiff1d(a, b):
    u = unique(a)
    return ndarray(u._t[torch.logical_not(isin(u, b)._t)])


def union1d(a, b):
    return unique(concatenate([_wrap(_tensor(a).reshape(-1)), _wrap(_tensor(b).reshape(-1))]))


def partition(x, kth, axis=-1):
    return ndarray(torch.sort(_tensor(x), axis)[0])


def resize(x, shape):
    t, sizes = _tensor(x).reshape(-1), _sizes(shape)
    n = math.prod(sizes)
    return ndarray(t.repeat(-(-n // t.numel()))[:n].reshape(sizes))


def apply_along_axis(f, axis, x):
    t = _tensor(x).movedim(axis, -1)
    made = torch.stack([_tensor(f(ndarray(row))) for row in t.reshape(-1, t.shape[-1])])
    y = made.reshape(list(t.shape[:-1]) + list(made.shape[1:]))
    return _wrap(y.movedim(-1, axis) if made.dim() > 1 else y)


def issubdtype(d, kind):
    t = zeros(0, d)._t
    of = float if t.is_floating_point() else complex if t.is_complex() else bool if t.dtype == torch.bool else int
    return of in kind if isinstance(kind, tuple) else of is kind or (kind not in (int, float, bool, complex) and _dtype(kind) == t.dtype)


def seterr(**kwargs):
    return {}


def set_printoptions(*args, **kwargs):
    return None


class finfo:
    def __init__(self, dtype):
        i = torch.finfo(_dtype(dtype))
        self.eps, self.max, self.min, self.tiny, self.smallest_normal, self.bits = i.eps, i.max, i.min, i.tiny, i.tiny, i.bits


class iinfo:
    def __init__(self, dtype):
        i = torch.iinfo(_dtype(dtype))
        self.max, self.min, self.bits = i.max, i.min, i.bits


def dtype(d):
    return [t for t in (float64, int64, uint16, uint32, uint64, complex64, complex128) if t.dtype == _dtype(d)][0] if _dtype(d) in (
        torch.float64, torch.int64, torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.complex128) else zeros(0, d).dtype


def result_type(*xs):
    if not [x for x in xs if isinstance(x, (ndarray, int, float, list, tuple))]:
        d = _dtype(xs[0])
        for x in xs[1:]:
            d = _promoted(d, _dtype(x))
        return dtype(d)
    t = _common([_tensor(x) for x in xs], [not isinstance(x, ndarray) for x in xs])[0]
    return dtype(t.dtype)


# ---- numbers

around = _here.round
fmod = lambda a, b: _binary(a, b, torch.fmod)
fmax = lambda a, b: _binary(a, b, torch.fmax)
fmin = lambda a, b: _binary(a, b, torch.fmin)
left_shift = lambda a, b: _binary(a, b, lambda x, y: x << y)
right_shift = lambda a, b: _binary(a, b, lambda x, y: x >> y)
copysign = lambda a, b: _binary(_floating(a), _floating(b), torch.copysign)
nextafter = lambda a, b: _binary(_floating(a), _floating(b), torch.nextafter)
ldexp = lambda a, b: _binary(_floating(a), b, torch.ldexp)


def invert(x):
    return _wrap(~_tensor(x))


bitwise_not = invert


def spacing(x):
    t = _floating(x)
    return _wrap(torch.nextafter(t.abs(), torch.full_like(t, math.inf)) - t.abs())


def frexp(x):
    mantissa, exponent = torch.frexp(_floating(x))
    return _wrap(mantissa), _wrap(exponent)


def modf(x):
    t = _floating(x)
    return _wrap(torch.frac(t)), _wrap(torch.trunc(t))


def i0(x):
    return _unary(x, torch.special.i0)


def signbit(x):
    return _wrap(torch.signbit(_tensor(x)))


def isposinf(x):
    return _wrap(torch.isposinf(_tensor(x)))


def isneginf(x):
    return _wrap(torch.isneginf(_tensor(x)))


def isreal(x):
    return _wrap(torch.isreal(_tensor(x)))


def iscomplex(x):
    return _wrap(~torch.isreal(_tensor(x)))


def iscomplexobj(x):
    return _tensor(x).is_complex()


def isrealobj(x):
    return not _tensor(x).is_complex()


def unwrap(x, discont=None, axis=-1, period=2 * math.pi):
    t = _floating(x)
    step = torch.diff(t, dim=axis)
    turned = torch.remainder(step + period / 2, period) - period / 2
    turned = torch.where((turned == -period / 2) & (step > 0), period / 2, turned)
    shift = torch.where(step.abs() < (period / 2 if discont is None else discont), 0.0, turned - step)
    first = t.narrow(axis, 0, 1)
    return ndarray(t + torch.cat([torch.zeros_like(first), torch.cumsum(shift, axis)], axis))


# ---- shapes, and what is picked

def ediff1d(x):
    t = _tensor(x).reshape(-1)
    return ndarray(t[1:] - t[:-1])


def broadcast_shapes(*shapes):
    return tuple(torch.broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def concat(xs, axis=0):
    return concatenate(xs, axis)


def permute_dims(x, axes=None):
    return transpose(x, axes)


def matrix_transpose(x):
    return ndarray(_tensor(x).mT)


def rollaxis(x, axis, start=0):
    n = _tensor(x).dim()
    axis, start = axis % n, start + n if start < 0 else start
    return ndarray(torch.movedim(_tensor(x), axis, start - 1 if start > axis else start))


def block(rows):
    if not isinstance(rows, list):
        return asarray(rows)
    nested = isinstance(rows[0], list)
    parts = [block(r) for r in rows] if nested else [asarray(r) for r in rows]
    return vstack(parts) if nested else hstack(parts) if parts[0].ndim < 2 else concatenate(parts, parts[0].ndim - 1)


def astype(x, dtype, copy=True):
    return array(x, dtype=dtype)


def require(x, dtype=None, requirements=None):
    return asarray(x, dtype)


def trim_zeros(x, trim='fb'):
    t = _tensor(x)
    at = torch.nonzero(t != 0).reshape(-1).tolist()
    first = at[0] if at and 'f' in trim.lower() else 0 if at else len(t)
    last = at[-1] + 1 if at and 'b' in trim.lower() else len(t)
    return ndarray(t[first:last])


def triu_indices_from(x, k=0):
    return triu_indices(x.shape[0], k, x.shape[1])


def tril_indices_from(x, k=0):
    return tril_indices(x.shape[0], k, x.shape[1])


def mask_indices(n, f, k=0):
    return nonzero(f(ones((n, n)), k))


class _Slices:
    def __getitem__(self, key):
        return key


s_ = index_exp = _Slices()


def choose(index, choices):
    ts = _common(torch.broadcast_tensors(_tensor(index), *[_tensor(c) for c in choices]), [False] * (len(choices) + 1))
    return _wrap(torch.stack(ts[1:]).gather(0, ts[0].to(torch.int64).unsqueeze(0))[0])


def select(conditions, choices, default=0):
    ts = [_tensor(c) for c in choices] + [_tensor(default)]
    ts = _common(ts, [False] * len(choices) + [True])
    out = ts[-1]
    for c, t in list(zip(conditions, ts))[::-1]:
        out = torch.where(_tensor(c), t, out)
    return _wrap(out)


def piecewise(x, conditions, functions):
    given = len(functions) > len(conditions)
    out = torch.zeros_like(_tensor(x))
    rest = torch.ones_like(out, dtype=torch.bool)
    for c in conditions:
        rest = rest & ~_tensor(c)
    for c, f in zip([_tensor(c) for c in conditions] + ([rest] if given else []), functions):
        out[c] = _tensor(f(ndarray(_tensor(x)[c])) if callable(f) else f).to(out.dtype)
    return ndarray(out)


def copyto(x, value, where=True):
    x._t.copy_(torch.where(_tensor(where), _tensor(value).to(x._t.dtype), x._t))


def put_along_axis(x, indices, values, axis):
    i = _tensor(indices)
    x._t.scatter_(axis, i, _tensor(values).to(x._t.dtype).expand(i.shape))


def lexsort(keys, axis=-1):
    keys = [_tensor(k) for k in keys]
    order = torch.argsort(keys[0], stable=True)
    for k in keys[1:]:
        order = order[torch.argsort(k[order], stable=True)]
    return ndarray(order)


def argpartition(x, kth, axis=-1):
    return argsort(x, axis)


# ---- types

def _promoted(x, y):
    d = torch.promote_types(x, y)
    bits = [torch.iinfo(t).bits for t in (x, y) if not t.is_floating_point and not t.is_complex and t != torch.bool]
    wide = torch.float64 if bits and bits[0] > 16 else torch.float32 if bits and bits[0] > 8 else d
    return torch.promote_types(d, wide) if d.is_floating_point else d


def promote_types(a, b):
    return dtype(_promoted(_dtype(a), _dtype(b)))


def can_cast(a, to, casting='safe'):
    return _promoted(_dtype(a), _dtype(to)) == _dtype(to)
