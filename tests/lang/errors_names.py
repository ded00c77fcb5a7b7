"""Names and members that a compiled program does not have."""
import math

import torch
from torch import Tensor


@torch.jit.script
def opened():
    return open("file")  # error: Python builtin <built-in function open> is currently not supported in Torchscript


@torch.jit.script
def item_size(x: Tensor):
    return x.itemwidth  # error: 'Tensor' object has no attribute or method 'itemwidth'.


@torch.jit.script
def floating(x: Tensor):
    return x.dtype.is_floating_point  # error: 'int' object has no attribute or method 'is_floating_point'.


@torch.jit.script
def module_attribute(x: Tensor):
    math.pi = 3  # error: attribute assignment is not defined on python value of type 'module'
    return x


@torch.jit.script
def generated(x: torch.Generator):  # error: Unknown type name 'torch.Generator'
    return x


def forward(x: Tensor):
    return x
