import random

import torch
from torch import nn


class Warned(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        for i in range(2):
            assert float(x[0, 0]) >= 0
        n = int(x.max()) + len(x) + sum(row.numel() for row in x) * 0
        if x.shape[0] > 1:
            n = n + 1
        steps = [i for i in range(x.shape[1])]
        return x * n + x.max().item() + torch.tensor([1.0, 2.0]) * len(steps) + torch.tensor(x.tolist()).sum() * 0


class Other(nn.Module):
    """Takes another path when it runs again."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def forward(self, x):
        self.ran.append(1)
        x = x * 2
        return x.sigmoid() if len(self.ran) == 1 else x.tanh()


class Constant(nn.Module):
    """Computes with a number that changes."""

    def __init__(self):
        super().__init__()
        self.ran = []

    def forward(self, x):
        self.ran.append(1)
        return x.relu() + float(len(self.ran))


class Number(nn.Module):
    def forward(self, x):
        return x, 3


class Mixed(nn.Module):
    def forward(self, x, k, scale=2.0, *, mask=None):
        return x * k * scale if mask is None else x * mask * k


class Noise(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5) + torch.randn(2) * 0


class Unscriptable(nn.Module):
    def forward(self, x, **options):
        return x + options.get("k", 1)


class Settings:
    def __init__(self):
        self.factor = 2.0

    def update(self, **values):
        self.__dict__.update(values)


class Configured(torch.nn.Module):
    settings: Settings

    def __init__(self):
        super().__init__()
        self.settings = Settings()

    def forward(self, x):
        return x * self.settings.factor


class Filled(torch.nn.Module):
    """Factory functions have an overload with names, which is not meant."""

    def forward(self, x):
        return torch.zeros(2, x.size(0)) + torch.full((2, 2), 3.0, device=x.device) + torch.ones((2, 2), dtype=x.dtype)
