# SPDX-License-Identifier: Apache-2.0
"""export.py - torch.export: programs as PyTorch 2 exports them, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.export", "ctsc runs what PyTorch exported (ctsc.load of a .pt2), and exports by ctsc.trace, script and onnx.export")
