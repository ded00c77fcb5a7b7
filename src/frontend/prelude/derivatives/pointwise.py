# SPDX-License-Identifier: Apache-2.0
# Derivatives of pointwise operators. What the names of functions and parameters mean stands in runtime/autograd/grad_rules.h.


def add__Tensor__d_self(grad: Tensor) -> Tensor:
    return grad


def add__Tensor__d_other(grad: Tensor, alpha: number) -> Tensor:
    return grad if alpha == 1 else grad * alpha


def mul__Tensor__d_self(grad: Tensor, other: Tensor) -> Tensor:
    return grad * torch.conj(other)


def mul__Tensor__d_other(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(self)


def mul__Scalar__d_self(grad: Tensor, other: number) -> Tensor:
    return grad * other


def exp__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return grad * torch.conj(result)
