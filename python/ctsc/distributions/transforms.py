# SPDX-License-Identifier: Apache-2.0
"""transforms.py - invertible functions, and distributions of what they make of another's samples."""
import math

import ctsc

from . import constraints as c
from .continuous import Normal, Uniform
from .discrete import Categorical
from .distribution import Distribution, Size, broadcast_all, sum_rightmost


class Transform:
    """y = self(x), x = self.inv(y); log_abs_det_jacobian(x, y) is log |dy/dx|. event_dim: dimensions that are mapped as one."""

    bijective, event_dim, domain, codomain = True, 0, c.real, c.real

    def __init__(self, cache_size=0):
        self._inv = None

    @property
    def inv(self):
        return _Inverse(self)

    def __call__(self, x):
        return self._call(x)

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        raise NotImplementedError

    def forward_shape(self, shape):
        return shape

    def inverse_shape(self, shape):
        return shape

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and not self.__dict__.keys() - {"_inv"})

    __hash__ = object.__hash__

    def __repr__(self):
        return type(self).__name__ + "()"


class _Inverse(Transform):
    def __init__(self, transform):
        self._of = transform
        self.event_dim, self.domain, self.codomain = transform.event_dim, transform.codomain, transform.domain

    inv = property(lambda self: self._of)

    def _call(self, x):
        return self._of._inverse(x)

    def _inverse(self, y):
        return self._of(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)


class ComposeTransform(Transform):
    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = list(parts)

    event_dim = property(lambda self: max([p.event_dim for p in self.parts] + [0]))
    codomain = property(lambda self: self.parts[-1].codomain if self.parts else c.real)

    def _call(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y):
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        total = 0
        for part in self.parts:
            after = part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, after), self.event_dim - part.event_dim)
            x = after
        return total

    def __repr__(self):
        return "ComposeTransform(\n    %s\n)" % ",\n    ".join(repr(p) for p in self.parts)


class ExpTransform(Transform):
    codomain = c.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class AffineTransform(Transform):
    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, (int, float)):
            found = ctsc.full_like(x, math.log(abs(self.scale)))
        else:
            found = ctsc.abs(self.scale).log().expand(x.shape)
        return sum_rightmost(found, self.event_dim)


class SigmoidTransform(Transform):
    codomain = c.unit_interval

    def _call(self, x):
        finfo = ctsc.finfo(x.dtype)
        return x.sigmoid().clamp(min=finfo.tiny, max=1.0 - finfo.eps)

    def _inverse(self, y):
        finfo = ctsc.finfo(y.dtype)
        y = y.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        softplus = ctsc.nn.functional.softplus
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    codomain = c.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - ctsc.nn.functional.softplus(-2.0 * x))


class SoftplusTransform(Transform):
    codomain = c.positive

    def _call(self, x):
        return ctsc.nn.functional.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -ctsc.nn.functional.softplus(-x)


class PowerTransform(Transform):
    domain = codomain = c.positive

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent, = broadcast_all(exponent)

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class TransformedDistribution(Distribution):
    def __init__(self, base_distribution, transforms, validate_args=None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        more = max([t.event_dim for t in self.transforms] + [0]) - len(event)
        if more > 0:
            shape = batch + event
            batch, event = batch[:len(batch) - more], shape[len(batch) - more:]
        super().__init__(batch, event, validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    support = property(lambda self: self.transforms[-1].codomain if self.transforms else self.base_dist.support)

    def expand(self, batch_shape, _instance=None):
        return TransformedDistribution(self.base_dist.expand(batch_shape), self.transforms)

    def _through(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        dims, found, y = len(self._event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t._inverse(y)
            found = found - sum_rightmost(t.log_abs_det_jacobian(x, y), dims - t.event_dim)
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t._inverse(value)
        return self.base_dist.cdf(value)

    def icdf(self, value):
        return self._through(self.base_dist.icdf(value))


class LogNormal(TransformedDistribution):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.positive, True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), [ExpTransform()])

    loc, scale = property(lambda self: self.base_dist.loc), property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())
    variance = property(lambda self: self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp())

    def expand(self, batch_shape, _instance=None):
        return LogNormal(self.loc.expand(batch_shape), self.scale.expand(batch_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        return super().log_prob(value)

    def entropy(self):
        return self.base_dist.entropy() + self.loc

    def __repr__(self):
        return "LogNormal()"


class MixtureSameFamily(Distribution):
    """Samples of one of several components, which are the last batch dimension of one distribution."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args=validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)
    support = property(lambda self: self._component_distribution.support)

    def _weights(self):
        return self._mixture_distribution.probs.reshape(self._mixture_distribution.probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self):
        p, dim = self._weights(), -1 - self._event_ndims
        inside = (p * self._component_distribution.variance).sum(dim)
        return inside + (p * (self._component_distribution.mean - self.mean.unsqueeze(dim)).pow(2.0)).sum(dim)

    def log_prob(self, value):
        value = value.unsqueeze(-1 - self._event_ndims)
        each = self._component_distribution.log_prob(value)
        return ctsc.logsumexp(each + ctsc.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def cdf(self, value):
        return (self._component_distribution.cdf(value.unsqueeze(-1 - self._event_ndims)) * self._mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            which = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            at, n = which.ndim, self._event_ndims
            which = which.reshape(which.shape + (1,) * (n + 1)).expand(which.shape + (1,) + tuple(self._event_shape))
            return values.gather(at, which).squeeze(at)

    def __repr__(self):
        return "MixtureSameFamily(\n  %s,\n  %s)" % (self._mixture_distribution, self._component_distribution)


class RelaxedBernoulli(TransformedDistribution):
    """A continuous stand-in for Bernoulli: logistic noise on the logits, through a sigmoid at a temperature."""

    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        from .discrete import Bernoulli
        self.temperature, self._of = temperature, Bernoulli(probs, logits)
        super().__init__(_Logistic(temperature, self._of), SigmoidTransform(), validate_args=validate_args)

    probs, logits = property(lambda self: self._of.probs), property(lambda self: self._of.logits)


class _Logistic(Distribution):
    has_rsample = True

    def __init__(self, temperature, of):
        self.temperature, self._of = temperature, of
        super().__init__(of.batch_shape)

    def rsample(self, sample_shape=()):
        shape, eps = self._extended_shape(sample_shape), ctsc.finfo(self._of.probs.dtype).eps
        probs = self._of.probs.expand(shape).clamp(min=eps, max=1 - eps)
        u = ctsc.rand(shape, dtype=probs.dtype).clamp(min=eps, max=1 - eps)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        diff = self._of.logits - value * self.temperature
        return ctsc.log(ctsc.as_tensor(self.temperature, dtype=diff.dtype)) + diff - 2 * diff.exp().log1p()


identity_transform = ComposeTransform([])
