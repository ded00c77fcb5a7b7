# SPDX-License-Identifier: Apache-2.0
# input: float32[3,4]:randn
# opset: 19
# other: float32[3,4]:70000
# Floats of eight bits: weights with scales of rows, casts at the ends of their ranges.
import torch
from torch import nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        w = torch.randn(6, 4)
        s = w.abs().amax(1, keepdim=True) / 448
        self.register_buffer("w", (w / s).to(torch.float8_e4m3fn))
        self.register_buffer("s", s)

    def forward(self, x: torch.Tensor):
        y = torch.nn.functional.linear(x, self.w.to(x.dtype) * self.s)
        return y, x.to(torch.float8_e4m3fn).float(), x.to(torch.float8_e5m2).float(), x.to(torch.float8_e4m3fnuz).float(), x.to(torch.float8_e5m2fnuz).float()
