# SPDX-License-Identifier: Apache-2.0
"""Branches and loops for networks.py: functions that are scripted, their arguments, others that go the other ways, and what is refused."""
from typing import List, Optional

import torch
from torch import Tensor

CASES = []


def case(*inputs, others=(), dynamic=(), refused=None, opset=None):
    def add(fn):
        CASES.append((fn.__name__, fn, inputs, [o if isinstance(o, tuple) else (o,) for o in others], dynamic, refused, opset))
        return fn
    return add


torch.manual_seed(0)
A = torch.randn(3, 4)


@case(A, others=[-A, A.abs(), -A.abs()])
def branch(x: Tensor):
    if bool(x.sum() > 0):
        y = x + 1
        z = 3
    else:
        y = x * 2 - 1
        z = 4
    return y * z


@case(A, others=[-A, A.abs(), -A.abs()])
def ret_early(x: Tensor):
    if bool(x.sum() > 0):
        return x + 1
    if bool(x.max() < 0.1):
        return x * 3
    return x - 1


@case(A, others=[-A, A.abs(), -A.abs(), A * 100])
def whil(x: Tensor):
    n = 0
    while bool(x.abs().sum() > 1):
        x = x * 0.5
        n += 1
    return x, n


@case(A, others=[-A, A.abs(), -A.abs(), A * 100])
def whil_inplace(x: Tensor):
    y = x.clone()
    v = y[1]
    while bool(y.abs().sum() > 1):
        y.mul_(0.5)
        y[0].add_(0.01)
    return y, v + 1


@case(A, torch.tensor(3), others=[(A, torch.tensor(0)), (A, torch.tensor(6))])
def trips(x: Tensor, n: Tensor):
    t = torch.zeros(3, 4)
    for i in range(int(n)):
        t += x * i
        if i % 2 == 0:
            t = t + 1
    return t


@case(A, torch.tensor(3), others=[(A, torch.tensor(0)), (A, torch.tensor(6))])
def grow(x: Tensor, n: Tensor):
    t = x
    for i in range(int(n)):
        t = torch.cat([t, x * i], 0)
    return t, t.sum(0), t.size(0)


@case(A, others=[-A, A.abs(), -A.abs()])
def shapes(x: Tensor):
    if bool(x.sum() > 0):
        y = torch.cat([x, x])
    else:
        y = x
    return y.reshape(-1), y.size(0) * 2, y.view(y.size(0), 2, 2)


@case(A, others=[-A, A.abs() * 10, -A.abs()])
def brk(x: Tensor):
    s = x.sum()
    k = 0
    for i in range(10):
        s = s * 0.7
        if bool(s < 0.5):
            break
        k = i
    return s, k


@case(A, others=[-A, A.abs(), -A.abs()])
def write_branch(x: Tensor):
    y = torch.zeros(3, 4)
    z = x.clone()
    if bool(x.sum() > 0):
        y.add_(x)
        z[1] = 5
    else:
        y[0] = x[1]
    return y, z, z[1] + y[0]


@case(A, others=[-A, A.abs(), -A.abs()])
def nested(x: Tensor):
    t = x.sum()
    for i in range(4):
        j = 0
        while bool(t > i) and j < 5:
            if bool(t > 3):
                t = t - 1.5
            else:
                t = t - 0.5
            j += 1
        t = t + 1
    return t


@case(torch.randn(5, 4), others=[torch.randn(9, 4), torch.randn(1, 4)], dynamic=["x:0"])
def dyn_rnn(x: Tensor):
    h = torch.zeros(4)
    for i in range(x.size(0)):
        h = torch.tanh(h + x[i])
    return h


@case(torch.randn(5, 4), others=[torch.randn(9, 4), torch.randn(1, 4), torch.randn(8, 4)], dynamic=["x:0"])
def dyn_branch(x: Tensor):
    if x.size(0) > 7:
        x = x[:7]
    return x * 2, x.sum(0)


@case(A, others=[-A])
def alias(x: Tensor):
    y = x.clone()
    if bool(x.sum() > 0):
        z = y
    else:
        z = x + 1
    z.add_(1)
    return z


@case(A, others=[-A], refused="another name")
def alias_bad(x: Tensor):
    y = x.clone()
    if bool(x.sum() > 0):
        z = y
    else:
        z = x + 1
    z.add_(1)
    return z + y


@case(A, others=[-A])
def list_branch(x: Tensor):
    xs = [x]
    if bool(x.sum() > 0):
        xs.append(x + 1)
    return torch.stack(xs)


@case(A, others=[-A], refused="None")
def opt_bad(x: Tensor):
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        y = x
    if y is not None:
        return y
    return x


@case(A, others=[-A], refused="dims")
def rank_bad(x: Tensor):
    if bool(x.sum() > 0):
        y = x
    else:
        y = x[0]
    return y


@case(A, others=[-A, A.abs()])
def fib(x: Tensor):
    a = x
    b = x * 2
    n = 0
    while n < 9 and (n < 5 or bool(a.sum() < 10)):
        a, b = b, a + b
        n += 1
        if bool(b.sum() > 20):
            b = b - 20
    return a, b


@case(A, others=[-A, A.abs()])
def prevcur(x: Tensor):
    cur = x.clone()
    prev = x.clone()
    while bool(cur.sum() < 10):
        prev = cur
        cur += 1
    return cur + prev


@case(A, others=[-A, A.abs()])
def tup(x: Tensor):
    if bool(x.sum() > 0):
        t = (x, 1, [x, x + 1])
    else:
        t = (x + 1, 2, [x * 2, x])
    return t[0] * t[1] + t[2][1] + t[2][0]


@case(A, torch.tensor(4), others=[(A, torch.tensor(1)), (A, torch.tensor(7))])
def slice_i(x: Tensor, n: Tensor):
    s = x.sum()
    y = torch.arange(8.)
    for i in range(int(n)):
        s = s + y[:i].sum() * y[i]
    return s

class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(4, 4)
        self.down = torch.nn.Linear(4, 4)

    def forward(self, x: Tensor):
        h = x
        k = 0
        while bool(h.abs().max() > 0.3) and k < 6:
            k += 1
            if bool(h.sum() > 0):
                h = self.up(h) * 0.5
            else:
                h = torch.relu(self.down(h)) * 0.5
        return h

case(A, others=[-A, 3 * A])(Cell)



@case(3 * A, others=[A, 6 * A])
def appends(x: Tensor):
    xs: List[Tensor] = []
    while bool(x.abs().sum() > 1):
        x = x * 0.5
        xs.append(x)
    return torch.stack(xs)


N = torch.tensor([2, 3])


# Sizes that elements say.
@case(A, N, others=[(A, torch.tensor([3, 1])), (A, torch.tensor([1, 5])), (A, torch.tensor([0, 4]))])
def size_slice(x: Tensor, n: Tensor):
    k = int(n[0])
    y = x[:k]
    return y * 2, torch.zeros(k, 2) + k, y.sum(0), y.size(0), x[k:].mean(1), torch.ones(k).reshape(k, 1)


@case(A, N, others=[(A, torch.tensor([3, 1])), (A, torch.tensor([4, 2])), (A, torch.tensor([1, 1]))])
def size_view(x: Tensor, n: Tensor):
    k = int(n[0])
    y = x.view(k, -1)
    m = n.sum().item()
    z = torch.cat([x, x.reshape(-1, 4)])
    return y, y.softmax(1), torch.arange(int(m)) + 1, z.unsqueeze(0).expand(k, -1, -1), torch.full([k, 3], 2.5)


@case(A, N, others=[(A, torch.tensor([3, 1])), (A, torch.tensor([4, 2])), (A, torch.tensor([1, 1]))])
def size_mask(x: Tensor, n: Tensor):
    m = int(n.max())
    mask = torch.arange(m).unsqueeze(0) < n.unsqueeze(1)
    return mask, mask.float().sum(1), torch.zeros(2, m).masked_fill(mask, 1.0)


@case(A, N, others=[(A, torch.tensor([3, 1])), (A, torch.tensor([4, 2])), (A, torch.tensor([1, 1]))])
def size_pad(x: Tensor, n: Tensor):
    k = int(n[1])
    y = torch.nn.functional.pad(x, [0, k])
    z = x.repeat(k, 1)
    return y, z, torch.eye(3)[:, :k].contiguous().view(-1), y.narrow(1, 0, k)


# As long as the example's tensor, so that one more cannot be.
@case(A, torch.tensor([3, 2]), others=[(A, torch.tensor([2, 1])), (A, torch.tensor([1, 2]))])
def size_whole(x: Tensor, n: Tensor):
    k = int(n[0])
    return x.narrow(0, 0, k) * 2, x[:k].sum(0), x[k - 1]


@case(A, N, others=[(A * 2, torch.tensor([3, 1])), (A - 1, torch.tensor([4, 2]))])
def size_of_nonzero(x: Tensor, n: Tensor):
    p = torch.nonzero(x > 0)
    k = x[x > 0]
    return p, k * 2, k.size(0), torch.zeros(p.size(0), 3), k.sum()


# Lists that loops fill.
@case(A, N, others=[(A, torch.tensor([3, 1])), (A, torch.tensor([1, 1]))])
def list_stack(x: Tensor, n: Tensor):
    out: List[Tensor] = []
    for i in range(int(n[0])):
        out.append(x * i)
    return torch.stack(out), torch.cat(out), len(out)


@case(torch.randn(5, 4), others=[torch.randn(9, 4), torch.randn(1, 4)], dynamic=["x:0"])
def list_rnn(x: Tensor):
    h = torch.zeros(4)
    out: List[Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(h + x[i])
        out.append(h)
    return torch.stack(out, 1), h


@case(torch.randn(5, 4), others=[torch.randn(9, 4), torch.randn(2, 4)], dynamic=["x:0"])
def list_started(x: Tensor):
    h = torch.zeros(4)
    out = [h]
    for i in range(x.size(0) - 1):
        h = torch.tanh(h + x[i])
        out += [h]
    return torch.stack(out), out[0], out[-1]


@case(A, others=[-A, 3 * A, A * 0.01 + 0.5])
def list_while(x: Tensor):
    xs: List[Tensor] = [x]
    while bool(x.abs().sum() > 1):
        x = x * 0.5
        if bool(x.sum() > 0):
            x = x - 0.01
        xs.append(x)
    return torch.stack(xs), x


@case(A, N, others=[(A, torch.tensor([3, 1])), (A, torch.tensor([1, 1]))])
def list_read(x: Tensor, n: Tensor):
    out = [x.sum(0)]
    for i in range(int(n[0])):
        if len(out) % 2 == 0:
            out.append(out[-1] * 0.5 + out[0])
        else:
            out.append(out[i] - 1)
    t = torch.zeros(4)
    for y in out:
        t = t + y
    return t, torch.stack(out, -1)


@case(A, torch.tensor(4), refused="no other example")
def size_odd(x: Tensor, n: Tensor):
    k = int(n)
    return x.view(k, 16 - 13, -1), x.view(k - 1, k)


@case(A, torch.tensor(4), refused="a tensor is written that is in a list")
def list_written(x: Tensor, n: Tensor):
    out: List[Tensor] = []
    h = x.clone()
    for i in range(int(n)):
        h.add_(1)
        out.append(h)
    return torch.stack(out)


@case(A, torch.tensor(4), others=[(A, torch.tensor(1)), (A, torch.tensor(0))])
def list_given(x: Tensor, n: Tensor):
    out: List[Tensor] = []
    for i in range(int(n)):
        out.append(x * i)
    return out


@case(A, torch.tensor(4), refused="several dtypes or numbers of dims")
def list_mixed(x: Tensor, n: Tensor):
    out = [x]
    for i in range(int(n)):
        out.append(x[0])
    return len(out)


@case(A, torch.tensor(4), others=[(A, torch.tensor(1)), (A, torch.tensor(0))])
def list_numbers(x: Tensor, n: Tensor):
    ks: List[int] = []
    for i in range(int(n)):
        ks.append(i * 2)
    return torch.tensor(ks) + 1


@case(A, torch.tensor(4), others=[(-A, torch.tensor(1)), (A.abs(), torch.tensor(2))])
def list_numbers_given(x: Tensor, n: Tensor):
    ks: List[int] = [3]
    fs: List[float] = []
    bs: List[bool] = [True]
    for i in range(int(n)):
        ks.append(i * 2)
        fs += [float(x[0, 0]), 0.25]
        if bool(x[1, 1] > 0):
            bs.append(i > 1)
            ks[0] += ks[-1]
    return ks, fs, bs, x[:, :len(bs)], sum(ks), max(fs), min(ks), ks.count(4), 2 in ks


@case(A, others=[-A, A.abs(), -A.abs()])
def list_lengths(x: Tensor):
    if bool(x.sum() > 0):
        sizes = [1, 2, 3]
        parts = [x, x + 1]
    else:
        sizes = [4]
        parts = [x * 2]
    if bool(x[0, 0] > 0):
        sizes.append(9)
        parts.append(x)
    total = 0
    for s in sizes:
        total += s
    return torch.tensor(sizes), torch.cat(parts), len(parts), total, parts


@case(A, torch.tensor(4), others=[(A, torch.tensor(2)), (-A, torch.tensor(6))])
def list_queue(x: Tensor, n: Tensor):
    todo: List[int] = [1]
    done: List[int] = []
    while len(todo) > 0 and len(done) < int(n):
        k = todo.pop()
        done.append(k)
        if k < 20:
            todo.append(k * 2)
            todo.append(k * 3)
    done.reverse()
    return torch.tensor(done), torch.tensor(done[1:]), len(todo), x * done[0]


@case(A, torch.tensor(4), others=[(A, torch.tensor(0)), (-A, torch.tensor(6))])
def list_replaced(x: Tensor, n: Tensor):
    ks = [5]
    first = ks
    parts = [x]
    none: List[Tensor] = []
    for i in range(int(n)):
        ks = ks + [i, len(ks)]
        if bool(x[0, 0] > 0):
            parts = parts + [x * i]
        else:
            parts = [x - 1] + parts
        none = none + [x[:1] * i]
    return torch.tensor(ks), torch.tensor(first), torch.cat(parts), len(none), x[:, :len(first)], ks[-1]


@case(A, torch.tensor(4), refused="a list that is changed, and replaced")
def list_both(x: Tensor, n: Tensor):
    ks = [5]
    for i in range(int(n)):
        ks.append(i)
        ks = ks + [1]
    return torch.tensor(ks)


@case(A, torch.tensor(4), refused="not at an end of it")
def list_middle(x: Tensor, n: Tensor):
    ks: List[int] = []
    for i in range(int(n)):
        ks.append(i)
    return ks.pop(1), torch.tensor(ks)


@case(A, torch.tensor(4), refused="of a list whose length the model computes")
def list_shape(x: Tensor, n: Tensor):
    ks: List[int] = []
    for i in range(int(n)):
        ks.append(1)
    return torch.zeros(ks)


# Floats of eight bits: PyTorch bounds one of the types only.
ENDS = torch.tensor([0, -0.0, 1.1, -3.3, 239, 250, 447, 460, 470, 57344, 60000, 70000, 1e6, -7e4, 1e-9, 2**-9])


@case(ENDS, others=[-ENDS, ENDS * 0.3], opset=19)
def float8(x: Tensor):
    a = x.to(torch.float8_e4m3fn)
    b = x.half().to(torch.float8_e5m2)
    return a.float(), b.float(), x.to(torch.float8_e4m3fnuz).float(), x.to(torch.float8_e5m2fnuz).half(), torch.cat([a.reshape(4, 4), a.reshape(4, 4)]).float(), a[1:5].unsqueeze(0).float()


@case(ENDS, refused="needs operator set 19")
def float8_early(x: Tensor):
    return x.to(torch.float8_e4m3fn).float()


class Scaled(torch.nn.Module):
    """A weight in eight bits, with scales of rows."""

    def __init__(self):
        super().__init__()
        w = torch.randn(6, 4)
        s = w.abs().amax(1, keepdim=True) / 448
        self.register_buffer("w", (w / s).to(torch.float8_e4m3fn))
        self.register_buffer("s", s)

    def forward(self, x: Tensor):
        return torch.nn.functional.linear(x, self.w.to(x.dtype) * self.s)


case(A, others=[-A])(Scaled)
