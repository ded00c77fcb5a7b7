"""State of modules that is not a tensor, hooks around optimisers' steps and state, generators as objects, a profile's steps, einsum of lists."""
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.count, self.weight = 0, nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.count += 1
        return x * self.weight

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


net = nn.Sequential(Counter(), nn.Linear(1, 1))
net(torch.ones(1, 1))
net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("before", repr(prefix), keep_vars))
state = net.state_dict()
other = nn.Sequential(Counter(), nn.Linear(1, 1))
print(list(state), other.load_state_dict(state), other[0].count)
del state["0._extra_state"]
for strict in (True, False):
    try:
        print(other.load_state_dict(state, strict=strict))
    except RuntimeError as e:
        print(str(e).split("\n\t")[1])
try:
    other[1].load_state_dict({**other[1].state_dict(), "_extra_state": 1})
except RuntimeError as e:
    print(str(e).split("\n\t")[1])

w = nn.Parameter(torch.ones(2))


class Plain(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


for optimizer in (torch.optim.SGD([w], 0.1), torch.optim.Adam([w]), Plain([w])):
    handles = [optimizer.register_step_pre_hook(lambda o, args, kwargs: print("step", len(args), kwargs)), optimizer.register_step_post_hook(lambda o, args, kwargs: print("stepped")),
               optimizer.register_state_dict_pre_hook(lambda o: print("saving")), optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1}),
               optimizer.register_load_state_dict_pre_hook(lambda o, d: {k: v for k, v in d.items() if k != "more"}), optimizer.register_load_state_dict_post_hook(lambda o: print("loaded"))]
    w.grad = torch.ones(2)
    optimizer.step()
    saved = optimizer.state_dict()
    print(sorted(saved))
    optimizer.load_state_dict(saved)
    for h in handles:
        h.remove()
    optimizer.step()
    print(sorted(optimizer.state_dict()), w.data)

g = torch.Generator(device="cpu").manual_seed(3)
h = g.clone_state()
print(g.device, torch.rand(2, generator=g), torch.rand(2, generator=h), g.seed() == g.initial_seed())
scaler = torch.amp.GradScaler("cpu")
try:
    scaler.unscale_(optimizer)
except AssertionError as e:
    print("AssertionError", scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval())
seen = []
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=lambda p: seen.append(p.step_num)) as p:
    for _ in range(6):
        (w * w).sum()
        p.step()
print(seen)
a, b = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
print(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), torch.einsum(a, [0, 1]), torch.einsum(a, [..., 0], b, [0, 1]), torch.einsum(a, [0, 1], [1]))
