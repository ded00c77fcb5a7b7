"""What tells objects apart and what orders them: is, id, hash, sort; what measures a program; lists of complex numbers."""
from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor


class Box:
    def __init__(self, x: int):
        self.x = x


def equal_lists_are_two() -> Tuple[bool, bool]:
    return [1, 1] is [1, 1], [1, 1] is not [1, 1]


def hashes(t: Tuple[int, str], u: Tuple[int, str], d: torch.device, o: Optional[int]) -> List[bool]:
    return [hash(t) == hash(u), hash(t) == hash((2, "a")), hash(d) == hash(torch.device("cpu")), hash(d) == hash(torch.device("cuda:1")),
            hash(o) == hash(None), hash((t, d)) == hash((u, d))]


def devices() -> List[int]:
    return [hash(torch.device("cpu")), hash(torch.device("cuda")), hash(torch.device("cuda:0")), hash(torch.device("cuda:1"))]


def text(x: Tensor) -> str:
    with torch.autograd.profiler.record_function("outer"):
        with torch.autograd.profiler.record_function("inner"):
            return str(x + 1)


def sort_of_pairs() -> List[Tuple[int, str]]:
    l = [(2, "b"), (1, "c"), (1, "a")]
    l.sort()
    return l


def powers(n: int) -> float:
    x = 0.0
    for i in range(n):
        x += float(i + 1) ** (-1.0) + float(i) ** 2
    return x


def forward():
    print(equal_lists_are_two())  # expect: (False, True)
    print(hashes((1, "a"), (1, "a"), torch.device("cpu"), None))  # expect: [True, False, True, False, True, True]
    print(devices())  # expect: [255, 65791, 65536, 65537]
    a, b = Box(1), Box(1)
    print(id(a) == id(a), id(a) == id(b), a is b)  # expect: True False False
    print(text(torch.zeros(1)).split("\n")[0].strip())  # expect: 1
    print(sort_of_pairs())  # expect: [(1, a), (1, c), (2, b)]
    c: complex = torch.tensor(2 - 1j).tolist()
    l: List[List[complex]] = torch.tensor([[1 + 2j], [-3j]]).tolist()
    print(c, l)  # expect: 2.-1.j [[1.+2.j], [0.-3.j]]
    print(powers(3))  # expect: 6.833333333333333
    print(torch.linspace(0, 1 + 1j, 3).imag.sum().item(), torch.logspace(0, 1j, 2, 10.0).dtype)  # expect: 1.5 9
# expect: None
