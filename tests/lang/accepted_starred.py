"""Python's assignments of starred lists, tests of a program's own for None, and named tuples as configurations."""
from collections import namedtuple
from typing import List, Optional

import torch
from torch import nn

Config = namedtuple("Config", ["stride", "name"])


def exists(val):
    """Is there one?"""
    return val is not None


class Block(nn.Module):
    def __init__(self, config, inner=None):
        super().__init__()
        self.config = config
        self.inner = inner

    def forward(self, x, scale: Optional[float] = None):
        if exists(self.inner):
            x = self.inner(x)
        if self.config.stride == 2 and self.config.name == "half":
            x = x[::2]
        if exists(scale):
            x = x * scale
        return x if not exists(scale) or scale > 1 else -x


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = 4
        self.blocks = nn.ModuleList([Block(Config(2, "half"), nn.ReLU()), Block(Config(1, "whole"))])

    def forward(self):
        x = torch.ones(6, 2, 3)
        a, b, c, heads = *x.shape, self.heads
        print(a, b, c, heads)  # expect: 6 2 3 4
        first, *rest = x.shape
        print(first, rest)  # expect: 6 [2, 3]
        *rest, last = x.shape
        print(rest, last)  # expect: [6, 2] 3
        first, *rest, last = [1, *x.shape, 9]
        print(first, rest, last)  # expect: 1 [6, 2, 3] 9
        n = len(self.blocks)
        for level, block in zip(reversed(range(n)), self.blocks):
            x = block(x, 2.0 + level)
        print(int(x.sum()), int(self.blocks[1](x, 0.5).sum()))  # expect: 108 -54
        return None
# expect: None
