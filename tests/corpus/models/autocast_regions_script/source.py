import torch
import torch.nn as nn
import torch.nn.functional as F


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 8)
        self.two = nn.Linear(8, 4)

    def forward(self, x, n: int):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.relu(self.one(x))
            total = y.sum()
            for i in range(n):
                if i % 2 == 0:
                    y = self.one(y)
                else:
                    y = y + x
            z = self.two(y)
            with torch.autocast("cpu", enabled=False):
                outside = self.two(x)
                kept = torch.exp(z)
            full = torch.exp(z), F.gelu(z), F.layer_norm(z, (4,))
        return y, z, outside, kept, full, total, self.two(x), F.softmax(z, -1), F.log_softmax(z, -1)
