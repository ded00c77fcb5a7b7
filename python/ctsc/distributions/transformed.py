# SPDX-License-Identifier: Apache-2.0
"""transformed.py - distributions of what transforms make of another's samples, relaxations of discrete ones, and mixtures."""
import math

import ctsc

from . import constraints as c
from .continuous import Exponential, Gamma, Normal, Uniform
from .discrete import Categorical
from .distribution import ByProbs, Distribution, Independent, Size, broadcast_all, clamp_probs, sum_rightmost
from .transforms import AffineTransform, ComposeTransform, ExpTransform, PowerTransform, SigmoidTransform, StickBreakingTransform, Transform

EULER = 0.57721566490153286060


class TransformedDistribution(Distribution):
    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        whole, event_dim = ComposeTransform(self.transforms), len(base_distribution.event_shape)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError("base_distribution needs to have shape with size at least %d, but got %s." % (whole.domain.event_dim, shape))
        after = whole.forward_shape(shape)
        before = whole.inverse_shape(after)
        if tuple(before) != tuple(shape): # parameters of the transforms are larger batches
            base_distribution = base_distribution.expand(before[:len(before) - event_dim])
        if whole.domain.event_dim > event_dim:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - event_dim)
        self.base_dist = base_distribution
        dims = max(whole.codomain.event_dim, event_dim + whole.codomain.event_dim - whole.domain.event_dim)
        super().__init__(after[:len(after) - dims], after[len(after) - dims:], validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @c.dependent_property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return c.independent(support, more) if more > 0 else support

    def expand(self, batch_shape, _instance=None):
        new, shape = super().expand(batch_shape), Size(batch_shape) + self._event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        return new

    def _through(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def _back(self, y):
        for t in reversed(self.transforms):
            y = t.inv(y)
        return y

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        dims, found, y = len(self._event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t.inv(y)
            dims += t.domain.event_dim - t.codomain.event_dim
            found = found - sum_rightmost(t.log_abs_det_jacobian(x, y), dims - t.domain.event_dim)
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _rising(self, probs):
        """Probabilities of the other side, where the transforms fall."""
        sign = 1
        for t in self.transforms:
            sign = sign * t.sign
        return probs if isinstance(sign, int) and sign == 1 else sign * (probs - 0.5) + 0.5

    def cdf(self, value):
        return self._rising(self.base_dist.cdf(self._back(value)))

    def icdf(self, value):
        return self._through(self.base_dist.icdf(self._rising(value)))

    def __repr__(self):
        return type(self).__name__ + "()" if type(self) is TransformedDistribution else super().__repr__()


class LogNormal(TransformedDistribution):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.positive, True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), [ExpTransform()])

    loc, scale = property(lambda self: self.base_dist.loc), property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())
    variance = property(lambda self: self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc

class InverseGamma(TransformedDistribution):
    arg_constraints, support, has_rsample = {"concentration": c.positive, "rate": c.positive}, c.positive, True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration, rate = property(lambda self: self.base_dist.concentration), property(lambda self: self.base_dist.rate)
    mean = property(lambda self: (self.rate / (self.concentration - 1)).masked_fill(self.concentration <= 1, math.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self):
        a = self.concentration
        return (self.rate.square() / ((a - 1).square() * (a - 2))).masked_fill(a <= 2, math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Kumaraswamy(TransformedDistribution):
    arg_constraints = {"concentration1": c.positive, "concentration0": c.positive}
    support, has_rsample = c.unit_interval, True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        base = Uniform(ctsc.zeros_like(b), ctsc.ones_like(b), validate_args=validate_args)
        super().__init__(base, [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())], validate_args=validate_args)

    def _moment(self, n):
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * ctsc.exp(ctsc.lgamma(a) + ctsc.lgamma(b) - ctsc.lgamma(a + b))

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        found = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return found.masked_fill((b < 1) | (a < 1), math.nan).exp()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * (ctsc.digamma(b + 1) + EULER) - a.log() - b.log()


class Pareto(TransformedDistribution):
    arg_constraints = {"alpha": c.positive, "scale": c.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args), [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    support = c.dependent_property(lambda self: c.greater_than_eq(self.scale), is_discrete=False, event_dim=0)
    mode = property(lambda self: self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    arg_constraints, support = {"scale": c.positive, "concentration": c.positive}, c.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ctsc.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)], validate_args=validate_args)

    concentration_reciprocal = property(lambda self: self.concentration.reciprocal())
    mean = property(lambda self: self.scale * ctsc.exp(ctsc.lgamma(1 + self.concentration_reciprocal)))
    mode = property(lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal)

    @property
    def variance(self):
        r = self.concentration_reciprocal
        return self.scale.pow(2) * (ctsc.exp(ctsc.lgamma(1 + 2 * r)) - ctsc.exp(2 * ctsc.lgamma(1 + r)))

    def entropy(self):
        r = self.concentration_reciprocal
        return EULER * (1 - r) + ctsc.log(self.scale * r) + 1


class LogisticNormal(TransformedDistribution):
    arg_constraints, support, has_rsample = {"loc": c.real, "scale": c.positive}, c.simplex, True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    loc, scale = property(lambda self: self.base_dist.base_dist.loc), property(lambda self: self.base_dist.base_dist.scale)


class LogitRelaxedBernoulli(ByProbs):
    """Logistic noise on the logits of a Bernoulli, over a temperature."""

    arg_constraints, support, has_rsample = {"probs": c.unit_interval, "logits": c.real}, c.real, True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature, given = temperature, self._take(probs, logits)
        super().__init__(() if isinstance(probs if probs is not None else logits, (int, float)) else given.size(), validate_args=validate_args)

    def rsample(self, sample_shape=()):
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        u = clamp_probs(ctsc.rand(probs.shape, dtype=probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value * self.temperature
        return ctsc.log(ctsc.as_tensor(self.temperature, dtype=diff.dtype)) + diff - 2 * diff.exp().log1p()


class ExpRelaxedCategorical(Distribution):
    """Logarithms of a RelaxedOneHotCategorical: Gumbel noise on the logits, over a temperature, normalised."""

    arg_constraints, support, has_rsample = {"probs": c.simplex, "logits": c.real_vector}, c.real_vector, True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def rsample(self, sample_shape=()):
        u = clamp_probs(ctsc.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        self._validate_sample(value)
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = ctsc.as_tensor(self.temperature, dtype=logits.dtype)
        score = logits - value * temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + math.lgamma(n) + (n - 1) * temperature.log()


class _Relaxed(TransformedDistribution):
    has_rsample = True
    temperature = property(lambda self: self.base_dist.temperature)
    probs, logits = property(lambda self: self.base_dist.probs), property(lambda self: self.base_dist.logits)


class RelaxedBernoulli(_Relaxed):
    """A continuous stand-in for Bernoulli."""

    arg_constraints, support = {"probs": c.unit_interval, "logits": c.real}, c.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """A continuous stand-in for OneHotCategorical."""

    arg_constraints, support = {"probs": c.simplex, "logits": c.real_vector}, c.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args), ExpTransform(), validate_args=validate_args)


class MixtureSameFamily(Distribution):
    """Samples of one of several components, which are the last batch dimension of one distribution."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        many, own = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if many != own:
            raise ValueError("`mixture_distribution component` (%d) does not equal `component_distribution.batch_shape[-1]` (%d)" % (many, own))
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args=validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)
    support = c.dependent_property(lambda self: c.MixtureSameFamilyConstraint(self._component_distribution.support))

    def expand(self, batch_shape, _instance=None):
        shape = Size(batch_shape) + (self._component_distribution.batch_shape[-1],)
        return MixtureSameFamily(self._mixture_distribution.expand(batch_shape), self._component_distribution.expand(shape), validate_args=False)

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
        self._validate_sample(value)
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
