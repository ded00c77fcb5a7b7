from typing import List


def negative(n: int):
    match n:
        case 1:
            pass
        case k if k > 3:
            pass
    return k  # error: k is not defined in the true branch


def fields(v: List[int]):
    match v:
        case [int(a, b)]:  # error: TypeError: int() accepts 1 positional sub-pattern (2 given)
            return 1
    return 0


def forward(n: int):
    return negative(n) + fields([n])
