# SPDX-License-Identifier: Apache-2.0
"""intrinsic.py - torch.nn.intrinsic: layers that were fused for being quantised, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.nn.intrinsic", "ctsc fuses programs when it compiles them")
