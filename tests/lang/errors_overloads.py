"""Calls that fit no overload: the closest candidates with their reasons, and how many there are besides."""
from typing import Dict, List, Optional

import torch


@torch.jit.script
def text(x):
    return x + "a"  # error: Arguments for call are not valid: aten::add(Tensor, str) # note: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\nExpected a value of type 'Tensor' for argument 'other' but instead found type 'str'. # at: x + "a"


@torch.jit.script
def counted(x):
    return x + "a"  # error: Arguments for call are not valid: aten::add(Tensor, str) # note: 17 more overloads of aten::add fit less well


@torch.jit.script
def one_list(x):
    return torch.cat(x, 0)  # error: Arguments for call are not valid: aten::cat(Tensor, int)\nExpected a value of type 'List[Tensor]' for argument 'tensors' but instead found type 'Tensor'. # at: x


@torch.jit.script
def element(x):
    return x.view(-1, 4.0)  # error: Arguments for call are not valid: aten::view(Tensor, int, float)\nExpected a value of type 'int' for argument '<varargs>' but instead found type 'float'. # at: 4.0


@torch.jit.script
def key(d: Dict[str, int]):
    return d[1]  # error: Arguments for call are not valid: aten::__getitem__(Dict[str, int], int)\nExpected a value of type 'str' for argument 'key' but instead found type 'int'. # note: the closest is aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)


@torch.jit.script
def maybe(x: Optional[torch.Tensor]):
    return x + 1  # error: Arguments for call are not valid: aten::add(Optional[Tensor], int)\nExpected a value of type 'Tensor' for argument 'self' but instead found type 'Optional[Tensor]'. # note: 'x' has type Optional[Tensor] and may be None: check it first, with 'if x is not None:' or 'assert x is not None'


@torch.jit.script
def empty():
    sizes = []  # note: an empty list holds tensors unless its type is written: sizes: List[int] = [] # at: sizes
    sizes.append(1)  # error: Could not match type int to t in argument 'el': Type variable 't' previously matched to type Tensor is matched to type int. # at: 1
    return sizes


def forward(x):
    return x
