# In-place calls, views, buffers that forward writes to.
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("ramp", torch.arange(6.0).view(2, 3))
        self.norm = nn.BatchNorm1d(3)
        self.start = torch.ones(3)
        self.scale = nn.Parameter(torch.full((3,), 2.0))
        self.grown = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.calls += 1
        with torch.no_grad():
            self.grown.mul_(2)
        y = x.clone()
        y[0] = 5.0
        y[:, 1:] *= 2
        y[..., -1, None].add_(1)
        y[y > 4] = 0.5
        index = torch.tensor([1, 0])
        y[index, index] = torch.tensor([7.0, 8.0])
        z = torch.zeros_like(y)
        z.copy_(y).clamp_(max=6)
        row = z[1]
        row += self.ramp[0]
        z[:, 0], z[:, 2] = z[:, 2].clone(), z[:, 0].clone()
        constant = torch.zeros(3)
        constant[1] += x.sum()
        return self.norm(z) * self.scale.data, row.detach(), self.calls + self.grown, constant + self.start, z.T, z[None, :, [0, 2]]


def examples():
    return (torch.randn(2, 3),), (torch.randn(4, 3),)
