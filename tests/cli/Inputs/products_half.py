import torch
from torch import nn


class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(64, 48).to(torch.bfloat16))
        self.b = nn.Parameter(torch.randn(48).to(torch.bfloat16))

    def forward(self, x):
        y = torch.addmm(self.b, x, self.w)
        z = torch.matmul(x + 1, self.w)
        return torch.mm(y + z, self.w.t()), nn.functional.linear(x, self.w.permute(1, 0))
