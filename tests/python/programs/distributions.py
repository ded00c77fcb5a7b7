"""torch.distributions: sampling, log_prob, entropy, kl, transforms, the reparametrisation trick."""
import torch
import torch.distributions as D
from torch.distributions import Bernoulli, Beta, Categorical, Dirichlet, Gamma, Independent, Multinomial, MultivariateNormal, Normal, Uniform, kl_divergence

torch.manual_seed(0)
n = Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
print(n, n.sample().shape, n.sample((3,)).shape, n.log_prob(torch.zeros(2)), n.entropy(), n.cdf(torch.zeros(2)), n.icdf(torch.tensor(0.5)), n.mean, n.variance, n.stddev, n.batch_shape, n.event_shape)
mu, log_sigma = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
z = Normal(mu, log_sigma.exp()).rsample((100,))
(z ** 2).mean().backward()
print(mu.grad.shape, log_sigma.grad.abs().sum() > 0)
c = Categorical(logits=torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
action = c.sample()
print(action.shape, c.log_prob(torch.tensor([2, 0])), c.entropy(), c.probs, Categorical(probs=torch.tensor([1.0, 1.0])).logits, c)
b = Bernoulli(probs=torch.tensor([0.2, 0.9]))
print(b.log_prob(torch.tensor([0.0, 1.0])), b.entropy(), b.mean, b.sample().unique().numel() <= 2, Bernoulli(logits=torch.tensor(0.0)).probs)
print(kl_divergence(n, Normal(torch.zeros(2), torch.ones(2))), kl_divergence(c, Categorical(logits=torch.zeros(2, 3))), kl_divergence(b, Bernoulli(torch.tensor([0.5, 0.5]))))
u = Uniform(torch.tensor(-1.0), torch.tensor(3.0))
print(u.log_prob(torch.tensor(0.0)), u.mean, u.entropy(), bool((u.sample((10,)) >= -1).all()))
beta, gamma = Beta(torch.tensor(2.0), torch.tensor(3.0)), Gamma(torch.tensor(2.0), torch.tensor(0.5))
print(beta.log_prob(torch.tensor(0.4)), beta.mean, beta.entropy(), gamma.log_prob(torch.tensor(1.0)), gamma.mean, gamma.entropy(), 0 < beta.sample() < 1)
mvn = MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
print(mvn.log_prob(torch.ones(2)), mvn.entropy(), mvn.sample((4,)).shape, mvn.covariance_matrix, mvn.scale_tril, MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2)).log_prob(torch.zeros(2)))
d = Dirichlet(torch.tensor([1.0, 2.0, 3.0]))
print(d.log_prob(torch.tensor([0.2, 0.3, 0.5])), d.mean, d.sample().sum())
ind = Independent(Normal(torch.zeros(3, 2), torch.ones(3, 2)), 1)
print(ind.log_prob(torch.zeros(3, 2)), ind.batch_shape, ind.event_shape, kl_divergence(ind, ind))
print(D.Exponential(torch.tensor(2.0)).log_prob(torch.tensor(1.0)), D.Laplace(0.0, 1.0).log_prob(torch.tensor(1.0)), D.Poisson(torch.tensor(3.0)).log_prob(torch.tensor(2.0)), D.LogNormal(0.0, 1.0).log_prob(torch.tensor(2.0)),
      D.StudentT(torch.tensor(3.0)).log_prob(torch.tensor(0.5)), D.Geometric(torch.tensor(0.3)).log_prob(torch.tensor(2.0)), D.Binomial(10, torch.tensor(0.3)).log_prob(torch.tensor(3.0)), D.Cauchy(0.0, 1.0).log_prob(torch.tensor(1.0)),
      D.Gumbel(0.0, 1.0).log_prob(torch.tensor(1.0)), D.HalfNormal(1.0).log_prob(torch.tensor(1.0)), D.OneHotCategorical(torch.tensor([0.3, 0.7])).log_prob(torch.tensor([0.0, 1.0])), Multinomial(3, torch.tensor([0.5, 0.5])).log_prob(torch.tensor([1.0, 2.0])))
t = D.TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [D.transforms.AffineTransform(1.0, 2.0), D.transforms.TanhTransform()])
print(t.log_prob(torch.tensor([0.1, -0.2])), t.rsample().abs().max() < 1)
mix = D.MixtureSameFamily(Categorical(torch.tensor([0.3, 0.7])), Normal(torch.tensor([-1.0, 1.0]), torch.tensor([0.5, 0.5])))
print(mix.log_prob(torch.tensor(0.0)), mix.mean)
try:
    Normal(torch.tensor(0.0), torch.tensor(-1.0))
except ValueError as e:
    print(str(e)[:60])
print(n.expand((3, 2)).batch_shape, isinstance(n, D.Distribution), n.has_rsample, Categorical.has_rsample)
