"""The same while the module is built."""
import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = Linear(4, 4)  # error: NameError: name 'Linear' is not defined # note: did you mean 'nn.Linear'? # at: Linear

    def forward(self, x):
        return x
