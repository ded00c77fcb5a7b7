# SPDX-License-Identifier: Apache-2.0
# input: int64[3]:arange
# refused: changes what is outside of it
from typing import List

import torch


def forward(x: torch.Tensor):
    steps: List[int] = []
    for i in range(int(x[2])):
        steps.append(i)
    return torch.tensor(steps)
