"""torch.func: per-sample gradients, ensembles by stack_module_state, jacobians and hessians, vmap with in_dims, randomness and chunks, functional optimisers, MAML, linearize."""
import copy
import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, vmap, jacrev, jacfwd, hessian, vjp, jvp, stack_module_state, functionalize
import torch.nn.functional as F
from functools import partial

torch.manual_seed(4)
net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
x, y = torch.randn(6, 3), torch.randint(0, 2, (6,))
params = {k: v.detach() for k, v in net.named_parameters()}


def loss(params, x, y):
    return F.cross_entropy(functional_call(net, params, (x.unsqueeze(0),)), y.unsqueeze(0))


per = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
print({k: tuple(v.shape) for k, v in per.items()})
F.cross_entropy(net(x), y).backward()
print(all(torch.allclose(per[k].mean(0), p.grad, atol=1e-6) for k, p in net.named_parameters()))
g, v = grad_and_value(loss)(params, x[0], y[0])
print(v, g["2.bias"])
norms = torch.stack([p.flatten(1).norm(dim=1) for p in per.values()], 1).norm(dim=1)
clip = (0.5 / (norms + 1e-6)).clamp(max=1.0)
print(norms, torch.einsum("i,i...->...", clip, per["0.weight"])[0])
models = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)) for _ in range(3)]
ps, bs = stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(ps, bs, x)
print(out.shape, torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-6), ps["0.weight"].shape)
f = lambda v: torch.stack([v.sin().sum(), (v ** 2).prod()])
p = torch.tensor([0.3, 0.7, 1.1])
print(jacrev(f)(p), jacfwd(f)(p), hessian(lambda v: (v ** 3).sum() + v[0] * v[1])(p), sep="\n")
o, pull = vjp(f, p)
print(o, pull(torch.tensor([1.0, 0.0])), jvp(f, (p,), (torch.ones(3),)))
o, pull, aux = vjp(lambda v: (v * 2, v.sum()), p, has_aux=True)
print(o, aux, pull(torch.ones(3)))
print(vmap(torch.dot)(x, x), vmap(torch.dot, in_dims=(1, None))(x.T, x[0]), vmap(lambda a, b: a @ b, in_dims=(0, 1), out_dims=1)(torch.ones(4, 2, 3), torch.ones(3, 4)).shape)
print(vmap(lambda d: d["a"] * 2 + d["b"], in_dims=({"a": 0, "b": None},))({"a": torch.arange(3.0), "b": torch.tensor(1.0)}))
print(vmap(vmap(lambda a: a.sum()))(torch.ones(2, 3, 4)), vmap(lambda a: (a, a.sum(0)))(torch.ones(2, 3))[1], vmap(torch.sum, chunk_size=2)(torch.ones(5, 3)))
print(vmap(lambda a: torch.where(a > 0, a, 0.0))(torch.tensor([[-1.0, 1.0], [2.0, -2.0]])), vmap(torch.linalg.inv)(torch.eye(2).expand(3, 2, 2))[0])
print(vmap(lambda a: a + torch.randn(2), randomness="different")(torch.zeros(3, 2)).shape)
for bad in (lambda: vmap(lambda a: a + torch.randn(2))(torch.zeros(3, 2)), lambda: vmap(torch.dot)(x, x[:2]), lambda: vmap(lambda a: 3)(x), lambda: vmap(torch.dot, in_dims=(0,))(x, x), lambda: grad(lambda v: v * 2)(p)):
    try:
        bad()
        print("fine")
    except Exception as e:
        print(type(e).__name__)


def inner(params, x, y, lr=0.1):
    g = grad(lambda q: F.mse_loss(functional_call(lin, q, (x,)), y))(params)
    return {k: params[k] - lr * g[k] for k in params}


lin = nn.Linear(1, 1)
meta = {k: v.detach().clone().requires_grad_() for k, v in lin.named_parameters()}
opt = torch.optim.SGD(meta.values(), lr=0.1)
for it in range(5):
    total = 0
    for slope in (1.0, 2.0, 3.0):
        xs = torch.randn(8, 1)
        fast = inner(meta, xs, slope * xs)
        q = torch.randn(8, 1)
        total = total + F.mse_loss(functional_call(lin, fast, (q,)), slope * q)
    opt.zero_grad()
    total.backward()
    opt.step()
    print(round(total.item(), 4), end=" ")
print({k: v.detach().flatten() for k, v in meta.items()})
print(grad(lambda v: v.sin().sum(), argnums=0)(p), grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(p, p * 2), grad(grad(lambda v: v ** 4))(torch.tensor(2.0)))
J = vmap(jacrev(net))(x)
print(J.shape, jacrev(lambda q: functional_call(net, q, (x[0],)))(params)["2.bias"], jacrev(f, chunk_size=1)(p).shape)
print(jacrev(lambda a, b: a * b, argnums=1)(p, p).diag(), jacfwd(lambda a: {"s": a.sum(), "c": a.cos()})(p)["c"].diag())
out, lin_fn = torch.func.linearize(f, p)
print(out, lin_fn(torch.ones(3)))
from torch.func import debug_unwrap, replace_all_batch_norm_modules_
bn = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
print(replace_all_batch_norm_modules_(bn), bn[1].track_running_stats)
