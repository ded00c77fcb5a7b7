"""Gradients through autocast: their dtypes, and how far they are from float64's; GradScaler in all of its states."""
import copy

import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.heads = nn.Linear(8, 8)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        h = self.embed(x)
        h = h + self.conv(h.transpose(1, 2)).transpose(1, 2)
        h = self.norm(self.gru(self.lstm(h)[0])[0])
        q = self.heads(h)
        return self.last(F.gelu(h + F.scaled_dot_product_attention(q, q, q)))


torch.manual_seed(0)
net = Net()
wide = copy.deepcopy(net).double()
x, y = torch.arange(12).reshape(2, 6) % 7, torch.arange(12) * 3 % 5
F.cross_entropy(wide(x).reshape(12, 5), y).backward()
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = net(x)
    loss = F.cross_entropy(out.reshape(12, 5), y)
loss.backward()
print(out.dtype, loss.dtype, {p.dtype for p in net.parameters()}, {p.grad.dtype for p in net.parameters()})
print([bool((p.grad - q.grad).norm() < 0.05 * q.grad.norm()) for p, q in zip(net.parameters(), wide.parameters())])

# Weights that are used twice, inputs of several dtypes, a region that is off, gradients of gradients.
w = torch.linspace(-1, 1, 16).reshape(4, 4).requires_grad_()
a = torch.linspace(0, 1, 16).reshape(4, 4).requires_grad_()
with torch.autocast("cpu", dtype=torch.bfloat16):
    p = a @ w
    with torch.autocast("cpu", enabled=False):
        r = p.float() @ w
    s = (r @ w).float().pow(2).sum()
ga, gw = torch.autograd.grad(s, [a, w], create_graph=True)
print(p.dtype, r.dtype, s.dtype, ga.dtype, gw.dtype)
gw.sum().backward()
print(a.grad.dtype, w.grad.dtype)
half = torch.ones(3, 4, dtype=torch.bfloat16, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    F.linear(half, w).sum().backward()
print(half.grad.dtype, w.grad.dtype)


def attempt(f):
    try:
        print("ok", f())
    except Exception as e:
        print(type(e).__name__, str(e)[:200])


p, q = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))
first, second = torch.optim.SGD([p], lr=0.5), torch.optim.SGD([q], lr=0.5)
s = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
print(s.get_scale(), s.is_enabled(), s.state_dict())
attempt(lambda: s.unscale_(first))
attempt(lambda: s.step(first))
attempt(lambda: s.update())
for i in range(5):
    first.zero_grad()
    second.zero_grad()
    loss, other = (p * 2).sum(), (q * 3).sum()
    if i == 2:
        loss = loss * float("inf")
    s.scale(loss).backward()
    s.scale([other])[0].backward()
    print(i, p.grad.tolist(), s.get_scale())
    if i in (1, 4):
        s.unscale_(first)
        print(p.grad.tolist())
        attempt(lambda: s.unscale_(first))
    s.step(first)
    s.step(second)
    if i == 4:
        attempt(lambda: s.step(first))
        attempt(lambda: s.unscale_(first))
    s.update()
    print(p.tolist(), q.tolist(), s.get_scale(), s.state_dict())
s.update(3.0)
print(s.get_scale())
t = torch.amp.GradScaler("cpu")
t.load_state_dict(s.state_dict())
print(t.state_dict(), t.get_growth_factor(), t.get_backoff_factor(), t.get_growth_interval())
off = torch.amp.GradScaler("cpu", enabled=False)
print(off.state_dict(), off.get_scale(), float(off.scale(torch.ones(()))))
attempt(lambda: off.load_state_dict({}))
attempt(lambda: t.load_state_dict({}))
h = nn.Parameter(torch.ones(2, dtype=torch.float16))
narrow = torch.optim.SGD([h], lr=0.1)
u = torch.amp.GradScaler("cpu", init_scale=2.0)
u.scale(h.sum()).backward()
attempt(lambda: u.unscale_(narrow))
attempt(lambda: type(u.scale((torch.ones(()), torch.ones(())))).__name__)
attempt(lambda: u.scale(1))
attempt(lambda: torch.amp.GradScaler("cpu", growth_factor=0.5))
attempt(lambda: torch.amp.GradScaler("cpu", backoff_factor=2.0))
