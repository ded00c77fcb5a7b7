"""Modules whose constructors decide what forward does: beyond PyTorch's front end."""
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Dict, List, Optional

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """Which branch is taken is known from attributes that no method assigns; the others are not looked at."""

    def __init__(self, stride=1, mode="plain", pool=None):
        super().__init__()
        self.stride = stride
        self.mode = mode
        self.pool = pool
        self.calls = 0
        if stride == 2:
            self.halve = nn.AvgPool1d(2)

    def forward(self, x):
        self.calls = self.calls + 1
        if self.stride == 2:
            x = self.halve(x)
        if self.mode == "pair" and not self.stride > 1:
            return x, self.nowhere
        if self.pool is not None:
            x = self.pool(x)
        if self.calls > 1:  # assigned: a value like any other
            x = x + 100
        return x


@dataclass
class Config:
    width: int = 2
    act: str = "relu"
    scale: float = 0.5
    inner: Optional[SimpleNamespace] = None


class Plain:
    def __init__(self):
        self.offset = 10


class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.space = SimpleNamespace(deep=SimpleNamespace(k=3), none=None)
        self.plain = Plain()

    def forward(self, x):
        if self.config.act == "relu":
            x = torch.relu(x)
        else:
            x = self.other(x)
        if self.config.inner is not None:
            x = x + self.config.inner.k
        return x * self.config.scale * self.space.deep.k + self.plain.offset + self.config.width


class Indexed(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.layers = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(n)])
        for i, layer in enumerate(self.layers):
            layer.weight.data.fill_(i + 2)

    def forward(self, x):
        for i in range(self.n):
            x = self.layers[i](x)
        for i in range(len(self.layers) - 1, 0, -1):
            if x.sum() > 0:
                x = self.layers[i](x)
        return x


class Fused(nn.Module):
    """Neighbours in a list of modules, and an accumulator that starts as None."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.ReLU(), nn.Sigmoid(), nn.ReLU()])
        self.links = nn.ModuleList([nn.Identity(), nn.Tanh()])
        self.strides = (2, 4)

    def forward(self, x):
        y = None
        for i, part in enumerate(self.parts):
            if y is None:
                y = part(x)
            else:
                y = part(x) + self.links[i - 1](y)
        sizes = [s // k for s, k in zip(list(x.shape), self.strides)]
        return y, sum([[s, k] for s, k in zip(sizes, self.strides)], []), sum([sizes], [0])


class Recipe:
    """A plain class whose instances lie in a container: a script class."""

    def __init__(self, axes: List[int], names: Dict[str, int]):
        self.axes = axes
        self.names = names

    def total(self, k: int) -> int:
        return sum(self.axes) * k + self.names["a"]


def cooked(recipe: Recipe, k: int) -> int:
    return recipe.total(k) + len(recipe.axes)


class Cook(nn.Module):
    def __init__(self):
        super().__init__()
        self.recipes = {n: Recipe(list(range(n)), {"a": 100 * n}) for n in (2, 3)}
        self.order = [Recipe([7], {"a": 1})]

    def forward(self, x):
        return cooked(self.recipes[x.dim()], 10) + self.order[0].total(2)


def scaled(x, k: float):
    return x * k


Pair = namedtuple("Pair", ["a", "b"])
Pair.__annotations__ = {"a": Tensor, "b": Optional[Tensor]}


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Block()
        self.two = Block(2, pool=nn.AvgPool1d(2))
        self.configured = Configured(Config())
        self.indexed = Indexed(3)
        self.cook = Cook()
        self.fused = Fused()

    def defaults(self, x, other=None, k=2, s=0.5, flag=False, name="n"):
        if other is not None:
            x = x + other
        if flag:
            x = x * k
        return name + str(float((x * s).sum()))

    def spread(self, x):
        y = x.reshape(*x.shape[:-1], -1, 2)
        z = x.new_zeros(*y.shape[:2], 5)
        return [y.size(), z.size(), torch.ones(2, *x.shape).size(), x.view(*x.shape).size(), x.permute(*[1, 0]).size()]

    def forward(self):
        x = torch.ones(1, 8)
        print(self.one(x).size(), self.two(x).size())
        print(float(self.configured(torch.tensor(-4.0))), float(self.configured(torch.tensor(4.0))))
        print(float(self.indexed(torch.ones(1, 1))))
        print(self.defaults(x), self.defaults(x, x, 3, flag=True, name="m"))
        print(self.spread(x))
        print(float(scaled(torch.tensor(2.0), 3)))
        p = Pair(x, None)
        print(p.b is None)
        y, sizes, more = self.fused(torch.zeros(4, 8))
        print(int(float(y.sum()) * 1000), sizes, more)
        print(self.cook(x), self.cook(x.view(1, 2, 4)))
        return 0
# expect: [1, 8] [1, 2]
# expect: 12. 18.
# expect: 288.
# expect: n4. m24.
# expect: [[1, 4, 2], [1, 4, 5], [2, 1, 8], [1, 8], [8, 1]]
# expect: 6.
# expect: True
# expect: 14787 [2, 2, 2, 4] [0, 2, 2]
# expect: 227 348
# expect: 0
