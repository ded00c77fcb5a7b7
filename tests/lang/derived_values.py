"""Classes derived from str, int and float; versions, which are text that compares as numbers."""
import functools
from enum import Enum

import torch
from distutils.version import LooseVersion, StrictVersion
from packaging import version
from torch import nn


class Name(str):
    def __ge__(self, other):
        return "ge"

    def twice(self):
        return self + self


class Length(int):
    def __new__(cls, x, unit="m"):
        self = super().__new__(cls, x * 2)
        self.unit = unit
        return self


class Share(float):
    pass


class Upper(str):
    def __new__(cls, s):
        return str.__new__(cls, s.upper())


class Mode(str, Enum):
    A = "a.b"


v = Name("1.13")
print(v >= "1.5", v < "1.5", "1.5" <= v, isinstance(v, str), v.split("."), v.twice(), len(v), repr(v), [v], f"{v}|{v!r}")  # expect: ge True ge True ['1', '13'] 1.131.13 4 '1.13' ['1.13'] 1.13|'1.13'
print({v: 3}["1.13"], v == "1.13", "1.13" == v, v[0], "-".join([v, Upper("ab")]), v + "x", "x" + v, "13" in v, bool(Name("")), type(v).__name__)  # expect: 3 True True 1 1.13-AB 1.13x x1.13 True False Name
n = Length(4)
print(n, n + 1, 1 + n, n.unit, list(range(9))[n], isinstance(n, int), n * 2.0, -n, float(n), str(n), n == 8, max(n, 3), abs(n), round(n))  # expect: 8 9 9 m 8 True 16.0 -8 8.0 8 True 8 8 8
print(Share("2.5") * 2, int(Share(2.5)), round(Share(2.5)), Share(2.5) > 2, torch.zeros(Length(1)).shape)  # expect: 5.0 2 2 True torch.Size([2])
print("%s" % Mode.A, "%s|%s" % (Mode.A, 1), "".join([Mode.A]), str(Mode.A))  # expect: Mode.A Mode.A|1 a.b Mode.A
print(torch.__version__ >= "1.5.0", torch.__version__ < "1.9", torch.__version__ >= (1, 13), torch.__version__ == "1.13.1")  # expect: True False True True
print(version.parse(torch.__version__) >= version.parse("1.8"), version.parse("1.0") == version.parse("1.0.0"), version.parse("1.2.DEV3+cu11"))  # expect: True True 1.2.dev3+cu11
print([str(x) for x in sorted(version.parse(x) for x in ["1.0", "1.0.dev1", "1.0a1", "1.0rc1", "1.0.post2", "1.0a1.dev2", "1.0+l", "2!0.1", "1.0b3"])])  # expect: ['1.0.dev1', '1.0a1.dev2', '1.0a1', '1.0b3', '1.0rc1', '1.0', '1.0+l', '1.0.post2', '2!0.1']
print(LooseVersion(torch.__version__) >= LooseVersion("1.10"), LooseVersion("1.13") > "1.5", StrictVersion("1.0") == "1.0.0", StrictVersion("1.0a1") < "1.0")  # expect: True True True True
try:
    class Flag(bool):
        pass
except TypeError as e:
    print(e)  # expect: type 'bool' is not an acceptable base type
try:
    version.parse("one")
except version.InvalidVersion as e:
    print(e)  # expect: Invalid version: 'one'
for root in ["__lt__", "__le__", "__gt__", "__ge__"]:
    class Pair:
        def __init__(self, v):
            self.v = v

        def __eq__(self, other):
            return self.v == other.v

    setattr(Pair, root, {"__lt__": lambda a, b: a.v < b.v, "__le__": lambda a, b: a.v <= b.v, "__gt__": lambda a, b: a.v > b.v, "__ge__": lambda a, b: a.v >= b.v}[root])
    Pair = functools.total_ordering(Pair)
    print([[Pair(a) < Pair(2), Pair(a) <= Pair(2), Pair(a) > Pair(2), Pair(a) >= Pair(2)].count(True) for a in [1, 2, 3]], Pair(1) < Pair(2), Pair(1) <= Pair(2))
# expect: [2, 2, 2] True True
# expect: [2, 2, 2] True True
# expect: [2, 2, 2] True True
# expect: [2, 2, 2] True True
print(sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)))  # expect: [3, 2, 1]


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.padding = 1 if torch.__version__ >= "1.5.0" else 2
        self.version = torch.__version__
        self.width = n

    def forward(self):
        return torch.__version__ + self.version, self.padding, self.width
# expect: (1.13.11.13.1, 1, 8)
