# Scripted functions and modules keep their branches and loops.
import torch
from torch import Tensor, nn


@torch.jit.script
def clamp_sum(x: Tensor, times: int = 3, low: float = 0.0):
    if bool(x.sum() > low):
        for i in range(times):
            x = x * 0.5 + i
    else:
        x = -x
    return x


@torch.jit.script_if_tracing
def first_rows(x: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] * i
    return out


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, flip: bool = False):
        if bool(x.mean() > 0) != flip:
            return self.fc(x), x
        return x, self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList([torch.jit.script(Gate()), Gate()])

    def forward(self, x):
        a, b = self.gates[0](x, flip=True)
        c, _ = self.gates[1](x) if torch.jit.is_tracing() else (x, x)
        return clamp_sum(a), clamp_sum(b, low=100.0, times=x.shape[0]), first_rows(x), c


def examples():
    return (torch.ones(2, 3),), (-torch.ones(2, 3),), (torch.ones(2, 3) * 3,)
