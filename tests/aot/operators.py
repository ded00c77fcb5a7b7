# SPDX-License-Identifier: Apache-2.0
# Operators that are no layers: scans, gathers, sorts, transforms, sums over labels, complex numbers, refusals with a message made at run time.
import torch
from torch import Tensor, nn


class Main(nn.Module):
    def forward(self, x: Tensor):
        if x.size(-1) < 3:
            raise RuntimeError("{} columns are too few".format(x.size(-1)))
        best, at = torch.topk(x, 3, -1)
        rows = torch.gather(x, 1, (x[:, :3] * 2).abs().long().clamp(0, 4))
        sums = torch.cumsum(torch.sort(x, -1, descending=True)[0], -1)
        outer = torch.einsum("ij,kj->ik", x, x)
        spectrum = torch.fft.rfft(x)
        blocks = nn.functional.unfold(x.reshape(1, 1, x.size(0), x.size(1)), [2, 2])
        labels = nn.functional.one_hot(at[:, 0], 12)
        added = torch.zeros(4).scatter_add_(0, at[:, 0] % 4, best[:, 0])
        y = x.clone()
        y.clamp_(-1.0, 1.0).mul_(spectrum.abs().sum()).floor_divide_(3)
        return best, at, rows, sums, outer, spectrum.real, spectrum.angle(), blocks, labels, added, y, x.std(-1), torch.cdist(x, x), x.median(-1)[0]
