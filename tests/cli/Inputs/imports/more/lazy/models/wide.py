from __future__ import annotations

import torch

from .. import half

__all__ = ["Wide"]


class Wide(torch.nn.Module):
    width: int

    def forward(self, x):
        return half(x)


assert Wide.__annotations__ == {"width": "int"}
