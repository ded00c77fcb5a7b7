# SPDX-License-Identifier: Apache-2.0
# input: float32[4,4]:randn int64[]:4
# refused: no other example
# A size that no other example can be made up for: four is all that both views take.
import torch


def forward(x: torch.Tensor, n: torch.Tensor):
    k = int(n)
    return x.view(k, k), x.view(k * 4)
