"""Operators that came after PyTorch 1.13: what is printed is what PyTorch 2.15 prints."""
from typing import List

import torch
from torch import Tensor, nn


def cents(x: Tensor) -> int:
    return int((x.double() * (torch.arange(x.numel()) % 7 - 2).view(x.shape)).sum() * 100)


class Main(nn.Module):
    def forward(self):
        x = (torch.arange(12.0).view(4, 3) ** 2).cos()
        q, h = torch.ops.aten.linalg_polar(x)
        print(cents(q), cents(h), cents(q @ h - x), cents(torch.ops.aten.linalg_matrix_sqrth(x.t() @ x)))  # expect: -150 -395 0 -395
        out, noise = torch.ops.aten.rrelu_with_noise_functional(x, torch.zeros(4, 3))
        print(cents(out), cents(noise))  # expect: -48 0
        torch.manual_seed(0)
        print(cents(torch.ops.aten.randint_like(x, torch.tensor(9))))  # expect: 5900
        print(cents(torch.rand_like(x, generator=None)), cents(torch.randn_like(x, generator=None)))  # expect: 564 229
        print(cents(torch.randint_like(x, 9, generator=None)), cents(torch.randint_like(x, 3, 9, generator=None)))  # expect: 3000 4400
        same: List[bool] = []
        for n in [16, 80, 144]:  # packed and read back, whatever the processor's order is
            codes = (torch.arange(n * 32) * 7 % 16).view(n, 32).int()
            packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 2)
            both = torch.stack([torch.arange(n) % 5 + 0.5, torch.arange(n) % 3 - 1.0], 1)[None]
            want = torch.mm(torch.ones(2, 32), ((codes - 8) * both[0, :, :1] + both[0, :, 1:]).t())
            same.append(packed.size(1) == 16 and torch.allclose(torch.ops.aten._weight_int4pack_mm_for_cpu(torch.ones(2, 32), packed, 32, both), want))
        print(same)  # expect: [True, True, True]
        return 0
# expect: 0
