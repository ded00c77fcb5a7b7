import torch
from ..tools import half   # the package is told by the folders that have an __init__.py
from pack.tools import half as same


class Main(torch.nn.Module):
    def forward(self, x):
        return half(same(x))
