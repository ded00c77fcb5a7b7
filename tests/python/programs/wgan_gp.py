"""WGAN with gradient penalty and a conditional generator: second-order gradients, spectral norm by parametrizations, embedding of labels, TTUR, exponential decay, sampled metrics."""
import torch
from torch import nn, autograd
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm, weight_norm, orthogonal

torch.manual_seed(12)
n_classes, zdim = 3, 4


def real_batch(n):
    y = torch.randint(n_classes, (n,))
    angle = y.float() * 2.0943951
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(n, 2), y


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(n_classes, 4)
        self.net = nn.Sequential(nn.Linear(zdim + 4, 32), nn.BatchNorm1d(32, 0.8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 2))

    def forward(self, z, y):
        return self.net(torch.cat((z, self.emb(y)), -1))


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(n_classes, 4, max_norm=1.0)
        self.net = nn.Sequential(spectral_norm(nn.Linear(6, 32)), nn.CELU(), weight_norm(nn.Linear(32, 16)), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x, y):
        return self.net(torch.cat((x, self.emb(y)), -1)).squeeze(-1)


g, d = G(), D()
print(list(d.state_dict()))
opt_g = torch.optim.Adam(g.parameters(), lr=1e-2, betas=(0.0, 0.9))
opt_d = torch.optim.NAdam(d.parameters(), lr=4e-3) if False else torch.optim.Adam(d.parameters(), lr=4e-3, betas=(0.0, 0.9))
sched = torch.optim.lr_scheduler.ExponentialLR(opt_g, 0.98)


def gradient_penalty(x, fake, y):
    eps = torch.rand(len(x), 1).expand_as(x)
    mix = (eps * x + (1 - eps) * fake).requires_grad_(True)
    out = d(mix, y)
    grads = autograd.grad(outputs=out, inputs=mix, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


for it in range(6):
    for _ in range(3):
        x, y = real_batch(32)
        fake = g(torch.randn(32, zdim), y).detach()
        gp = gradient_penalty(x, fake, y)
        loss_d = d(fake, y).mean() - d(x, y).mean() + 10 * gp
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    y = torch.randint(n_classes, (32,))
    for p in d.parameters():
        p.requires_grad_(False)
    loss_g = -d(g(torch.randn(32, zdim), y), y).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    sched.step()
    for p in d.parameters():
        p.requires_grad_(True)
    print(it, round(loss_d.item(), 4), round(loss_g.item(), 4), round(gp.item(), 4))
print(torch.linalg.matrix_norm(d.net[0].weight, 2))
torch.nn.utils.parametrize.remove_parametrizations(d.net[2], "weight")
print(list(d.net[2]._parameters), torch.nn.utils.parametrize.is_parametrized(d.net[0]), torch.nn.utils.parametrize.is_parametrized(d.net[2]))
o = orthogonal(nn.Linear(4, 4, bias=False))
print((o.weight @ o.weight.T - torch.eye(4)).abs().max() < 1e-5)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


l = nn.Linear(3, 3)
nn.utils.parametrize.register_parametrization(l, "weight", Symmetric())
print(torch.equal(l.weight, l.weight.T), l)
with nn.utils.parametrize.cached():
    print(l.weight is l.weight)
g.eval()
with torch.no_grad():
    s = torch.stack([g(torch.randn(50, zdim), torch.full((50,), c)).mean(0) for c in range(3)])
print(s.shape, torch.isfinite(s).all(), torch.cdist(s, s).shape)
