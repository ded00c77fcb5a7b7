# SPDX-License-Identifier: Apache-2.0
"""_recent.py - layers that PyTorch has had since 2.12."""
import math

from . import functional as F
from .modules.linear import Linear
from .modules.module import Module


class LinearCrossEntropyLoss(Module):
    """A linear layer and the cross entropy of what it gives."""

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0,
                 options=None):
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError("expected weight shape to be %s, got %s" % ((num_classes,), tuple(weight.shape)))
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError("expected label_smoothing to be in range [0, 1], got %s" % label_smoothing)
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features, self.reduction, self.ignore_index = num_classes, tuple(out_features), reduction, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        sizes = (self.num_classes,) + self.out_features
        bias = self.linear.bias
        return F.linear_cross_entropy(input, self.linear.weight.reshape(sizes + (self.linear.in_features,)), target, linear_bias=None if bias is None else bias.reshape(sizes),
                                      weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)
