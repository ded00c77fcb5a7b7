# SPDX-License-Identifier: Apache-2.0
"""Made fft_branch.pt with PyTorch 1.13.1."""
import torch


class M(torch.nn.Module):
    def forward(self, x, flag: bool = False):
        if flag:
            x = torch.fft.fft(x).real
        return x * 2


torch.jit.script(M()).save("fft_branch.pt")
