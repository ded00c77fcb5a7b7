# SPDX-License-Identifier: Apache-2.0
# uniform.py - numbers from [low, high).
from typing import List, Optional

import torch
from torch import Tensor

from .utils import broadcast_all


class Uniform:
    def __init__(self, low: Tensor, high: Tensor, validate_args: Optional[bool] = None):
        self.low, self.high = broadcast_all(low, high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def sample(self, sample_shape: List[int] = ()) -> Tensor:
        noise = torch.rand(list(sample_shape) + list(self.low.size()), dtype=self.low.dtype, device=self.low.device)
        return self.low + noise * (self.high - self.low)

    def rsample(self, sample_shape: List[int] = ()) -> Tensor:
        return self.sample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        above = self.low.le(value).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return torch.log(above.mul(below)) - torch.log(self.high - self.low)

    def entropy(self) -> Tensor:
        return torch.log(self.high - self.low)
