# SPDX-License-Identifier: Apache-2.0
"""kl.py - the divergence of Kullback and Leibler between distributions of a kind; register_kl adds others."""
import math

import ctsc

from .continuous import Beta, Cauchy, Dirichlet, Exponential, Gamma, Gumbel, HalfNormal, Laplace, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Independent, sum_rightmost
from .further import ContinuousBernoulli
from .matrices import LowRankMultivariateNormal, Wishart, log_det
from .transformed import EULER, Pareto, TransformedDistribution

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
    return log_det(q.scale_tril) - log_det(p.scale_tril) + 0.5 * (trace + distance - n)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    return p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + ctsc.log1p(-p.probs) - q._cont_bern_log_norm() - ctsc.log1p(-q.probs)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + distance + ratio * EULER + ctsc.exp((1 + ratio).lgamma() - distance) - (1 + EULER)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    return (q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1).masked_fill(p.scale < q.scale, math.inf)


@register_kl(Wishart, Wishart)
def _wishart(p, q):
    n = p.event_shape[-1]
    a, b = ctsc.broadcast_tensors(p.covariance_matrix, q.scale_tril)
    trace = ctsc.cholesky_solve(a, b).diagonal(dim1=-2, dim2=-1).sum(-1)
    return (q.df * (q.log_det() - p.log_det()) + p.df / 2 * (trace - n) + ctsc.mvlgamma(q.df / 2, n) - ctsc.mvlgamma(p.df / 2, n) +
            (p.df - q.df) / 2 * p.mvdigamma())


def _covariances(p, q, trace):
    """Between normal distributions, at least one with a low-rank covariance; trace: of q's inverse times p's."""
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed")
    det = lambda d: d.log_det() if isinstance(d, LowRankMultivariateNormal) else 2 * log_det(d.scale_tril)
    diff = q.loc - p.loc
    if isinstance(q, LowRankMultivariateNormal):
        distance = q.distance(diff)
    else:
        tril = q.scale_tril.expand(tuple(diff.shape) + tuple(diff.shape[-1:]))
        distance = ctsc.linalg.solve_triangular(tril, diff.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))
    return 0.5 * (det(q) - det(p) + trace + distance - p.event_shape[0])


def _trace_of_low_rank(q, factor):
    """Of q's inverse times factor factor^T."""
    inside = ctsc.linalg.solve_triangular(q._capacitance_tril, q.scaled(factor), upper=False)
    return (factor.pow(2) / q.cov_diag.unsqueeze(-1)).sum((-2, -1)) - inside.pow(2).sum((-2, -1))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    return _covariances(p, q, _trace_of_low_rank(q, p.cov_factor) + _trace_of_low_rank(q, p.cov_diag.sqrt().diag_embed()))


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _multivariate_low_rank(p, q):
    return _covariances(p, q, _trace_of_low_rank(q, p.scale_tril))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_multivariate(p, q):
    a, b = ctsc.broadcast_tensors(p.covariance_matrix, q.scale_tril)
    trace = ctsc.cholesky_solve(a, b).diagonal(dim1=-2, dim2=-1).sum(-1)
    return _covariances(p, q, trace)


# ---- between different kinds: where p has values that q has not, infinite

_FIRST = {Beta: "concentration1", ContinuousBernoulli: "probs", Exponential: "rate", Gamma: "concentration", Gumbel: "loc", Laplace: "loc", Normal: "loc", Pareto: "scale",
          Poisson: "rate"}


def _infinite(p, q):
    return ctsc.full_like(getattr(p, next(_FIRST[k] for k in type(p).__mro__ if k in _FIRST)), math.inf)


for _p, _qs in ((Beta, (Pareto,)), (ContinuousBernoulli, (Pareto,)), (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
                (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)), (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
                (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)), (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
                (Pareto, (Beta, ContinuousBernoulli, Uniform)), (Poisson, (Bernoulli, Binomial))):
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


# The cross entropies of q under p, by p's moments: minus the expectation of q.log_prob.

def _under_normal(q, mean, square):
    return 0.5 * (2 * math.pi * q.scale.pow(2)).log() + (square - 2 * q.loc * mean + q.loc.pow(2)) / (2 * q.scale.pow(2))


def _under_gamma(q, mean, log):
    return q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * log + q.rate * mean


def _under_continuous_bernoulli(q, mean):
    return -mean * q.logits - ctsc.log1p(-q.probs) - q._cont_bern_log_norm()


def _under_gumbel(q, mean, exp):
    """exp: of E exp(-x / scale)"""
    return q.scale.log() + (mean - q.loc) / q.scale + exp * (q.loc / q.scale).exp()


def _square(p):
    return p.variance + p.mean.pow(2)


def _pareto_square(p):
    return p.alpha * p.scale.pow(2) / (p.alpha - 2)


def _pareto_mean(p):
    return p.alpha * p.scale / (p.alpha - 1)


def _x_log_x(x):
    return ctsc.special.xlogy(x, x)


def _log_of_uniform(p):
    """E log x between p.low and p.high."""
    return (_x_log_x(p.high) - _x_log_x(p.low) - (p.high - p.low)) / (p.high - p.low)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p, q):
    return -p.entropy() + _under_continuous_bernoulli(q, p.mean)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _any_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p, q):
    return -p.entropy() + _under_gamma(q, p.mean, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _any_normal(p, q):
    return -p.entropy() + _under_normal(q, p.mean, _square(p))


@register_kl(Beta, Uniform)
def _beta_uniform(p, q):
    return (-p.entropy() + (q.high - q.low).log()).masked_fill((q.low > 0) | (q.high < 1), math.inf)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p, q):
    return (-p.entropy() + (q.high - q.low).log()).masked_fill((q.low >= 0) | (q.high <= 1), math.inf)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    return -p.entropy() + _under_gamma(q, p.mean, -EULER - p.rate.log())


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    return -p.entropy() + _under_gumbel(q, p.mean, p.rate * q.scale / (p.rate * q.scale + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p, q):
    return -p.entropy() + _under_gumbel(q, p.mean, (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration))


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    return -p.entropy() + _under_gumbel(q, p.mean, ctsc.exp(-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    exp = q.scale / (p.high - p.low) * (ctsc.exp(-p.low / q.scale) - ctsc.exp(-p.high / q.scale))
    return -p.entropy() + _under_gumbel(q, p.mean, exp)


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    distance = (p.loc - q.loc) / p.scale
    absolute = p.scale * (math.sqrt(2 / math.pi) * ctsc.exp(-0.5 * distance.pow(2)) + distance * ctsc.erf(math.sqrt(0.5) * distance))
    return -p.entropy() + (2 * q.scale).log() + absolute / q.scale


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    return (-p.entropy() - q.rate.log() + q.rate * _pareto_mean(p)).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p, q):
    return (-p.entropy() + _under_gamma(q, _pareto_mean(p), p.scale.log() + p.alpha.reciprocal())).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    return (-p.entropy() + _under_normal(q, _pareto_mean(p), _pareto_square(p))).masked_fill(p.alpha <= 2, math.inf)


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    width, a, b = p.high - p.low, q.concentration1, q.concentration0
    log_other = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high) - width) / width # E log(1 - x)
    found = -width.log() - (a - 1) * _log_of_uniform(p) - (b - 1) * log_other + a.lgamma() + b.lgamma() - (a + b).lgamma()
    return found.masked_fill((p.high > 1) | (p.low < 0), math.inf)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    return (-p.entropy() + _under_continuous_bernoulli(q, p.mean)).masked_fill((p.high >= 1) | (p.low <= 0), math.inf)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    return (-p.entropy() - q.rate.log() + q.rate * p.mean).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    return (-p.entropy() + _under_gamma(q, p.mean, _log_of_uniform(p))).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    found = -p.entropy() - (q.alpha * q.scale.pow(q.alpha)).log() + (q.alpha + 1) * _log_of_uniform(p)
    return found.masked_fill(p.low < q.scale, math.inf)
