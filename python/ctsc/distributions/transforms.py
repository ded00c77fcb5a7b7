# SPDX-License-Identifier: Apache-2.0
"""transforms.py - functions with inverses and Jacobian determinants, from which transformed.py makes distributions."""
import math

import ctsc

from . import constraints as c
from .distribution import Size, broadcast_all, sum_rightmost


class Transform:
    """y = self(x), x = self.inv(y); log_abs_det_jacobian(x, y) is log |dy/dx|. domain and codomain are constraints; their event_dim: dimensions that are
    mapped as one. cache_size=1: the inverse of the last result is what it was made of."""

    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv, self._cached = cache_size, None, (None, None)

    @property
    def event_dim(self):
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        raise NotImplementedError

    def _made_of(self):
        """The arguments that make a transform like this one."""
        if type(self).__init__ is not Transform.__init__:
            raise NotImplementedError("%s.with_cache is not implemented" % type(self))
        return ()

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else type(self)(*self._made_of(), cache_size=cache_size)

    def __getstate__(self):
        return dict(self.__dict__, _inv=None, _cached=(None, None))

    def __call__(self, x):
        if self._cache_size and x is self._cached[0]:
            return self._cached[1]
        y = self._call(x)
        if self._cache_size:
            self._cached = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size and y is self._cached[1]:
            return self._cached[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached = x, y
        return x

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        raise NotImplementedError

    def forward_shape(self, shape):
        return shape

    def inverse_shape(self, shape):
        return shape

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and type(self).__init__ is Transform.__init__)

    __hash__ = object.__hash__

    def __repr__(self):
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    inv = property(lambda self: self._inv)
    domain, codomain = property(lambda self: self._inv.codomain), property(lambda self: self._inv.domain)
    bijective, sign = property(lambda self: self._inv.bijective), property(lambda self: self._inv.sign)

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __getstate__(self):
        return self.__dict__

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return "_InverseTransform(%r)" % self._inv


def _more(constraint, event_dim):
    more = event_dim - constraint.event_dim
    return c.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """One transform after another."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else parts

    def _made_of(self):
        return self.parts,

    @property
    def domain(self):
        if not self.parts:
            return c.real
        dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dim = max(dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _more(self.parts[0].domain, dim)

    @property
    def codomain(self):
        if not self.parts:
            return c.real
        dim = self.parts[0].domain.event_dim
        for part in self.parts:
            dim = max(dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _more(self.parts[-1].codomain, dim)

    bijective = property(lambda self: all(p.bijective for p in self.parts))

    @property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y):
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return ctsc.zeros_like(x)
        total, dim = 0, self.domain.event_dim
        for i, part in enumerate(self.parts):
            after = y if i + 1 == len(self.parts) else part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, after), dim - part.domain.event_dim)
            dim += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return "ComposeTransform(\n    %s\n)" % ",\n    ".join(repr(p) for p in self.parts)


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """The last batch dimensions of another transform as dimensions of the event."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    def _made_of(self):
        return self.base_transform, self.reinterpreted_batch_ndims

    domain = property(lambda self: c.independent(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain = property(lambda self: c.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims))
    bijective, sign = property(lambda self: self.base_transform.bijective), property(lambda self: self.base_transform.sign)

    def _call(self, x):
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y):
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return "IndependentTransform(%r, %d)" % (self.base_transform, self.reinterpreted_batch_ndims)


class ReshapeTransform(Transform):
    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    def _made_of(self):
        return self.in_shape, self.out_shape

    domain, codomain = property(lambda self: c.independent(c.real, len(self.in_shape))), property(lambda self: c.independent(c.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    @staticmethod
    def _replaced(shape, old, new):
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError("Shape mismatch: expected %s but got %s" % (shape[cut:], old))
        return shape[:cut] + new

    def forward_shape(self, shape):
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._replaced(shape, self.out_shape, self.in_shape)


class _OfElements(Transform):
    """Of each element by itself, rising."""

    domain = codomain = c.real
    bijective, sign = True, 1


class ExpTransform(_OfElements):
    codomain = c.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


def _clipped_sigmoid(x):
    finfo = ctsc.finfo(x.dtype)
    return x.sigmoid().clamp(min=finfo.tiny, max=1.0 - finfo.eps)


class SigmoidTransform(_OfElements):
    codomain = c.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        finfo = ctsc.finfo(y.dtype)
        y = y.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        softplus = ctsc.nn.functional.softplus
        return -softplus(-x) - softplus(x)


class TanhTransform(_OfElements):
    codomain = c.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - ctsc.nn.functional.softplus(-2.0 * x))


class SoftplusTransform(_OfElements):
    codomain = c.positive

    def _call(self, x):
        return ctsc.nn.functional.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -ctsc.nn.functional.softplus(-x)


class AbsTransform(Transform):
    """Not one to one: of the two inverses the positive one."""

    domain, codomain = c.real, c.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


def _same(a, b):
    return a == b if isinstance(a, (int, float)) and isinstance(b, (int, float)) else bool(ctsc.as_tensor(a == b).all())


class PowerTransform(Transform):
    domain = codomain = c.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent, = broadcast_all(exponent)

    def _made_of(self):
        return self.exponent,

    sign = property(lambda self: self.exponent.sign())

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = object.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return Size(ctsc.broadcast_shapes(tuple(shape), tuple(self.exponent.shape)))

    inverse_shape = forward_shape


class AffineTransform(Transform):
    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _made_of(self):
        return self.loc, self.scale, self._event_dim

    event_dim = property(lambda self: self._event_dim)
    domain = codomain = property(lambda self: c.independent(c.real, self._event_dim) if self._event_dim else c.real)

    @property
    def sign(self):
        return (self.scale > 0) - (self.scale < 0) if isinstance(self.scale, (int, float)) else self.scale.sign()

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = object.__hash__

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, (int, float)):
            found = ctsc.full_like(x, math.log(abs(self.scale)))
        else:
            found = ctsc.abs(self.scale).log().expand(x.shape)
        return sum_rightmost(found, self._event_dim)

    def forward_shape(self, shape):
        return Size(ctsc.broadcast_shapes(tuple(shape), *(tuple(getattr(v, "shape", ())) for v in (self.loc, self.scale))))

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """To a simplex, from as many numbers: not one to one."""

    domain, codomain = c.real_vector, c.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


_pad = lambda x, sizes: ctsc.nn.functional.pad(x, sizes, value=1)


class StickBreakingTransform(Transform):
    """To a simplex, from one number less: each is a part of what the ones before have left."""

    domain, codomain, bijective = c.real_vector, c.simplex, True

    @staticmethod
    def _offset(x, n):
        return x.shape[-1] + n - x.new_ones(x.shape[-1]).cumsum(-1)

    def _call(self, x):
        z = _clipped_sigmoid(x - self._offset(x, 1).log())
        return _pad(z, [0, 1]) * _pad((1 - z).cumprod(-1), [1, 0])

    def _inverse(self, y):
        first = y[..., :-1]
        left = (1 - first.cumsum(-1)).clamp(min=ctsc.finfo(y.dtype).tiny)
        return first.log() - left.log() + self._offset(first, 1).log()

    def log_abs_det_jacobian(self, x, y):
        x = x - self._offset(x, 1).log()
        return (-x + ctsc.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape, more=1):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + more,)

    def inverse_shape(self, shape):
        return self.forward_shape(shape, -1)


def _below(n, diagonal):
    at = ctsc.arange(n)
    return at < at.view(-1, 1) + (diagonal + 1)


class CorrCholeskyTransform(Transform):
    """From n (n - 1) / 2 numbers to the Cholesky factor of a matrix of correlations: partial correlations by tanh, each row a stick that is broken."""

    domain, codomain, bijective = c.real_vector, c.corr_cholesky, True

    def _call(self, x):
        eps = ctsc.finfo(x.dtype).eps
        x = x.tanh().clamp(min=-1 + eps, max=1 - eps)
        n = self.forward_shape(x.shape)[-1]
        r = x.new_zeros(tuple(x.shape[:-1]) + (n * n,)).index_copy(-1, _below(n, -1).flatten().nonzero().squeeze(1), x).view(tuple(x.shape[:-1]) + (n, n))
        left = (1 - r ** 2).sqrt().cumprod(-1)
        return (r + ctsc.eye(n, dtype=r.dtype)) * _pad(left[..., :-1], [1, 0])

    def _inverse(self, y):
        below = _below(y.shape[-1], -1)
        left = _pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0])
        t = y[..., below] / left[..., below].sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        left = (1 - (y * y).cumsum(-1))[..., _below(y.shape[-1], -2)]
        return 0.5 * left.log().sum(-1) - 2 * (x + ctsc.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """To lower triangular matrices with positive diagonals, from all matrices; what is above the diagonal does not matter."""

    domain, codomain = c.independent(c.real, 2), c.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    domain, codomain = c.independent(c.real, 2), c.positive_definite

    def _call(self, x):
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(ctsc.linalg.cholesky(y))


class _Several(Transform):
    """Slices of a dimension, each by a transform of its own."""

    def __init__(self, tseq, dim, cache_size):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq), dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _parts(self, v):
        if not -v.dim() <= self.dim < v.dim() or v.size(self.dim) != self.length:
            raise AssertionError("dimension %d of a tensor of shape %s does not have the size %d" % (self.dim, tuple(v.shape), self.length))
        return self._split(v)

    def _call(self, x):
        return self._join([t(v) for t, v in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y):
        return self._join([t.inv(v) for t, v in zip(self.transforms, self._parts(y))], self.dim)


class CatTransform(_Several):
    """torch.cat of what transforms make of slices of given lengths."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError("lengths (%d) must match transforms (%d)" % (len(self.lengths), len(self.transforms)))

    def _made_of(self):
        return self.transforms, self.dim, self.lengths

    event_dim, length = property(lambda self: max(t.event_dim for t in self.transforms)), property(lambda self: sum(self.lengths))
    domain = property(lambda self: c.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = property(lambda self: c.cat([t.codomain for t in self.transforms], self.dim, self.lengths))
    _join = staticmethod(lambda parts, dim: ctsc.cat(parts, dim))

    def _split(self, v):
        return v.split(self.lengths, self.dim)

    def log_abs_det_jacobian(self, x, y):
        found = [sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim) for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return ctsc.cat(found, dim) if dim < 0 else sum(found)


class StackTransform(_Several):
    """torch.stack of what transforms make of the elements of a dimension."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def _made_of(self):
        return self.transforms, self.dim

    length = property(lambda self: len(self.transforms))
    domain = property(lambda self: c.stack([t.domain for t in self.transforms], self.dim))
    codomain = property(lambda self: c.stack([t.codomain for t in self.transforms], self.dim))
    _join = staticmethod(lambda parts, dim: ctsc.stack(parts, dim))

    def _split(self, v):
        return v.unbind(self.dim)

    def log_abs_det_jacobian(self, x, y):
        return ctsc.stack([t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))], self.dim)


class CumulativeDistributionTransform(Transform):
    """A distribution's cdf; the inverse is its icdf."""

    bijective, codomain, sign = True, c.unit_interval, 1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    def _made_of(self):
        return self.distribution,

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
           "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform", "SoftmaxTransform",
           "StackTransform", "StickBreakingTransform", "Transform", "identity_transform"]
