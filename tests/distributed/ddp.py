"""DistributedDataParallel: parameters without a use, buckets as gradients, hooks, no_sync, uneven inputs, what it reports."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
r, n = dist.get_rank(), dist.get_world_size()


class Net(nn.Module):
    def __init__(self, spare=False):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        if spare:
            self.spare = nn.Linear(3, 3)

    def forward(self, x, skip=False):
        h = torch.relu(self.a(x))
        return self.c(h if skip else torch.tanh(self.b(h)))


torch.manual_seed(3)
X, Y = torch.rand(4 * n, 4)[r::n], torch.rand(4 * n, 2)[r::n]


def train(name, **options):
    torch.manual_seed(r)
    d = DDP(Net(spare=True), **options)
    o = torch.optim.Adam(d.parameters(), 0.05)
    for step in range(4):
        o.zero_grad()
        loss = nn.functional.mse_loss(d(X, skip=step % 2 == 1 and "static_graph" not in options), Y)
        loss.backward()
        o.step()
        print(r, name, step, round(loss.item(), 5), d.module.b.weight.grad is None, d.module.spare.weight.grad is None, flush=True)
    print(r, name, [round(float(p.sum()), 4) for p in d.parameters()], flush=True)


train("unused", find_unused_parameters=True)
train("view", find_unused_parameters=True, gradient_as_bucket_view=True)
train("static", static_graph=True)
for hook in (None, default_hooks.allreduce_hook, default_hooks.fp16_compress_hook):
    torch.manual_seed(1)
    d = DDP(Net(), bucket_cap_mb=0.0001)
    if hook:
        d.register_comm_hook(None, hook)
    for _ in range(2):
        with d.no_sync():
            nn.functional.mse_loss(d(X), Y).backward()
        nn.functional.mse_loss(d(X * 2), Y).backward()
        print(r, "hook", getattr(hook, "__name__", None), [round(float(p.grad.sum()), 1) for p in d.parameters()], flush=True)
d = DDP(Net())
with d.join():
    for i in range(r + 2):
        d(torch.ones(1, 4) * (i + r)).sum().backward()
print(r, "join", [round(float(p.grad.sum()), 3) for p in d.parameters()], flush=True)
try:
    d = DDP(Net(spare=True))
    for _ in range(2):
        d(torch.rand(2, 4)).sum().backward()
except RuntimeError as e:
    print(r, str(e)[:60], flush=True)
sampler = torch.utils.data.distributed.DistributedSampler(list(range(11)), shuffle=False, drop_last=True)
print(r, list(sampler), len(sampler), flush=True)
dist.destroy_process_group()
