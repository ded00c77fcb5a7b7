"""Numbers and arrays of numpy's that stay what they are: np.ceil(x).astype(int), 17 // array, an array as an index."""
import math

import numpy as np
import torch
from torch import nn

a = np.array([3, 4, 5])
print((17 // a).tolist(), (17 % a).tolist(), ((a > 3) & (a < 5)).tolist(), (~(a > 3)).tolist(), abs(np.array([-1, 2])).tolist(), (a ^ 1).tolist())  # expect: [5, 4, 3] [2, 1, 2] [False, True, False] [True, False, False] [1, 2] [2, 5, 4]
print(5 * np.ceil(np.log(36)).astype('int').item(), np.sqrt(2.0) * 2 + 1, (np.sqrt(16) / 2).astype(int), np.prod((2, 3)) // 4, -np.sqrt(9.0), isinstance(np.sqrt(2.0), float))  # expect: 20 3.8284271247461903 2 1 -3.0 True
print("%.3f %d" % (np.sqrt(2.0), np.prod([2, 3])), "{:.2f}".format(np.sqrt(2.0)), list(range(7))[np.prod([2, 3])], max(np.sqrt(4.0), 1), int(np.sqrt(10.0)), (np.sqrt(4.0) * a).tolist(), np.sqrt(4.0) == 2)  # expect: 1.414 6 1.41 6 2.0 3 [6.0, 8.0, 10.0] True
print(np.array([0.1, 2]).tolist(), torch.tensor(np.sqrt(0.1)).dtype, torch.tensor([np.sqrt(4.0), 1.0]).dtype, torch.tensor(np.prod([2, 3])).dtype, np.mean([0.1, 0.2]))  # expect: [0.1, 2.0] torch.float64 torch.float64 torch.int64 0.15000000000000002
print(bool(np.sqrt(0.0)), not np.prod([0]), round(np.sqrt(2.0), 2), sum([np.sqrt(4.0), 1]), np.sqrt(4.0) ** 2, 3 - np.sqrt(4.0), math.floor(np.sqrt(5.0)), math.sqrt(np.prod([4])), np.arange(np.prod([3])).tolist())  # expect: False True 1.41 3.0 4.0 1.0 2 2.0 [0, 1, 2]
x = torch.arange(6).view(2, 3)
print(x[:, np.array([2, 0])].tolist(), x.nonzero(as_tuple=True)[1].tolist(), torch.nonzero(x > 4, as_tuple=False).tolist())  # expect: [[2, 0], [5, 3]] [1, 2, 0, 1, 2] [[1, 2]]


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = np.sqrt(16.0)
        self.n = np.prod((2, 3))
        self.temperature = None
        self.register_buffer("t", torch.full((np.prod([2, 1]),), np.sqrt(4.0)))

    def forward(self):
        temperature = self.temperature or 1.0 / math.sqrt(self.t.shape[0] * 2)
        return self.scale, self.n, float(self.t.sum()), (self.scale or 1.0) * temperature
# expect: (4., 6, 4., 2.)
