# SPDX-License-Identifier: Apache-2.0
# input: int64[3]:arange
# refused: changes what is outside of it
from typing import Dict

import torch


def forward(x: torch.Tensor):
    steps: Dict[str, int] = {}
    for i in range(int(x[2])):
        steps["k"] = i
    return x + len(steps)
