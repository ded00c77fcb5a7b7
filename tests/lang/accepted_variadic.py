"""*args and **kwargs that no call uses: wrappers of layers have them. Python prints the same."""
import torch
from torch import nn


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs)


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, *args, **kwargs):
        return self.fn(x, *args, **kwargs) + x


def scaled(*rest, x: torch.Tensor, by: float = 2.0, **more):
    return x * by + len(rest)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(Residual(PreNorm(4, nn.Identity())), PreNorm(4, nn.ReLU()))

    def forward(self, *unused, **options):
        x = torch.arange(4.0).view(1, 4)
        print(list(self.net(x).shape), int(self.net(x).sum() * 1000))  # expect: [1, 4] 1788
        print(int(scaled(x=x).sum()), int(scaled(by=3.0, x=x).sum()))  # expect: 12 18
        return None
# expect: None
