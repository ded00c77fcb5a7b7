import torch
from torch import nn


class Grid(nn.Module):
    """Keeps what it computes for a size: the second run takes another path, to the same result."""

    def __init__(self):
        super().__init__()
        self.grid, self.sizes = None, []

    def forward(self, x):
        if self.grid is None or self.grid.shape != x.shape:
            self.sizes.append(x.shape)
            self.grid = torch.arange(x.numel()).reshape(x.shape) * 0.5
        return x + self.grid
