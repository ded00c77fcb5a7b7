"""Parametrizations, weight and spectral norm, pruning-like masks, functional_call, lazy layers."""
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

torch.manual_seed(0)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(torch.equal(layer.weight, layer.weight.T), layer, parametrize.is_parametrized(layer, "weight"), [n for n, _ in layer.named_parameters()])
layer(torch.ones(1, 3)).sum().backward()
print(layer.parametrizations.weight.original.grad)
parametrize.remove_parametrizations(layer, "weight")
print(type(layer).__name__, torch.equal(layer.weight, layer.weight.T), [n for n, _ in layer.named_parameters()])
ortho = orthogonal(nn.Linear(3, 3))
print((ortho.weight @ ortho.weight.T).allclose(torch.eye(3), atol=1e-5))
wn = weight_norm(nn.Linear(4, 2), name="weight")
print([tuple(p.shape) for p in wn.parameters()], wn(torch.ones(1, 4)).shape)
sn = spectral_norm(nn.Linear(4, 4), n_power_iterations=20)
for _ in range(5):
    sn(torch.ones(1, 4))
print(torch.linalg.matrix_norm(sn.weight, 2).detach())
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.ones(4, 2)
params = {k: torch.zeros_like(v) for k, v in net.named_parameters()}
print(functional_call(net, params, (x,)), net(x).abs().sum() > 0)
from torch.func import grad, vmap, jacrev, hessian
loss = lambda p: functional_call(net, p, (x,)).pow(2).mean()
grads = grad(loss)({k: v.detach() for k, v in net.named_parameters()})
net.zero_grad()
loss(dict(net.named_parameters())).backward()
print({k: tuple(v.shape) for k, v in grads.items()}, all(torch.allclose(grads[k], p.grad) for k, p in net.named_parameters()))
print(vmap(lambda a, b: a @ b)(torch.arange(6.).view(2, 3), torch.ones(2, 3)), vmap(torch.sum, in_dims=1)(torch.arange(6.).view(2, 3)), vmap(lambda v: (v * 2, v.sum()), out_dims=(1, 0))(torch.ones(2, 3)))
per_sample = vmap(grad(lambda w, xi: (w * xi).sum() ** 2), in_dims=(None, 0))(torch.ones(2), x * torch.arange(4.)[:, None])
print(per_sample, jacrev(torch.sin)(torch.zeros(2)), hessian(lambda v: (v ** 3).sum())(torch.ones(2)))
from torch.func import jacfwd, vjp, jvp, grad_and_value, stack_module_state
print(jacfwd(lambda v: v ** 2)(torch.ones(2)), jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),)), vjp(torch.cos, torch.zeros(2))[1](torch.ones(2)), grad_and_value(lambda v: v.sum() * 3)(torch.ones(2)))
p, b = stack_module_state([nn.Linear(2, 1) for _ in range(3)])
print({k: tuple(v.shape) for k, v in p.items()}, b)
lazy = nn.LazyLinear(4)
print(lazy, lazy(torch.ones(2, 7)).shape, lazy)
