# SPDX-License-Identifier: Apache-2.0
"""qat.py - torch.nn.qat: layers that are trained for being quantised, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.nn.qat", "ctsc quantises no modules of Python; it runs programs that PyTorch has quantised")
