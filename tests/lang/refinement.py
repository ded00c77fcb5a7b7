"""What conditions say about types."""
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor


def length(x: Optional[str]) -> int:
    if x is None:
        return -1
    return len(x)


def both(a: Optional[int], b: Optional[int]) -> int:
    if a is not None and b is not None:
        return a + b
    if a is None or b is None:
        return 0
    return 1


def ternary(x: Optional[List[int]]) -> int:
    return len(x) if x is not None else 0


def asserted(x: Optional[float]) -> float:
    assert x is not None, "x is missing"
    return x * 2


def member(x: Union[int, str, List[int]]) -> str:
    if isinstance(x, int):
        return "int " + str(x + 1)
    elif isinstance(x, str):
        return "str " + x.upper()
    else:
        return "list " + str(len(x))


def negated(x: Optional[int]) -> int:
    if not (x is not None):
        y = 10
    else:
        y = x
    return y


def in_loop(xs: List[Optional[int]]) -> int:
    total = 0
    for x in xs:
        if x is not None:
            total += x
    return total


def default_tensor(x: Tensor, y: Optional[Tensor] = None) -> Tensor:
    if y is None:
        y = torch.ones_like(x)
    return x + y


def containers_of_any(x: Tensor) -> Tuple[bool, bool, bool]:
    xs: List[Any] = [x]
    d: Dict[str, Any] = {"a": x}
    a: Any = xs
    b: Any = d
    return isinstance(a, List[Tensor]), isinstance(a, List[Any]), isinstance(b, Dict[str, Tensor])


def forward():
    print(containers_of_any(torch.zeros(1)))  # expect: (False, True, False)
    print(length(None), length("abc"))  # expect: -1 3
    print(both(1, 2), both(None, 2), both(None, None))  # expect: 3 0 0
    print(ternary(None), ternary([1, 2]))  # expect: 0 2
    print(asserted(1.5))  # expect: 3.
    print(member(1), member("a"), member([1]))  # expect: int 2 str A list 1
    print(negated(None), negated(3))  # expect: 10 3
    print(in_loop([1, None, 2]))  # expect: 3
    print(default_tensor(torch.zeros(2)).sum().item(), default_tensor(torch.zeros(2), torch.full([2], 3.0)).sum().item())  # expect: 2. 6.
# expect: None
