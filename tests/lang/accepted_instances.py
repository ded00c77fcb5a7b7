"""Instances of one class that take different branches: types of their own where the program needs them."""
from types import SimpleNamespace

import torch
from torch import nn


class Excite(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.use = use
        self.scale = nn.Hardtanh() if use else None

    def forward(self, x):
        if self.use:
            x = self.scale(x)
        return x


class Pair(nn.Module):
    def __init__(self, both):
        super().__init__()
        self.both = both

    def forward(self, x):
        if self.both:
            return x, x + 1
        return x * 2


class Mode(nn.Module):
    def __init__(self, mode, n):
        super().__init__()
        self.mode = mode
        self.config = SimpleNamespace(n=n)

    def forward(self, x):
        if self.mode == "list":
            y = [x]
        else:
            y = x
        for i in range(self.config.n):
            x = x + 1
        return y, x


class Bound(nn.Module):
    """A method that an attribute of the instance takes the place of, as PyTorch compiles it, too."""

    def __init__(self, fast):
        super().__init__()
        self.k = 2
        self.forward = self.forward_fast if fast else self.forward_slow
        self.scaled = self.twice

    def twice(self, x):
        return x * self.k

    def forward_fast(self, x):
        return self.scaled(x) + 1

    def forward_slow(self, x):
        return self.scaled(x) + 2


class Holder(nn.Module):
    """Its parts have types of their own, and so has it."""

    def __init__(self, both):
        super().__init__()
        self.pair = Pair(both)

    def forward(self, x):
        if self.pair.both:
            return self.pair(x)[1]
        return self.pair(x)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.on, self.off = Excite(True), Excite(False)
        self.two, self.one = Pair(True), Pair(False)
        self.list, self.plain = Mode("list", 1), Mode("plain", 2)
        self.fast, self.slow = Bound(True), Bound(False)
        self.holders = nn.Sequential(Holder(True), Holder(False))

    def forward(self):
        x = torch.tensor([-3.0, 0.5])
        print(float(self.on(x)[0]), float(self.off(x)[0]))
        y, z = self.two(x)
        print(float(self.one(y).sum()), float(z.sum()))
        a, b = self.list(x)
        c, d = self.plain(x)
        print(len(a), float(b.sum()), float(c.sum()), float(d.sum()))
        print(float(self.holders(x).sum()))
        print(float(self.fast(x).sum()), float(self.slow(x).sum()))
        return 0
# expect: -1. -3.
# expect: -5. -0.5
# expect: 1 -0.5 -2.5 1.5
# expect: -1.
# expect: -3. -1.
# expect: 0
