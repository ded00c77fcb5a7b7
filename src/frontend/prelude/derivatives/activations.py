# SPDX-License-Identifier: Apache-2.0
# Derivatives of activations, softmax and dropout. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- activations -----------------------------------------------------------------------------------


# nan counts as above zero
def relu__d_self(grad: Tensor, result: Tensor) -> Tensor:
    return torch.threshold_backward(grad, result, 0)


def relu6__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return __torch__.derivatives.activations._between(grad, self, 0, 6)


def hardtanh__d_self(grad: Tensor, self: Tensor, min_val: number, max_val: number) -> Tensor:
    return __torch__.derivatives.activations._between(grad, self, min_val, max_val)


# grad but for what is not strictly between the bounds
def _between(grad: Tensor, self: Tensor, low: number, high: number) -> Tensor:
    return torch.where(torch.logical_or(torch.le(self, low), torch.ge(self, high)), torch.zeros_like(grad), grad)


def threshold__d_self(grad: Tensor, self: Tensor, threshold: number) -> Tensor:
    return torch.threshold_backward(grad, self, threshold)


def hardshrink__d_self(grad: Tensor, self: Tensor, lambd: number) -> Tensor:
    return torch.hardshrink_backward(grad, self, lambd)


def softshrink__d_self(grad: Tensor, self: Tensor, lambd: number) -> Tensor:
    return torch.softshrink_backward(grad, self, lambd)


def hardsigmoid__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.hardsigmoid_backward(grad, self)


def hardswish__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.hardswish_backward(grad, self)


def leaky_relu__d_self(grad: Tensor, self: Tensor, negative_slope: number) -> Tensor:
    return torch.leaky_relu_backward(grad, self, negative_slope, False)


def elu__d_self(grad: Tensor, self: Tensor, alpha: number, scale: number, input_scale: number) -> Tensor:
    return torch.elu_backward(grad, alpha, scale, input_scale, False, self)


def celu__d_self(grad: Tensor, self: Tensor, alpha: number) -> Tensor:
    return torch.elu_backward(grad, alpha, 1, 1. / float(alpha), False, self)


def selu__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.elu_backward(grad, 1.6732632423543772, 1.0507009873554805, 1, False, self)


def gelu__d_self(grad: Tensor, self: Tensor, approximate: str) -> Tensor:
    return torch.gelu_backward(grad, self, approximate=approximate)


def silu__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch.silu_backward(grad, self)


def mish__d_self(grad: Tensor, self: Tensor) -> Tensor:
    x = __torch__.operators.backward._wide(self)
    t = torch.tanh(torch.softplus(x))
    return __torch__.operators.backward._wide(grad) * (t + x * torch.sigmoid(x) * torch.rsub(t * t, 1))


def softplus__d_self(grad: Tensor, self: Tensor, beta: number, threshold: number) -> Tensor:
    x = __torch__.operators.backward._wide(self) * float(beta)
    g = __torch__.operators.backward._wide(grad)
    return torch.where(torch.gt(x, float(threshold)), g, g * torch.sigmoid(x))


def log_sigmoid__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.sigmoid(torch.neg(self))


def log_sigmoid_forward__d_self(grad0: Tensor, self: Tensor) -> Tensor:
    return grad0 * torch.sigmoid(torch.neg(self))


def glu__d_self(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    return torch.glu_backward(grad, self, dim)


def prelu__d_self__weight(grad: Tensor, self: Tensor, weight: Tensor) -> Tuple[Tensor, Tensor]:
    grad_self, grad_weight = torch.prelu_backward(grad, self, weight)
    return grad_self, grad_weight


def rrelu__as(self: Tensor, lower: number, upper: number, training: bool, generator: Optional[Generator]) -> Tensor:
    return torch.rrelu_with_noise(self, torch.empty_like(self), lower, upper, training, generator)


def rrelu_with_noise__d_self(grad: Tensor, self: Tensor, noise: Tensor, lower: number, upper: number, training: bool) -> Tensor:
    return torch.rrelu_with_noise_backward(grad, self, noise, lower, upper, training, False)


def _add_relu__Tensor__as(self: Tensor, other: Tensor, alpha: number) -> Tensor:
    return torch.relu(torch.add(self, other, alpha=alpha))


def _add_relu__Scalar__as(self: Tensor, other: number, alpha: number) -> Tensor:
    return torch.relu(torch.add(self, other, alpha))


# ---- softmax ---------------------------------------------------------------------------------------


def _cast(self: Tensor, dtype: Optional[int]) -> Tensor:
    if dtype is not None:
        self = torch.to(self, dtype)
    return self


def softmax__int__as(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    return torch._softmax(__torch__.derivatives.activations._cast(self, dtype), dim, False)


def log_softmax__int__as(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    return torch._log_softmax(__torch__.derivatives.activations._cast(self, dtype), dim, False)


def _softmax__d_self(grad: Tensor, result: Tensor, dim: int, self_dtype: int) -> Tensor:
    return torch._softmax_backward_data(grad, result, dim, self_dtype)


def _log_softmax__d_self(grad: Tensor, result: Tensor, dim: int, self_dtype: int) -> Tensor:
    return torch._log_softmax_backward_data(grad, result, dim, self_dtype)


def _masked_softmax__d_self(grad: Tensor, result: Tensor, mask: Tensor, dim: Optional[int]) -> Tensor:
    return torch._masked_softmax_backward(grad, result, torch.expand(torch.to(mask, 11), grad.size()), dim)


# ---- dropout ---------------------------------------------------------------------------------------


# The dims from the slowest in memory to the fastest: random numbers are drawn as the elements lie there.
def _order(input: Tensor) -> List[int]:
    strides = input.stride()
    order: List[int] = []
    for i in range(input.dim()):
        order.append(i)
        k = i
        while k > 0 and strides[i] != 0 and strides[order[k - 1]] != 0 and strides[order[k - 1]] < strides[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    return order


# What input is multiplied with, and in alpha dropout what is added: drawn as the operators draw.
def _dropout(input: Tensor, p: float, train: bool, features: bool, alpha: bool) -> Tensor:
    if p < 0. or p > 1.:
        torch.ops.ctsc.fail("dropout probability has to be between 0 and 1, but got {}".format(p))
    if p == 0. or not train or input.numel() == 0:
        return input
    if p == 1.:
        return input * torch.zeros([], dtype=input.dtype, layout=None, device=input.device, pin_memory=None)
    if features:
        if input.dim() < 2:
            torch.ops.ctsc.fail("Feature dropout requires at least 2 dimensions in the input")
        sizes = [input.size(0), input.size(1)]
        for i in range(2, input.dim()):
            sizes.append(1)
        order = list(range(len(sizes)))
    else:
        order = list(range(input.dim())) if input.is_contiguous() else __torch__.derivatives.activations._order(input)
        sizes = [input.size(i) for i in order]
    noise = torch.empty(sizes, dtype=input.dtype, layout=None, device=input.device, pin_memory=None)
    noise = torch.bernoulli_(noise, 1. - p)
    if not features and not input.is_contiguous():
        back = list(range(len(order)))
        for i in range(len(order)):
            back[order[i]] = i
        noise = torch.permute(noise, back)
    if not alpha:
        return input * torch.div(noise, 1. - p)
    slope = 1.7580993408473766
    a = 1. / math.sqrt((slope * slope * p + 1.) * (1. - p))
    return input * (noise * a) + ((noise - 1.) * (slope * a) + slope * a * p)


def dropout__as(input: Tensor, p: float, train: bool) -> Tensor:
    return __torch__.derivatives.activations._dropout(input, p, train, False, False)


def feature_dropout__as(input: Tensor, p: float, train: bool) -> Tensor:
    return __torch__.derivatives.activations._dropout(input, p, train, True, False)


def alpha_dropout__as(input: Tensor, p: float, train: bool) -> Tensor:
    return __torch__.derivatives.activations._dropout(input, p, train, False, True)


def feature_alpha_dropout__as(input: Tensor, p: float, train: bool) -> Tensor:
    return __torch__.derivatives.activations._dropout(input, p, train, True, True)


def native_dropout__d_input(grad0: Tensor, result1: Tensor, p: float, train: Optional[bool]) -> Tensor:
    scale = 1.
    if train is None or train:
        scale = 0. if p == 1. else 1. / (1. - p)
    return torch.native_dropout_backward(grad0, result1, scale)


def _masked_scale__d_self(grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad * (torch.to(mask, grad.dtype) * scale)


# ---- fake quantisation -----------------------------------------------------------------------------


# straight through where the value was in range
def fake_quantize_per_tensor_affine_cachemask__d_self(grad0: Tensor, result1: Tensor) -> Tensor:
    return grad0 * result1


def _fake_quantize_per_tensor_affine_cachemask_tensor_qparams__d_self(grad0: Tensor, result1: Tensor) -> Tensor:
    return grad0 * result1


def fake_quantize_per_channel_affine_cachemask__d_self(grad0: Tensor, result1: Tensor) -> Tensor:
    return grad0 * result1
