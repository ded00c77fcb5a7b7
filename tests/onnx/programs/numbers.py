# SPDX-License-Identifier: Apache-2.0
# input: int64[5]:arange float32[4,5]:randn
# other: int64[5]:3 float32[4,5]:randn
# other: int64[5]:0 float32[4,5]:2
# Lists of numbers that loops and branches fill, as long as elements say: tensors of one dim.
from typing import List

import torch


def forward(x: torch.Tensor, y: torch.Tensor):
    steps: List[int] = []
    scores: List[float] = [0.5]
    seen: List[bool] = []
    for i in range(int(x[4])):
        steps.append(i * i)
        if bool(x[i % 5] > 1):
            scores += [float(y[0, i % 5]), 1.5]
            steps[-1] = steps[-1] + len(steps)
        seen.append(bool(x[i % 5] > 2))
    last = -1
    if len(steps) > 1:
        last = steps[-1] + steps[0]
    total = 0
    for s in steps:
        total += s
    other = steps + [7, 8]
    popped = other.pop()
    other.reverse()
    high = max(other[0], min(popped, 3))
    if bool(y[0, 0] > 0):
        ends = [1, 2, 3]
        rows = [y[0], y[1]]
    else:
        ends = [4]
        rows = [y[2]]
    ends.append(total)
    rows.append(y[3])
    counts = torch.tensor([last, total, len(scores), popped, max(ends), high, steps.count(4)])
    return (torch.tensor(steps), torch.tensor(scores), torch.tensor(seen), torch.tensor(other), torch.tensor(other[1:]), counts, torch.tensor(sum(scores)),
            torch.tensor(7 in other), y[:, :len(ends)], torch.tensor(ends), torch.stack(rows))
