"""Layers and functions that came after PyTorch 1.13: what they print is what PyTorch 2.15 prints."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


def cents(x: Tensor) -> int:
    return int((x.sum() * 100).round())


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(3, eps=0.5)
        self.plain = nn.RMSNorm((2, 3), elementwise_affine=False)

    def forward(self):
        x = torch.arange(6.0).view(2, 3)
        y = x.view(1, 2, 3)
        mask = torch.tensor([[True, False], [False, False]])
        print(cents(self.norm(x)), cents(self.plain(x)), cents(F.rms_norm(x, [3])))  # expect: 493 495 526
        print(cents(F.scaled_dot_product_attention(y, y, y, attn_mask=mask)))  # expect: 300
        print(cents(F.scaled_dot_product_attention(y, y, y, scale=0.0)))  # expect: 1500
        print(bool(torch.all(x >= 0, dim=(0, 1))), int(torch.any(x > 4, dim=[1]).sum()), torch.squeeze(y, [0, 1]).dim())  # expect: True 1 2
        return x
