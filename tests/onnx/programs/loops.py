# SPDX-License-Identifier: Apache-2.0
# input: float32[5,4]:randn int64[]:3
# dynamic: x:0=length
# other: float32[9,4]:2 int64[]:0
# other: float32[1,4]:-3 int64[]:7
# other: float32[2,4]:0 int64[]:1
# Loops as long as elements and sizes say: carried values, sizes that grow, breaks, branches within, writes in place.
import torch
from torch import nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, n: torch.Tensor):
        h = torch.zeros(4)
        for i in range(x.size(0)):
            h = torch.tanh(self.cell(h) + x[i])
        grown = x
        total = torch.zeros(4)
        row = total[1]
        for i in range(int(n)):
            grown = torch.cat([grown, x * i], 0)
            total.add_(h * i)
            total[0] = 1
            if i % 2 == 0:
                total.mul_(0.5)
        s = x.sum()
        k = 0
        for i in range(10):
            s = s * 0.7
            if bool(s < 0.5):
                break
            k = i
        steps = 0
        a, b = x.mean(0), x.mean(0) * 2
        while steps < 6 and bool(a.abs().sum() > 1):
            j = 0
            while bool(a.sum() > j) and j < 3:
                a = a * 0.9
                j += 1
            a, b = b * 0.5, a + b
            steps += 1
        return h, grown.sum(0), h * grown.size(0), total, row + 1, s + k, a, b * steps
