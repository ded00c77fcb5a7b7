# SPDX-License-Identifier: Apache-2.0
# Layers of bfloat16.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(32, 4)
        self.to(torch.bfloat16)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.b(torch.relu(self.a(x.to(torch.bfloat16)))), 1).float()
