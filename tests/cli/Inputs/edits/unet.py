from typing import List

import torch
import torch.nn as nn
import torch.nn.functional as F


def double_conv(inp, out):
    return nn.Sequential(nn.Conv2d(inp, out, 3, padding=1), nn.ReLU(inplace=True))


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [4, 8, 16]
        self.downs = nn.ModuleList()
        last = 3
        for w in widths:
            self.downs.append(double_conv(last, w))
            last = w
        self.ups = nn.ModuleList([nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ConvTranspose2d(8, 4, 2, stride=2)])
        self.convs = nn.ModuleList([double_conv(16, 8), double_conv(8, 4)])
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips: List[torch.Tensor] = []
        for i, down in enumerate(self.downs):
            x = down(x)
            if i < 2:
                skips.append(x)
                x = F.max_pool2d(x, 2)
        for up, conv in zip(self.ups, self.convs):
            x = up(x)
            skip = skips.pop()
            x = conv(torch.cat([skip, x], dim=1))
        return torch.sigmoid(self.head(x))
