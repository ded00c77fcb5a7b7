"""Every usual optimiser on Rosenbrock's function; closures, clipping, averaged models."""
import torch
from torch import nn, optim


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


for make in (lambda p: optim.SGD(p, lr=1e-3, momentum=0.9), lambda p: optim.Adam(p, lr=0.05), lambda p: optim.AdamW(p, lr=0.05, amsgrad=True), lambda p: optim.RMSprop(p, lr=0.01),
             lambda p: optim.Adagrad(p, lr=0.5), lambda p: optim.Adadelta(p, lr=1.0), lambda p: optim.Adamax(p, lr=0.05), lambda p: optim.RAdam(p, lr=0.05),
             lambda p: optim.Rprop(p, lr=0.01), lambda p: optim.ASGD(p, lr=1e-3)):
    p = torch.tensor([-1.2, 1.0], requires_grad=True)
    opt = make([p])
    for _ in range(10):
        opt.zero_grad(set_to_none=True)
        loss = rosenbrock(p)
        loss.backward()
        nn.utils.clip_grad_norm_([p], max_norm=10.0)
        opt.step()
    print(type(opt).__name__, p.detach(), len(opt.state), sorted(opt.state_dict()["param_groups"][0])[:4])
p = torch.tensor([-1.2, 1.0], requires_grad=True)
opt = optim.LBFGS([p], max_iter=20, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = rosenbrock(p)
    loss.backward()
    return loss


for _ in range(3):
    opt.step(closure)
print(p.detach().allclose(torch.ones(2), atol=1e-2))
net = nn.Linear(2, 1)
nn.init.ones_(net.weight)
nn.init.zeros_(net.bias)
net(torch.tensor([[3.0, 4.0]])).sum().backward()
print(nn.utils.clip_grad_norm_(net.parameters(), 1.0), net.weight.grad)
nn.utils.clip_grad_value_(net.parameters(), 0.1)
print(net.weight.grad, nn.utils.parameters_to_vector(net.parameters()))
nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), net.parameters())
print(net.bias, net.weight)
average = optim.swa_utils.AveragedModel(net)
with torch.no_grad():
    net.weight.add_(2)
average.update_parameters(net)
average.update_parameters(net)
print(average.module.weight, average.n_averaged)


class Plain(optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                state["n"] = state.get("n", 0) + 1
                p.add_(p.grad, alpha=-group["lr"])


q = nn.Parameter(torch.ones(2))
plain = Plain([q])
for _ in range(2):
    plain.zero_grad()
    (q ** 2).sum().backward()
    plain.step()
print(q, plain.state[q]["n"], plain)
for bad in (lambda: optim.SGD([], lr=0.1), lambda: optim.Adam([torch.ones(1, requires_grad=True)], lr=-1), lambda: optim.SGD([q * 2], lr=0.1), lambda: optim.SGD(q, lr=0.1)):
    try:
        bad()
    except (ValueError, TypeError) as e:
        print(type(e).__name__, str(e)[:80])
