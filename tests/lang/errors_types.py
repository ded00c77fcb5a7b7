"""Independent errors are all reported, each at its place."""
from typing import List

import torch


@torch.jit.script
def wrong_argument(x: int) -> int:
    return torch.relu(x).size(0)  # error: Arguments for call are not valid: aten::relu(int)\nExpected a value of type 'Tensor' for argument 'self' but instead found type 'int'.


@torch.jit.script
def undefined_name(x):
    return x + why  # error: undefined value why


@torch.jit.script
def branch_types(c: bool):
    if c:
        y = 1
    else:
        y = "a"
    return y  # error: Type mismatch: y is set to type int in the true branch and type str in the false branch


@torch.jit.script
def not_everywhere(c: bool):
    if c:
        z = 1
    return z  # error: z is not defined in the false branch


@torch.jit.script
def changed_type(x: int):
    for i in range(3):
        x = "a"  # error: Variable 'x' previously had type int but is now being assigned to a value of type str
    return x


@torch.jit.script
def range_of_text(x):
    for i in range(1, "3"):  # error: all inputs of range must be ints, found str in argument 1 # at: "3"
        x = x + i
    return x


@torch.jit.script
def good(x):
    return x + 1


def forward(x):
    return good(x)
