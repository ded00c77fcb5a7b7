# SPDX-License-Identifier: Apache-2.0
"""quantizable.py - torch.nn.quantizable: layers that can be quantised, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.nn.quantizable", "ctsc quantises no modules of Python; it runs programs that PyTorch has quantised")
