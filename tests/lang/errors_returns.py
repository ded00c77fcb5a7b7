"""Results that do not fit what is declared, or one another."""
from typing import List

import torch


@torch.jit.script
def wrong(x) -> List[int]:  # note: the result's type is declared here # at: List[int]
    return x  # error: Return value was annotated as having type List[int] but is actually of type Tensor


@torch.jit.script
def missing(x, n: int) -> int:  # error: Function was not annotated as having type None, but does not return along all paths # note: the result's type is declared here, and the end of the body has none # at: int
    if n > 0:
        return n


@torch.jit.script
def differ(x, n: int):
    if n > 0:
        return n  # note: a value of type int is returned here
    return x  # error: Previous return statement returned a value of type int but this return statement returns a value of type Tensor


def forward(x):
    return x
