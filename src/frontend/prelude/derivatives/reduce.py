# SPDX-License-Identifier: Apache-2.0
# Derivatives of reductions, scans and sorting. What the names of functions and parameters mean stands in runtime/autograd/grad_rules.h.


def sum__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.expand(grad, self_sizes)
