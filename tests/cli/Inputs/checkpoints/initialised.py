import math

import torch
from torch import nn


class Net(nn.Module):
    """Initialisers whose results --weights replaces, and tensors that no file has."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.bn = nn.BatchNorm1d(2)
        self.fc.weight.data.uniform_(-0.9, 0.9).erfinv_().mul_(0.02 * math.sqrt(2.0)).add_(1).clamp_(min=-2, max=2)
        nn.init.orthogonal_(self.fc.weight)
        ones = torch.empty(2).normal_()
        ones.fill_(0.5).mul_(2)
        self.register_buffer('ones', ones, persistent=False)
        table = torch.zeros(2).add_(3)
        self.register_buffer('table', table, persistent=False)
        print(ones.tolist(), table.tolist())

    def forward(self, x):
        return self.bn(self.fc(x)) * self.ones * self.table / 3
