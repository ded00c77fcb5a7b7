"""Types that a module's class lists in __annotations__, and torch.nn.quantized: how torchvision writes its detectors and its networks to be quantised."""
import importlib.machinery

import torch
from torch import nn
from torch.ao.nn.quantized import FloatFunctional


# A library of a package is not opened: its operators are those that ctsc has.
finder = importlib.machinery.FileFinder("there", (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES))
print(finder.find_spec("package._C").origin, torch.ops.load_library("there/_C.so"))  # expect: there/_C.so None
try:
    nn.quantized.FloatFunctional()(torch.ones(1))
except RuntimeError as e:
    print(e)  # expect: FloatFunctional is not intended to use the 'forward'. Please use the underlying operation


class Coder:
    def __init__(self, weights: tuple[float, float]):
        self.weights = weights

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weights[0] + self.weights[1]


class Sampler:
    def __init__(self, most: int):
        self.most = most

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x[:self.most]


class Head(nn.Module):
    __annotations__ = {"coder": Coder, "sampler": Sampler}

    def __init__(self):
        super().__init__()
        self.coder = Coder((2.0, 0.5))
        self.sampler = Sampler(2)

    def forward(self, x):
        return self.coder.encode(self.sampler(x))


class Heir(Head):
    def __init__(self):
        super().__init__()
        self.sampler = Sampler(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()
        self.heir = Heir()
        self.sum = nn.quantized.FloatFunctional()
        self.join = FloatFunctional()

    def forward(self):
        x = torch.tensor([[-2.0, 1.0], [3.0, 4.0]])
        y = self.sum.add_relu(self.head(x), self.heir(x))
        print(self.join.cat([self.sum.mul_scalar(y, 2.0), self.sum.matmul(y, y)]))
        return 0
# expect:    0   10
# expect:    6   22
# expect:   15   55
# expect:   33  136
# expect: [ CPUFloatType{4,2} ]
# expect: 0
