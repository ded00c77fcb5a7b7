"""An int for a float is converted, so that it is not what is wrong with a function that has another error."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2)
        x = self.conv(lambda t: t)(x)  # error: closure cannot be used as a value
        return x
