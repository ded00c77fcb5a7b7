# SPDX-License-Identifier: Apache-2.0
"""torch.ao.quantization: where integers begin and end, which before conversion is the identity."""
from torch import Tensor
from torch.nn import Module


class QuantStub(Module):
    def __init__(self, qconfig=None):
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(Module):
    def __init__(self, qconfig=None):
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x
