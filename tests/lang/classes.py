"""Script classes, named tuples, enums, interfaces, dataclasses."""
from dataclasses import dataclass
from enum import Enum
from typing import Dict, List, NamedTuple, Optional

import torch
from torch import Tensor


class Color(Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: int
    y: int = 5


@torch.jit.script
class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k: float) -> "Vector":
        return Vector(self.x * k, self.y * k)

    def __eq__(self, other: "Vector") -> bool:
        return self.x == other.x and self.y == other.y

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y

    @property
    def norm2(self) -> float:
        return self.x * self.x + self.y * self.y

    @staticmethod
    def unit() -> float:
        return 1.0

    def text(self) -> str:
        return "<{} {}>".format(self.x, self.y)


def name_of(c: Color) -> str:
    if c == Color.RED:
        return "red " + str(c.value)
    return c.name


def forward():
    a = Vector(1.0, 2.0)
    b = a + Vector(0.5, 0.5) * 2.0
    print(b.text(), b.norm2, len(b), b[1], a == a, a == b)  # expect: <2. 3.> 13. 2 3. True False
    print(Vector.unit())  # expect: 1.
    p = Point(1)
    q = Point(y=2, x=3)
    print(p.x, p.y, q.x, q[1])  # expect: 1 5 3 2
    print(name_of(Color.RED), name_of(Color.GREEN))  # expect: red 1 GREEN
    vs = [Vector(float(i), 0.0) for i in range(3)]
    vs[1].x = 10.0
    print(sum([v.x for v in vs]))  # expect: 12.
# expect: None
