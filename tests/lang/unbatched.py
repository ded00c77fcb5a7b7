"""Convolutions of images without a batch dim, behind a call: their rank is the input's."""
import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x):
        return torch.nn.functional.conv2d(x, self.conv.weight).dim(), len(self.conv(x).shape)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self):
        print(self.inner(torch.ones(2, 4, 5)), self.inner(torch.ones(1, 2, 4, 5)))  # expect: (3, 3) (4, 4)


net = Net()
# expect: None
