"""match statements in compiled functions; Python prints the same."""
from typing import List, NamedTuple, Optional, Tuple

import torch

class P(NamedTuple):
    x: int
    y: int

@torch.jit.script
class Q:
    __match_args__ = ("a", "b")
    def __init__(self, a: int, b: int):
        self.a = a
        self.b = b

def kind(n: int) -> str:
    match n:
        case 0:
            return "zero"
        case 1 | 2 | 3:
            return "few"
        case -1:
            return "minus one"
        case k if k > 100:
            return f"many {k}"
        case _:
            return "some"

def word(s: str) -> int:
    match s:
        case "a" | "b" as w:
            r = len(w)
        case "c":
            r = 7
        case other:
            r = -len(other)
    return r

def seq(v: List[int]) -> str:
    match v:
        case []:
            return "empty"
        case [x]:
            return f"one {x}"
        case [x, y] if x == y:
            return f"twice {x}"
        case [1, *rest]:
            return f"1 and {rest}"
        case [first, *_, last]:
            return f"{first} .. {last}"
    return "?"

def tup(t: Tuple[int, str]) -> str:
    match t:
        case (1, "a"):
            return "1a"
        case (n, "b"):
            return f"{n}b"
        case (2, s) | (3, s):
            return "2 or 3 " + s
        case _:
            return "else"

def two(a: int, b: Optional[int]) -> int:
    match a, b:
        case 0, None:
            return 0
        case x, None:
            return x
        case _, y:
            return a + 10
    return -1

def point(p: P) -> str:
    match p:
        case P(0, 0): return "origin"
        case P(x=0, y=y): return f"y {y}"
        case P(x, y): return f"{x},{y}"

def isq(o: Optional[Q]) -> int:
    match o:
        case None:
            return -1
        case Q(0, b):
            return b
        case Q(a=a, b=b):
            return a * b
    return 5

def un(t: torch.Tensor) -> str:
    match t.dim():
        case 0: return "scalar"
        case 1 | 2: return "small"
        case d: return f"{d}d"

def forward():
    x = torch.zeros(2, 3)
    print(kind(0), kind(2), kind(-1), kind(1000), kind(50))  # expect: zero few minus one many 1000 some
    print(word("a"), word("c"), word("hello"))  # expect: 1 7 -5
    print(seq([]), seq([4]), seq([3, 3]), seq([1, 5, 6]), seq([9, 8, 7]))  # expect: empty one 4 twice 3 1 and [5, 6] 9 .. 7
    print(tup((1, "a")), tup((5, "b")), tup((2, "z")), tup((3, "y")), tup((9, "z")))  # expect: 1a 5b 2 or 3 z 2 or 3 y else
    print(two(0, None), two(5, None), two(1, 2))  # expect: 0 5 11
    print(point(P(0, 0)), point(P(0, 4)), point(P(3, 4)))  # expect: origin y 4 3,4
    print(isq(None), isq(Q(0, 7)), isq(Q(3, 7)))  # expect: -1 7 21
    print(un(x), un(x[0]), un(x[None, None]))  # expect: small small 4d
    match = 3
    print(match)  # expect: 3
# expect: None
