# SPDX-License-Identifier: Apache-2.0
"""_inductor.py - torch._inductor: PyTorch's compiler, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch._inductor", "ctsc.jit and ctsc.compile are ctsc's")
