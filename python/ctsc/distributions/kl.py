# SPDX-License-Identifier: Apache-2.0
"""kl.py - the divergence of Kullback and Leibler between distributions of a kind; register_kl adds others."""
import math

import ctsc

from .continuous import Beta, Dirichlet, Exponential, Gamma, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Independent, sum_rightmost
from .transforms import LogNormal, TransformedDistribution

_TABLE = {}


def register_kl(type_p, type_q):
    """A decorator of f(p, q)."""
    def put(f):
        _TABLE[type_p, type_q] = f
        return f
    return put


def kl_divergence(p, q):
    """KL(p || q), one number for each distribution of the batch."""
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _TABLE:
                return _TABLE[a, b](p, q)
    raise NotImplementedError("No KL(p || q) is implemented for p type %s and q type %s" % (type(p).__name__, type(q).__name__))


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    softplus = ctsc.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = t1.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return t1 + t2.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    return t.masked_fill((q.probs == 0).expand(t.shape), math.inf).masked_fill((p.probs == 0).expand(t.shape), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return kl.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log() + ctsc.lgamma(q.concentration) - ctsc.lgamma(p.concentration) +
            (p.concentration - q.concentration) * ctsc.digamma(p.concentration) + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + ratio * (-distance / p.scale).exp() + distance / q.scale - 1


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return kl.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    total = p.concentration.sum(-1)
    t1 = total.lgamma() - q.concentration.sum(-1).lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    return t1 - t2 + ((p.concentration - q.concentration) * (p.concentration.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    n = p.event_shape[0]
    batch = ctsc.broadcast_shapes(p.batch_shape, q.batch_shape)
    q_tril = q.scale_tril.expand(batch + (n, n))
    trace = ctsc.linalg.solve_triangular(q_tril, p.scale_tril.expand(batch + (n, n)), upper=False).pow(2).sum((-2, -1))
    distance = ctsc.linalg.solve_triangular(q_tril, (q.loc - p.loc).expand(batch + (n,)).unsqueeze(-1), upper=False).pow(2).sum((-2, -1))
    return q._log_det() - p._log_det() + 0.5 * (trace + distance - n)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))
