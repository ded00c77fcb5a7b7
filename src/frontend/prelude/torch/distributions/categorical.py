# SPDX-License-Identifier: Apache-2.0
# categorical.py - one of n, by probabilities or their logarithms.
from typing import List, Optional

import torch
from torch import Tensor


class Categorical:
    def __init__(self, probs: Optional[Tensor] = None, logits: Optional[Tensor] = None, validate_args: Optional[bool] = None):
        if (probs is None) == (logits is None):
            raise ValueError('Either `probs` or `logits` must be specified, but not both.')
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError('`probs` parameter must be at least one-dimensional.')
            p = probs / probs.sum(-1, keepdim=True)
            eps = torch.finfo(p.dtype).eps
            log_p = torch.log(p.clamp(min=eps, max=1 - eps))
        else:
            assert logits is not None
            if logits.dim() < 1:
                raise ValueError('`logits` parameter must be at least one-dimensional.')
            log_p = logits - logits.logsumexp(-1, keepdim=True)
            p = torch.softmax(log_p, -1)
        self.probs = p
        self.logits = log_p

    @property
    def batch_shape(self) -> List[int]:
        return self.probs.size()[:-1]

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    def sample(self, sample_shape: List[int] = ()) -> Tensor:
        count = 1
        for n in sample_shape:
            count = count * n
        flat = self.probs.reshape(-1, self.probs.size(-1))
        drawn = torch.multinomial(flat, count, True).t()
        return drawn.reshape(list(sample_shape) + list(self.probs.size()[:-1]))

    def log_prob(self, value: Tensor) -> Tensor:
        both = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return both[1].gather(-1, both[0][..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)
