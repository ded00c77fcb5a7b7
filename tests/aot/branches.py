# SPDX-License-Identifier: Apache-2.0
# Control flow on data: a branch, a loop, a list, sums that depend on how often.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(5, 5)
        self.b = nn.Linear(5, 5)

    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            y = torch.tanh(self.a(x)) + 1
        else:
            y = torch.sigmoid(self.b(x)) * 2
        steps = 0
        while bool(y.abs().max() > 0.1) and steps < 20:
            y = y * 0.5
            steps += 1
        parts = []
        for i in range(x.size(0)):
            parts.append(y[i] * i)
        return torch.stack(parts), steps
