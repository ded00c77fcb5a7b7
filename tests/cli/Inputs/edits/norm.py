import torch
import torch.nn as nn


class RunningNorm(nn.Module):
    def __init__(self, dim: int, momentum: float = 0.1):
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("steps", torch.tensor(0))
        self.scale = nn.Parameter(torch.ones(dim))
        self.momentum = momentum

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        self.mean = (1 - self.momentum) * self.mean + self.momentum * x.mean(0)
        return (x - self.mean) * self.scale


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RunningNorm(4)
        self.fc = nn.Linear(4, 2)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.fc(self.norm(x)))
