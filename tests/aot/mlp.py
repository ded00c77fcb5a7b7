# SPDX-License-Identifier: Apache-2.0
# A perceptron with layer norm and softmax.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.layers(x), -1)
