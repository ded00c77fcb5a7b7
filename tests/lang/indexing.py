"""Subscripts: read, assigned, augmented."""
import torch
from typing import Dict, List


class Shelf:
    def __init__(self, x: int):
        self.x = x

    def __getitem__(self, i: int) -> int:
        return self.x + i

    def __setitem__(self, i: int, v: int) -> None:
        self.x = i * v

    def __len__(self) -> int:
        return self.x

    def __contains__(self, i: int) -> bool:
        return i == self.x

    def __rmul__(self, o: int) -> int:
        return self.x * o


def shape(x: torch.Tensor) -> List[int]:
    return [n for n in x.size()]


def forward():
    x = torch.arange(24).reshape(2, 3, 4)
    t = (1, 2)
    y: List[int] = x[t].tolist()
    print(y)  # expect: [20, 21, 22, 23]
    print(shape(x[..., None, 0]), shape(x[0, ..., 1]), shape(x[:, None, 1:]), shape(x[None]), shape(x[..., 1:, -1]))  # expect: [2, 3, 1] [3] [2, 1, 2, 4] [1, 2, 3, 4] [2, 2]
    print(shape(x[-1, [0, 2]]), shape(x[torch.tensor([True, False])]), shape(x[:, torch.tensor([0, 1]), 2]))  # expect: [2, 4] [1, 3, 4] [2, 2]
    print(shape(x[slice(0, 1)]), shape(x[:, slice(None, 2), 0]))  # expect: [1, 3, 4] [2, 2]
    z = torch.zeros(2, 3, dtype=torch.int64)
    z[0, 1] += 2
    z[torch.tensor([1])] -= 1
    z[:, [0, 2]] = 5
    z[z > 4] *= 2
    z[..., 1:] //= 2
    m: List[List[int]] = z.tolist()
    print(m)  # expect: [[10, 1, 5], [10, -1, 5]]
    d = {"a": 1}
    d["a"] += 2
    l = [1, 2, 3]
    l[0] *= 5
    l[-1] -= 1
    print(d["a"], l, l[1:], l[::2], l[-2], "hello"[1:3], "hello"[::-1])  # expect: 3 [5, 2, 2] [2, 2] [5, 2] 2 el olleh
    s = Shelf(3)
    print(s[2], len(s), 3 in s, 2 * s)  # expect: 5 3 True 6
    s[2] = 5
    s[1] += 3
    print(s.x)  # expect: 14
    u = (1, "b", 3)
    print(u[0], u[-1], u[1:][1], u[::-1][0], len(u[:2]))  # expect: 1 3 3 3 2
# expect: None
