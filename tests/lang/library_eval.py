"""eval of expressions, sys.version_info by name, numpy's swapaxes and moveaxis, tables of many numbers."""
import sys

import numpy as np
from torch import nn


def make(kind):
    n = 3
    return eval(kind), eval(" n + 1"), eval("len(k)", {"k": "four"})


print(make("nn.LeakyReLU(0.1)"), eval("max(1, 2)"), eval("a + b", {"a": 1}, {"b": 2}))
for text in ("1 +", "missing"):
    try:
        eval(text, {"np": 1})
    except (SyntaxError, NameError) as e:
        print(type(e).__name__)
print(sys.version_info.major, sys.version_info >= (3, 8), sys.version_info[0])
a = np.arange(6).reshape(1, 2, 3)
print(np.swapaxes(a, 1, 2).tolist(), np.moveaxis(a, 2, 0).shape, np.power(10000, 0.5) / 2, 3 / np.power(2.0, 3.0), np.power(2, 3), (5 / np.power(4.0, 0.5)).dtype == np.float64)
table = np.array([[p / np.power(10000, 2 * (i // 2) / 64) for i in range(64)] for p in range(100)])
table[:, 0::2] = np.sin(table[:, 0::2])
print(table.shape, round(float(table[7, 4]), 12), round(float(table[99, 63]), 12))


class Main(nn.Module):
    def forward(self):
        return 0
# expect: (LeakyReLU(negative_slope=0.1), 4, 4) 2 3
# expect: SyntaxError
# expect: NameError
# expect: 3 True 3
# expect: [[[0, 3], [1, 4], [2, 5]]] (3, 1, 2) 50.0 0.375 8 True
# expect: (100, 64) -0.713721168177 0.013201862178
# expect: 0
