"""Operators that came after PyTorch 1.13: what is printed is what PyTorch 2.15 prints."""
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
        return 0
# expect: 0
