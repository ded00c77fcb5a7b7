"""match statements in module-level code; Python prints the same."""
import torch
from torch import nn
from dataclasses import dataclass
import enum
class E(enum.Enum):
    A = 1
    B = 2
@dataclass
class Cfg:
    kind: str
    width: int = 4
class Pt:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y

def show(v):
    match v:
        case None: return "none"
        case True | False: return f"bool {v}"
        case int(n) if n > 10: return f"big {n}"
        case int() | float(): return "number"
        case "x" | "y" as s: return f"str {s}"
        case str(): return "string"
        case []: return "empty"
        case [Cfg(kind=k), *rest]: return f"cfgs {k} {rest}"
        case (a, b) if a == b: return f"pair {a}"
        case [a, (b, c), *_]: return f"nested {a} {b} {c}"
        case {"kind": "linear", "size": (i, o)}: return f"linear {i} {o}"
        case {"kind": k}: return f"other {k}"
        case {}: return "mapping"
        case Cfg("a", w): return f"cfg a {w}"
        case Cfg(): return "cfg"
        case Pt(0, y): return f"pt0 {y}"
        case Pt(x=x, y=(1 | 2) as y): return f"pt {x} {y}"
        case E.A: return "A"
        case E(): return "enum"
        case _: return "?"
for v in [None, True, 5, 50, 2.5, "x", "q", [], [Cfg("z"), 1, 2], (3, 3), [1, (2, 3), 4, 5], {"kind": "linear", "size": (3, 4)}, {"kind": 5}, {}, {"a": 1}, Cfg("a"), Cfg("b"),
    Pt(0, 9), Pt(5, 2), Pt(5, 7), E.A, E.B, (1, 2, 3)]:
    print(show(v))
match, case = 1, 2
match = [match, case]
print(match[0], (match), match * 2)
match (1, 2):
    case (a, b):
        print(a, b)
def make(name):
    match name.split("_"):
        case ["conv", k]:
            return nn.Conv2d(3, 3, int(k))
        case ["linear", a, b]:
            return nn.Linear(int(a), int(b))
        case _:
            raise ValueError(name)
print(make("conv_3"), make("linear_3_4"))


# expect: none
# expect: bool True
# expect: number
# expect: big 50
# expect: number
# expect: str x
# expect: string
# expect: empty
# expect: cfgs z [1, 2]
# expect: pair 3
# expect: nested 1 2 3
# expect: linear 3 4
# expect: other 5
# expect: mapping
# expect: mapping
# expect: cfg a 4
# expect: cfg
# expect: pt0 9
# expect: pt 5 2
# expect: ?
# expect: A
# expect: enum
# expect: ?
# expect: 1 [1, 2] [1, 2, 1, 2]
# expect: 1 2
# expect: Conv2d(3, 3, kernel_size=(3, 3), stride=(1, 1)) Linear(in_features=3, out_features=4, bias=True)


def forward():
    return None
# expect: None
