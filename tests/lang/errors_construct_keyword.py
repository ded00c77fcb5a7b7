"""Nor are those that have to be named."""
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, a, b, c=3, *, d, e=2.0, f):
        super().__init__()


net = Net(1, 2)  # error: TypeError: Net.__init__() missing 2 required keyword-only arguments: 'd' and 'f'
