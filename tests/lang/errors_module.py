"""Errors in methods of a module."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.stuff = {1, 2}

    def forward(self, x):
        y = self.fd(x)  # error: Module 'Net' has no attribute 'fd'
        return y
