"""Modules and tuples sliced by what is known while compiling: a loop over numbers of the module, sums of them, parts of tuples."""
from collections import namedtuple

import torch
from torch import nn

Cut = namedtuple("Cut", ["begin", "end"])
cut = Cut(1, 3)


class Add(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x * 10 + self.n


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Add(i) for i in range(6)])
        self.ends = [2, 3, 5]
        self.parts = (1, 4)
        self.grown = [7]

    def stages(self, x):
        out = []
        begin = 0
        for end in self.ends:
            for layer in self.layers[begin:end]:
                x = layer(x)
            out.append(x)
            begin = end
        for layer in self.layers[begin:]:
            x = layer(x)
        out.append(x)
        return out

    def between(self, x):
        bounds = (2, 4)
        for layer in self.layers[bounds[0] : bounds[1] + 1]:
            x = layer(x)
        for layer in self.layers[cut.begin : cut.end]:
            x = layer(x)
        return x

    def growing(self, x):
        self.grown.append(len(self.grown))
        n = 0
        for i in self.grown:
            n = n * 10 + i
        return n

    def tuples(self, x):
        pairs = (x, 1, x + 1, 2)
        n = 0
        for end in self.parts:
            n += len(pairs[:end])
        return n

    def forward(self):
        x = torch.zeros(1)
        for y in self.stages(x):
            print(int(y))
        # expect: 1
        # expect: 12
        # expect: 1234
        # expect: 12345
        print(int(self.between(x)))  # expect: 23412
        print(self.tuples(x))  # expect: 5
        print(self.growing(x), self.growing(x))  # expect: 71 712
        return 0
# expect: 0
