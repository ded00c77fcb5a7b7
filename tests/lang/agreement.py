"""Calls and modules that PyTorch compiles in a way of its own."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn.modules.utils import _pair, _single


class Point(NamedTuple):
    x: int
    y: int


SIZE = torch.ones(2, 3).shape
print(isinstance(Point(1, 2), tuple), issubclass(Point, tuple))  # expect: True True
print(SIZE, SIZE[1:] + (4,), SIZE.numel(), isinstance(SIZE, torch.Size), tuple(SIZE))
# expect: torch.Size([2, 3]) torch.Size([3, 4]) 6 True (2, 3)


def both(a: Optional[int], b: Optional[int]) -> int:
    if a is not None and b is not None:
        return a * 10 + b
    return 0


def sorted_pair(x: Tensor):
    return torch.sort(x)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Identity(), nn.ReLU()])
        self.named = nn.ModuleDict({"it's": nn.Identity()})
        self.chain = nn.Sequential(nn.Identity(), nn.ReLU(), nn.Identity())

    def forward(self):
        x = torch.tensor([-1.0, 2.0])
        kinds: List[str] = []
        for m in self.layers:
            if isinstance(m, nn.ReLU):
                kinds.append("relu")
            elif isinstance(m, (nn.Linear, nn.Tanh)):
                kinds.append(m.no_such_attribute)
            elif isinstance(m, nn.Module):
                kinds.append("module")
        print(kinds)  # expect: [module, relu]
        if "it's" in self.named:
            print(len(self.named))  # expect: 1
        if "other" in self.named:
            x = self.named["other"](x)
        print(self.chain[1:](x).sum())
        # expect: 2
        # expect: [ CPUFloatType{} ]
        print(min(3, 1, 2), max(1.5, 2.5, 0.5))  # expect: 1 2.5
        print(list(range(-2, 1)), _pair(3), _single(4), _pair([5, 6]))  # expect: [-2, -1, 0] [3, 3] [4] [5, 6]
        r = range(1, 3)
        total = 0
        if total == 0:
            for i in r:
                total += i
        else:
            for i in r:
                total -= i
        print(total, both(1, 2), both(None, 2))  # expect: 3 12 0
        with torch.autograd.profiler.record_function("part"), torch.cuda.amp.autocast():
            print(int(sorted_pair(x)[1][1]))  # expect: 1
        print(torch.zeros_like(x, memory_format=torch.legacy_contiguous_format).size(), torch.jit.is_tracing())
        # expect: [2] False
# expect: None
