# SPDX-License-Identifier: Apache-2.0
"""Blocks of a decoder in the size of GPT-2 (A. Radford et al., 2019), in bfloat16."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, mask):
        b, t, w = x.size(0), x.size(1), x.size(2)
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) * (w // self.heads) ** -0.5 + mask
        y = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, w)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(768, 12) for _ in range(6)])
        self.norm = nn.LayerNorm(768)
        self.bfloat16()

    def forward(self, x):
        t = x.size(1)
        mask = torch.full([t, t], float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)
