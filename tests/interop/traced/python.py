# Python that TorchScript does not have: it is run, and only what it computes is left.
import functools
import math
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


class Config:
    defaults = {"width": 6, "depth": 3}

    def __init__(self, **options):
        for key, value in {**self.defaults, **options}.items():
            setattr(self, key, value)

    def __getitem__(self, key):
        return getattr(self, key)


def register(kind, into={}):
    def wrap(fn):
        into[kind] = fn
        return fn
    return wrap if kind else into


@register("gelu")
def gelu(x, *, bias=0.0):
    return F.gelu(x) + bias


@register("swish")
def swish(x, **_):
    return x * torch.sigmoid(x)


class Stage(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        self.config = config
        self.index = index
        self.fc = nn.Linear(config["width"], config["width"], bias=index % 2 == 0)
        self.act = functools.partial(register(None)["gelu" if index else "swish"], bias=0.25 * index)

    def forward(self, x, *rest, gain=None, **options):
        x = self.act(self.fc(x))
        if gain is not None:
            x = x * gain
        return x if not rest else sum((x, *rest))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config(depth=4)
        self.stages = nn.ModuleDict(OrderedDict((f"stage{i}", Stage(self.config, i)) for i in range(self.config.depth)))
        self.hooked = nn.Identity()
        self.hooked.register_forward_hook(lambda module, args, out: out * 2)

    def pairs(self, x):
        for i, (name, stage) in enumerate(self.stages.items()):
            yield name, stage, {"gain": 1.5} if i % 2 else {}

    def forward(self, x, mask=None):
        seen = {}
        for name, stage, options in self.pairs(x):
            earlier = [v for k, v in seen.items() if k != "stage0"]
            x = seen.setdefault(name, stage(x, *earlier[-2:], **options))
        try:
            x = x + seen["missing"]
        except KeyError as e:
            x = x + len(str(e))
        with torch.no_grad():
            x = x - x.mean(dim=-1, keepdim=True)
        assert isinstance(mask, (type(None), torch.Tensor))
        total = functools.reduce(lambda a, b: a + b, seen.values())
        return self.hooked(x), total * math.sqrt(self.config.width), max(seen.values(), key=lambda t: t.dim())


def examples():
    return (torch.randn(2, 6),), (torch.randn(5, 6),)
