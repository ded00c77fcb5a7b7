"""What is refused where conditions are known: an attribute that is not there, and conditions on what can change."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.stride = stride

    def forward(self, x):
        if self.stride == 2:
            x = self.halve(x)  # error: Module 'Block' has no attribute 'halve'
        return x


class Trained(nn.Module):
    def forward(self, x):
        if self.training:
            x = self.halve(x)  # error: Module 'Trained' has no attribute 'halve'
        return x


class Set(nn.Module):
    def __init__(self):
        super().__init__()
        self.on = False

    def enable(self):
        self.on = True

    def forward(self, x):
        if self.on:
            x = self.halve(x)  # error: Module 'Set' has no attribute 'halve'
        return x


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(1), Block(2))
        self.trained = Trained()
        self.set = Set()

    def forward(self, x):
        return self.set(self.trained(self.blocks(x)))
