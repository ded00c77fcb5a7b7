"""An exception while the module is built."""
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        if n < 3:
            raise ValueError("n is too small: %d" % n)  # error: ValueError: n is too small: 2


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net(2)

    def forward(self, x):
        return x
