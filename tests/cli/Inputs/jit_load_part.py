"""A module with something of everything that an archive holds."""
from enum import Enum
from typing import List, Optional

import torch
from torch import Tensor, nn


class Mode(Enum):
    PLAIN = 0
    DOUBLE = 1


@torch.jit.script
class Scale:
    def __init__(self, by: float):
        self.by = by

    def apply(self, x: Tensor) -> Tensor:
        return x * self.by


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.register_buffer('shift', torch.ones(2))
        nn.init.constant_(self.fc.weight, 0.5)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) + self.shift


class Main(nn.Module):
    maybe: Optional[Tensor]
    names: List[str]

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.again = self.inner
        self.calls = 0
        self.names = ['a']
        self.table = {'k': 1}
        self.maybe = None
        self.mode = Mode.DOUBLE
        self.scale = Scale(3.0)

    def forward(self, x: Tensor, plus: float = 0.0) -> Tensor:
        self.calls += 1
        self.names.append(str(self.calls))
        if self.maybe is None:
            self.maybe = x
        y = self.scale.apply(self.inner(x))
        if self.mode == Mode.DOUBLE:
            y = y * 2
        return y + plus

    @torch.jit.export
    def total(self, times: int) -> int:
        return self.calls * times
