# SPDX-License-Identifier: Apache-2.0
# input: float32[3,4]:randn
# other: float32[3,4]:2
# other: float32[3,4]:-2
# other: float32[3,4]:0
# Branches that elements decide: results, sizes that differ, writes in place, what may be one tensor or another.
import torch


def early(x: torch.Tensor):
    if bool(x.sum() > 20):
        return x + 1
    if bool(x.max() < 0.1):
        return x * 3
    return x - 1


def forward(x: torch.Tensor):
    y = torch.zeros(3, 4)
    z = x.clone()
    if bool(x.sum() > 0):
        n = 3
        both = (x, [x * 2, x + 1])
        longer = torch.cat([x, x])
        y.add_(x)
        z[1] = 5
    else:
        n = 4
        both = (x + 1, [x, x - 1])
        longer = x
        y[0] = x[1]
    w = x.clone()
    v = w if bool(z.sum() > 3) else x + 1
    v.add_(1)
    return early(x) * n, both[0] + both[1][1], longer.reshape(-1), y * longer.size(0), y, z, z[1] + y[0], v
