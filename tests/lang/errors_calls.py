"""Calls and operators that do not fit, in PyTorch's words."""
from typing import Dict, List, Optional, Tuple

import torch


def times(x: torch.Tensor, k: int) -> torch.Tensor:
    return x * k


def half(a: float) -> float:
    return a / 2


@torch.jit.script
def missing(x):
    return times(x)  # error: Argument k not provided.


@torch.jit.script
def too_many(x):
    return times(x, 1, 2)  # error: Expected at most 2 arguments but found 3 positional arguments.


@torch.jit.script
def int_for_float(x):
    return half("1")  # error: Expected a value of type 'float' for argument 'a' but instead found type 'str'.


@torch.jit.script
def starred_list(l: List[int]):
    return half(*l)  # error: cannot statically infer the expected size of a list in this context


@torch.jit.script
def unknown_method(x):
    return x.rel()  # error: 'Tensor' object has no attribute or method 'rel'.


@torch.jit.script
def called_value(n: int):
    return n(1)  # error: cannot call a value of type 'int'


@torch.jit.script
def bool_index(x):
    return x[True]  # error: Unsupported operation: indexing tensor with unsupported index type 'bool'. Only ints, slices, lists and tensors are supported


@torch.jit.script
def tuple_range(t: Tuple[int, str]):
    return t[2]  # error: Tuple index out of range. Tuple is length 2 and index is 2


@torch.jit.script
def tuple_dynamic(t: Tuple[int, str], i: int):
    return t[i]  # error: Cannot index into a Tuple[int, str] with a non-integer literal because we cannot resolve the output type


@torch.jit.script
def list_of_floats():
    l: List[float] = [1, 2]  # error: List type annotation `List[float]` did not match the types of the given list elements, which were unified to int
    return l


@torch.jit.script
def dict_keys():
    return {"a": 1, 2: 3}  # error: Dict keys must contain only a single type. Expected: str but found int instead


@torch.jit.script
def type_variable():
    l = []
    l.append(1)  # error: Could not match type int to t in argument 'el': Type variable 't' previously matched to type Tensor is matched to type int.
    return l


@torch.jit.script
def ternary(b: bool):
    return 1 if b else "a"  # error: if-expression's true branch has type int but false branch has type str


@torch.jit.script
def optional_truth(a: List[Optional[int]]):
    return 1 if a[0] else 2  # error: Could not cast value of type Optional[int] to bool


@torch.jit.script
def append_none(l: List[int]):
    l.append(None)  # error: Expected a value of type 't' for argument 'el' but instead found type 'NoneType'.
    return l


@torch.jit.script
def tolist_untyped(x):
    return x.tolist()  # error: Expected type hint for result of tolist()


@torch.jit.script
def keywords(d: Dict[str, float]):
    return half(**d)  # error: keyword-arg expansion is not supported


@torch.jit.script
def bad_spec(s: str):
    return f"{s:d}"  # error: Invalid format specifier 'd' for a string


def undefined_default(x: torch.Tensor, mask: torch.Tensor = None):
    return torch.relu(mask)


@torch.jit.script
def default_of_none(x: torch.Tensor):
    return undefined_default(x)  # error: Argument mask not provided.


def forward(x):
    return x
