import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 7, 2, 3)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.second = nn.Conv2d(8, 4, 3, 2, 1)
        self.patches = nn.Conv2d(4, 8, 4, 4)
        self.up = nn.Upsample(scale_factor=2)
        self.last = nn.Linear(8, 10)

    def forward(self, x):
        line = torch.zeros(x.size(2) + x.size(3) - 1)
        x = self.pool(F.relu(self.first(x)))
        tokens = self.patches(self.second(x)).flatten(2).transpose(1, 2)
        tokens = torch.cat([tokens[:, :1], tokens], 1)
        return self.last(tokens), self.up(x), line

    @torch.jit.export
    def steps(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(2, 8, -1)

    @torch.jit.export
    def fixed(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(64)

    @torch.jit.export
    def same(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    @torch.jit.export
    def power(self, x: torch.Tensor) -> torch.Tensor:
        n = 1
        while n < x.size(0):
            n *= 2
        return torch.zeros(n)

    @torch.jit.export
    def data(self, x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()
