# SPDX-License-Identifier: Apache-2.0
# normal.py - the normal distribution.
import math
from typing import List, Optional

import torch
from torch import Tensor

from .utils import broadcast_all


class Normal:
    def __init__(self, loc: Tensor, scale: Tensor, validate_args: Optional[bool] = None):
        self.loc, self.scale = broadcast_all(loc, scale)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    @property
    def batch_shape(self) -> List[int]:
        return self.loc.size()

    def sample(self, sample_shape: List[int] = ()) -> Tensor:
        shape = list(sample_shape) + list(self.loc.size())
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: List[int] = ()) -> Tensor:
        shape = list(sample_shape) + list(self.loc.size())
        noise = torch.normal(torch.zeros(shape, dtype=self.loc.dtype, device=self.loc.device),
                             torch.ones(shape, dtype=self.loc.dtype, device=self.loc.device))
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2.0)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2.0)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)
