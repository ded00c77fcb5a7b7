"""Early return, break and continue in any nesting."""
from typing import List, Optional

import torch


def first_negative(xs: List[int]) -> int:
    for i, x in enumerate(xs):
        if x < 0:
            return i
    return -1


def collatz(n: int, limit: int) -> int:
    steps = 0
    while n != 1:
        if steps >= limit:
            break
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def primes(n: int) -> List[int]:
    found: List[int] = []
    for i in range(2, n):
        composite = False
        for p in found:
            if p * p > i:
                break
            if i % p == 0:
                composite = True
                break
        if composite:
            continue
        found.append(i)
    return found


def search(table: List[List[int]], want: int) -> Optional[str]:
    for r, row in enumerate(table):
        for c, x in enumerate(row):
            if x == want:
                if r == c:
                    return "diagonal"
                return "row {} column {}".format(r, c)
            if x > 100:
                raise ValueError("too large")
    return None


def spiral(n: int) -> int:
    total = 0
    i = 0
    while True:
        i += 1
        j = 0
        while j < n:
            j += 1
            if (i + j) % 3 == 0:
                continue
            if i * j > 20:
                return total
            total += i * j
        if i > 10:
            break
    else_value = -total
    return else_value


def sign(x: int) -> str:
    if x > 0:
        return "positive"
    elif x < 0:
        return "negative"
    return "zero"


def unrolled() -> int:
    s = 0
    for x in (1, 2.5, "abc"):
        if isinstance(x, int):
            s += x
        elif isinstance(x, float):
            s += int(x * 2)
        else:
            s += len(x)
    return s


def forward():
    print(first_negative([3, 1, -2, -5]), first_negative([1]))  # expect: 2 -1
    print(collatz(27, 1000), collatz(27, 5))  # expect: 111 5
    print(primes(30))  # expect: [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    print(search([[1, 2], [3, 4]], 4), search([[1, 2], [3, 4]], 3), search([[1]], 9))  # expect: diagonal row 1 column 0 None
    print(spiral(4), spiral(2))  # expect: 114 106
    print(sign(3), sign(-3), sign(0))  # expect: positive negative zero
    print(unrolled())  # expect: 9
# expect: None
