# SPDX-License-Identifier: Apache-2.0
# input: float32[3]:randn
# refused: changes what is outside of it
import torch


def forward(x: torch.Tensor):
    steps = [x]
    if bool(x.sum() > 0):
        steps.append(x + 1)
    return torch.stack(steps)
