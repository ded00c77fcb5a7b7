"""Modules: containers, named parameters, buffers, apply, train and eval, repr, iteration, freezing."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, act="relu"):
        super().__init__()
        self.conv = nn.Conv2d(width, width, kernel_size=3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.act = nn.ModuleDict({"relu": nn.ReLU(inplace=True), "gelu": nn.GELU()})[act]

    def forward(self, x):
        return self.act(self.bn(self.conv(x)) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.blocks = nn.ModuleList([Block(8, a) for a in ("relu", "gelu")])
        self.blocks.append(Block(8))
        self.scales = nn.ParameterList([nn.Parameter(torch.full((1,), float(i))) for i in range(3)])
        self.head = nn.Linear(8, 10)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.dropout = nn.Dropout(p=0.25)

    def forward(self, x):
        x = self.stem(x)
        for block, scale in zip(self.blocks, self.scales):
            x = block(x) * (1 + scale)
        self.steps += 1
        return self.head(self.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1)))

    def extra_repr(self):
        return "classes=10"


torch.manual_seed(0)
net = Net()
print(net)
for name, p in net.named_parameters():
    print(name, tuple(p.shape), p.requires_grad)
print([n for n, _ in net.named_buffers()], [n for n, _ in net.named_children()], len(list(net.modules())))
print(net.blocks[1].act, net.blocks[-1].conv, len(net.blocks), net.stem[0].stride, list(net.state_dict())[:4])
net.apply(lambda m: nn.init.constant_(m.bias, 0.5) if isinstance(m, nn.Linear) else None)
print(net.head.bias)
net.eval()
print(net.training, net.blocks[0].bn.training, net.train().training)
with torch.no_grad():
    out = net(torch.ones(2, 3, 16, 16))
print(out.shape, net.steps, net.blocks[0].bn.num_batches_tracked)
for p in net.stem.parameters():
    p.requires_grad = False
print(sum(p.requires_grad for p in net.parameters()), sum(p.numel() for p in net.parameters()))
net.half()
print(net.head.weight.dtype, net.steps.dtype)
net.to(torch.float64)
print(next(net.parameters()).dtype, net.get_submodule("blocks.0.bn"), net.get_parameter("head.bias").shape)
del net.head
print(hasattr(net, "head"))
net.head = nn.Identity()
print(net.head(3), isinstance(net.head, nn.Module))
try:
    net.nothing
except AttributeError as e:
    print(e)
seq = nn.Sequential()
seq.add_module("one", nn.Linear(2, 2))
seq.append(nn.Sigmoid())
print(seq, seq[-1], seq[:1], len(seq))
from collections import OrderedDict
print(nn.Sequential(OrderedDict([("fc", nn.Linear(1, 2)), ("act", nn.LeakyReLU(0.1))])))
