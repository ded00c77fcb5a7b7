"""Assignment expressions in operands and conditions: what they assign is there where they have been evaluated."""
import torch


def double(n: int):
    return n * 2


def conditions(x: torch.Tensor) -> int:
    if x.size(0) > 1 and (n := double(x.size(1))) > 3:
        return n
    if not (x.dim() == 2 and (m := x.size(0)) == 1):
        return -1
    return m + 100


def before(x: torch.Tensor) -> int:
    b = 0
    if x.dim() > 1 and (b := x.size(0)) > 5:
        return -b
    return b


def nested(a: int, b: int) -> int:
    if (a == 1 and (y := b)) or (a == 2 and (y := b + 10)):
        return y
    if a == 3 and (b > 0 and (z := a * b) > 5):
        return z
    return 0


def loop(k: int):
    while (k := k - 1) > 0 and (half := k // 2) != 1:
        print(k, half)
    return k


def forward():
    print(conditions(torch.zeros(2, 3)), conditions(torch.zeros(1, 3)), conditions(torch.zeros(2, 1)))  # expect: 6 101 -1
    print(before(torch.zeros(7, 2)), before(torch.zeros(3, 2)), before(torch.zeros(3)))  # expect: -7 3 0
    print(nested(1, 4), nested(2, 4), nested(3, 4), nested(3, 1), nested(4, 4))  # expect: 4 14 12 0 0
    print(loop(6))
    # expect: 5 2
    # expect: 4 2
    # expect: 3
    print(loop(1))  # expect: 0
# expect: None
