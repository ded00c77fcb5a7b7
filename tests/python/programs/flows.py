"""Densities: a RealNVP flow, transforms of distributions, planar flow's determinants, a Gaussian process by Cholesky, Metropolis and Langevin sampling."""
import math

import torch
from torch import nn
from torch.distributions import (AffineTransform, Bernoulli, Beta, Dirichlet, Exponential, ExpTransform, Gamma, LogNormal, MultivariateNormal, Normal, Poisson, SigmoidTransform,
                                 StudentT, TransformedDistribution, Uniform, constraints, kl)


class Coupling(nn.Module):
    def __init__(self, dim, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 2 * dim))
        self.scale = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        s, t = self.net(x * self.mask).chunk(2, -1)
        s = self.scale * torch.tanh(s) * (1 - self.mask)
        return x * s.exp() + t * (1 - self.mask), s.sum(-1)

    def inverse(self, z):
        s, t = self.net(z * self.mask).chunk(2, -1)
        s = self.scale * torch.tanh(s) * (1 - self.mask)
        return (z - t * (1 - self.mask)) * (-s).exp()


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(2, torch.tensor([i % 2, 1 - i % 2]).float()) for i in range(4))

    def log_prob(self, x):
        total = torch.zeros(x.shape[0])
        for layer in self.layers:
            x, d = layer(x)
            total = total + d
        return MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(x) + total


torch.manual_seed(0)
angle = torch.rand(64) * math.pi
moons = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(64, 2)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(9):
    loss = -flow.log_prob(moons).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        print(step, "%.4f" % loss)
z = moons
for layer in flow.layers:
    z, _ = layer(z)
for layer in reversed(flow.layers):
    z = layer.inverse(z)
print(torch.allclose(z, moons, atol=1e-4))
jac = torch.autograd.functional.jacobian(lambda v: flow.layers[0](v[None])[0][0], moons[0])
print(torch.linalg.slogdet(jac).logabsdet, flow.layers[0](moons[:1])[1])
logit_normal = TransformedDistribution(Normal(torch.tensor([0.0, 1.0]), 1.0), [SigmoidTransform()])
v = torch.tensor([0.3, 0.6])
print(logit_normal.log_prob(v), logit_normal.sample((3,)).shape, logit_normal.support)
ln = TransformedDistribution(Normal(0.5, 0.3), [ExpTransform()])
print(ln.log_prob(v), LogNormal(0.5, 0.3).log_prob(v), LogNormal(0.5, 0.3).mean)
shifted = TransformedDistribution(Uniform(0, 1), AffineTransform(loc=2.0, scale=3.0))
print(shifted.cdf(torch.tensor(3.5)), shifted.icdf(torch.tensor(0.5)), shifted.log_prob(torch.tensor(3.0)))
print(kl.kl_divergence(Normal(0., 1.), Normal(1., 2.)), kl.kl_divergence(Beta(2., 3.), Beta(1., 1.)), kl.kl_divergence(MultivariateNormal(torch.zeros(2), torch.eye(2)), MultivariateNormal(torch.ones(2), 2 * torch.eye(2))))
print(Gamma(2.0, 1.5).log_prob(v), Dirichlet(torch.tensor([1., 2., 3.])).entropy(), StudentT(3.0).log_prob(v), Poisson(2.0).log_prob(torch.arange(3.)), Exponential(1.5).cdf(v), Bernoulli(logits=v).entropy())
print(constraints.positive.check(v), constraints.simplex.check(torch.tensor([0.3, 0.7])), Normal.arg_constraints)
try:
    Normal(0.0, -1.0)
except ValueError as e:
    print(str(e).split("\n")[0])


def kernel(a, b, length, amp):
    return amp.exp() * torch.exp(-0.5 * ((a[:, None] - b[None]) / length.exp()) ** 2)


gx = torch.linspace(0, 1, 12, dtype=torch.float64)
gy = torch.sin(6 * gx) + 0.05 * torch.randn(12, dtype=torch.float64)
hyper = torch.zeros(3, dtype=torch.float64, requires_grad=True)
opt = torch.optim.Adam([hyper], lr=0.1)
for step in range(12):
    K = kernel(gx, gx, hyper[0], hyper[1]) + hyper[2].exp() * 0.01 * torch.eye(12, dtype=torch.float64)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(gy.unsqueeze(1), L)
    nll = 0.5 * gy @ alpha.squeeze(1) + L.diagonal().log().sum() + 6 * math.log(2 * math.pi)
    opt.zero_grad()
    nll.backward()
    opt.step()
    if step % 5 == 0:
        print(step, "%.4f" % nll)
with torch.no_grad():
    xs = torch.tensor([0.25, 0.5], dtype=torch.float64)
    ks = kernel(gx, xs, hyper[0], hyper[1])
    vv = torch.linalg.solve_triangular(L, ks, upper=False)
    print(ks.T @ alpha, hyper[1].exp() - (vv ** 2).sum(0))
target = lambda q: -0.5 * (q ** 2).sum(-1) - 0.1 * q[..., 0] ** 4
q, accepted = torch.zeros(2), 0
for _ in range(50):
    p = q + 0.5 * torch.randn(2)
    if torch.rand(()).log() < target(p) - target(q):
        q, accepted = p, accepted + 1
print(accepted, q)
chain = torch.randn(20, 2)
for _ in range(10):
    chain.requires_grad_(True)
    g, = torch.autograd.grad(target(chain).sum(), chain)
    chain = (chain + 0.05 * g + math.sqrt(0.1) * torch.randn_like(chain)).detach()
print(chain.mean(0), chain.std(0))
