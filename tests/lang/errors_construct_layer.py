"""A layer made in a function has no parameters: those would be new ones with every call."""
import torch
import torch.nn as nn


class Main(nn.Module):
    def forward(self, x: torch.Tensor):
        return nn.Linear(4, 4)(x)  # error: Cannot instantiate class 'Linear' in a script function
