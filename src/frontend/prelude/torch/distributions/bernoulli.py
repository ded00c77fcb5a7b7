# SPDX-License-Identifier: Apache-2.0
# bernoulli.py - yes or no, by a probability or its log odds.
from typing import List, Optional

import torch
from torch import Tensor


class Bernoulli:
    def __init__(self, probs: Optional[Tensor] = None, logits: Optional[Tensor] = None, validate_args: Optional[bool] = None):
        if (probs is None) == (logits is None):
            raise ValueError('Either `probs` or `logits` must be specified, but not both.')
        if probs is not None:
            p = torch.as_tensor(probs)
            eps = torch.finfo(p.dtype).eps
            inside = p.clamp(min=eps, max=1 - eps)
            odds = torch.log(inside) - torch.log1p(-inside)
        else:
            assert logits is not None
            odds = torch.as_tensor(logits)
            p = torch.sigmoid(odds)
        self.probs = p
        self.logits = odds

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: List[int] = ()) -> Tensor:
        return torch.bernoulli(self.probs.expand(list(sample_shape) + list(self.probs.size())))

    def log_prob(self, value: Tensor) -> Tensor:
        both = torch.broadcast_tensors(self.logits, value)
        return -torch.nn.functional.binary_cross_entropy_with_logits(both[0], both[1], reduction='none')

    def entropy(self) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction='none')
