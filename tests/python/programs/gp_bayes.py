"""Gaussian processes by Cholesky, a Bayesian network by backprop with a KL, SVI with reparametrised normals, HMC, Laplace approximation, importance weights, MC dropout."""
import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import MultivariateNormal, Normal, kl_divergence, Gamma, constraints, transform_to, LogNormal, Independent, StudentT

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


class GP(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.ParameterDict({"len": nn.Parameter(torch.tensor(0.0)), "amp": nn.Parameter(torch.tensor(0.0)), "noise": nn.Parameter(torch.tensor(-2.0))})

    def kernel(self, a, b):
        d = torch.cdist(a[:, None], b[:, None], compute_mode="donot_use_mm_for_euclid_dist")
        return F.softplus(self.raw["amp"]) * torch.exp(-0.5 * (d / F.softplus(self.raw["len"])) ** 2)

    def nll(self, x, y):
        K = self.kernel(x, x) + (F.softplus(self.raw["noise"]) + 1e-6) * torch.eye(len(x))
        self.L = torch.linalg.cholesky(K)
        self.alpha = torch.cholesky_solve(y[:, None], self.L)
        return 0.5 * y @ self.alpha[:, 0] + self.L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    def predict(self, x, t):
        Ks = self.kernel(x, t)
        v = torch.linalg.solve_triangular(self.L, Ks, upper=False)
        return (Ks.T @ self.alpha)[:, 0], self.kernel(t, t).diagonal() - (v ** 2).sum(0)


x = torch.linspace(-3, 3, 20)
y = torch.sin(2 * x) + 0.1 * torch.randn(20)
gp = GP()
opt = torch.optim.LBFGS(gp.parameters(), lr=0.5, max_iter=10, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = gp.nll(x, y)
    loss.backward()
    return loss


for i in range(3):
    print(i, round(opt.step(closure).item(), 5))
with torch.no_grad():
    gp.nll(x, y)
    mu, var = gp.predict(x, torch.tensor([0.1, 1.3, 4.0]))
    print(mu, var)
    mvn = MultivariateNormal(torch.zeros(20), scale_tril=gp.L)
    print(mvn.log_prob(y), -gp.nll(x, y), mvn.entropy(), mvn.rsample((2,)).shape)


class BayesLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(o, i).uniform_(-0.2, 0.2))
        self.rho = nn.Parameter(torch.full((o, i), -3.0))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, v):
        q = Normal(self.mu, F.softplus(self.rho))
        self.kl = kl_divergence(q, Normal(0.0, 1.0)).sum()
        return F.linear(v, q.rsample(), self.bias)


net = nn.Sequential(BayesLinear(1, 10), nn.Tanh(), BayesLinear(10, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for i in range(20):
    opt.zero_grad()
    nll = -Normal(net(x[:, None])[:, 0], 0.1).log_prob(y).mean()
    kl = sum(m.kl for m in net.modules() if isinstance(m, BayesLinear))
    (nll + kl / 2000).backward()
    opt.step()
print(round(nll.item(), 4), round(kl.item(), 4))
q = torch.stack([net(torch.tensor([[0.5]])) for _ in range(8)])
print(q.mean(), q.std())


def hmc(logp, q, n, eps=0.1, steps=5):
    kept, accepted = [], 0
    for _ in range(n):
        p = torch.randn_like(q)
        a, b = q.clone().requires_grad_(), p.clone()
        h0 = -logp(q) + 0.5 * p.square().sum()
        g, = torch.autograd.grad(logp(a), a)
        for _ in range(steps):
            b = b + 0.5 * eps * g
            a = (a + eps * b).detach().requires_grad_()
            g, = torch.autograd.grad(logp(a), a)
            b = b + 0.5 * eps * g
        h1 = -logp(a) + 0.5 * b.square().sum()
        if torch.rand(()) < (h0 - h1).exp():
            q, accepted = a.detach(), accepted + 1
        kept.append(q)
    return torch.stack(kept), accepted / n


target = MultivariateNormal(torch.tensor([1.0, -1.0]), torch.tensor([[1.0, 0.5], [0.5, 2.0]]))
s, rate = hmc(target.log_prob, torch.zeros(2), 60)
print(s.mean(0), torch.cov(s[10:].T), rate)
H = torch.autograd.functional.hessian(lambda v: -target.log_prob(v), target.mean)
print(torch.linalg.inv(H))
prop = Independent(StudentT(5.0, torch.zeros(2), 2.0), 1)
z = prop.sample((500,))
w = (target.log_prob(z) - prop.log_prob(z)).softmax(0)
print((w[:, None] * z).sum(0), 1 / (w ** 2).sum())
t = transform_to(constraints.positive)
print(t(torch.tensor([-1.0, 2.0])), t.inv(torch.tensor([0.5])), transform_to(constraints.simplex)(torch.tensor([0.1, 0.2, 0.3])), LogNormal(0.0, 0.5).mean, Gamma(2.0, 3.0).cdf(torch.tensor(0.7)))
drop = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
outs = torch.stack([drop(x[:3, None]) for _ in range(10)])
print(outs.mean(0).flatten(), outs.std(0).flatten())
print(torch.special.logsumexp(z[:5], 0), torch.logcumsumexp(x[:3], 0), torch.logaddexp(x[0], x[1]), torch.special.ndtr(x[:2]), torch.lgamma(x[-2:].abs()), torch.digamma(x[-2:]), torch.special.erfcx(x[:2]), torch.igamma(x[-2:], x[-2:]), torch.special.log_ndtr(x[:2]), torch.mvlgamma(x[-2:] + 3, 2))
