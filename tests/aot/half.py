# SPDX-License-Identifier: Apache-2.0
# A network in bfloat16: a full convolution, a depthwise one, linear layers of few and of many rows, one large enough to be packed.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 64, 1))
        self.rows = nn.Linear(64, 256)
        self.norm = nn.LayerNorm(256)
        self.mix = nn.Linear(256, 256)
        self.head = nn.Linear(256, 5)
        self.to(torch.bfloat16)

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x.to(torch.bfloat16)).flatten(2).transpose(1, 2)
        y = self.norm(torch.nn.functional.gelu(self.rows(y)))
        return torch.softmax(self.head(self.mix(y.mean(1))), 1).float()
