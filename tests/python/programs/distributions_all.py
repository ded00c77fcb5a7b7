"""Every distribution: samples under a seed, densities, moments, entropies, gradients, divergences of all pairs; transforms and the constraints they lead to."""
import warnings

import torch
import torch.distributions as D
from torch.distributions import constraints, transforms as T

warnings.simplefilter("ignore")
t = torch.tensor


def numbers(v):
    return [round(float(x), 4) for x in v.detach().double().flatten()[:6]]


def attempt(f):
    try:
        return numbers(f())
    except (NotImplementedError, ValueError, TypeError, AttributeError) as e:
        return type(e).__name__


a, b = t([0.7, 1.5, 2.5]), t([1.2, 0.4, 2.0])
tril = t([[1.0, 0.0], [0.3, 0.8]])
probs = t([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
ALL = [
    D.Bernoulli(t([0.2, 0.5, 0.9])), D.Beta(a, b), D.Binomial(5, t([0.2, 0.6])), D.Categorical(probs), D.Cauchy(a, b), D.Chi2(a), D.ContinuousBernoulli(t([0.1, 0.4999, 0.8])),
    D.ContinuousBernoulli(logits=t([-2.0, 0.001, 1.0])), D.Dirichlet(t([[0.5, 1.5, 2.0]])), D.Exponential(a), D.FisherSnedecor(a * 2, b * 4), D.Gamma(a, b),
    D.GeneralizedPareto(a, b, t([0.2, 0.0, -0.4])), D.Geometric(t([0.3, 0.8])), D.Gumbel(a, b), D.HalfCauchy(a), D.HalfNormal(a), D.InverseGamma(a + 2, b),
    D.Kumaraswamy(a, b), D.LKJCholesky(3, t([0.5, 1.5])), D.Laplace(a, b), D.LogNormal(a, b), D.LogisticNormal(t([[0.1, -0.4]]), t([[0.5, 1.0]])),
    D.LowRankMultivariateNormal(t([1.0, -1.0, 0.5]), t([[0.5], [1.0], [-0.3]]), t([0.2, 0.4, 0.9])),
    D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), D.Normal(t([0.0, 3.0]), t([1.0, 0.5]))), D.Multinomial(6, probs), D.MultivariateNormal(t([1.0, -1.0]), scale_tril=tril),
    D.NegativeBinomial(t([2.0, 4.5]), t([0.3, 0.6])), D.Normal(a, b), D.OneHotCategorical(probs), D.OneHotCategoricalStraightThrough(probs), D.Pareto(a, b + 2), D.Poisson(a),
    D.RelaxedBernoulli(t(0.7), t([0.2, 0.8])), D.RelaxedOneHotCategorical(t(0.5), probs), D.StudentT(b + 3, a, b), D.Uniform(-a, b), D.VonMises(a, b * 3),
    D.VonMises(t(0.1), t(1e-6)), D.Weibull(a, b), D.Wishart(t([3.0, 4.5]), scale_tril=tril), D.Wishart(4.0, t([[2.0, 0.5], [0.5, 1.0]])),
    D.Independent(D.Laplace(probs, 1 - probs), 1), D.TransformedDistribution(D.Normal(a, b), [T.TanhTransform(cache_size=1), T.AffineTransform(1.0, -2.0)]),
    D.TransformedDistribution(D.Normal(t([0.0, 1.0, 0.5]), 1.0), [T.CorrCholeskyTransform()]),
]
for i, d in enumerate(ALL):
    torch.manual_seed(i)
    x = d.sample((2,))
    first = d.sample()
    print(type(d).__name__, tuple(d.batch_shape), tuple(d.event_shape), d.has_rsample, tuple(x.shape), numbers(x[0]), numbers(first))
    print("  log_prob", attempt(lambda: d.log_prob(x)), "entropy", attempt(d.entropy))
    print("  mean", attempt(lambda: d.mean), "variance", attempt(lambda: d.variance), "stddev", attempt(lambda: d.stddev), "mode", attempt(lambda: d.mode))
    print("  cdf", attempt(lambda: d.cdf(x[0])), "icdf", attempt(lambda: d.icdf(d.cdf(x[0]))) if attempt(lambda: d.icdf(d.cdf(x[0]))) != "NotImplementedError" else "none")
    wide = d.expand((4,) + tuple(d.batch_shape))
    torch.manual_seed(i)
    print("  expanded", type(wide).__name__, tuple(wide.batch_shape), tuple(wide.sample().shape), attempt(lambda: wide.log_prob(first)[-1]))
    print("  in support", bool(d.support.check(x).all()), d.support.event_dim, d.support.is_discrete)

print("gradients")
for make, shape in ((lambda p: D.ContinuousBernoulli(p.sigmoid()), 3), (lambda p: D.FisherSnedecor(p + 3, p + 2), 3), (lambda p: D.GeneralizedPareto(p, p + 1, p * 0.1), 3),
                    (lambda p: D.InverseGamma(p + 2, p + 1), 3), (lambda p: D.Kumaraswamy(p + 1, p + 2), 3), (lambda p: D.LogisticNormal(p, p + 1), 3),
                    (lambda p: D.LowRankMultivariateNormal(p, p.unsqueeze(-1), p + 1), 3), (lambda p: D.Pareto(p + 1, p + 2), 3), (lambda p: D.Weibull(p + 1, p + 2), 3),
                    (lambda p: D.RelaxedOneHotCategorical(t(0.5), logits=p), 3), (lambda p: D.RelaxedBernoulli(t(0.5), logits=p), 3),
                    (lambda p: D.Wishart(p[0] + 4, scale_tril=torch.diag_embed(p + 1)), 3), (lambda p: D.VonMises(p, p + 1), 3), (lambda p: D.NegativeBinomial(p + 2, logits=p), 3)):
    p = t([0.3, 0.9, 0.5], requires_grad=True)
    d = make(p)
    torch.manual_seed(5)
    x = d.rsample() if d.has_rsample else d.sample()
    if d.has_rsample and not isinstance(d, D.FisherSnedecor):
        print(type(d).__name__, "rsample", numbers(torch.autograd.grad((x ** 2).sum(), p, retain_graph=True)[0]), end=" ")
    print(type(d).__name__, "log_prob", numbers(torch.autograd.grad(d.log_prob(x.detach()).sum(), p)[0]))

print("divergences")
pairs = [D.Bernoulli(t([0.2, 0.5, 0.9])), D.Beta(a, b), D.ContinuousBernoulli(t([0.1, 0.4999, 0.8])), D.Exponential(a), D.Gamma(a, b), D.Gumbel(a, b), D.Laplace(a, b),
         D.Normal(a, b), D.Pareto(a, b + 2), D.Poisson(a), D.Uniform(-a, b), D.Uniform(t([0.1, 0.2, 0.3]), t([0.4, 0.6, 0.9])), D.Uniform(t([0.0, -1.0, 0.8]), t([1.0, 2.0, 3.0])),
         D.Cauchy(a, b), D.HalfNormal(a), D.LogNormal(a, b), D.Geometric(t([0.3, 0.8, 0.5])), D.Categorical(t([0.2, 0.3, 0.5])), D.Chi2(b)]
others = {D.Beta: D.Beta(b, a), D.Normal: D.Normal(b, a), D.Gamma: D.Gamma(b, a), D.Gumbel: D.Gumbel(b, a), D.Pareto: D.Pareto(b, a), D.Cauchy: D.Cauchy(b, a),
          D.ContinuousBernoulli: D.ContinuousBernoulli(t([0.3, 0.6, 0.5])), D.HalfNormal: D.HalfNormal(b)}
for p in pairs:
    for q in pairs:
        q = others.get(type(q), q)
        found = attempt(lambda: D.kl_divergence(p, q))
        if found != "NotImplementedError":
            print(type(p).__name__, type(q).__name__, found)
low = D.LowRankMultivariateNormal(t([1.0, -1.0]), t([[0.5], [1.0]]), t([0.2, 0.4]))
low2 = D.LowRankMultivariateNormal(t([0.0, 1.0]), t([[0.1, 0.3], [-1.0, 0.2]]), t([1.2, 0.5]))
full = D.MultivariateNormal(t([[1.0, -1.0], [0.0, 0.0]]), scale_tril=tril)
for p, q in ((low, low2), (low2, low), (low, full), (full, low2), (full, D.MultivariateNormal(torch.zeros(2), torch.eye(2)))):
    print(type(p).__name__, type(q).__name__, numbers(D.kl_divergence(p, q)))
print(numbers(low2.covariance_matrix), numbers(low2.precision_matrix), numbers(low2.scale_tril))

print("transforms")
x = t([[0.3, -1.2, 0.7], [1.5, 0.2, -0.4]])
m = t([[0.5, 0.2], [-0.3, 1.0]])
for f, v in ((T.ExpTransform(), x), (T.SigmoidTransform(), x), (T.TanhTransform(), x), (T.SoftplusTransform(), x), (T.AbsTransform(), x), (T.PowerTransform(t(2.5)), x.abs()),
             (T.AffineTransform(1.0, t([2.0, -3.0, 0.5])), x), (T.AffineTransform(0.0, 2.0, event_dim=1), x), (T.SoftmaxTransform(), x), (T.StickBreakingTransform(), x),
             (T.CorrCholeskyTransform(), x), (T.LowerCholeskyTransform(), m), (T.PositiveDefiniteTransform(), m), (T.ReshapeTransform((3,), (3, 1)), x),
             (T.IndependentTransform(T.ExpTransform(), 1), x), (T.ComposeTransform([T.AffineTransform(0.5, 2.0), T.StickBreakingTransform()]), x),
             (T.CatTransform([T.ExpTransform(), T.TanhTransform()], dim=1, lengths=[1, 2]), x), (T.StackTransform([T.ExpTransform(), T.AffineTransform(1.0, 3.0)], dim=0), x),
             (T.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), x), (T.ExpTransform().inv, x.exp())):
    y = f(v)
    print(type(f).__name__, f.bijective, numbers(y), "back", numbers(f.inv(y)), "log det", attempt(lambda: f.log_abs_det_jacobian(v, y)), tuple(f.forward_shape((5, 3))) if not v is m else "",
          f.domain.event_dim, f.codomain.event_dim)
f = T.TanhTransform(cache_size=1)
big = t([20.0], requires_grad=True)
y = f(big)
print(f.inv(y) is big, T.TanhTransform().inv(y).item(), f == T.TanhTransform(), T.ExpTransform() == T.TanhTransform(), T.PowerTransform(2.0) == T.PowerTransform(t(2.0)),
      f.with_cache(0) is f, [T.ExpTransform(), T.AffineTransform(0, 1)] == [T.ExpTransform(), T.AffineTransform(0, 1)])
print(T.ComposeTransform([T.ExpTransform(), T.AffineTransform(0.0, 1.0)]), T.IndependentTransform(T.ExpTransform(), 1), T.ExpTransform().inv)

print("constraints")
for c in (constraints.real, constraints.positive, constraints.greater_than(2.0), constraints.greater_than_eq(-1.0), constraints.less_than(1.0), constraints.unit_interval,
          constraints.interval(-1.0, 3.0), constraints.half_open_interval(0.0, 2.0), constraints.simplex, constraints.corr_cholesky, constraints.lower_cholesky,
          constraints.positive_definite, constraints.real_vector, constraints.independent(constraints.positive, 1), constraints.integer_interval(0, 3),
          constraints.stack([constraints.positive, constraints.unit_interval], 0), constraints.cat([constraints.positive, constraints.unit_interval], 1, [1, 2])):
    v = m if c.event_dim == 2 and c is not constraints.corr_cholesky else x
    for to in (D.biject_to, D.transform_to):
        try:
            f = to(c)
            y = f(v)
            print(c, numbers(y), bool(c.check(y).all()), numbers(f.inv(y)))
        except NotImplementedError as e:
            print(e)
print([numbers(c.check(v)) for c, v in ((constraints.symmetric, m), (constraints.square, m), (constraints.lower_triangular, tril), (constraints.positive_semidefinite, torch.eye(2) * 0),
                                        (constraints.one_hot, torch.eye(2)), (constraints.boolean, tril), (constraints.nonnegative_integer, x), (constraints.positive_integer, t([1.0, 0.0])))])
print(D.Normal.support, constraints.is_dependent(D.Uniform.support), constraints.is_dependent(D.Pareto.support), constraints.MixtureSameFamilyConstraint(constraints.real))

for bad in (lambda: D.Pareto(t(-1.0), t(1.0)), lambda: D.Weibull(1.0, 0.0), lambda: D.LKJCholesky(1), lambda: D.Wishart(t(0.5), torch.eye(2)), lambda: D.VonMises(t(0.0), t(1.0)).log_prob(1.0),
            lambda: D.Kumaraswamy(t(1.0), t(1.0)).log_prob(t(2.0)), lambda: D.NegativeBinomial(t(1.0)), lambda: D.NegativeBinomial(t(1.0), t(1.0)),
            lambda: T.ReshapeTransform((3,), (2,)), lambda: T.ExpTransform(cache_size=2), lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.zeros(3, 1), torch.ones(2))):
    try:
        print("no error", bad())
    except (ValueError, AssertionError, RuntimeError, AttributeError) as e:
        print(type(e).__name__, str(e).split("\n")[0][:150])


class Sharp(D.ExponentialFamily):
    """An exponential family of one's own."""
    arg_constraints, support, _mean_carrier_measure = {"rate": constraints.positive}, constraints.positive, 0

    def __init__(self, rate):
        self.rate = rate
        super().__init__(rate.shape)

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -torch.log(-x)


print(numbers(Sharp(a).entropy()), numbers(D.Exponential(a).entropy()))
