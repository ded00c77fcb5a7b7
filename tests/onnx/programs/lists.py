# SPDX-License-Identifier: Apache-2.0
# input: float32[5,4]:randn int64[]:3
# dynamic: x:0=length
# other: float32[9,4]:2 int64[]:1
# other: float32[1,4]:randn int64[]:6
# Lists that loops and branches fill, as long as sizes and elements say: stacked, joined, counted, read.
from typing import List

import torch


def forward(x: torch.Tensor, n: torch.Tensor):
    h = torch.zeros(4)
    states: List[torch.Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(h + x[i])
        states.append(h)
    grown = [x]
    for i in range(int(n)):
        if bool(x.sum() > i):
            grown.append(grown[-1] * 0.5)
        else:
            grown += [x - i, x + i]
    total = x
    for y in grown:
        total = total + y
    return torch.stack(states, 1), torch.cat(grown, 1), h * len(grown), grown[0], total
