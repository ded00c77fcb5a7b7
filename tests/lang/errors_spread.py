"""Stars in front of what cannot be spread."""
import torch
import torch.nn as nn

scale = 3


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, n: int):
        print(*scale)  # error: int cannot be used as a tuple
        print(*n)  # error: int cannot be used as a tuple
        print(*[n])  # error: cannot statically infer the expected size of a list in this context
        return x
