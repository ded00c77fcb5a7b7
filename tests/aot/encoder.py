# SPDX-License-Identifier: Apache-2.0
# A layer of a transformer's encoder, written out: attention, layer norms, gelu.
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)
        self.up = nn.Linear(32, 128)
        self.down = nn.Linear(128, 32)
        self.norm1 = nn.LayerNorm(32)
        self.norm2 = nn.LayerNorm(32)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(a)
        return x + self.down(F.gelu(self.up(self.norm2(x))))
