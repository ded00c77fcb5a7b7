# SPDX-License-Identifier: Apache-2.0
# Writes to parts of a large tensor, for which the run-time library needs room for a copy: the most memory of this program.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.cumsum(x, 1)
        y[:, 1:].add_(x[:, :-1])
        return y
