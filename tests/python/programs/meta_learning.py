"""MAML on sine waves: inner steps with create_graph, functional_call; Reptile; hypergradients; influence by Hessian-vector products."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.functional import hessian, hvp, jacobian, vhp, vjp
from torch.func import functional_call


def task(n=10):
    amplitude, phase = 0.1 + 4.9 * torch.rand(1), math.pi * torch.rand(1)
    x = torch.rand(2 * n, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return x[:n], y[:n], x[n:], y[n:]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 1))
meta = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(5):
    outer = 0.0
    for _ in range(3):
        sx, sy, qx, qy = task()
        fast = dict(model.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(functional_call(model, fast, (sx,)), sy)
            grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=True)
            fast = {k: p - 0.01 * g for (k, p), g in zip(fast.items(), grads)}
        outer = outer + F.mse_loss(functional_call(model, fast, qx), qy)
    meta.zero_grad()
    (outer / 3).backward()
    meta.step()
    print(step, "%.4f" % (outer / 3).item(), "%.4f" % model[0].weight.grad.norm())
before = {k: v.clone() for k, v in model.state_dict().items()}
sx, sy, qx, qy = task()
inner = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    inner.zero_grad(set_to_none=True)
    F.mse_loss(model(sx), sy).backward()
    inner.step()
model.load_state_dict({k: before[k] + 0.5 * (v - before[k]) for k, v in model.state_dict().items()})
print("%.4f" % F.mse_loss(model(qx), qy))
w, lam = torch.randn(3), torch.tensor(0.1, requires_grad=True)
A, b = torch.randn(8, 3), torch.randn(8)
p = w.clone().requires_grad_()
for _ in range(5):
    inner_loss = ((A @ p - b) ** 2).mean() + lam * (p ** 2).sum()
    g, = torch.autograd.grad(inner_loss, p, create_graph=True)
    p = p - 0.05 * g
((A @ p - b + 0.1) ** 2).mean().backward()
print(lam.grad, lam.is_leaf)
f = lambda v: ((A @ v - b) ** 2).mean() + (v ** 4).sum()
print(hessian(f, w), hvp(f, w, torch.ones(3))[1], vhp(f, w, torch.ones(3))[1])
print(jacobian(lambda a, c: a[:2] * c, (w, torch.tensor(2.0))), vjp(lambda v: v ** 2, w, torch.ones(3))[1])


def hvp_by_hand(loss, params, vector):
    grads = torch.autograd.grad(loss, params, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in grads])
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(flat @ vector, params, retain_graph=True)])


params = list(model.parameters())
n = sum(p.numel() for p in params)
loss = F.mse_loss(model(sx), sy)
v = torch.randn(n)
v /= v.norm()
for _ in range(3):
    hv = hvp_by_hand(F.mse_loss(model(sx), sy), params, v)
    value = v @ hv
    v = hv / hv.norm()
print("%.3f" % value, torch.autograd.grad(loss, params, allow_unused=True)[0].shape)
x = torch.tensor(2.0, requires_grad=True)
derivatives, y = [], x ** 5
for _ in range(4):
    y, = torch.autograd.grad(y, x, create_graph=True)
    derivatives.append(y.item())
print(derivatives)
print(torch.autograd.grad((x * 3).sum(), [x, lam], allow_unused=True), torch.autograd.grad((x * 3), [x, lam], allow_unused=True, materialize_grads=True))
