# SPDX-License-Identifier: Apache-2.0
# input: float32[6,4]:randn int64[2]:3
# other: float32[6,4]:2 int64[2]:2
# other: float32[6,4]:randn int64[2]:1
# Sizes that elements say: parts, views, new tensors, pads, repetitions, positions; how many elements are of a kind.
import torch


def forward(x: torch.Tensor, n: torch.Tensor):
    k = int(n[0])
    m = n.sum().item()
    part = x[:k]
    big = torch.nn.functional.pad(part, [0, k, 1, 0])
    chosen = x[x > 0]
    rows = x[x.sum(1) > 0]
    return (part * 2, x[k:].mean(0), x.view(k, -1).softmax(1), torch.zeros(k, 2) + k, torch.arange(int(m)), big, x.repeat(k, 1), x.narrow(0, 1, k), part.sum(0) * part.size(0),
            torch.nonzero(x > 0), chosen * 2, rows, torch.masked_select(x, x < 0).sum(), torch.ones(rows.size(0)))
