"""Parametrized weights: what is printed is what PyTorch 2.15 prints, in evaluation."""
import torch
from torch import nn
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils.parametrizations import weight_norm, spectral_norm, orthogonal


# args: --seed 3
torch.manual_seed(3)


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


class Exp(nn.Module):
    def forward(self, X):
        return torch.exp(X)

    def right_inverse(self, A):
        return torch.log(A.abs())


def mills(x: torch.Tensor) -> int:
    return int((x * torch.arange(1, x.numel() + 1).view_as(x)).sum() * 10000)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.wn = weight_norm(nn.Linear(4, 6))
        self.wd = weight_norm(nn.Conv1d(6, 6, 1), dim=None)
        self.sn = spectral_norm(nn.Linear(6, 5))
        self.sc = spectral_norm(nn.ConvTranspose1d(5, 5, 2), n_power_iterations=2)
        self.o1 = orthogonal(nn.Linear(5, 5))
        self.o2 = orthogonal(nn.Linear(5, 7))
        self.o3 = orthogonal(nn.Linear(7, 5), use_trivialization=False)
        self.o4 = orthogonal(nn.Linear(5, 5), orthogonal_map="cayley")
        self.sym = nn.Linear(5, 5)
        parametrize.register_parametrization(self.sym, "weight", Sym())
        self.two = nn.Linear(5, 5)
        parametrize.register_parametrization(self.two, "weight", Exp())
        parametrize.register_parametrization(self.two, "weight", Sym())
        self.gone = weight_norm(nn.Linear(5, 5))
        parametrize.remove_parametrizations(self.gone, "weight")

    def forward(self):
        x = torch.linspace(-1, 1, 8).view(2, 4)
        x = self.wd(self.wn(x).unsqueeze(-1)).squeeze(-1)
        print(mills(x))  # expect: 108997
        x = self.sc(self.sn(x).unsqueeze(-1)).sum(-1)
        print(mills(x))  # expect: 142132
        x = self.o4(self.o3(self.o2(self.o1(x))))
        print(mills(x))  # expect: -238593
        print(mills(self.gone(self.two(self.sym(x)))))  # expect: -42394
        return 0
# expect: 0
