"""Layers made where they are used, or global variables: without parameters they are functions."""
import torch
from torch import nn
import torch.nn.functional as F

act = nn.LeakyReLU(0.5)


class Scale(nn.Module):
    def __init__(self, by, *, shift=0.0):
        super().__init__()
        self.by, self.shift = by, shift
        if by > 2:
            self.limit = 6.0

    def scaled(self, x, twice=False):
        if twice:
            return x * self.by * 2
        return x * self.by

    def forward(self, x, twice: bool = False):
        if self.by > 2:
            x = x.clamp(max=self.limit)
        return self.scaled(x, twice) + self.shift


def pad(x):
    return nn.ConstantPad1d((1, 2), 4.0)(x)


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.dim = 1
        self.pool = (2, 2)

    def forward(self):
        x = torch.tensor([[-2.0, 1.0, 3.0], [0.5, -4.0, 8.0]])
        print(nn.ReLU(inplace=False)(x))
        print(act(x))
        print(pad(x))
        print(nn.Flatten(0)(x).shape)
        print(nn.AvgPool2d(kernel_size=self.pool)(x[None, None]).shape)
        print(nn.Softmax(dim=self.dim)(x).sum())
        relu = nn.ReLU6()
        for i in range(2):
            x = relu(x) + i
        print(x)
        print(Scale(2)(x))
        print(Scale(3, shift=1.0)(x, True))
        return 0
# expect:  0.0000  1.0000  3.0000
# expect:  0.5000  0.0000  8.0000
# expect: [ CPUFloatType{2,3} ]
# expect: -1.0000  1.0000  3.0000
# expect:  0.5000 -2.0000  8.0000
# expect: [ CPUFloatType{2,3} ]
# expect:  4.0000 -2.0000  1.0000  3.0000  4.0000  4.0000
# expect:  4.0000  0.5000 -4.0000  8.0000  4.0000  4.0000
# expect: [ CPUFloatType{2,6} ]
# expect: [6]
# expect: [1, 1, 1, 1]
# expect: 2
# expect: [ CPUFloatType{} ]
# expect:  1.0000  2.0000  4.0000
# expect:  1.5000  1.0000  7.0000
# expect: [ CPUFloatType{2,3} ]
# expect:   2   4   8
# expect:   3   2  14
# expect: [ CPUFloatType{2,3} ]
# expect:   7  13  25
# expect:  10   7  37
# expect: [ CPUFloatType{2,3} ]
# expect: 0
