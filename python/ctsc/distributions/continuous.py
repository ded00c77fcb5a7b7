# SPDX-License-Identifier: Apache-2.0
"""continuous.py - distributions of real numbers. Samples are drawn as PyTorch draws them, so that they are its own after the same seed."""
import math

import ctsc

from .. import _C
from . import constraints as c
from .distribution import Distribution, ExponentialFamily, Size, broadcast_all

_gamma = _C._operator("_standard_gamma")


def _normal(shape, like):
    return ctsc.normal(ctsc.zeros(shape, dtype=like.dtype, device=like.device), ctsc.ones(shape, dtype=like.dtype, device=like.device))


def _rand(shape, like):
    return ctsc.rand(shape, dtype=like.dtype, device=like.device)


class _Broadcast(Distribution):
    """Parameters of one shape, numbers or tensors, which are the batch."""

    def __init__(self, *parameters, validate_args=None):
        for name, value in zip(self.arg_constraints, broadcast_all(*parameters)):
            setattr(self, name, value)
        super().__init__(() if all(isinstance(p, (int, float)) for p in parameters) else value.size(), validate_args=validate_args)


class Normal(_Broadcast, ExponentialFamily):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.real, True
    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale, validate_args=validate_args)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with ctsc.no_grad():
            return ctsc.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        return self.loc + _normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value):
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        self._validate_sample(value)
        return 0.5 * (1 + ctsc.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * ctsc.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + ctsc.log(self.scale)


class Uniform(_Broadcast):
    arg_constraints, has_rsample = {"low": c.dependent, "high": c.dependent}, True
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12 ** 0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)
    support = c.dependent_property(lambda self: c.interval(self.low, self.high))

    def __init__(self, low, high, validate_args=None):
        super().__init__(low, high, validate_args=validate_args)
        if self._validate_args and not (self.low < self.high).all():
            raise ValueError("Uniform is not defined when low>= high")

    def rsample(self, sample_shape=()):
        return self.low + _rand(self._extended_shape(sample_shape), self.low) * (self.high - self.low)

    def log_prob(self, value):
        self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return ctsc.log(inside) - ctsc.log(self.high - self.low)

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return ctsc.log(self.high - self.low)


class Exponential(_Broadcast, ExponentialFamily):
    arg_constraints, support, has_rsample = {"rate": c.positive}, c.nonnegative, True
    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: ctsc.zeros_like(self.rate))
    variance = property(lambda self: self.rate.pow(-2))

    def __init__(self, rate, validate_args=None):
        super().__init__(rate, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value):
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        return 1 - ctsc.exp(-self.rate * value)

    def icdf(self, value):
        return -ctsc.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - ctsc.log(self.rate)


class Laplace(_Broadcast):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.real, True
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2 ** 0.5 * self.scale)

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        u = self.loc.detach().new_empty(self._extended_shape(sample_shape)).uniform_(ctsc.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * ctsc.log1p(-u.abs())

    def log_prob(self, value):
        self._validate_sample(value)
        return -ctsc.log(2 * self.scale) - ctsc.abs(value - self.loc) / self.scale

    def cdf(self, value):
        return 0.5 - 0.5 * (value - self.loc).sign() * ctsc.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * ctsc.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + ctsc.log(2 * self.scale)


class Cauchy(_Broadcast):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.real, True
    mode = property(lambda self: self.loc)
    mean = property(lambda self: ctsc.full(self._extended_shape(), math.nan, dtype=self.loc.dtype))
    variance = property(lambda self: ctsc.full(self._extended_shape(), math.inf, dtype=self.loc.dtype))

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return self.loc + self.loc.detach().new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value):
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        return ctsc.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return ctsc.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Gamma(_Broadcast, ExponentialFamily):
    arg_constraints, support, has_rsample = {"concentration": c.positive, "rate": c.positive}, c.nonnegative, True
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def __init__(self, concentration, rate, validate_args=None):
        super().__init__(concentration, rate, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = _gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=ctsc.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value):
        value, = broadcast_all(value)
        self._validate_sample(value)
        return (ctsc.xlogy(self.concentration, self.rate) + ctsc.xlogy(self.concentration - 1, value) - self.rate * value - ctsc.lgamma(self.concentration))

    def cdf(self, value):
        return ctsc.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - ctsc.log(self.rate) + ctsc.lgamma(a) + (1.0 - a) * ctsc.digamma(a)


class Chi2(Gamma):
    arg_constraints = {"df": c.positive}

    def __init__(self, df, validate_args=None):
        self.df, = broadcast_all(df)
        half = 0.5 * self.df
        self.concentration, self.rate = half, ctsc.full_like(half, 0.5)
        Distribution.__init__(self, self.df.size() if not isinstance(df, (int, float)) else (), validate_args=validate_args)

    def __repr__(self):
        return "Chi2()" # PyTorch's df is a property, which it does not show

    def _expanded(self):
        return ("df", "concentration", "rate")


class StudentT(_Broadcast):
    arg_constraints, support, has_rsample = {"df": c.positive, "loc": c.real, "scale": c.positive}, c.real, True
    mode = property(lambda self: self.loc)

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        super().__init__(df, loc, scale, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self):
        v = self.scale.pow(2) * self.df / (self.df - 2)
        return v.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = _normal(shape, self.df)
        z = Chi2(self.df).rsample(sample_shape)
        return self.loc + self.scale * (x * ctsc.rsqrt(z / self.df))

    def log_prob(self, value):
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        z = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + ctsc.lgamma(0.5 * self.df) - ctsc.lgamma(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * ctsc.log1p(y ** 2.0 / self.df) - z

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = ctsc.lgamma(half) + math.lgamma(0.5) - ctsc.lgamma(more)
        return self.scale.log() + more * (ctsc.digamma(more) - ctsc.digamma(half)) + 0.5 * self.df.log() + beta


class Dirichlet(ExponentialFamily):
    arg_constraints, support, has_rsample = {"concentration": c.independent(c.positive, 1)}, c.simplex, True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()):
        drawn = _gamma(self.concentration.double().expand(self._extended_shape(sample_shape)))
        value = (drawn / drawn.sum(-1, keepdim=True)).to(self.concentration.dtype)
        return value.clamp(min=ctsc.finfo(value.dtype).tiny)

    def log_prob(self, value):
        self._validate_sample(value)
        a = self.concentration
        return ctsc.xlogy(a - 1.0, value).sum(-1) + ctsc.lgamma(a.sum(-1)) - ctsc.lgamma(a).sum(-1)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    @property
    def mode(self):
        more, n = (self.concentration - 1).clamp(min=0.0), self.concentration.shape[-1]
        below = (self.concentration >= 1).sum(-1, True) == 0 # no maximum inside: a corner
        found = more / more.sum(-1, True)
        return ctsc.where(below, ctsc.nn.functional.one_hot(found.argmax(-1), n).to(found.dtype), found)

    def entropy(self):
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return ctsc.lgamma(a).sum(-1) - ctsc.lgamma(total) - (k - total) * ctsc.digamma(total) - ((a - 1.0) * ctsc.digamma(a)).sum(-1)


class Beta(ExponentialFamily):
    arg_constraints, support, has_rsample = {"concentration1": c.positive, "concentration0": c.positive}, c.unit_interval, True

    def __init__(self, concentration1, concentration0, validate_args=None):
        a, b = broadcast_all(concentration1, concentration0)
        numbers = isinstance(concentration1, (int, float)) and isinstance(concentration0, (int, float))
        self._dirichlet = Dirichlet(ctsc.stack([a, b], -1), validate_args=validate_args)
        super().__init__(() if numbers else self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    def expand(self, batch_shape, _instance=None):
        return Beta(self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape))

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        self._validate_sample(value)
        return self._dirichlet.log_prob(ctsc.stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    def __repr__(self):
        return "Beta()"


class Gumbel(_Broadcast):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.real, True
    mode = property(lambda self: self.loc)
    mean = property(lambda self: self.loc + self.scale * 0.57721566490153286060)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(loc, scale, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        finfo = ctsc.finfo(self.loc.dtype)
        u = self.loc.detach().new_empty(self._extended_shape(sample_shape)).uniform_(finfo.tiny, 1 - finfo.eps)
        return self.loc - self.scale * (-u.log()).log()

    def log_prob(self, value):
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value):
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + 0.57721566490153286060)


class _Half(Distribution):
    """The absolute value of a symmetric distribution about zero."""

    arg_constraints, support, has_rsample = {"scale": c.positive}, c.nonnegative, True

    def __init__(self, base, validate_args):
        self.base_dist, self.scale = base, base.scale
        super().__init__(base.batch_shape, validate_args=validate_args)

    def __repr__(self):
        return type(self).__name__ + "()" # PyTorch's parameters are properties, which it does not show

    def expand(self, batch_shape, _instance=None):
        return type(self)(self.scale.expand(batch_shape))

    mode = property(lambda self: ctsc.zeros_like(self.scale))

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value):
        self._validate_sample(value)
        return ctsc.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)


class HalfCauchy(_Half):
    mean = variance = property(lambda self: ctsc.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)


class MultivariateNormal(Distribution):
    arg_constraints = {"loc": c.real_vector, "covariance_matrix": c.positive_definite, "precision_matrix": c.positive_definite, "scale_tril": c.lower_cholesky}
    support, has_rsample = c.real_vector, True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if (covariance_matrix is not None) + (scale_tril is not None) + (precision_matrix is not None) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, given = (("covariance_matrix", covariance_matrix) if covariance_matrix is not None else
                       ("precision_matrix", precision_matrix) if precision_matrix is not None else ("scale_tril", scale_tril))
        if given.dim() < 2:
            raise ValueError("%s must be at least two-dimensional, with optional leading batch dimensions" % name)
        batch, n = ctsc.broadcast_shapes(given.shape[:-2], loc.shape[:-1]), loc.shape[-1]
        setattr(self, name, given.expand(batch + (n, n)))
        self.loc = loc.expand(batch + (n,))
        super().__init__(batch, (n,), validate_args=validate_args)
        if scale_tril is not None:
            self._tril = scale_tril
        elif covariance_matrix is not None:
            self._tril = ctsc.linalg.cholesky(covariance_matrix)
        else:
            flipped = ctsc.linalg.cholesky(ctsc.flip(precision_matrix, (-2, -1))).flip((-2, -1)).mT
            self._tril = ctsc.linalg.solve_triangular(flipped, ctsc.eye(n, dtype=given.dtype), upper=False)

    mean = mode = property(lambda self: self.loc)

    def expand(self, batch_shape, _instance=None):
        n = self.event_shape[0]
        return MultivariateNormal(self.loc.expand(Size(batch_shape) + (n,)), scale_tril=self._tril.expand(Size(batch_shape) + (n, n)), validate_args=False)

    def __getattr__(self, name):
        if name == "_tril" or name not in ("scale_tril", "covariance_matrix", "precision_matrix"):
            raise AttributeError("'MultivariateNormal' object has no attribute '%s'" % name)
        tril = self._tril.expand(self._batch_shape + self._event_shape + self._event_shape)
        if name == "scale_tril":
            return tril
        return tril @ tril.mT if name == "covariance_matrix" else ctsc.cholesky_inverse(tril)

    @property
    def variance(self):
        return self._tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        eps = _normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._tril @ eps.unsqueeze(-1)).squeeze(-1)

    def _log_det(self):
        return self._tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._validate_sample(value)
        diff = value - self.loc
        tril = self._tril.expand(diff.shape[:-1] + tuple(self._tril.shape[-2:]))
        m = ctsc.linalg.solve_triangular(tril, diff.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + m) - self._log_det()

    def entropy(self):
        h = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det()
        return h if len(self._batch_shape) == 0 else h.expand(self._batch_shape)
