import torch
import torch.nn as nn


def leaf(x, k: int):
    y = x * 2.0 + 1.0
    return y.view(k, 7)


def middle(x, k: int):
    z = torch.tanh(x) + 1.0
    if k > 100:
        z = leaf(z, k) + 1.0
    return leaf(z, k) * 2.0


def pick(x, i: int):
    return x[i] * 2.0


def rounds(x, n: int):
    s = torch.zeros(1)
    for i in range(n):
        s = s + pick(x, i)
    return s


class Inner(nn.Module):
    def forward(self, x, k: int):
        return middle(x, k) + 1.0


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, k: int):
        if k < 0:
            return rounds(x[0], -k)
        return self.inner(torch.relu(self.linear(x)), k)
