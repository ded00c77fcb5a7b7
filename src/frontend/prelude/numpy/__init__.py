# SPDX-License-Identifier: Apache-2.0
# numpy - as much of it as modules use while they are built: sizes, schedules, tables of constants. An array is a tensor on the
# CPU with numpy's rules for types: Python's numbers are int64 and float64. What is not here is refused when it is called.
import math

import numpy as _here
import torch

pi, e, euler_gamma = 3.141592653589793, 2.718281828459045, 0.5772156649015329
inf, nan, newaxis = float('inf'), float('nan'), None


class _Type:
    def __init__(self, name, dtype, make):
        self.name, self.dtype, self.make = name, dtype, make

    def __call__(self, value=0):
        return self.make(value) if isinstance(value, (bool, int, float, str)) else array(value, dtype=self)

    def __repr__(self):
        return "<class 'numpy.{}'>".format(self.name)


float16, float32 = _Type('float16', torch.float16, float), _Type('float32', torch.float32, float)
float64, double = _Type('float64', torch.float64, float), _Type('float64', torch.float64, float)
int8, int16 = _Type('int8', torch.int8, int), _Type('int16', torch.int16, int)
int32, int64 = _Type('int32', torch.int32, int), _Type('int64', torch.int64, int)
uint8, bool_ = _Type('uint8', torch.uint8, int), _Type('bool_', torch.bool, bool)
_names = {'float16': float16, 'float32': float32, 'float64': float64, 'int8': int8, 'int16': int16, 'int32': int32,
          'int64': int64, 'uint8': uint8, 'bool': bool_, 'float': float64, 'int': int64}


def _dtype(d):
    if isinstance(d, str):
        d = _names[d]
    if isinstance(d, _Type):
        return d.dtype
    return torch.float64 if d is float else torch.int64 if d is int else torch.bool if d is bool else d


def _nested(x):
    """Does x hold more than numbers?"""
    return bool({type(i) for i in x} - {int, float, bool, _Float, _Int})


def _plain(x):
    if not isinstance(x, (list, tuple, range)):
        return x
    return [_plain(i) for i in x] if _nested(x) else list(x)


def _has_array(x):
    return isinstance(x, (list, tuple)) and _nested(x) and True in [isinstance(i, ndarray) or _has_array(i) for i in x]


def _tensor(x):
    if isinstance(x, ndarray):
        return x._t
    if isinstance(x, torch.Tensor):
        return x
    if _has_array(x):
        return _joined([_tensor(i) for i in x], torch.stack)
    t = torch.tensor(_plain(x))
    return torch.tensor(_plain(x), dtype=torch.float64) if t.is_floating_point() else t


def _common(tensors, loose):
    """One dtype for all: numbers of the program (loose) do not widen arrays of floats, but make float64 of ints."""
    arrays = [t for t, l in zip(tensors, loose) if not l]
    floats = [t.dtype for t in arrays if t.is_floating_point()]
    if True in [t.is_floating_point() for t in tensors]:
        ints = [t for t in arrays if not t.is_floating_point()]
        d = torch.float64 if not floats or ints or torch.float64 in floats else floats[0]
        return [t.to(d) for t in tensors]
    return tensors


def _joined(tensors, join):
    return join(_common(tensors, [False] * len(tensors)))


def _number(v):
    return v if isinstance(v, bool) or v is NotImplemented else _Int(v) if type(v) is int else _Float(v) if type(v) is float else v


def _wrap(t):
    return _number(t.item()) if t.dim() == 0 else ndarray(t)


class _Number:
    """What numpy's numbers have beyond Python's, which they are; sums of them are numbers of numpy's again."""
    shape, ndim, size = (), 0, 1

    def astype(self, dtype):
        return _number(array(self.item(), dtype=dtype)._t.item())

    def tolist(self):
        return self.item()

    def __add__(self, o):
        return _number(self.item() + o)

    def __radd__(self, o):
        return _number(o + self.item())

    def __sub__(self, o):
        return _number(self.item() - o)

    def __rsub__(self, o):
        return _number(o - self.item())

    def __mul__(self, o):
        return _number(self.item() * o)

    def __rmul__(self, o):
        return _number(o * self.item())

    def __truediv__(self, o):
        return _number(self.item() / o)

    def __rtruediv__(self, o):
        return _number(o / self.item())

    def __floordiv__(self, o):
        return _number(self.item() // o)

    def __rfloordiv__(self, o):
        return _number(o // self.item())

    def __pow__(self, o):
        return _number(self.item() ** o)

    def __neg__(self):
        return _number(-self.item())


class _Float(_Number, float):
    dtype = property(lambda self: float64)

    def item(self):
        return float(self)

    # tables are made of many: these two without calls
    def __truediv__(self, o):
        return _Float(float(self) / o) if type(o) is float or type(o) is int else _number(float(self) / o)

    def __rtruediv__(self, o):
        return _Float(o / float(self)) if type(o) is float or type(o) is int else _number(o / float(self))


class _Int(_Number, int):
    dtype = property(lambda self: int64)

    def item(self):
        return int(self)


def _binary(a, b, f):
    x, y = _common([_tensor(a), _tensor(b)], [not isinstance(a, ndarray), not isinstance(b, ndarray)])
    return _wrap(f(x, y))


def _floating(x):
    t = _tensor(x)
    return t if t.is_floating_point() else t.to(torch.float64)


def _unary(x, f):
    return _wrap(f(_floating(x)))


def _reduced(x, f, axis, keepdims):
    t = _tensor(x)
    if axis is None:
        n = t.dim()
        r = f(t.reshape(-1), 0, False)
        return _wrap(r.reshape([1] * n)) if keepdims else _wrap(r)
    axes = [axis % t.dim()] if isinstance(axis, int) else sorted([a % t.dim() for a in axis], reverse=True)
    for a in axes:
        t = f(t, a, keepdims)
    return _wrap(t)


_methods = ('all', 'any', 'argmin', 'argsort', 'conj', 'conjugate', 'cumprod', 'diagonal', 'dot', 'nonzero', 'ptp', 'repeat', 'round', 'searchsorted', 'squeeze', 'std', 'swapaxes', 'take', 'trace',
            'var')


class ndarray:
    def __init__(self, t):
        self._t = t

    shape = property(lambda self: tuple(self._t.shape))
    ndim = property(lambda self: self._t.dim())
    size = property(lambda self: self._t.numel())
    dtype = property(lambda self: [v for v in _names.values() if v.dtype == self._t.dtype][0])
    T = property(lambda self: transpose(self))

    def __len__(self):
        return self._t.shape[0]

    def __iter__(self):
        return iter([_wrap(self._t[i]) for i in range(self._t.shape[0])])

    def _index(self, i):
        if isinstance(i, tuple):
            return tuple([self._index(k) for k in i])
        return i._t if isinstance(i, ndarray) else i

    def __getitem__(self, i):
        return _wrap(self._t[self._index(i)])

    def __setitem__(self, i, v):
        self._t[self._index(i)] = _tensor(v).to(self._t.dtype)

    def __repr__(self):
        return 'array({})'.format(self.tolist())

    def __bool__(self):
        return bool(self._t)

    def __int__(self):
        return int(self._t)

    def __float__(self):
        return float(self._t)

    def __add__(self, o):
        return _binary(self, o, lambda x, y: x + y)

    def __radd__(self, o):
        return _binary(o, self, lambda x, y: x + y)

    def __sub__(self, o):
        return _binary(self, o, lambda x, y: x - y)

    def __rsub__(self, o):
        return _binary(o, self, lambda x, y: x - y)

    def __mul__(self, o):
        return _binary(self, o, lambda x, y: x * y)

    def __rmul__(self, o):
        return _binary(o, self, lambda x, y: x * y)

    def __truediv__(self, o):
        return divide(self, o)

    def __rtruediv__(self, o):
        return divide(o, self)

    def __floordiv__(self, o):
        return _binary(self, o, lambda x, y: x // y)

    def __rfloordiv__(self, o):
        return _binary(o, self, lambda x, y: x // y)

    def __mod__(self, o):
        return _binary(self, o, lambda x, y: x % y)

    def __rmod__(self, o):
        return _binary(o, self, lambda x, y: x % y)

    def __and__(self, o):
        return _binary(self, o, lambda x, y: x & y)

    def __or__(self, o):
        return _binary(self, o, lambda x, y: x | y)

    def __xor__(self, o):
        return _binary(self, o, lambda x, y: x ^ y)

    def __invert__(self):
        return ndarray(~self._t)

    def __abs__(self):
        return ndarray(self._t.abs())

    def __pow__(self, o):
        return power(self, o)

    def __rpow__(self, o):
        return power(o, self)

    def __matmul__(self, o):
        return matmul(self, o)

    def __neg__(self):
        return ndarray(-self._t)

    def __eq__(self, o):
        return _binary(self, o, lambda x, y: x == y)

    def __ne__(self, o):
        return _binary(self, o, lambda x, y: x != y)

    def __lt__(self, o):
        return _binary(self, o, lambda x, y: x < y)

    def __le__(self, o):
        return _binary(self, o, lambda x, y: x <= y)

    def __gt__(self, o):
        return _binary(self, o, lambda x, y: x > y)

    def __ge__(self, o):
        return _binary(self, o, lambda x, y: x >= y)

    def astype(self, dtype, copy=True):
        return ndarray(self._t.to(_dtype(dtype)).clone())

    def copy(self):
        return ndarray(self._t.clone())

    def tolist(self):
        return self._t.tolist()

    def item(self, *at):
        t = self._t[at] if len(at) > 1 else self._t.reshape(-1)[at[0]] if at else self._t
        return t.item()

    def fill(self, v):
        self._t.fill_(v)

    def reshape(self, *shape):
        return reshape(self, shape[0] if len(shape) == 1 else shape)

    def flatten(self):
        return ndarray(self._t.reshape(-1).clone())

    def ravel(self):
        return ndarray(self._t.reshape(-1))

    def transpose(self, *axes):
        return transpose(self, axes[0] if len(axes) == 1 else axes if axes else None)

    def sum(self, axis=None, keepdims=False):
        return sum(self, axis, keepdims)

    def prod(self, axis=None, keepdims=False):
        return prod(self, axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        return mean(self, axis, keepdims)

    def max(self, axis=None, keepdims=False):
        return max(self, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        return min(self, axis, keepdims)

    def cumsum(self, axis=None):
        return cumsum(self, axis)

    def argmax(self, axis=None):
        return argmax(self, axis)

    def clip(self, lo=None, hi=None):
        return clip(self, lo, hi)

    real = property(lambda self: ndarray(self._t.real) if self._t.is_complex() else self)
    imag = property(lambda self: ndarray(self._t.imag if self._t.is_complex() else torch.zeros_like(self._t)))

    def __getattr__(self, name):  # functions of the module that arrays have as methods
        if name in _methods:
            f = getattr(_here, name)
            return lambda *args, **kwargs: f(self, *args, **kwargs)
        raise AttributeError("'ndarray' object has no attribute '{}'".format(name))


# ---- making arrays

def array(x, dtype=None, copy=True):
    t = _tensor(x)
    return ndarray(t.to(_dtype(dtype)).clone() if dtype is not None else t.clone())


def asarray(x, dtype=None):
    return x if isinstance(x, ndarray) and dtype is None else array(x, dtype)


def _sizes(shape):
    return [shape] if isinstance(shape, int) else [int(n) for n in shape]


def zeros(shape, dtype=float64):
    return ndarray(torch.zeros(_sizes(shape), dtype=_dtype(dtype)))


def ones(shape, dtype=float64):
    return ndarray(torch.ones(_sizes(shape), dtype=_dtype(dtype)))


def full(shape, value, dtype=None):
    return ndarray(torch.ones(_sizes(shape), dtype=_tensor(value).dtype if dtype is None else _dtype(dtype)) * value)


def eye(n, m=None, k=0, dtype=float64, order='C'):
    columns = n if m is None else m
    return ndarray((torch.arange(columns) - torch.arange(n).unsqueeze(1) == k).to(_dtype(dtype)))


def identity(n, dtype=float64):
    return eye(n, dtype=dtype)


def zeros_like(x, dtype=None):
    return zeros(_tensor(x).shape, _tensor(x).dtype if dtype is None else dtype)


def ones_like(x, dtype=None):
    return ones(_tensor(x).shape, _tensor(x).dtype if dtype is None else dtype)


def arange(start, stop=None, step=1, dtype=None):
    if stop is None:
        start, stop = 0, start
    n = int(math.ceil((stop - start) / step))
    values = [start + i * step for i in range(n)]
    return array(values, dtype=dtype) if n > 0 else zeros(0, float64 if dtype is None else dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None):
    step = (stop - start) / ((num - 1 if endpoint else num) or 1)
    values = [start + i * step for i in range(num)]
    if endpoint and num > 1:
        values[num - 1] = stop
    made = array([float(v) for v in values], dtype=float64 if dtype is None else dtype) if num else zeros(0)
    return (made, _number(step)) if retstep else made


def logspace(start, stop, num=50, endpoint=True, base=10.0):
    return power(base, linspace(start, stop, num, endpoint))


# ---- shapes

def atleast_1d(x):
    t = _tensor(x)
    return ndarray(t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(x):
    t = _tensor(x)
    return ndarray(t.reshape(1, -1) if t.dim() < 2 else t)


def ndim(x):
    return _tensor(x).dim()


def roll(x, shift, axis=None):
    t = _tensor(x)
    return ndarray(t.reshape(-1).roll(shift, 0).reshape(t.shape) if axis is None else t.roll(shift, axis))


def reshape(x, shape):
    return ndarray(_tensor(x).reshape(_sizes(shape)))


def ravel(x):
    return ndarray(_tensor(x).reshape(-1))


def transpose(x, axes=None):
    t = _tensor(x)
    return ndarray(t.permute(list(axes) if axes is not None else list(range(t.dim()))[::-1]))


def swapaxes(a, axis1, axis2):
    return ndarray(_tensor(a).transpose(axis1, axis2))


def moveaxis(a, source, destination):
    return ndarray(torch.movedim(_tensor(a), source, destination))


def expand_dims(x, axis):
    return ndarray(_tensor(x).unsqueeze(axis))


def squeeze(x, axis=None):
    return ndarray(_tensor(x).squeeze() if axis is None else _tensor(x).squeeze(axis))


def concatenate(xs, axis=0):
    return ndarray(_joined([_tensor(x) for x in xs], lambda l: torch.cat(l, axis)))


def stack(xs, axis=0):
    return ndarray(_joined([_tensor(x) for x in xs], lambda l: torch.stack(l, axis)))


def hstack(xs):
    return concatenate(xs, 0 if _tensor(xs[0]).dim() == 1 else 1)


def vstack(xs):
    return concatenate([_tensor(x) if _tensor(x).dim() > 1 else _tensor(x).unsqueeze(0) for x in xs], 0)


def tile(x, reps):
    return ndarray(_tensor(x).repeat(_sizes(reps)))


def meshgrid(*xs, indexing='xy'):
    return [ndarray(t) for t in torch.meshgrid([_tensor(x) for x in xs], indexing=indexing)]


def triu(x, k=0):
    return ndarray(torch.triu(_tensor(x), k))


def tril(x, k=0):
    return ndarray(torch.tril(_tensor(x), k))


def diag(x, k=0):
    return ndarray(torch.diag(_tensor(x), k))


# ---- element by element

def sqrt(x):
    return _unary(x, torch.sqrt)


def exp(x):
    return _unary(x, torch.exp)


def log(x):
    return _unary(x, torch.log)


def log2(x):
    return math.log2(x) if isinstance(x, (int, float)) and x > 0 else _unary(x, torch.log2)


def log10(x):
    return math.log10(x) if isinstance(x, (int, float)) and x > 0 else _unary(x, torch.log10)


def log1p(x):
    return _unary(x, torch.log1p)


def sin(x):
    return _unary(x, torch.sin)


def cos(x):
    return _unary(x, torch.cos)


def tan(x):
    return _unary(x, torch.tan)


def arctan(x):
    return _unary(x, torch.atan)


def arctan2(y, x):
    return _binary(_floating(y), _floating(x), torch.atan2)


def tanh(x):
    return _unary(x, torch.tanh)


def floor(x):
    return _unary(x, torch.floor)


def ceil(x):
    return _unary(x, torch.ceil)


def rint(x):
    return _unary(x, torch.round)


def round(x, decimals=0):
    return _wrap(torch.round(_tensor(x) * 10 ** decimals) / 10 ** decimals) if decimals else rint(x)


def radians(x):
    return _unary(x, torch.deg2rad)


deg2rad = radians


def abs(x):
    return _wrap(_tensor(x).abs())


absolute = abs


def square(x):
    return _wrap(_tensor(x) * _tensor(x))


def sign(x):
    return _wrap(_tensor(x).sign())


def add(a, b):
    return _binary(a, b, lambda x, y: x + y)


def subtract(a, b):
    return _binary(a, b, lambda x, y: x - y)


def multiply(a, b):
    return _binary(a, b, lambda x, y: x * y)


def divide(a, b):
    whole = not _tensor(a).is_floating_point() and not _tensor(b).is_floating_point()
    return _binary(_floating(a) if whole else a, b, lambda x, y: x / y)


def power(a, b):
    if type(b) is float and (type(a) is int or type(a) is float) and a > 0:
        return _Float(a ** b)
    return _binary(a, b, lambda x, y: x ** y)


def mod(a, b):
    return _binary(a, b, lambda x, y: x % y)


def maximum(a, b):
    return _binary(a, b, torch.maximum)


def minimum(a, b):
    return _binary(a, b, torch.minimum)


def clip(x, lo=None, hi=None):
    return _wrap(torch.clamp(_tensor(x), lo, hi))


def where(c, a, b):
    x, y = _common([_tensor(a), _tensor(b)], [not isinstance(a, ndarray), not isinstance(b, ndarray)])
    return _wrap(torch.where(_tensor(c), x, y))


def isclose(a, b, rtol=1e-05, atol=1e-08):
    return _binary(a, b, lambda x, y: (x - y).abs() <= atol + rtol * y.abs())


def outer(a, b):
    return _binary(array(a).reshape(-1, 1), array(b).reshape(1, -1), lambda x, y: x * y)


def dot(a, b):
    return _binary(asarray(a), asarray(b), torch.matmul)


matmul = dot


def einsum(subscripts, *operands, **kwargs):
    if not isinstance(subscripts, str):
        raise NotImplementedError('numpy.einsum without a string of subscripts is not supported here')
    return _wrap(torch.einsum(subscripts, *_common([_tensor(x) for x in operands], [not isinstance(x, ndarray) for x in operands])))

# ---- along axes


def sum(x, axis=None, keepdims=False):
    return _reduced(x, lambda t, d, k: t.sum(d, keepdim=k), axis, keepdims)


def prod(x, axis=None, keepdims=False):
    if axis is None and _tensor(x).numel() == 0:
        return 1.0
    return _reduced(x, lambda t, d, k: t.prod(d, keepdim=k), axis, keepdims)


def mean(x, axis=None, keepdims=False):
    return _reduced(_floating(x), lambda t, d, k: t.mean(d, keepdim=k), axis, keepdims)


def average(x, axis=None, weights=None):
    if weights is None:
        return mean(x, axis)
    w = _floating(weights)
    if axis is not None and w.dim() == 1:
        w = w.reshape([-1 if i == axis % _tensor(x).dim() else 1 for i in range(_tensor(x).dim())])
    return divide(sum(_tensor(x) * w, axis), sum(w.expand_as(_tensor(x)), axis))


def var(x, axis=None, ddof=0, keepdims=False):
    t = _floating(x)
    m = t.mean() if axis is None else t.mean(axis, keepdim=True)
    n = t.numel() if axis is None else t.shape[axis]
    return _wrap(_tensor(sum((t - m) * (t - m), axis, keepdims)) / (n - ddof))


def std(x, axis=None, ddof=0, keepdims=False):
    return sqrt(var(x, axis, ddof, keepdims))


def max(x, axis=None, keepdims=False):
    return _reduced(x, lambda t, d, k: t.amax(d, keepdim=k), axis, keepdims)


def min(x, axis=None, keepdims=False):
    return _reduced(x, lambda t, d, k: t.amin(d, keepdim=k), axis, keepdims)


amax, amin = max, min


def any(x, axis=None):
    return bool(_tensor(x).any()) if axis is None else _wrap(_tensor(x).any(axis))


def all(x, axis=None):
    return bool(_tensor(x).all()) if axis is None else _wrap(_tensor(x).all(axis))


def argmax(x, axis=None):
    return _wrap(_tensor(x).reshape(-1).argmax(0) if axis is None else _tensor(x).argmax(axis))


def argmin(x, axis=None):
    return _wrap(_tensor(x).reshape(-1).argmin(0) if axis is None else _tensor(x).argmin(axis))


def cumsum(x, axis=None):
    return ndarray(_tensor(x).reshape(-1).cumsum(0) if axis is None else _tensor(x).cumsum(axis))


def cumprod(x, axis=None):
    return ndarray(_tensor(x).reshape(-1).cumprod(0) if axis is None else _tensor(x).cumprod(axis))


def diff(x):
    t = _tensor(x)
    return ndarray(t[1:] - t[:-1])
