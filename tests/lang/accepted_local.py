"""Autograd functions, truth of None and modules, attributes that only a method has, slices as elements, zip of modules and lists."""
from typing import Optional

import torch
from torch import nn


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x, None


class Block(nn.Module):
    def __init__(self, skip):
        super().__init__()
        self.skip = nn.Threshold(0.0, 0.0) if skip else None
        self.parts = nn.ModuleList()

    def forward(self, x, rate=None):
        y = Square.apply(x, 2)
        if self.skip:
            y = y + self.skip(x)
        if self.parts:
            y = self.parts[0](y)
        if not rate:
            return y
        return y * rate


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Block(True)
        self.b = Block(False)
        self.layers = nn.ModuleList([nn.Identity(), nn.Threshold(0.0, 0.0), nn.Identity()])

    def keep(self, x):
        self.weights = x * 2
        return self.weights + 1

    def windows(self, x):
        y = torch.zeros(4, 4)
        n = 0
        for h in (slice(0, -1), slice(-1, None)):
            for w in (slice(0, 2), slice(2, None)):
                y[h, w] = n
                n += 1
        return y + x

    def total(self, xs: Optional[torch.Tensor], count: int):
        parts = [torch.full((1,), float(i)) for i in range(count)]
        y = torch.zeros(1)
        for layer, p in zip(self.layers, parts):
            y = y * 10 + layer(p)
        for i, (layer, p) in enumerate(zip(self.layers, parts[::-1])):
            y = y + i
        return y

    def forward(self):
        x = torch.full((2,), 3.0)
        print(float(self.a(x)[0]), float(self.b(x)[0]))  # expect: 12. 9.
        print(float(self.a(x, torch.tensor(2.0))[0]), float(self.b(x, torch.tensor(0.0))[0]))  # expect: 24. 9.
        print(float(self.keep(x)[0]))  # expect: 7.
        y = self.windows(torch.zeros(4))
        print(float(y[0, 0]), float(y[0, 3]), float(y[3, 0]), float(y[3, 2]))  # expect: 0. 1. 2. 3.
        print(float(self.total(None, 0)), float(self.total(None, 2)), float(self.total(None, 9)))  # expect: 0. 2. 15.
        return 0
# expect: 0
