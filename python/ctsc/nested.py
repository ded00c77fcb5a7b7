# SPDX-License-Identifier: Apache-2.0
"""nested.py - torch.nested: rows of different lengths in one tensor, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.nested", "ctsc has no nested tensors; nn.utils.rnn pads and packs sequences")
