# SPDX-License-Identifier: Apache-2.0
# input: int64[3]:arange
# Sizes that elements say, beside one that nobody could go through: there are no elements.
import torch


def forward(x: torch.Tensor):
    y = torch.zeros(1 << 40, 3, 0)[:, x > 0]
    return y.sum((0, 2)) + x.size(0)
