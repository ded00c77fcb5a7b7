# SPDX-License-Identifier: Apache-2.0
# input: float32[3]:randn
# refused: a branch depends on elements of tensors
import torch


def forward(x: torch.Tensor):
    if bool(x.sum() > 0):
        return x + 1
    return x - 1
