import einops                           # found in no folder, and not used
from operators import shift             # beside the file, whatever ctsc's own files are called
from outer.part import Scale            # a folder of --path, without __init__.py

import torch
from .operators import shift as again   # a file of its own takes its folder for the package

try:
    from einops import rearrange
except ImportError:
    rearrange = None


class Main(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        if rearrange is None:
            return again(shift(self.scale(x)))
        return x
