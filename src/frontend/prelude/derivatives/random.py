# SPDX-License-Identifier: Apache-2.0
# Derivatives of random draws, and of comparisons that write their argument: zeros. runtime/autograd/grad_rules.h
# explains the names of functions and parameters.


def bernoulli__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def bernoulli__Tensor__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def bernoulli__Tensor__d_p(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def normal__Tensor_float__d_mean(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def normal__float_Tensor__d_std(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def normal__Tensor_Tensor__d_mean(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def normal__Tensor_Tensor__d_std(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def poisson__d_self(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


# x.eq_(y) requires a gradient where y does.


def eq___Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def ne___Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def lt___Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def le___Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def gt___Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


def ge___Tensor__d_other(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)
