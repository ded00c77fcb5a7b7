"""Errors that do not depend on one another are all shown; what uses a wrong value is not."""
from typing import List

import torch
import torch.nn as nn


def helper(x, n: int):
    y = x.foo()  # error: 'Tensor' object has no attribute or method 'foo'.
    return y + n


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x, n: int) -> torch.Tensor:
        a = torch.nothing_like_it(x)  # error: module 'torch' has no attribute 'nothing_like_it'
        b = a + 1
        c: List[int] = [1.5]  # error: List type annotation `List[int]` did not match the types of the given list elements, which were unified to float
        if n > 3:
            d = x[unknown]  # error: undefined value unknown
            x = d + b
        for layer in self.layers:
            x = layer(x, n)  # error: Expected at most 2 arguments but found 3 positional arguments.
        for i in range(n):
            x = x + a
            print(self.gone)  # error: Module 'Main' has no attribute 'gone'
        with torch.no_grad():
            q = missing  # error: undefined value missing
        print(q, b, c)
        return helper(x, n) + self.fc(b)
