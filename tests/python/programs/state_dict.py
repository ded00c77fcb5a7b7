"""state_dict, load_state_dict (strict and not), torch.save and torch.load of checkpoints, in memory and in files."""
import copy
import io
import os
import tempfile
from collections import OrderedDict

import torch
from torch import nn


def make():
    return nn.Sequential(OrderedDict(a=nn.Linear(3, 4), b=nn.BatchNorm1d(4), c=nn.Linear(4, 2)))


torch.manual_seed(5)
net = make()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
x = torch.randn(8, 3)


def step(net, optimizer, scheduler):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
    return loss.item()


print([round(step(net, optimizer, scheduler), 4) for _ in range(3)])
state = net.state_dict()
print(type(state).__name__, list(state), state["b.num_batches_tracked"])
folder = tempfile.mkdtemp()
path = os.path.join(folder, "checkpoint.pt")
torch.save({"epoch": 3, "model": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "best": 0.5, "tags": ["a", "b"]}, path)
other = make()
other_optimizer = torch.optim.Adam(other.parameters(), lr=1.0)
other_scheduler = torch.optim.lr_scheduler.StepLR(other_optimizer, step_size=2, gamma=0.5)
checkpoint = torch.load(path, map_location="cpu", weights_only=True)
print(sorted(checkpoint), checkpoint["epoch"], checkpoint["best"], checkpoint["tags"])
print(other.load_state_dict(checkpoint["model"]))
other_optimizer.load_state_dict(checkpoint["optimizer"])
other_scheduler.load_state_dict(checkpoint["scheduler"])
print(other_optimizer.param_groups[0]["lr"], other_scheduler.last_epoch)
print(step(net, optimizer, scheduler) == step(other, other_optimizer, other_scheduler))
print(all(torch.equal(p, q) for p, q in zip(net.parameters(), other.parameters())))
partial = {k: v for k, v in net.state_dict().items() if not k.startswith("c")}
partial["extra"] = torch.zeros(1)
result = make().load_state_dict(partial, strict=False)
print(result.missing_keys, result.unexpected_keys)
try:
    make().load_state_dict(partial)
except RuntimeError as e:
    print(str(e).replace("\t", " "))
try:
    make().load_state_dict({**net.state_dict(), "a.weight": torch.zeros(4, 5)})
except RuntimeError as e:
    print(str(e).replace("\t", " "))
buffer = io.BytesIO()
torch.save((torch.arange(3), {"k": torch.ones(2, 2, dtype=torch.bfloat16)}, None, 1.5, "text"), buffer)
buffer.seek(0)
print(torch.load(buffer))
twin = copy.deepcopy(net)
with torch.no_grad():
    twin.a.weight.zero_()
print(net.a.weight.abs().sum() > 0, twin.a.weight.abs().sum())
moved = OrderedDict((k.replace("a.", "module."), v) for k, v in state.items())
print(list(moved)[:2], state["a.weight"].requires_grad, net.state_dict(keep_vars=True)["a.weight"].requires_grad)
torch.save(net.state_dict(), path)
print(torch.load(path)["c.bias"].shape, os.path.getsize(path) > 500)
