"""Products in another dtype, which PyTorch has for CUDA alone."""
import torch
from torch import Tensor, nn


def cents(x: Tensor) -> int:
    return int((x.double() * (torch.arange(x.numel()) % 7 - 2).view(x.shape)).sum() * 100)


class Main(nn.Module):
    def forward(self):
        a, b = torch.arange(6.0).view(2, 3).bfloat16(), torch.ones(3, 2).bfloat16()
        c = torch.mm(a, b, out_dtype=torch.float32)
        print(c.dtype, cents(c), cents(torch.addmm(c, a, b, out_dtype=torch.float32, beta=2)))  # expect: 6 300 900
        print(cents(torch.bmm(a[None], b[None], out_dtype=torch.float32)), cents(torch.baddbmm(c[None], a[None], b[None], out_dtype=torch.float32)))  # expect: 300 600
        return 0
# expect: 0
