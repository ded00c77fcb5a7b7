# SPDX-License-Identifier: Apache-2.0
# Derivatives of pointwise operators, losses, softmax and views, in TorchScript (see ../operators.py): what PyTorch's kernels compute.


# Numbers of 16 bits are computed in single precision and rounded once.
def _wide(t: Tensor) -> Tensor:
    if t.dtype == 5 or t.dtype == 15:
        t = torch.to(t, 6)
    return t


def _as_result(t: Tensor, a: Tensor, b: Tensor) -> Tensor:
    dtype = torch.result_type(a, b)
    if t.dtype != dtype:
        t = torch.to(t, dtype)
    return t


def _check_floating(name: str, a: Tensor, b: Tensor):
    dtype = torch.result_type(a, b)
    if dtype < 5 or dtype == 11:
        torch.ops.ctsc.fail("\"{}\" not implemented for '{}'".format(name, torch.ops.ctsc.type_name(torch.empty([0], dtype=dtype, layout=None, device=None, pin_memory=None))))


def _check_wide(name: str, a: Tensor, b: Tensor):
    dtype = torch.result_type(a, b)
    if dtype != 6 and dtype != 7:
        torch.ops.ctsc.fail("\"{}\" not implemented for '{}'".format(name, torch.ops.ctsc.type_name(torch.empty([0], dtype=dtype, layout=None, device=None, pin_memory=None))))


def _check_real(name: str, a: Tensor, b: Tensor):
    dtype = torch.result_type(a, b)
    if dtype < 5 or dtype > 7 and dtype != 15:
        torch.ops.ctsc.fail("\"{}\" not implemented for '{}'".format(name, torch.ops.ctsc.type_name(torch.empty([0], dtype=dtype, layout=None, device=None, pin_memory=None))))


# ---- activations -----------------------------------------------------------------------------------


def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    __torch__.operators.backward._check_floating("sigmoid_backward_cpu", grad_output, output)
    y = __torch__.operators.backward._wide(output)
    slope = torch.rsub(y, 1) * y
    if torch.is_complex(slope):
        slope = torch.conj(slope)
    result = __torch__.operators.backward._wide(grad_output) * slope
    return __torch__.operators.backward._as_result(result, grad_output, output)


def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    __torch__.operators.backward._check_floating("tanh_backward_cpu", grad_output, output)
    y = __torch__.operators.backward._wide(output)
    slope = torch.rsub(y * y, 1)
    if torch.is_complex(slope):
        slope = torch.conj(slope)
    result = __torch__.operators.backward._wide(grad_output) * slope
    return __torch__.operators.backward._as_result(result, grad_output, output)


def gelu_backward(grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    __torch__.operators.backward._check_real("GeluBackwardKernelImpl", grad_output, self)
    x = __torch__.operators.backward._wide(self)
    if approximate == "tanh":
        beta = 0.7978845608028654
        square = x * x
        t = torch.tanh((x + square * x * 0.044715) * beta)
        slope = (t + 1) * 0.5 + x * 0.5 * torch.rsub(t * t, 1) * ((square * 0.134145 + 1) * beta)
    elif approximate == "none":
        cdf = (torch.erf(x * 0.7071067811865476) + 1) * 0.5
        slope = cdf + x * (torch.exp(x * x * -0.5) * 0.3989422804014327)
    else:
        torch.ops.ctsc.fail("approximate argument must be either none or tanh.")
        slope = x
    result = __torch__.operators.backward._wide(grad_output) * slope
    return __torch__.operators.backward._as_result(result, grad_output, self)


def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    cdf = (torch.erf(self * 0.7071067811865476) + 1.) * 0.5
    pdf = torch.exp(self * self * -0.5)
    return (cdf + self * (pdf * 0.3989422804014327)) * grad


def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    dtype = torch.result_type(grad_output, self)
    if dtype < 5 or dtype == 11:
        __torch__.operators.backward._check_floating("silu_backward_cpu", grad_output, self)
    x = __torch__.operators.backward._wide(self)
    s = torch.sigmoid(x)
    result = __torch__.operators.backward._wide(grad_output) * s * (x * torch.rsub(s, 1) + 1)
    return __torch__.operators.backward._as_result(result, grad_output, self)


def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    __torch__.operators.backward._check_wide("mish_backward_cpu", grad_output, self)
    x = __torch__.operators.backward._wide(self)
    t = torch.tanh(torch.log1p(torch.exp(x)))
    result = __torch__.operators.backward._wide(grad_output) * (t + x * torch.sigmoid(x) * torch.rsub(t * t, 1))
    return __torch__.operators.backward._as_result(result, grad_output, self)


def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    __torch__.operators.backward._check_real("hardswish_backward_cpu", grad_output, self)
    x = __torch__.operators.backward._wide(self)
    g = __torch__.operators.backward._wide(grad_output)
    zeros = torch.zeros_like(g)
    result = torch.where(torch.lt(x, -3), zeros, torch.where(torch.le(x, 3), g * (x / 3 + 0.5), g))
    return __torch__.operators.backward._as_result(result, grad_output, self)


def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    __torch__.operators.backward._check_real("hardsigmoid_backward", grad_output, self)
    g = __torch__.operators.backward._wide(grad_output)
    # the kernel has 1 / 6 in single precision
    inside = torch.logical_and(torch.gt(self, -3), torch.lt(self, 3))
    result = torch.where(inside, g * 0.1666666716337204, torch.zeros_like(g))
    return __torch__.operators.backward._as_result(result, grad_output, self)


def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: number, max_val: number) -> Tensor:
    __torch__.operators.backward._check_wide("hardshrink_backward_cpu", grad_output, self)
    outside = torch.logical_or(torch.le(self, min_val), torch.ge(self, max_val))
    result = torch.where(outside, torch.zeros_like(grad_output), grad_output)
    return __torch__.operators.backward._as_result(result, grad_output, self)


def _shrink_backward(grad: Tensor, self: Tensor, lambd: number) -> Tensor:
    __torch__.operators.backward._check_real("shrink_backward_cpu", grad, self)
    bound = float(lambd)
    inside = torch.logical_and(torch.ge(self, -bound), torch.le(self, bound))
    result = torch.where(inside, torch.zeros_like(grad), grad)
    return __torch__.operators.backward._as_result(result, grad, self)


def hardshrink_backward(grad_out: Tensor, self: Tensor, lambd: number) -> Tensor:
    return __torch__.operators.backward._shrink_backward(grad_out, self, lambd)


def softshrink_backward(grad_output: Tensor, self: Tensor, lambd: number) -> Tensor:
    return __torch__.operators.backward._shrink_backward(grad_output, self, lambd)


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: number) -> Tensor:
    dtype = torch.result_type(grad_output, self)
    if dtype == 11 or dtype >= 8 and dtype <= 10:
        __torch__.operators.backward._check_real("threshold_cpu", grad_output, self)
    result = torch.where(torch.le(self, threshold), torch.zeros_like(grad_output), grad_output)
    return __torch__.operators.backward._as_result(result, grad_output, self)


def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: number, self_is_result: bool) -> Tensor:
    slope = float(negative_slope)
    if self_is_result and slope < 0:
        torch.ops.ctsc.fail("In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with negative slope")
    __torch__.operators.backward._check_real("leaky_relu_backward_cpu", grad_output, self)
    g = __torch__.operators.backward._wide(grad_output)
    result = torch.where(torch.gt(self, 0), g, g * slope)
    return __torch__.operators.backward._as_result(result, grad_output, self)


def elu_backward(grad_output: Tensor, alpha: number, scale: number, input_scale: number, is_result: bool, self_or_result: Tensor) -> Tensor:
    if is_result and float(alpha) < 0:
        torch.ops.ctsc.fail("In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead.")
    __torch__.operators.backward._check_real("elu_backward_cpu", grad_output, self_or_result)
    x = __torch__.operators.backward._wide(self_or_result)
    g = __torch__.operators.backward._wide(grad_output)
    low = float(alpha) * float(scale)
    if is_result:
        below = g * float(input_scale) * (x + low)
    else:
        below = g * (float(input_scale) * low) * torch.exp(x * float(input_scale))
    result = torch.where(torch.le(x, 0), below, g * float(scale))
    return __torch__.operators.backward._as_result(result, grad_output, self_or_result)


def softplus_backward(grad_output: Tensor, self: Tensor, beta: number, threshold: number) -> Tensor:
    __torch__.operators.backward._check_real("softplus_backward_cpu", grad_output, self)
    x = __torch__.operators.backward._wide(self) * float(beta)
    g = __torch__.operators.backward._wide(grad_output)
    z = torch.exp(x)
    result = torch.where(torch.gt(x, float(threshold)), g, g * z / (z + 1))
    return __torch__.operators.backward._as_result(result, grad_output, self)


# buffer is exp(-|self|), from the operator itself
def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    __torch__.operators.backward._check_real("log_sigmoid_backward_cpu", grad_output, self)
    b = __torch__.operators.backward._wide(buffer)
    part = b / (b + 1)
    slope = torch.where(torch.lt(self, 0), torch.rsub(part, 1), part)
    result = __torch__.operators.backward._wide(grad_output) * slope
    return __torch__.operators.backward._as_result(result, grad_output, self)


def logit_backward(grad_output: Tensor, self: Tensor, eps: Optional[float]) -> Tensor:
    __torch__.operators.backward._check_real("logit_backward_cpu", grad_output, self)
    x = __torch__.operators.backward._wide(self)
    g = __torch__.operators.backward._wide(grad_output)
    inner = g / (x * torch.rsub(x, 1))
    low = 0.
    outer = torch.full_like(inner, float("nan"))
    if eps is not None and eps >= 0:
        low = eps
        outer = torch.zeros_like(inner)
    else:
        inner = torch.where(torch.logical_or(torch.eq(x, 0), torch.eq(x, 1)), g * float("inf"), inner)
    outside = torch.logical_or(torch.lt(x, low), torch.gt(x, 1. - low))
    result = torch.where(outside, outer, inner)
    return __torch__.operators.backward._as_result(result, grad_output, self)


def prelu_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> Tuple[Tensor, Tensor]:
    n = weight.numel()
    sizes: List[int] = []
    for i in range(self.dim()):
        if i == 1:
            sizes.append(n)
        else:
            sizes.append(1)
    if n != 1:
        if self.dim() == 0:
            torch.ops.ctsc.fail("Not allow zero-dim input tensor.")
        channels = 1
        if self.dim() > 1:
            channels = self.size(1)
        if channels != n:
            torch.ops.ctsc.fail("Mismatch of parameter numbers and input channel size. Found parameter numbers = {} and channel size = {}.".format(n, channels))
    __torch__.operators.backward._check_real("prelu_cpu", grad_output, self)
    w = __torch__.operators.backward._wide(weight)
    x = __torch__.operators.backward._wide(self)
    g = __torch__.operators.backward._wide(grad_output)
    above = torch.gt(x, 0)
    by_weight = torch.where(above, torch.zeros_like(x), x * g)
    if n == 1:
        grad = torch.where(above, g, g * torch.reshape(w, []))
        grad_weight = torch.reshape(torch.sum(by_weight), weight.size())
    else:
        grad = torch.where(above, g, g * torch.reshape(w, sizes))
        dims: List[int] = []
        for i in range(self.dim()):
            if i != 1:
                dims.append(i)
        grad_weight = torch.reshape(torch.sum(by_weight, dims), weight.size())
    return torch.to(grad, self.dtype), torch.to(grad_weight, weight.dtype)


def rrelu_with_noise_backward(grad_output: Tensor, self: Tensor, noise: Tensor, lower: number, upper: number, training: bool, self_is_result: bool) -> Tensor:
    if training and float(upper) - float(lower) > 0.000001:
        result = grad_output * noise
    else:
        result = torch.leaky_relu_backward(grad_output, self, (float(lower) + float(upper)) / 2, self_is_result)
    return result


def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    if self.dim() == 0:
        torch.ops.ctsc.fail("glu does not support 0-dimensional tensors")
    n = self.size(dim)
    if n % 2 != 0:
        at = dim
        if dim < 0:
            at = dim + self.dim()
        torch.ops.ctsc.fail("Halving dimension must be even, but dimension {} is size {}".format(at, n))
    __torch__.operators.backward._check_real("glu_backward_cpu", grad_output, self)
    g = __torch__.operators.backward._wide(grad_output)
    first = __torch__.operators.backward._wide(torch.narrow(self, dim, 0, n // 2))
    gate = torch.sigmoid(__torch__.operators.backward._wide(torch.narrow(self, dim, n // 2, n // 2)))
    result = torch.cat([gate * g, torch.rsub(gate, 1) * gate * g * first], dim)
    return torch.to(result, self.dtype)


def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    half = x.size(dim) // 2
    gate = torch.sigmoid(torch.narrow(x, dim, half, half))
    return torch.narrow(dx, dim, 0, half) * gate + glu * (torch.narrow(dx, dim, half, half) - gate * torch.narrow(dx, dim, half, half))


def glu_backward_jvp(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
    half = x.size(dim) // 2
    a = torch.narrow(x, dim, 0, half)
    gate = torch.sigmoid(torch.narrow(x, dim, half, half))
    da = torch.narrow(dx, dim, 0, half)
    db = torch.narrow(dx, dim, half, half)
    slope = gate * torch.rsub(gate, 1)
    first = slope * db * grad_glu + gate * dgrad_glu
    second = da * slope * grad_glu + a * slope * torch.rsub(gate * 2, 1) * db * grad_glu + a * slope * dgrad_glu
    return torch.cat([first, second], dim)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * (torch.to(mask, grad_output.dtype) * scale)


def _masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    return self * torch.to(mask, self.dtype) * scale


# ---- losses ----------------------------------------------------------------------------------------


# What an element of the loss weighs in it.
def _share(t: Tensor, reduction: int) -> float:
    share = 1.
    if reduction == 1:
        if t.numel() == 0:
            share = float("inf")
        else:
            share = 1. / float(t.numel())
    return share


def _check_loss(name: str, grad_output: Tensor, self: Tensor, target: Tensor):
    dtype = torch.result_type(self, target)
    if dtype < 5 or dtype == 11:
        torch.ops.ctsc.fail("\"{}\" not implemented for '{}'".format(name, torch.ops.ctsc.type_name(torch.empty([0], dtype=dtype, layout=None, device=None, pin_memory=None))))


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    __torch__.operators.backward._check_loss("mse_backward_cpu_out", grad_output, self, target)
    difference = __torch__.operators.backward._wide(self) - __torch__.operators.backward._wide(target)
    share = 2. * __torch__.operators.backward._share(self, reduction)
    return torch.to(difference * share * __torch__.operators.backward._wide(grad_output), self.dtype)


def smooth_l1_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    __torch__.operators.backward._check_loss("smooth_l1_backward_cpu_out", grad_output, self, target)
    share = __torch__.operators.backward._share(self, reduction)
    x = __torch__.operators.backward._wide(self) - __torch__.operators.backward._wide(target)
    g = __torch__.operators.backward._wide(grad_output) * share
    result = torch.where(torch.le(x, -beta), torch.neg(g), torch.where(torch.ge(x, beta), g, x * g / beta))
    return torch.to(result, self.dtype)


def huber_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    __torch__.operators.backward._check_loss("huber_backward_cpu_out", grad_output, self, target)
    share = __torch__.operators.backward._share(self, reduction)
    x = __torch__.operators.backward._wide(self) - __torch__.operators.backward._wide(target)
    g = __torch__.operators.backward._wide(grad_output) * share
    result = torch.where(torch.le(x, -delta), g * -delta, torch.where(torch.ge(x, delta), g * delta, x * g))
    return torch.to(result, self.dtype)


def binary_cross_entropy_backward(grad_output: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    __torch__.operators.backward._check_loss("binary_cross_entropy_backward", grad_output, self, target)
    x = __torch__.operators.backward._wide(self)
    y = __torch__.operators.backward._wide(target)
    result = __torch__.operators.backward._wide(grad_output) * (x - y) / torch.clamp_min(torch.rsub(x, 1) * x, 1e-12)
    result = torch.to(result, self.dtype)
    if weight is not None:
        result = torch.to(result * weight, self.dtype)
    if reduction == 1:
        result = result / self.numel()
    return result


def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    share = __torch__.operators.backward._share(self, reduction)
    z = torch.exp(torch.neg(target) * self)
    return target * -share * z / (z + 1) * grad_output


def nll_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight: Tensor) -> Tensor:
    if self.dim() == 0 or self.dim() > 2:
        torch.ops.ctsc.fail("input tensor should be 1D or 2D")
    if target.dim() > 1:
        torch.ops.ctsc.fail("0D or 1D target tensor expected, multi-target not supported")
    batch = 1
    if self.dim() == 2:
        batch = self.size(0)
    if (self.dim() == 2 or target.dim() != 0) and not (self.dim() == 1 and target.dim() == 0) and target.dim() == 1 and target.size(0) != batch:
        torch.ops.ctsc.fail("size mismatch (got input: {}, target: {})".format(self.size(), target.size()))
    if total_weight.numel() != 1:
        torch.ops.ctsc.fail("expected total_weight to be a  single element tensor, got: {} ({} elements)".format(total_weight.size(), total_weight.numel()))
    if weight is not None and weight.numel() != self.size(-1):
        torch.ops.ctsc.fail("weight tensor should be defined either for all or no classes")
    rows = torch.reshape(self, [batch, self.size(-1)])
    if self.dim() == 2 and reduction == 0:
        if grad_output.dim() != 1 or grad_output.size(0) != batch:
            torch.ops.ctsc.fail("Expected a tensor of dimension 1 and tensor.size[0] == {} but got: dimension {} and tensor.size = {}".format(batch, grad_output.dim(), grad_output.size()))
    elif grad_output.dim() > 1 or grad_output.numel() != 1:
        torch.ops.ctsc.fail("Expected a single element grad_output tensor, but got: {}".format(grad_output.size()))
    result = __torch__.operators.backward._nll_grad(grad_output, rows, torch.reshape(target, [batch]), weight, reduction, ignore_index, total_weight)
    return torch.reshape(result, self.size())


# x: [batch, classes, ...], target: [batch, ...]
def _nll_grad(grad_output: Tensor, x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight: Tensor) -> Tensor:
    __torch__.operators.backward._check_real("nll_loss_backward_out_frame", x, x)
    kept = torch.ne(target, ignore_index)
    at = torch.where(kept, target, torch.zeros_like(target))
    g = __torch__.operators.backward._wide(grad_output)
    if reduction == 1:
        g = g / __torch__.operators.backward._wide(total_weight)
    if g.dim() != target.dim():
        g = torch.reshape(g, [])
    g = torch.neg(g)
    if weight is not None:
        g = torch.reshape(torch.index_select(__torch__.operators.backward._wide(weight), 0, torch.reshape(at, [-1])), target.size()) * g
    else:
        g = torch.expand(g, target.size())
    g = torch.to(torch.where(kept, g, torch.zeros_like(g)), x.dtype)
    return torch.scatter(torch.zeros_like(x, memory_format=0), 1, torch.unsqueeze(at, 1), torch.unsqueeze(g, 1))


def nll_loss2d_backward(grad_output: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight: Tensor) -> Tensor:
    if target.dim() != 3:
        torch.ops.ctsc.fail("only batches of spatial targets supported (3D tensors) but got targets of size: : {}".format(target.size()))
    if self.dim() != 4:
        torch.ops.ctsc.fail("only batches of spatial inputs supported (4D tensors), but got input of size: {}".format(self.size()))
    if self.size(0) != target.size(0) or self.size(2) != target.size(1) or self.size(3) != target.size(2):
        torch.ops.ctsc.fail("size mismatch (got input: {}, target: {}".format(self.size(), target.size()))
    if total_weight.numel() != 1:
        torch.ops.ctsc.fail("expected total_weight to be a single element tensor, got: {} ({} elements)".format(total_weight.size(), total_weight.numel()))
    if weight is not None and weight.numel() != self.size(1):
        torch.ops.ctsc.fail("weight tensor should be defined either for all or no classes")
    return __torch__.operators.backward._nll_grad(grad_output, self, target, weight, reduction, ignore_index, total_weight)


def multi_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int) -> Tensor:
    power = int(p)
    if power != 1 and power != 2:
        torch.ops.ctsc.fail("only p == 1 and p == 2 supported")
    __torch__.operators.backward._check_real("multi_margin_loss_backward_cpu_kernel", self, self)
    classes = 1
    if self.dim() > 0:
        classes = self.size(-1)
    x = torch.reshape(__torch__.operators.backward._wide(self), [-1, classes])
    at = torch.reshape(target, [-1, 1])
    g = 1. / float(classes)
    if reduction == 1:
        g = 1. / float(x.size(0) * classes)
    z = torch.rsub(torch.gather(x, 1, at), float(margin)) + x
    if power == 1:
        h = torch.full_like(x, g)
    else:
        h = z * (2. * g)
    if weight is not None:
        h = h * torch.reshape(torch.index_select(__torch__.operators.backward._wide(weight), 0, torch.reshape(target, [-1])), [-1, 1])
    h = torch.where(torch.gt(z, 0), h, torch.zeros_like(h))
    h = torch.scatter(h, 1, at, 0.)
    h = torch.scatter(h, 1, at, torch.rsub(torch.sum(h, [1], True), 0))
    if reduction != 0 or grad_output.dim() == 0:
        h = h * torch.reshape(__torch__.operators.backward._wide(grad_output), [])
    else:
        h = h * torch.reshape(__torch__.operators.backward._wide(grad_output), [-1, 1])
    return torch.to(torch.reshape(h, self.size()), self.dtype)


def multilabel_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor) -> Tensor:
    if target.size() != is_target.size():
        torch.ops.ctsc.fail("inconsistent is_target size")
    __torch__.operators.backward._check_real("multilabel_margin_loss_backward_out_frame", self, self)
    classes = 1
    if self.dim() > 0:
        classes = self.size(-1)
    x = torch.reshape(__torch__.operators.backward._wide(self), [-1, classes])
    targets = torch.reshape(target, [-1, classes])
    # targets end at the first negative one
    listed = torch.eq(torch.cumsum(torch.to(torch.lt(targets, 0), 4), 1), 0)
    at = torch.where(listed, targets, torch.zeros_like(targets))
    other = torch.eq(torch.reshape(is_target, [-1, classes]), 0)
    g = 1. / float(classes)
    if reduction == 1:
        g = 1. / float(x.size(0) * classes)
    # [batch, target, class]
    z = torch.unsqueeze(torch.rsub(torch.gather(x, 1, at), 1.), 2) + torch.unsqueeze(x, 1)
    hit = torch.logical_and(torch.logical_and(torch.gt(z, 0), torch.unsqueeze(other, 1)), torch.unsqueeze(listed, 2))
    part = torch.to(hit, x.dtype) * g
    result = torch.scatter_add(torch.sum(part, [1]), 1, at, torch.neg(torch.sum(part, [2])))
    if grad_output.dim() == 0 or reduction != 0:
        result = result * torch.reshape(__torch__.operators.backward._wide(grad_output), [])
    else:
        result = result * torch.reshape(__torch__.operators.backward._wide(grad_output), [-1, 1])
    return torch.to(torch.reshape(result, self.size()), self.dtype)


# ---- softmax ---------------------------------------------------------------------------------------


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    __torch__.operators.backward._check_real("softmax_backward_lastdim_kernel_impl", grad_output, grad_output)
    y = __torch__.operators.backward._wide(output)
    g = __torch__.operators.backward._wide(grad_output)
    return torch.to(y * (g - torch.sum(g * y, [dim], True)), grad_output.dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    __torch__.operators.backward._check_real("log_softmax_backward_lastdim_kernel_impl", grad_output, grad_output)
    g = __torch__.operators.backward._wide(grad_output)
    return torch.to(g - torch.exp(__torch__.operators.backward._wide(output)) * torch.sum(g, [dim], True), grad_output.dtype)


# mask: True where the element took no part
def _masked_softmax_backward(grad_output: Tensor, output: Tensor, mask: Tensor, dim: Optional[int]) -> Tensor:
    along = output.dim() - 1
    if dim is not None:
        along = dim
    if mask.size() != grad_output.size():
        torch.ops.ctsc.fail("Mask shape should match grad shape")
    g = torch.where(mask, torch.zeros_like(grad_output), grad_output)
    y = torch.where(mask, torch.zeros_like(output), output)
    return torch.where(mask, torch.zeros_like(output), y * (g - torch.sum(g * y, [along], True)))


# ---- views and indices -----------------------------------------------------------------------------


def _zeros(grad: Tensor, sizes: List[int]) -> Tensor:
    return torch.zeros(sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)


def select_backward(grad_output: Tensor, input_sizes: List[int], dim: int, index: int) -> Tensor:
    zeros = __torch__.operators.backward._zeros(grad_output, input_sizes)
    return torch.select_scatter(zeros, grad_output, dim, index)


def slice_backward(grad_output: Tensor, input_sizes: List[int], dim: int, start: int, end: int, step: int) -> Tensor:
    zeros = __torch__.operators.backward._zeros(grad_output, input_sizes)
    return torch.slice_scatter(zeros, grad_output, dim, start, end, step)


def diagonal_backward(grad_output: Tensor, input_sizes: List[int], offset: int, dim1: int, dim2: int) -> Tensor:
    zeros = __torch__.operators.backward._zeros(grad_output, input_sizes)
    return torch.diagonal_scatter(zeros, grad_output, offset, dim1, dim2)


def diag_backward(grad: Tensor, input_sizes: List[int], diagonal: int) -> Tensor:
    if len(input_sizes) == 1 or input_sizes[0] == input_sizes[1]:
        result = torch.diag(grad, diagonal)
    else:
        result = torch.diagonal_backward(grad, input_sizes, diagonal, 0, 1)
    return result


def trace_backward(grad: Tensor, sizes: List[int]) -> Tensor:
    if len(sizes) != 2:
        torch.ops.ctsc.fail("expected matrix input")
    flat = __torch__.operators.backward._zeros(grad, [sizes[0] * sizes[1]])
    # also beyond the last column of the diagonal, where there are more rows than columns
    at = torch.arange(0, sizes[0] * sizes[1], sizes[1] + 1, dtype=4, layout=None, device=grad.device, pin_memory=None)
    return torch.reshape(torch.index_fill(flat, 0, at, grad), sizes)


def index_select_backward(grad: Tensor, self_sizes: List[int], dim: int, index: Tensor) -> Tensor:
    return torch.index_add(__torch__.operators.backward._zeros(grad, self_sizes), dim, index, grad)


def unfold_backward(grad_in: Tensor, input_sizes: List[int], dim: int, size: int, step: int) -> Tensor:
    zeros = __torch__.operators.backward._zeros(grad_in, input_sizes)
    if len(input_sizes) == 0:
        return torch.reshape(torch.sum(grad_in), [])
    along = dim
    if dim < 0:
        along = dim + len(input_sizes)
    windows = torch.arange(0, grad_in.size(along), 1, dtype=4, layout=None, device=grad_in.device, pin_memory=None) * step
    taps = torch.arange(0, size, 1, dtype=4, layout=None, device=grad_in.device, pin_memory=None)
    at = torch.reshape(torch.unsqueeze(windows, 1) + taps, [-1])
    parts = torch.flatten(torch.movedim(grad_in, -1, along + 1), along, along + 1)
    return torch.index_add(zeros, along, at, parts)


def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    zeros = torch.zeros_like(input + torch.to(torch.zeros_like(mask), input.dtype), memory_format=0)
    return torch.masked_scatter(zeros, mask, grad)


def value_selecting_reduction_backward(grad: Tensor, dim: int, indices: Tensor, sizes: List[int], keepdim: bool) -> Tensor:
    g = grad
    at = indices
    if not keepdim and len(sizes) > 0:
        g = torch.unsqueeze(grad, dim)
        at = torch.unsqueeze(indices, dim)
    return torch.scatter(__torch__.operators.backward._zeros(grad, sizes), dim, at, g)


def _cumsum_backwards(t: Tensor, dim: int) -> Tensor:
    if t.numel() > 1 and t.size(dim) > 1:
        t = torch.flip(torch.cumsum(torch.flip(t, [dim]), dim), [dim])
    return t


def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    if input.numel() <= 1:
        return torch.clone(grad)
    if input.size(dim) == 1:
        return grad
    y = output
    x = input
    if torch.is_complex(output):
        y = torch.conj(output)
        x = torch.conj(input)
    w = y * grad
    is_zero = torch.eq(input, 0)
    if not bool(torch.any(is_zero)):
        return torch.div(__torch__.operators.backward._cumsum_backwards(w, dim), x)
    # Before the first zero of a row as above; at it, the products without it; 0 after it.
    count = torch.cumsum(torch.to(is_zero, 4), dim)
    before = torch.eq(count, 0)
    nothing = torch.zeros_like(w)
    result = torch.div(__torch__.operators.backward._cumsum_backwards(torch.where(before, w, nothing), dim), x)
    result = torch.where(before, result, nothing)
    first = torch.logical_and(is_zero, torch.eq(count, 1))
    without = torch.cumprod(torch.where(first, torch.ones_like(x), x), dim)
    sums = torch.sum(torch.where(torch.eq(count, 1), grad * without, nothing), [dim], True)
    return torch.where(first, sums, result)


def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    if input.numel() == 0:
        return input
    return torch.scatter_add(torch.zeros_like(input), dim, indices, grad)
