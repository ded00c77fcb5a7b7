"""Parameters without annotations that are given what is not a tensor: a function for each kind of arguments."""
import torch
from torch import nn


def total(xs, scale):
    out = 0.0
    for x in xs:
        out = out + float(x) * scale
    return out


def pick(table, key):
    return table[key]


class Sum(nn.Module):
    def forward(self, xs, weights=None):
        y = xs[0]
        for x in xs[1:]:
            y = y + x
        return self.scaled(y, len(xs))

    def scaled(self, y, n):
        return y * n


class Twice(nn.Module):
    def forward(self, x):
        return x * 2 if isinstance(x, torch.Tensor) else torch.cat(x)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum = Sum()
        self.parts = nn.ModuleList([Twice(), Twice()])

    def forward(self):
        x = torch.ones(2)
        print(total([1, 2], 2.0), total([0.5], 3.0), total([x[0]], 2.0))  # expect: 6. 1.5 2.
        print(pick({"a": 3}, "a"), pick([5, 6], 1), float(pick(x, 0)))  # expect: 3 6 1.
        print(float(self.sum([x, x, x]).sum()), float(self.sum((x, x)).sum()))  # expect: 18. 8.
        print(list(self.parts[0](x).shape), list(self.parts[1]([x, x]).shape))  # expect: [2] [4]
        return 0
# expect: 0
