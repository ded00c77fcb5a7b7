"""A parameter without an annotation is a Tensor, which the message about it says."""
from typing import List

import torch


def plus(x, n):
    return x + n


def named(x: torch.Tensor):
    return x


@torch.jit.script
def a_list(x):
    return plus(x, [3])  # error: Expected a value of type 'Tensor (inferred)' for argument 'n' but instead found type 'List[int]'.\nInferred 'n' to be of type 'Tensor' because it was not annotated with an explicit type.


@torch.jit.script
def a_text(x):
    return plus(x, n="a")  # error: Expected a value of type 'Tensor (inferred)' for argument 'n' but instead found type 'str'.\nInferred 'n' to be of type 'Tensor' because it was not annotated with an explicit type.


@torch.jit.script
def annotated(x):
    return named("a")  # error: Expected a value of type 'Tensor' for argument 'x' but instead found type 'str'.


def forward(x):
    return x
