# SPDX-License-Identifier: Apache-2.0
# input: float32[2,3,4]:randn
# Writes in place: of the whole, through views, of a part.
import torch


def forward(x: torch.Tensor):
    y = x * 2
    flat = y.view(2, 12)
    y.relu_()
    z = y + 1
    z[:, 1] = flat[:, 4:8] - 3
    z[0].mul_(10)
    total = torch.zeros(2, 4)
    for i in range(3):
        total += z[:, i]
    return z, flat, total
