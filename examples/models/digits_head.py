# SPDX-License-Identifier: Apache-2.0
# The layers of models/digits_cnn.pt, under the same names, with a new last one: for fine-tuning (docs/training.md).
#
#   ctsc run examples/models/digits_head.py --input 'float32[1,1,8,8]:rand'
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class DigitsHead(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.head = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.head(F.relu(self.fc1(x.flatten(1))))
