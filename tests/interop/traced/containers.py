# Tuples, lists and dicts as inputs and outputs.
from collections import OrderedDict, namedtuple

import torch
from torch import nn

Pair = namedtuple("Pair", ["left", "right"])


class Output(OrderedDict):
    def __getattr__(self, name):
        return self[name]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, pair, items, by_name):
        a, (b, c) = pair
        x = self.fc(a) + b * c
        parts = torch.stack([i + 1 for i in items]).unbind(0)
        lo, hi = x.split([1, 2], dim=1)
        top, where = x.max(dim=1)
        state = Output(x=x, y=by_name["y"] * by_name["x"])
        return Pair(state.x, state["y"]), list(parts), {"lo": lo, "hi": hi}, (top, (where,)), state


def examples():
    def made(n):
        return ((torch.randn(n, 3), (torch.randn(n, 3), torch.randn(3))), [torch.randn(2), torch.randn(2)],
                {"x": torch.randn(n), "y": torch.randn(n)})
    return made(2), made(4)
