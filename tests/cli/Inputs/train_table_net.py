import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.relu(self.a(x)))
