"""Gradient checkpointing without re-entrance: parameters outside, random numbers, autocast, contexts, nested blocks, keyword arguments, memory that is given back; saved-tensor hooks
that compress, write to disk or count; the graph behind a loss."""
import os
import tempfile
import weakref

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop

calls = [0]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down, self.drop = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(0.1)

    def forward(self, x, scale=1.0):
        calls[0] += 1
        return x + scale * self.drop(self.down(torch.nn.functional.gelu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.blocks, self.mode = nn.ModuleList(Block(8) for _ in range(3)), mode

    def forward(self, x):
        for b in self.blocks:
            if self.mode == "plain":
                x = b(x, scale=0.5)
            else:
                x = checkpoint(b, x, use_reentrant=False, scale=0.5)
        return x


def losses(mode, autocast=False):
    torch.manual_seed(3)
    net = Net(mode)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    x, y = torch.randn(4, 5, 8), torch.randn(4, 5, 8)
    calls[0], found = 0, []
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


for autocast in (False, True):
    plain, n = losses("plain", autocast), calls[0]
    again = losses("checkpoint", autocast)
    print(["%.3f" % v for v in again], max(abs(a - b) for a, b in zip(plain, again)) < 1e-6, n, calls[0])

w = torch.randn(4, 4, requires_grad=True)
x = torch.randn(2, 4)  # no gradient itself
y = checkpoint(lambda t: (t @ w).tanh(), x, use_reentrant=False)
print(torch.allclose(torch.autograd.grad(y.sum(), w)[0], torch.autograd.grad((x @ w).tanh().sum(), w)[0]))
y = checkpoint(lambda t: (t @ w).tanh() ** 2, x, use_reentrant=False).sum()
g, = torch.autograd.grad(y, w, create_graph=True)
h, = torch.autograd.grad(g.pow(2).sum(), w)
z = ((x @ w).tanh() ** 2).sum()
g2, = torch.autograd.grad(z, w, create_graph=True)
print(torch.allclose(g, g2), torch.allclose(h, torch.autograd.grad(g2.pow(2).sum(), w)[0], atol=1e-5))
y = checkpoint(lambda t: checkpoint(lambda u: (u @ w).sigmoid(), t.exp(), use_reentrant=False).cos(), x, use_reentrant=False).sum()
print(torch.allclose(torch.autograd.grad(y, w)[0], torch.autograd.grad((x.exp() @ w).sigmoid().cos().sum(), w)[0]))
y = checkpoint(lambda t: (t @ w).tanh(), x, use_reentrant=False).sum()
y.backward(retain_graph=True)
first = w.grad.clone()
y.backward()
print(torch.allclose(w.grad, 2 * first))
seen = []
flip = [False]


def unsteady(t):
    flip[0] = not flip[0]
    return (t @ w).tanh() if flip[0] else (t @ w[:, :3]).tanh()


try:
    checkpoint(unsteady, x, use_reentrant=False).sum().backward()
except CheckpointError as e:
    print("CheckpointError", str(e).split("\n")[0])
net = nn.Sequential(*[Block(8) for _ in range(4)]).eval()
x8 = torch.randn(2, 8, requires_grad=True)
a, = torch.autograd.grad(checkpoint_sequential(net, 2, x8, use_reentrant=False).sum(), x8)
b, = torch.autograd.grad(net(x8).sum(), x8)
print(torch.allclose(a, b, atol=1e-6))
with set_checkpoint_early_stop(False):
    checkpoint(lambda t: (t @ w).relu(), x, use_reentrant=False).sum().backward()

# ---- hooks of saved tensors


class OnDisk:
    def __init__(self, t):
        self.path = os.path.join(folder, str(len(os.listdir(folder))) + ".pt")
        torch.save(t, self.path)

    def read(self):
        return torch.load(self.path)


w.grad = None
with tempfile.TemporaryDirectory() as folder:
    with torch.autograd.graph.saved_tensors_hooks(OnDisk, OnDisk.read):
        loss = ((x @ w).tanh() ** 2).sum()
    print(len(os.listdir(folder)) > 0)
    loss.backward()
print(torch.allclose(w.grad, torch.autograd.grad(((x @ w).tanh() ** 2).sum(), w)[0]))
with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.dtype, t.half()), lambda kept: kept[1].to(kept[0])):
    y = (x @ w).exp()
print(torch.allclose(torch.autograd.grad(y.sum(), w)[0], torch.autograd.grad((x @ w).exp().sum(), w)[0], rtol=1e-2, atol=1e-2))
a, b = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
with torch.autograd.graph.saved_tensors_hooks(lambda t: print("pack", t) or t, lambda t: print("unpack", t) or t):
    y = a * b
y.sum().backward()
with torch.autograd.graph.save_on_cpu():
    (a * a).sum().backward()
print(a.grad)
for make in (lambda: torch.autograd.graph.disable_saved_tensors_hooks("not here"),):
    try:
        with make(), torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    except RuntimeError as e:
        print(e)
for pack, unpack in ((lambda t: 1 / 0, lambda t: t), (lambda t: "text", lambda t: t)):
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = a * a
        y.sum().backward()
    except (ZeroDivisionError, TypeError) as e:
        print(type(e).__name__)
gone = []


class Watched:
    def __init__(self, t):
        self.t = t
        weakref.finalize(self, gone.append, 1)


with torch.autograd.graph.saved_tensors_hooks(Watched, lambda kept: kept.t):
    y = a.exp()
n = len(gone)
y.sum().backward()
print(n, len(gone))

# ---- the graph


def walk(node, depth=0):
    print("  " * depth + type(node).__name__, tuple(node.variable.shape) if hasattr(node, "variable") else "")
    for following, _ in node.next_functions:
        if following is not None:
            walk(following, depth + 1)


loss = (torch.exp(a * b) - a).sum()
walk(loss.grad_fn)
print(loss.grad_fn is loss.grad_fn, loss.grad_fn.next_functions[0][0].name(), isinstance(loss.grad_fn, torch.autograd.graph.Node), a.grad_fn, loss.grad_fn.metadata)
