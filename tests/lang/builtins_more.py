"""Builtins that PyTorch 1.13 refuses or lacks, with Python's meaning, and forms of those that it has."""
import math
from typing import Dict, List

import torch


def flipped(l: List[int]) -> List[int]:
    return [i for i in reversed(l)]


def forward():
    text = "ab"
    three = 3
    print(text * three, three * text, [1, 2] * 2)  # expect: ababab ababab [1, 2, 1, 2]
    print(str(round(2.675, 2) == 2.67), str(round(1234.5678, -2) == 1200.0), round(1250, -2), round(1350, -2))  # expect: True True 1200 1400
    print(str(math.log2(8.0) == 3.0), str(math.hypot(3.0, 4.0) == 5.0), math.trunc(-2.7), math.comb(5, 2))  # expect: True True -2 10
    print(math.isclose(1.0, 1.0 + 1e-10), math.isclose(1, 2), math.isqrt(17), math.lcm(4, 6))  # expect: True False 4 12
    print(max(1, 5, 3), min(4, 2, 9, 1), sum([1, 2], 10), sorted([3, 1, 2], reverse=True))  # expect: 5 1 13 [3, 2, 1]
    print(int("ff", 16), int("0b11", 0), ~three, -7 // 2, -7 % 3)  # expect: 255 3 -4 -4 2
    t = (1, "a", 2.0)
    print(t == (1, "a", 2.0), t == (1, "a", 3.0), t != (1, "b", 2.0), len(t), (1, 2) == (1, 2))  # expect: True False True 3 True
    print(flipped([1, 2, 3]), [*(1, 2), 5])  # expect: [3, 2, 1] [1, 2, 5]
    a = [1, 2, 3, 4]
    a[-2:-1] = [0, 0]
    print(a)  # expect: [1, 2, 0, 0, 4]
    a[3:1] = [9]
    print(a)  # expect: [1, 2, 0, 9, 0, 4]
    a[10:] = [8]
    print(a)  # expect: [1, 2, 0, 9, 0, 4, 8]
    print(len([(i, c) for i, c in enumerate("ab", start=1)]), [i for i, c in zip([1, 2], ["x", "y"])])  # expect: 2 [1, 2]
    print(dict([("k", 1)], j=2)["j"], len(dict(a=1, b=2)), "-".join(list("ab")), tuple((1, 2)))  # expect: 2 2 a-b (1, 2)
    print(bool([]), bool("a"), bool([1]), 0 <= three < 5 < 10, "b" not in "abc")  # expect: False True True True False
    z = complex(1.5, -2.0)
    print(str(z.real == 1.5), str(z.imag == -2.0))  # expect: True True
# expect: None
