# SPDX-License-Identifier: Apache-2.0
# A WaveNet-like stack: gated, dilated, causal convolutions over quantised audio, with skip connections.
#
#   ctsc run examples/models/wavenet.py --input 'int64[1,256]:ones'
from typing import List, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class CausalConv1d(nn.Conv1d):
    """Sees no sample after the one it computes."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, dilation: int = 1):
        super().__init__(in_channels, out_channels, kernel_size, dilation=dilation)
        self.left = (kernel_size - 1) * dilation

    def forward(self, input: Tensor) -> Tensor:
        return F.conv1d(F.pad(input, (self.left, 0)), self.weight, self.bias, dilation=self.dilation)


class ResidualBlock(nn.Module):
    def __init__(self, residual: int, skip: int, dilation: int):
        super().__init__()
        self.filter = CausalConv1d(residual, residual, 2, dilation)
        self.gate = CausalConv1d(residual, residual, 2, dilation)
        self.res = nn.Conv1d(residual, residual, 1)
        self.skip = nn.Conv1d(residual, skip, 1)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        z = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        return x + self.res(z), self.skip(z)


class WaveNet(nn.Module):
    def __init__(self, levels: int, residual: int, skip: int, blocks: int, layers: int):
        super().__init__()
        self.levels = levels
        self.embed = nn.Embedding(levels, residual)
        dilations = [2**i for _ in range(blocks) for i in range(layers)]
        self.stack = nn.ModuleList([ResidualBlock(residual, skip, d) for d in dilations])
        self.receptive_field = 1 + sum(dilations)
        self.out1 = nn.Conv1d(skip, skip, 1)
        self.out2 = nn.Conv1d(skip, levels, 1)

    def forward(self, samples: Tensor) -> Tensor:
        x = self.embed(samples).transpose(1, 2)
        skips: List[Tensor] = []
        for block in self.stack:
            x, s = block(x)
            skips.append(s)
        total = torch.stack(skips).sum(dim=0)
        total = self.out1(F.relu(total))
        return self.out2(F.relu(total))

    @torch.jit.export
    def generate(self, start: Tensor, n: int) -> Tensor:
        samples = start
        for _ in range(n):
            window = samples[:, -self.receptive_field :]
            logits = self.forward(window)[:, :, -1]
            samples = torch.cat([samples, logits.argmax(dim=1, keepdim=True)], dim=1)
        return samples


class Main(WaveNet):
    def __init__(self):
        super().__init__(levels=64, residual=16, skip=24, blocks=2, layers=5)
