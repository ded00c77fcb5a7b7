# SPDX-License-Identifier: Apache-2.0
# adaptive.py - a softmax over many classes, the rare ones in clusters of their own.
#
# Method. The head scores the frequent classes and one entry for each cluster; a cluster's tail scores its classes by a
# product of two small matrices. A class's log probability is the head's for its cluster plus the tail's within it.
from typing import List, NamedTuple, Sequence

import torch
from torch import Tensor

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = NamedTuple('_ASMoutput', [('output', Tensor), ('loss', Tensor)])


class AdaptiveLogSoftmaxWithLoss(Module):
    in_features: int
    n_classes: int
    cutoffs: List[int]
    div_value: float
    head_bias: bool

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device=None, dtype=None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if (cutoffs != sorted(cutoffs) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
                or len(set(cutoffs)) != len(cutoffs) or any([int(c) != c for c in cutoffs])):
            raise ValueError('cutoffs should be a sequence of unique, positive integers sorted in an increasing '
                             'order, where each value is between 1 and n_classes-1')
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = cutoffs + [n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            self.tail.append(Sequential(
                Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                Linear(hidden, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, device=device, dtype=dtype),
            ))

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for project, score in self.tail:
            project.reset_parameters()
            score.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError('Input and target should have the same size in the batch dimension.')
            if input_.dim() != 2:
                raise RuntimeError('1D target tensor expects 2D input tensors, but found inputs with size {}'.format(
                    input_.size()))
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError('0D target tensor expects 1D input tensors, but found inputs with size {}'.format(
                    input_.size()))
        else:
            raise RuntimeError('0D or 1D target tensor expected, multi-target not supported')
        is_batched = target_.dim() > 0
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)

        used_rows = 0
        output = input.new_zeros(target.size(0))
        gather_inds = torch.zeros_like(target)
        in_shortlist = (target >= 0) & (target < self.shortlist_size)
        rows = in_shortlist.nonzero().squeeze(1)
        gather_inds.index_copy_(0, rows, target[in_shortlist])
        used_rows += rows.numel()
        for i, tail in enumerate(self.tail):
            low = self.cutoffs[i]
            in_cluster = (target >= low) & (target < self.cutoffs[i + 1])
            rows = in_cluster.nonzero().squeeze(1)
            if rows.numel() > 0:
                scores = F.log_softmax(tail(input.index_select(0, rows)), dim=1)
                relative = target[in_cluster] - low
                output.index_copy_(0, rows, scores.gather(1, relative.unsqueeze(1)).squeeze(1))
                gather_inds.index_fill_(0, rows, self.shortlist_size + i)
            used_rows += rows.numel()
        if used_rows != target.size(0):
            raise RuntimeError('Target values should be in [0, {}], but values in range [{}, {}] were found. '.format(
                self.n_classes - 1, int(target.min().item()), int(target.max().item())))

        head_logprob = F.log_softmax(self.head(input), dim=1)
        output += head_logprob.gather(1, gather_inds.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        if not is_batched:
            output = output.squeeze(0)
        return _ASMoutput(output, loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head_logprob = F.log_softmax(head_output, dim=1)
        parts = [head_logprob[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            column = self.shortlist_size + i
            parts.append(F.log_softmax(tail(input), dim=1) + head_logprob[:, column].unsqueeze(1))
        return torch.cat(parts, dim=1)

    @torch.jit.export
    def log_prob(self, input: Tensor) -> Tensor:
        return self._get_full_log_prob(input, self.head(input))

    @torch.jit.export
    def predict(self, input: Tensor) -> Tensor:
        # Rows whose best head entry is a cluster need the tails.
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        unsure = output >= self.shortlist_size
        if bool(unsure.any()):
            log_prob = self._get_full_log_prob(input[unsure], head_output[unsure])
            output[unsure] = torch.argmax(log_prob, dim=1)
        return output
