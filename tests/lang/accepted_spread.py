"""Starred elements whose number only a run will tell, and tuples made of lists; Python prints the same shapes."""
import math
from typing import List

import torch


def sizes(n: List[int], k: int) -> List[int]:
    return n + [k]


def forward():
    x = torch.zeros(3, 4)
    print(list(x.view(*x.shape[:-1], 2, 2).shape))  # expect: [3, 2, 2]
    print(list(x.reshape((*x.shape[:-1], 2, -1)).shape), list(x.reshape([*x.shape[:-1], 2, -1]).shape))  # expect: [3, 2, 2] [3, 2, 2]
    print(list(x.reshape(x.shape[:-1] + (2, 2)).shape), list(x.reshape((1,) + x.shape[1:] + (-1,)).shape))  # expect: [3, 2, 2] [1, 4, 3]
    print(list(x.view(tuple(x.shape) + (1,)).shape), list(x.reshape((-1,) + tuple(x.shape[1:])).shape))  # expect: [3, 4, 1] [3, 4]
    print(list(x.permute(*range(x.dim())).shape), list(x.permute(1, *range(1)).shape))  # expect: [3, 4] [4, 3]
    print(list(x.mean(dim=tuple(range(1, x.dim()))).shape), list(torch.empty(size=(*x.shape, 1)).shape))  # expect: [3] [3, 4, 1]
    print(list(torch.cat([*x.split(1), x]).shape), list(torch.cat((x, *x.split(2))).shape))  # expect: [6, 4] [6, 4]
    print(sizes([*x.shape], 3), sizes([*(3, 4), 3], 3), [0, *range(3), 9])  # expect: [3, 4, 3] [3, 4, 3, 3] [0, 0, 1, 2, 9]
    y = list(range(3))
    if x.dim() == 2:
        y = list(range(2)) + list(range(1))
    print(y, x.shape.numel(), math.prod(x.shape[1:]))  # expect: [0, 1, 0] 12 4
# expect: None
