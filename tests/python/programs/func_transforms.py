"""torch.func: per-sample gradients, ensembles, Jacobians and Hessians, functional_call, vmap with in_dims and randomness, jvp and vjp."""
import copy
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

torch.manual_seed(0)


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.fc1 = nn.Conv2d(1, 4, 3, 1), nn.Linear(4 * 3 * 3, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


model = SimpleCNN()
data, targets = torch.randn(6, 1, 8, 8), torch.randint(5, (6,))
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
    return F.nll_loss(predictions, target.unsqueeze(0))


per_sample = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(params, buffers, data, targets)
print({k: tuple(v.shape) for k, v in per_sample.items()})
loss = F.nll_loss(model(data), targets)
loss.backward()
print([torch.allclose(per_sample[k].mean(0), p.grad, atol=1e-5) for k, p in model.named_parameters()])
gradients, value = grad_and_value(compute_loss)(params, buffers, data[0], targets[0])
print(value, gradients["fc1.bias"])
norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()], 1).norm(dim=1)
clipped = {k: (g * (1.0 / norms).clamp(max=1.0).view(-1, *[1] * (g.dim() - 1))).sum(0) for k, g in per_sample.items()}
print(norms, clipped["fc1.bias"])

models = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]
stacked, stacked_buffers = stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
x = torch.randn(5, 3)
out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(stacked, stacked_buffers, x)
print(out.shape, torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-6))


def predict(weight, bias, x):
    return F.linear(x, weight, bias).tanh()


weight, bias, v = torch.randn(4, 3), torch.randn(4), torch.randn(3)
print(jacrev(predict, argnums=2)(weight, bias, v), torch.allclose(jacfwd(predict, argnums=2)(weight, bias, v), jacrev(predict, argnums=2)(weight, bias, v), atol=1e-5))
print(hessian(lambda w: (w ** 3).sum() + w[0] * w[1])(torch.tensor([1., 2., 3.])))
compute = vmap(jacrev(predict, argnums=2), in_dims=(None, None, 0))
print(compute(weight, bias, x).shape)
output, pull = vjp(partial(predict, weight, bias), v)
print(output, pull(torch.ones(4))[0])
primal, tangent = jvp(lambda t: t.sin() * t, (torch.tensor([0.5, 1.0]),), (torch.ones(2),))
print(primal, tangent)
print(grad(grad(lambda t: t ** 4))(torch.tensor(2.0)), grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(torch.ones(2), torch.full((2,), 3.0)))
print(vmap(torch.dot)(x, x), vmap(lambda a, b: a @ b, in_dims=(0, None), out_dims=1)(x[:3], torch.eye(3)))
print(vmap(lambda d: {"sum": d["a"].sum(), "b": d["b"] * 2})({"a": x, "b": torch.arange(5)}))
print(vmap(vmap(lambda a, b: a + b, in_dims=(None, 0)), in_dims=(0, None))(torch.arange(3), torch.arange(2)))
aux = grad(lambda p: ((p ** 2).sum(), p + 1), has_aux=True)(torch.arange(3.0))
print(aux)
print(torch.vmap(lambda t: t.where(t > 0, torch.zeros(())))(torch.tensor([[-1., 2.], [3., -4.]])))
print(vmap(lambda t: t + torch.randn(2), randomness="different")(torch.zeros(3, 2)).shape)
