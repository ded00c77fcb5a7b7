"""A default that is a tensor and a constant that is a device: in an archive neither is a plain literal."""
from typing import Final, Tuple

import torch

FOUR = torch.tensor([4.0, -4.0])


class Main(torch.nn.Module):
    device: Final[torch.device]

    def __init__(self):
        super().__init__()
        self.device = torch.device("cpu")

    def forward(self, x: torch.Tensor, y: torch.Tensor = FOUR) -> Tuple[torch.Tensor, torch.Tensor]:
        return x + y, torch.ones([2], device=self.device)
