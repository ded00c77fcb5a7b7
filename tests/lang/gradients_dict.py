"""A tensor of a dict that is marked stays marked: what comes out of a dict is no handle that an operator made."""
from typing import Dict

import torch


def positions(data: Dict[str, torch.Tensor]) -> torch.Tensor:
    data["positions"].requires_grad_(True)
    return data["positions"]


class Main(torch.nn.Module):
    def forward(self):
        data = {"positions": torch.ones(3)}
        x = positions(data)
        gradient = torch.autograd.grad([(x * x).sum()], [x])[0]
        assert gradient is not None
        return data["positions"].requires_grad, float(gradient.sum())
# expect: (True, 6.)
