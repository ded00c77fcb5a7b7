"""Containers of parameters as Python sees them: torch.jit.script passes over lists of parameters within a list, and takes loops over it for empty."""
from collections import namedtuple

import torch
from torch import nn

Sizes = namedtuple("Sizes", ["width", "scale"])  # no types: not an attribute, since it holds no tensors


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = Sizes(3, 0.5)
        self.scales = nn.ParameterList([])
        for i in range(2):
            self.scales.append(nn.ParameterList([nn.Parameter(torch.full((3,), i + 1.0)), nn.Parameter(torch.full((3,), i + 2.0))]))
        self.mixed = nn.ParameterList([nn.ParameterList([nn.Parameter(torch.ones(1))]), nn.Parameter(torch.zeros(1))])

    def forward(self):
        x = torch.ones(3)
        for weight, bias in self.scales:
            x = x * weight + bias
        print(int(x.sum()), len(self.scales), len(self.mixed))  # expect: 27 2 2
        print(x.norm(dim=-1).item() > 15.5, x.norm(dim=0, keepdim=True).shape[0])  # expect: True 1
# expect: None
