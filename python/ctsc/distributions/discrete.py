# SPDX-License-Identifier: Apache-2.0
"""discrete.py - distributions of whole numbers, by probabilities or logits."""
import math

import ctsc

from .. import _C
from . import constraints as c
from .continuous import Gamma
from .distribution import ByProbs, Distribution, ExponentialFamily, Size, broadcast_all, clamp_probs

_bce = _C._operator("binary_cross_entropy_with_logits")


class Bernoulli(ByProbs, ExponentialFamily):
    arg_constraints, support, has_enumerate_support = {"probs": c.unit_interval, "logits": c.real}, c.boolean, True
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs=None, logits=None, validate_args=None):
        given = self._take(probs, logits)
        super().__init__(() if isinstance(probs if probs is not None else logits, (int, float)) else given.size(), validate_args=validate_args)

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            return ctsc.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -_bce(logits, value, reduction=0)

    def entropy(self):
        return _bce(self.logits, self.probs, reduction=0)

    def enumerate_support(self, expand=True):
        values = ctsc.arange(2, dtype=self.mean.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class Categorical(ByProbs):
    is_binary = False
    arg_constraints, has_enumerate_support = {"probs": c.simplex, "logits": c.independent(c.real, 1)}, True

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if probs is not None else logits
        if given.dim() < 1:
            raise ValueError("`%s` parameter must be at least one-dimensional." % ("probs" if probs is not None else "logits"))
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    support = c.dependent_property(lambda self: c.integer_interval(0, self._num_events - 1))
    mean = variance = property(lambda self: ctsc.full(self._extended_shape(), math.nan))
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape=()):
        shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        return ctsc.multinomial(rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value):
        self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, logits = ctsc.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=ctsc.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = ctsc.arange(self._num_events).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class OneHotCategorical(Distribution):
    arg_constraints, support, has_enumerate_support = {"probs": c.simplex, "logits": c.independent(c.real, 1)}, c.one_hot, True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    @property
    def mode(self):
        return ctsc.nn.functional.one_hot(self.probs.argmax(-1), self._event_shape[0]).to(self.probs.dtype)

    def expand(self, batch_shape, _instance=None):
        return type(self)(logits=self.logits.expand(Size(batch_shape) + tuple(self._event_shape)))

    def sample(self, sample_shape=()):
        return ctsc.nn.functional.one_hot(self._categorical.sample(sample_shape), self._event_shape[0]).to(self.probs.dtype)

    def log_prob(self, value):
        self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        values = ctsc.eye(n, dtype=self.probs.dtype).view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n,) + tuple(self._batch_shape) + (n,)) if expand else values

    def __repr__(self):
        return "OneHotCategorical()"


class OneHotCategoricalStraightThrough(OneHotCategorical):
    has_rsample = True

    def rsample(self, sample_shape=()):
        samples = self.sample(sample_shape)
        return samples + (self.probs - self.probs.detach())


class Multinomial(Distribution):
    arg_constraints = {"probs": c.simplex, "logits": c.independent(c.real, 1)}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._categorical = total_count, Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    support = c.dependent_property(lambda self: c.multinomial(self.total_count))

    def expand(self, batch_shape, _instance=None):
        return Multinomial(self.total_count, logits=self.logits.expand(Size(batch_shape) + tuple(self._event_shape)))

    def sample(self, sample_shape=()):
        shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + shape)
        drawn = drawn.permute(tuple(range(1, drawn.dim())) + (0,))
        counts = ctsc.zeros(self._extended_shape(shape), dtype=self.probs.dtype)
        return counts.scatter_add_(-1, drawn, ctsc.ones_like(drawn, dtype=counts.dtype))

    def log_prob(self, value):
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return ctsc.lgamma(value.sum(-1) + 1) - ctsc.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        n, counts = self.total_count, Binomial(self.total_count, self.probs, validate_args=False)
        some = counts.enumerate_support(False)[1:]
        return n * self._categorical.entropy() - math.lgamma(n + 1) + (counts.log_prob(some).exp() * ctsc.lgamma(some + 1)).sum([0, -1])

    def __repr__(self):
        return "Multinomial()"


class Binomial(ByProbs):
    arg_constraints, has_enumerate_support = {"total_count": c.nonnegative_integer, "probs": c.unit_interval, "logits": c.real}, True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        given = self._take(probs, logits)
        name = "probs" if probs is not None else "logits"
        self.total_count, given = broadcast_all(total_count, given)
        setattr(self, name, given)
        self.total_count = self.total_count.type_as(given)
        super().__init__(given.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    support = c.dependent_property(lambda self: c.integer_interval(0, self.total_count))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with ctsc.no_grad():
            return ctsc.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._validate_sample(value)
        n, l = self.total_count, self.logits
        below = n * l.clamp(min=0) + n * ctsc.log1p(ctsc.exp(-l.abs()))
        return value * l - below - (ctsc.lgamma(value + 1) + ctsc.lgamma(n - value + 1) - ctsc.lgamma(n + 1))

    def enumerate_support(self, expand=True):
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = ctsc.arange(1 + total, dtype=self.total_count.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    def entropy(self):
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)


class Geometric(ByProbs):
    arg_constraints, support = {"probs": c.unit_interval, "logits": c.real}, c.nonnegative_integer
    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: ctsc.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def __init__(self, probs=None, logits=None, validate_args=None):
        given = self._take(probs, logits)
        super().__init__(() if isinstance(probs if probs is not None else logits, (int, float)) else given.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError("Expected parameter probs of distribution %r to be positive but found invalid values:\n%s" % (self, self.probs))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with ctsc.no_grad():
            u = self.probs.new_empty(shape).uniform_(ctsc.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return _bce(self.logits, self.probs, reduction=0) / self.probs


class Poisson(ExponentialFamily):
    arg_constraints, support = {"rate": c.nonnegative}, c.nonnegative_integer
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(() if isinstance(rate, (int, float)) else self.rate.size(), validate_args=validate_args)

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            return ctsc.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class NegativeBinomial(ByProbs):
    """Successes before total_count failures; total_count need not be whole."""

    arg_constraints = {"total_count": c.greater_than_eq(0), "probs": c.half_open_interval(0.0, 1.0), "logits": c.real}
    support = c.nonnegative_integer
    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        given, name = self._take(probs, logits), "probs" if probs is not None else "logits"
        self.total_count, given = broadcast_all(total_count, given)
        setattr(self, name, given)
        self.total_count = self.total_count.type_as(given)
        super().__init__(given.size(), validate_args=validate_args)

    def sample(self, sample_shape=()):
        with ctsc.no_grad():
            return ctsc.poisson(Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape))

    def log_prob(self, value):
        self._validate_sample(value)
        n, logsigmoid = self.total_count, ctsc.nn.functional.logsigmoid
        normaliser = -ctsc.lgamma(n + value) + ctsc.lgamma(1.0 + value) + ctsc.lgamma(n)
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) - normaliser.masked_fill(n + value == 0.0, 0.0)
