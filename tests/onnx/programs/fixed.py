# SPDX-License-Identifier: Apache-2.0
# input: float32[2,6]:randn
# dynamic: x:0=batch
# other: float32[3,6]:randn
# warned: fixed.py:12:8: prim::If: this branch follows from the size of a dynamic axis
# warned: fixed.py:14:14: aten::floordiv: this number
# What only coincides for both sizes is taken as it is, and said; what raises is not.
import torch


def forward(x: torch.Tensor):
    if x.size(0) > 1000 and x.size(1) > 3:
        x = x * 2
    blocks = x.size(0) // 64
    if x.size(0) > 5000:
        raise RuntimeError("too many")
    return x + blocks
