# SPDX-License-Identifier: Apache-2.0
# U-Net: an image to a map of class scores of the same size, for any size.
#
#   ctsc run examples/models/unet.py --input 'float32[1,3,64,64]:rand'
from typing import List

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    """Twice convolution, normalisation, ReLU."""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Sequential):
    def __init__(self, in_channels, out_channels):
        super().__init__(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x, skip):
        x = self.up(x)
        # A side of odd length lost a pixel on the way down.
        dy = skip.size(2) - x.size(2)
        dx = skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels: int, n_classes: int, width: int = 8, depth: int = 4, bilinear: bool = True):
        super().__init__()
        self.inc = DoubleConv(n_channels, width)
        factor = 2 if bilinear else 1
        downs = []
        ups = []
        for level in range(depth):
            last = level == depth - 1
            wide = width * 2**level
            downs.append(Down(wide, wide * 2 // (factor if last else 1)))
            ups.insert(0, Up(wide * 2, width if level == 0 else wide // factor, bilinear))
        self.downs = nn.ModuleList(downs)
        self.ups = nn.ModuleList(ups)
        self.outc = nn.Conv2d(width, n_classes, kernel_size=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inc(x)
        skips: List[torch.Tensor] = []
        for down in self.downs:
            skips.append(x)
            x = down(x)
        for up in self.ups:
            x = up(x, skips.pop())
        return self.outc(x)


class Main(UNet):
    def __init__(self):
        super().__init__(n_channels=3, n_classes=2)
