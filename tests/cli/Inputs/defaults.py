# SPDX-License-Identifier: Apache-2.0
"""Makes defaults.pt, with PyTorch 2.15: parameters whose defaults are not plain literals."""
import enum
import sys
from typing import List, NamedTuple, Optional, Tuple

import torch


class Mode(enum.Enum):
    NEAREST = "nearest"
    BILINEAR = "bilinear"


class Step(enum.Enum):
    ONE = 1
    TWO = 2


class Range(NamedTuple):
    low: int
    high: float


class M(torch.nn.Module):
    def forward(self, x):
        return x

    @torch.jit.export
    def plain(self, x: torch.Tensor, n: int = -5, f: Optional[float] = -1.5, s: str = "q'\"", none: Optional[List[str]] = None,
              t: Tuple[int, Tuple[str, bool]] = (1, ("a", True)), low: float = -float("inf"), d: torch.dtype = torch.float64):
        return (x + n).to(d), f, s, none is None, t, low

    @torch.jit.export
    def member(self, x: torch.Tensor, mode: Mode = Mode.BILINEAR, step: Step = Step.TWO, other: Optional[Mode] = None):
        return x + step.value, mode == Mode.BILINEAR, mode.value, other is None

    @torch.jit.export
    def table(self, x: torch.Tensor, state: torch.Tensor = torch.arange(3)):
        return x + state

    @torch.jit.export
    def assorted(self, x: torch.Tensor, r: Range = Range(1, 2.0), z: complex = -1 - 2j, d: torch.device = torch.device("cpu")):
        return torch.view_as_real(x.to(d) * z), r.low, r.high


torch.jit.script(M()).save(sys.argv[1])
