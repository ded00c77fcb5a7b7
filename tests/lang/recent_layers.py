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
        torch.manual_seed(1)
        self.no_bias = nn.Sequential(nn.LayerNorm(6, bias=False), nn.Unflatten(1, (2, 3)), nn.BatchNorm1d(2, bias=False),
                                     nn.GroupNorm(1, 2, bias=False), nn.InstanceNorm1d(2, affine=True, bias=False))
        self.pads = nn.Sequential(nn.CircularPad1d((1, 2)), nn.ZeroPad1d(1))
        self.pads2 = nn.Sequential(nn.CircularPad2d((1, 0, 1, 2)), nn.Unflatten(0, (1, 1)), nn.CircularPad3d(1), nn.ZeroPad3d(1),
                                   nn.LPPool3d(2, (1, 2, 2), stride=2))
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, bias=False, batch_first=True, norm_first=True), 2,
                                             enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoderLayer(4, 2, 8, bias=False, batch_first=True)
        self.frozen = nn.Embedding(3, 4, _freeze=True)

    def forward(self):
        x = torch.arange(6.0).view(2, 3)
        y = x.view(1, 2, 3)
        mask = torch.tensor([[True, False], [False, False]])
        print(cents(self.norm(x)), cents(self.plain(x)), cents(F.rms_norm(x, [3])))  # expect: 493 495 526
        print(cents(F.scaled_dot_product_attention(y, y, y, attn_mask=mask)))  # expect: 300
        print(cents(F.scaled_dot_product_attention(y, y, y, scale=0.0)))  # expect: 1500
        print(bool(torch.all(x >= 0, dim=(0, 1))), int(torch.any(x > 4, dim=[1]).sum()), torch.squeeze(y, [0, 1]).dim())  # expect: True 1 2
        z = torch.arange(12.0).view(2, 6)
        print(cents(self.no_bias(z) * torch.arange(12.0).view(2, 2, 3)), cents(self.pads(y)), cents(self.pads2(y)))  # expect: 980 3000 10111
        q = torch.arange(24.0).view(2, 3, 4).cos()
        causal = torch.ones(3, 3).tril() == 0
        print(cents(self.attention(q, q, q, attn_mask=causal, is_causal=True)[0] * q))  # expect: -7
        h = self.encoder(q, mask=causal, is_causal=True)
        print(cents(h * q), cents(self.decoder(q, h, tgt_mask=causal, tgt_is_causal=True) * q), cents(self.frozen(torch.arange(3))))  # expect: 1158 1335 246
        return x
# expect:  0  1  2
# expect:  3  4  5
# expect: [ CPUFloatType{2,3} ]
