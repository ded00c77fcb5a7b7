# SPDX-License-Identifier: Apache-2.0
"""What torch.jit.trace was given, as parts of a program that is compiled: functions, modules, several of one class."""
from typing import List

import torch
import torch.nn as nn


def items(x: torch.Tensor) -> List[float]:
    out: List[float] = x.tolist()
    return out


def double(x):
    return x * 2 + torch.ones(3)


def pair(x, y):
    return (x + y, x - y) if x.dim() == 1 else (x, y)  # the trace has taken the first path


class Scale(nn.Module):
    def __init__(self, n, turned):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), float(n)))
        self.turned = turned

    def forward(self, x):
        y = x * self.weight
        return -y if self.turned else y


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Scale(2, False), nn.ReLU())

    def forward(self, x, *more):
        for m in more:
            x = x + m
        return {"out": self.inner(x)}["out"]


x = torch.arange(3.0) - 1
traced_double = torch.jit.trace(double, (x,))
traced_pair = torch.jit.trace(pair, (x, x))
scales = [torch.jit.trace(Scale(n, n > 1), (x,)) for n in (1, 2, 3)]
nested = torch.jit.trace(Nested(), (x, x))


@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        x = traced_double(x)
    return traced_double(x)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ModuleList(scales)
        self.nested = nested
        self.again = nested

    def forward(self) -> int:
        x = torch.arange(3.0) - 1
        print(items(scripted(x)), items(scripted(x + 1)))
        a, b = traced_pair(x, 2 * x)
        print(items(a), items(b))
        for s in self.scales:
            print(items(s(x)))
        print(items(self.nested(x, x)), items(self.again(x, x + 1)))
        print(items(self.scales[1].weight))
        return 1


# expect: [-1., 1., 3.] [3., 7., 11.]
# expect: [-3., 0., 3.] [1., 0., -1.]
# expect: [-1., 0., 1.]
# expect: [2., 0., -2.]
# expect: [3., 0., -3.]
# expect: [0., 0., 4.] [0., 2., 6.]
# expect: [2., 2., 2.]
# expect: 1
