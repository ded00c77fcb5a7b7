import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        with torch.autocast("cpu"):
            a = torch.mm(x, x), torch.sum(y.to(torch.float16)), torch.mm(y.double(), y.double()), torch.exp(y.long())
        with torch.autocast("cpu", dtype=torch.float16):
            e = torch.mm(x, y)
            f = torch.exp(e)
        with torch.cpu.amp.autocast():
            g = torch.mm(x, y)
        with torch.amp.autocast("cpu", torch.bfloat16, True, False):
            h = torch.mm(x, y)
        return a, e, f, g, h
