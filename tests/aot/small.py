# SPDX-License-Identifier: Apache-2.0
# A small convolutional network with a depthwise layer and both kinds of pooling.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, padding=1, groups=16),
                                  nn.Hardswish(), nn.Conv2d(16, 24, 1), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(24, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.flatten(self.body(x), 1))
