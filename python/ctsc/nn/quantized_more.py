# SPDX-License-Identifier: Apache-2.0
# quantized_more.py - layers of quantised weights, refused where they are called.
from .._refused import refuse

__getattr__ = refuse("torch.nn.quantized", "ctsc quantises no modules of Python; it runs programs that PyTorch has quantised")
