# SPDX-License-Identifier: Apache-2.0
"""Made sparse_branch.pt with PyTorch 1.13.1."""
import torch


class M(torch.nn.Module):
    def forward(self, x, flag: bool = False):
        if flag:
            x = x.to_sparse().to_dense()
        return x * 2


torch.jit.script(M()).save("sparse_branch.pt")
