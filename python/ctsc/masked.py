# SPDX-License-Identifier: Apache-2.0
"""masked.py - torch.masked: tensors with masks, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.masked", "ctsc has no masked tensors; masked_fill and where do it with two tensors")
