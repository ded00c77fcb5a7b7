import torch
from torch import nn
from functools import partial
class Block(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.w = nn.Linear(n, n)
    def forward(self, x):
        return self.w(x)
class Net(nn.Module):
    def __init__(self, b, n):
        super().__init__()
        self.b = b(n)
    def forward(self, x):
        return self.b(x)
def net2():
    return Net(Block, 2)
def net3(n=3, **kw) -> nn.Module:
    return Net(Block, n)
net4 = partial(Net, Block, 4)
def helper(x):
    return x
@torch.jit.script
def scripted(x):
    return x
