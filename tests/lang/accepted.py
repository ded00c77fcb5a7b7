"""Python that PyTorch's own front end refuses, with Python's meaning."""
import math
from typing import Dict, List

import torch

LIMIT = 3
NAME = "net"
SCALE = 0.5


def keyword_only(x: int, *, k: int = 2, name: str = "n") -> str:
    return name + str(x * k)


def forward():
    print([i * i for i in range(6) if i % 2 == 0])  # expect: [0, 4, 16]
    print([a + b for a in [1, 2] for b in [10, 20] if a != 2 or b != 20])  # expect: [11, 21, 12]
    squares = {i: i * i for i in range(5) if i > 2}
    print(squares)  # expect: {3: 9, 4: 16}
    n = 17
    n //= 5
    print(n)  # expect: 3
    x = 7.5
    x //= 2
    print(x)  # expect: 3.
    print(keyword_only(3), keyword_only(3, k=4, name="m"))  # expect: n6 m12
    items = [1, 2, 3, 4, 5]
    items[1:3] = [20, 30, 40]
    print(items)  # expect: [1, 20, 30, 40, 4, 5]
    items[:] = [7]
    print(items)  # expect: [7]
    print(LIMIT + 1, NAME + "!", SCALE * 3)  # expect: 4 net! 1.5
    for i in reversed([1, 2, 3]):
        print(i)
    # expect: 3
    # expect: 2
    # expect: 1
    for i in reversed(range(0, 6, 2)):
        print(i)
    # expect: 4
    # expect: 2
    # expect: 0
    print(math.log2(8.0), math.hypot(3.0, 4.0), math.trunc(-2.7))  # expect: 3. 5. -2
    print(round(2.567, 2), round(1234.0, -2))  # expect: 2.5699999999999998 1200.
    print("ab" * 3, [1, 2] * 2)  # expect: ababab [1, 2, 1, 2]
    print(f"{n:03d}|{x:.2f}|{NAME:>5}|{NAME:<5}|{n!r}")  # expect: 003|3.00|  net|net  |3
    print("{1} {0} {k}".format(1, 2, k=3))  # expect: 2 1 3
    # bools where numbers are wanted, as PyTorch 2 takes them
    flags = torch.zeros(2)
    torch.fill_(flags, True)
    yes = n > 2
    print(flags.sum().item(), torch.mul(torch.ones(1), yes).item(), n + True, 1.5 * yes)  # expect: 2. 1. 4 1.5
# expect: None
