# SPDX-License-Identifier: Apache-2.0
# What operators are on a device that has no kernel for them, made of operators that have (see ../operators.py; rows are in
# src/runtime/cuda/composed.def). A body fails for arguments that it does not know: then the host's function finds the words.


def _need(ok: bool):
    if not ok:
        torch.ops.ctsc.fail("not done on a device")


def _is_float(t: Tensor) -> bool:
    return t.dtype >= 5 and t.dtype <= 7 or t.dtype == 15


def _reduce(losses: Tensor, reduction: int, like: Tensor) -> Tensor:
    return torch.to(__torch__.operators._reduce(losses, reduction), like.dtype)


# sizes with 1 for all dims but one, for a tensor along that dim
def _along(ndim: int, dim: int) -> List[int]:
    sizes: List[int] = []
    for i in range(ndim):
        sizes.append(1)
    sizes[dim] = -1
    return sizes


# ---- losses ----------------------------------------------------------------------------------------


# which targets count, and their classes, 0 for those that do not
def _classes(self: Tensor, target: Tensor, weight: Optional[Tensor], ignore_index: int) -> Tuple[Tensor, Tensor]:
    channel = min(self.dim() - 1, 1)
    sizes = self.size()
    __torch__.operators.device._need(channel >= 0 and __torch__.operators.device._is_float(self) and (target.dtype == 4 or target.dtype == 0))
    sizes = sizes[:channel] + sizes[channel + 1:]
    __torch__.operators.device._need(target.size() == sizes)
    if weight is not None:
        __torch__.operators.device._need(weight.dtype == self.dtype and weight.size() == [self.size(channel)])
    keep = torch.ne(target, ignore_index)
    return keep, torch.mul(torch.to(target, 4), keep)


# the weight of each target
def _class_weights(self: Tensor, keep: Tensor, index: Tensor, weight: Optional[Tensor]) -> Tensor:
    weights = torch.to(keep, __torch__.operators.backward._wide(self).dtype)
    if weight is not None:
        weights = torch.mul(torch.take(__torch__.operators.backward._wide(weight), index), weights)
    return weights


def nll_loss_nd(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    channel = min(self.dim() - 1, 1)
    keep, index = __torch__.operators.device._classes(self, target, weight, ignore_index)
    weights = __torch__.operators.device._class_weights(self, keep, index, weight)
    picked = torch.squeeze(torch.gather(__torch__.operators.backward._wide(self), channel, torch.unsqueeze(index, channel)), channel)
    losses = torch.where(keep, torch.neg(torch.mul(picked, weights)), torch.zeros_like(weights))
    if reduction == 0:
        loss = losses
    else:
        loss = torch.sum(losses)
        if reduction == 1:
            loss = torch.div(loss, torch.sum(weights))
    return torch.to(loss, self.dtype)


def nll_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    __torch__.operators.device._need(self.dim() <= 2)
    return __torch__.operators.device.nll_loss_nd(self, target, weight, reduction, ignore_index)


def nll_loss2d(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    __torch__.operators.device._need(self.dim() == 4)
    return __torch__.operators.device.nll_loss_nd(self, target, weight, reduction, ignore_index)


# and the sum of the weights that the mean is taken with
def _nll_forward(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tuple[Tensor, Tensor]:
    loss = __torch__.operators.device.nll_loss_nd(self, target, weight, reduction, ignore_index)
    keep, index = __torch__.operators.device._classes(self, target, weight, ignore_index)
    total = torch.sum(__torch__.operators.device._class_weights(self, keep, index, weight))
    if reduction == 0 and self.dim() > 1:
        total = torch.zeros_like(total)
    return loss, torch.to(total, self.dtype)


def nll_loss_forward(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tuple[Tensor, Tensor]:
    __torch__.operators.device._need(self.dim() <= 2)
    return __torch__.operators.device._nll_forward(self, target, weight, reduction, ignore_index)


def nll_loss2d_forward(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tuple[Tensor, Tensor]:
    __torch__.operators.device._need(self.dim() == 4)
    return __torch__.operators.device._nll_forward(self, target, weight, reduction, ignore_index)


# targets are probabilities
def _cross_entropy_soft(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, label_smoothing: float) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and __torch__.operators.device._is_float(target))
    channel = min(self.dim() - 1, 1)
    classes = self.size(channel)
    shares = __torch__.operators.backward._wide(target)
    if label_smoothing > 0.:
        shares = shares * (1. - label_smoothing) + label_smoothing / classes
    products = torch.log_softmax(__torch__.operators.backward._wide(self), channel) * shares
    if weight is not None:
        __torch__.operators.device._need(weight.size() == [classes])
        products = products * torch.reshape(__torch__.operators.backward._wide(weight), __torch__.operators.device._along(self.dim(), channel))
    losses = torch.neg(torch.sum(products, [channel]))
    return __torch__.operators.device._reduce(losses, reduction, self)


def cross_entropy_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, label_smoothing: float) -> Tensor:
    if self.size() == target.size():
        return __torch__.operators.device._cross_entropy_soft(self, target, weight, reduction, label_smoothing)
    channel = min(self.dim() - 1, 1)
    keep, index = __torch__.operators.device._classes(self, target, weight, ignore_index)
    logs = torch.log_softmax(__torch__.operators.backward._wide(self), channel)
    wide: Optional[Tensor] = None
    if weight is not None:
        wide = __torch__.operators.backward._wide(weight)
    loss = __torch__.operators.device.nll_loss_nd(logs, target, wide, reduction, ignore_index)
    if label_smoothing > 0.:
        if wide is not None:
            logs = logs * torch.reshape(wide, __torch__.operators.device._along(self.dim(), channel))
        smooth = torch.neg(torch.sum(logs, [channel]))
        smooth = torch.where(keep, smooth, torch.zeros_like(smooth))
        if reduction != 0:
            smooth = torch.sum(smooth)
            if reduction == 1:
                smooth = smooth / torch.sum(__torch__.operators.device._class_weights(self, keep, index, wide))
        loss = loss * (1. - label_smoothing) + smooth * (label_smoothing / self.size(channel))
    return torch.to(loss, self.dtype)


# the logarithms are cut off at -100 to stay finite
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and target.dtype == self.dtype and target.size() == self.size())
    x = __torch__.operators.backward._wide(self)
    y = __torch__.operators.backward._wide(target)
    losses = (y - 1) * torch.clamp_min(torch.log1p(torch.neg(x)), -100) - y * torch.clamp_min(torch.log(x), -100)
    if weight is not None:
        losses = losses * __torch__.operators.backward._wide(weight)
    return __torch__.operators.device._reduce(losses, reduction, self)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(input) and target.dtype == input.dtype)
    x = __torch__.operators.backward._wide(input)
    y = __torch__.operators.backward._wide(target)
    if log_input:
        losses = torch.exp(x) - y * x
    else:
        losses = x - y * torch.log(x + eps)
    if full:
        # Stirling's approximation of log(target!)
        stirling = y * torch.log(y) - y + torch.log(y * 6.2831853071795862) * 0.5
        losses = losses + torch.where(torch.gt(y, 1), stirling, torch.zeros_like(y))
    return __torch__.operators.device._reduce(losses, reduction, input)


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and target.dtype == self.dtype)
    x = __torch__.operators.backward._wide(self)
    losses = torch.log(torch.exp(torch.neg(x) * __torch__.operators.backward._wide(target)) + 1)
    return __torch__.operators.device._reduce(losses, reduction, self)


def multi_margin_loss(self: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int) -> Tensor:
    __torch__.operators.device._need(self.dim() == 2 and target.dtype == 4 and target.size() == [self.size(0)])
    __torch__.operators.device._need(torch.eq(p, 1) or torch.eq(p, 2))
    x = __torch__.operators.backward._wide(self)
    index = torch.unsqueeze(target, 1)
    losses = torch.clamp_min(torch.add(x - torch.gather(x, 1, index), margin), 0)
    if torch.eq(p, 2):
        losses = torch.square(losses)
    if weight is not None:
        losses = losses * torch.unsqueeze(torch.take(__torch__.operators.backward._wide(weight), target), 1)
    losses = torch.scatter(losses, 1, index, 0)
    return __torch__.operators.device._reduce(torch.div(torch.sum(losses, [1]), self.size(1)), reduction, self)


# ---- normalisation ---------------------------------------------------------------------------------


def _scaled(t: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], sizes: List[int], dtype: int) -> Tensor:
    if weight is not None:
        t = t * torch.reshape(__torch__.operators.backward._wide(weight), sizes)
    if bias is not None:
        t = t + torch.reshape(__torch__.operators.backward._wide(bias), sizes)
    return torch.to(t, dtype)


# rows to mean 0 and variance 1; with the means and the reciprocal deviations
def _rows(rows: Tensor, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    mean = torch.mean(rows, [1], True)
    apart = rows - mean
    rstd = torch.rsqrt(torch.mean(torch.square(apart), [1], True) + eps)
    return apart * rstd, mean, rstd


def native_layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    lead = input.dim() - len(normalized_shape)
    __torch__.operators.device._need(__torch__.operators.device._is_float(input) and lead >= 0 and len(normalized_shape) > 0)
    sizes = input.size()
    width = 1
    for i in range(len(normalized_shape)):
        __torch__.operators.device._need(sizes[lead + i] == normalized_shape[i])
        width = width * normalized_shape[i]
        sizes[lead + i] = 1
    if weight is not None:
        __torch__.operators.device._need(weight.dtype == input.dtype and weight.size() == normalized_shape)
    if bias is not None:
        __torch__.operators.device._need(bias.dtype == input.dtype and bias.size() == normalized_shape)
    rows, mean, rstd = __torch__.operators.device._rows(torch.reshape(__torch__.operators.backward._wide(input), [-1, width]), eps)
    out = __torch__.operators.device._scaled(rows, weight, bias, [width], input.dtype)
    return torch.reshape(out, input.size()), torch.to(torch.reshape(mean, sizes), input.dtype), torch.to(torch.reshape(rstd, sizes), input.dtype)


def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enable: bool) -> Tensor:
    out, mean, rstd = __torch__.operators.device.native_layer_norm(input, normalized_shape, weight, bias, eps)
    return out


def native_group_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], N: int, C: int, HxW: int, group: int, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    __torch__.operators.device._need(__torch__.operators.device._is_float(input) and group > 0 and input.numel() == N * C * HxW)
    __torch__.operators.device._need(C % group == 0 and input.dim() >= 2 and input.size(1) == C)
    if weight is not None:
        __torch__.operators.device._need(weight.dtype == input.dtype and weight.size() == [C])
    if bias is not None:
        __torch__.operators.device._need(bias.dtype == input.dtype and bias.size() == [C])
    rows, mean, rstd = __torch__.operators.device._rows(torch.reshape(__torch__.operators.backward._wide(input), [N * group, -1]), eps)
    out = __torch__.operators.device._scaled(torch.reshape(rows, input.size()), weight, bias, __torch__.operators.device._along(input.dim(), 1), input.dtype)
    return out, torch.to(torch.reshape(mean, [N, group]), input.dtype), torch.to(torch.reshape(rstd, [N, group]), input.dtype)


def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enabled: bool) -> Tensor:
    __torch__.operators.device._need(input.dim() >= 2 and num_groups > 0)
    places = input.numel() // (input.size(0) * input.size(1))
    out, mean, rstd = __torch__.operators.device.native_group_norm(input, weight, bias, input.size(0), input.size(1), places, num_groups, eps)
    return out


def _is_per_channel(t: Optional[Tensor], channels: int) -> bool:
    fits = True
    if t is not None:
        fits = t.size() == [channels]
    return fits


def native_batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    __torch__.operators.device._need(__torch__.operators.device._is_float(input) and input.dim() >= 2)
    channels = input.size(1)
    __torch__.operators.device._need(__torch__.operators.device._is_per_channel(weight, channels) and __torch__.operators.device._is_per_channel(bias, channels))
    __torch__.operators.device._need(__torch__.operators.device._is_per_channel(running_mean, channels) and __torch__.operators.device._is_per_channel(running_var, channels))
    x = __torch__.operators.backward._wide(input)
    sizes = __torch__.operators.device._along(input.dim(), 1)
    if training:
        dims = __torch__.operators.layers._all_but_channels(input)
        save_mean = torch.mean(x, dims)
        var = torch.mean(torch.square(x - torch.reshape(save_mean, sizes)), dims)
        count = input.numel() // channels
        save_invstd = torch.rsqrt(var + eps)
        if running_mean is not None:
            torch.copy_(running_mean, save_mean * momentum + running_mean * (1. - momentum))
        if running_var is not None:
            torch.copy_(running_var, var * (momentum * count / (count - 1)) + running_var * (1. - momentum))
        out = (x - torch.reshape(save_mean, sizes)) * torch.reshape(save_invstd, sizes)
    else:
        save_mean = torch.empty([0], dtype=input.dtype, layout=None, device=input.device, pin_memory=None)
        save_invstd = torch.empty([0], dtype=input.dtype, layout=None, device=input.device, pin_memory=None)
        if running_mean is None or running_var is None:
            torch.ops.ctsc.fail("not done on a device")
            out = x
        else:
            scale = torch.rsqrt(__torch__.operators.backward._wide(running_var) + eps)
            out = (x - torch.reshape(__torch__.operators.backward._wide(running_mean), sizes)) * torch.reshape(scale, sizes)
    return __torch__.operators.device._scaled(out, weight, bias, sizes, input.dtype), torch.to(save_mean, input.dtype), torch.to(save_invstd, input.dtype)


def batch_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    if training:
        __torch__.operators.device._need(input.dim() >= 2 and input.numel() != input.size(1))
    out, mean, invstd = __torch__.operators.device.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return out


# the statistics of each item go into the running ones as their mean
def instance_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(input) and input.dim() >= 3)
    n = input.size(0)
    channels = input.size(1)
    __torch__.operators.device._need(__torch__.operators.device._is_per_channel(weight, channels) and __torch__.operators.device._is_per_channel(bias, channels))
    if not use_input_stats:
        return torch.batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, cudnn_enabled)
    means: Optional[Tensor] = None
    variances: Optional[Tensor] = None
    if running_mean is not None:
        means = torch.repeat(running_mean, [n])
    if running_var is not None:
        variances = torch.repeat(running_var, [n])
    flat = torch.reshape(__torch__.operators.backward._wide(input), [1, n * channels, -1])
    out = torch.reshape(torch.batch_norm(flat, None, None, means, variances, True, momentum, eps, cudnn_enabled), input.size())
    if means is not None:
        if running_mean is not None:
            torch.copy_(running_mean, torch.mean(torch.reshape(means, [n, channels]), [0]))
    if variances is not None:
        if running_var is not None:
            torch.copy_(running_var, torch.mean(torch.reshape(variances, [n, channels]), [0]))
    return __torch__.operators.device._scaled(out, weight, bias, __torch__.operators.device._along(input.dim(), 1), input.dtype)


# ---- reductions ------------------------------------------------------------------------------------


def var_mean(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, unbiased), torch.mean(self)


def var_mean__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, unbiased, keepdim), torch.mean(self, dim, keepdim)


def var_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[int], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim)


def std_mean(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, unbiased), torch.mean(self)


def std_mean__dim(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, dim, unbiased, keepdim), torch.mean(self, dim, keepdim)


def std_mean__correction(self: Tensor, dim: Optional[List[int]], correction: Optional[int], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim)


def nanmean(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self))
    there = torch.logical_not(torch.isnan(self))
    return torch.div(torch.nansum(self, dim, keepdim, dtype=dtype), torch.sum(there, dim, keepdim))


# the lower of two in the middle; the first NaN where there is one
def median__dim(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    __torch__.operators.device._need(self.dim() > 0 and self.dtype != 11)
    values, places = torch.sort(self, stable=True, dim=dim, descending=False)
    n = self.size(dim)
    rank = torch.sub(n, torch.sum(torch.isnan(self), [dim], True))
    rank = torch.where(torch.eq(rank, n), torch.full_like(rank, (n - 1) // 2), rank)
    values = torch.gather(values, dim, rank)
    places = torch.gather(places, dim, rank)
    if not keepdim:
        values = torch.squeeze(values, dim)
        places = torch.squeeze(places, dim)
    return values, places


def median(self: Tensor) -> Tensor:
    values, places = torch.median(torch.reshape(self, [-1]), 0)
    return values


def trace(self: Tensor) -> Tensor:
    __torch__.operators.device._need(self.dim() == 2)
    return torch.sum(torch.diagonal(self, 0, 0, 1))


def linalg_norm(self: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord is None:
        result = torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    else:
        if dim is None:
            __torch__.operators.device._need(self.dim() == 1)
        else:
            __torch__.operators.device._need(len(dim) == 1)
        result = torch.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)
    return result


def linalg_norm__ord_str(self: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    __torch__.operators.device._need(ord == "fro")
    if dim is None:
        __torch__.operators.device._need(self.dim() == 2)
    else:
        __torch__.operators.device._need(len(dim) == 2)
    return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)


def renorm(self: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and self.dim() > 1)
    keep = __torch__.operators._wrap(dim, self.dim())
    dims: List[int] = []
    for i in range(self.dim()):
        if i != keep:
            dims.append(i)
    x = __torch__.operators.backward._wide(self)
    norms = torch.linalg_vector_norm(x, p, dims, True)
    factors = torch.where(torch.gt(norms, maxnorm), torch.mul(torch.reciprocal(torch.add(norms, 1e-07)), maxnorm), torch.ones_like(norms))
    return torch.to(x * factors, self.dtype)


# ---- products and distances ------------------------------------------------------------------------


def vdot(self: Tensor, other: Tensor) -> Tensor:
    __torch__.operators.device._need(not torch.is_complex(self))
    return torch.dot(self, other)


def linalg_vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(x) and x.dtype == y.dtype)
    return torch.sum(x * y, [dim])


def linalg_cross(self: Tensor, other: Tensor, dim: int) -> Tensor:
    __torch__.operators.device._need(self.dim() == other.dim() and self.size(dim) == 3 and other.size(dim) == 3)
    a = torch.roll(self, [-1], [dim]) * torch.roll(other, [-2], [dim])
    return a - torch.roll(self, [-2], [dim]) * torch.roll(other, [-1], [dim])


def cross(self: Tensor, other: Tensor, dim: Optional[int]) -> Tensor:
    at = -1
    if dim is not None:
        at = dim
    else:
        for i in range(self.dim()):
            if at < 0 and self.size(i) == 3:
                at = i
        __torch__.operators.device._need(at >= 0)
    return torch.linalg_cross(self, other, dim=at)


def kron(self: Tensor, other: Tensor) -> Tensor:
    n = max(self.dim(), other.dim())
    left: List[int] = []
    right: List[int] = []
    sizes: List[int] = []
    for i in range(n):
        a = 1
        b = 1
        if i >= n - self.dim():
            a = self.size(i - (n - self.dim()))
        if i >= n - other.dim():
            b = other.size(i - (n - other.dim()))
        left.append(a)
        left.append(1)
        right.append(1)
        right.append(b)
        sizes.append(a * b)
    return torch.reshape(torch.reshape(self, left) * torch.reshape(other, right), sizes)


def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and n > 0 and self.dim() >= 2 and self.size(-1) == self.size(-2))
    power = self
    result: Optional[Tensor] = None
    rest = n
    while rest > 0:
        if rest % 2 == 1:
            if result is None:
                result = power
            else:
                result = torch.matmul(result, power)
        rest = rest // 2
        if rest > 0:
            power = torch.matmul(power, power)
    if result is None:
        return self
    else:
        return torch.clone(result)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    __torch__.operators.device._need(weight.dim() == 3 and input1.dim() == input2.dim() and input1.dim() > 0)
    __torch__.operators.device._need(input1.size(-1) == weight.size(1) and input2.size(-1) == weight.size(2))
    sizes = input1.size()
    for i in range(len(sizes) - 1):
        __torch__.operators.device._need(sizes[i] == input2.size(i))
    sizes[-1] = weight.size(0)
    products = torch.tensordot(torch.reshape(input1, [-1, weight.size(1)]), weight, [1], [1])
    out = torch.sum(products * torch.unsqueeze(torch.reshape(input2, [-1, weight.size(2)]), 1), [2])
    if bias is not None:
        out = out + bias
    return torch.reshape(out, sizes)


def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: Optional[int]) -> Tensor:
    __torch__.operators.device._need(x1.dtype == x2.dtype and x1.dtype >= 6 and x1.dtype <= 7 and x1.dim() >= 2 and x2.dim() >= 2)
    __torch__.operators.device._need(x1.size(-1) == x2.size(-1) and p >= 0.)
    return torch.linalg_vector_norm(torch.unsqueeze(x1, -2) - torch.unsqueeze(x2, -3), p, [-1])


def pdist(self: Tensor, p: float) -> Tensor:
    __torch__.operators.device._need(self.dtype >= 6 and self.dtype <= 7 and self.dim() == 2 and p >= 0.)
    pairs = torch.triu_indices(self.size(0), self.size(0), 1, dtype=4, layout=None, device=self.device, pin_memory=None)
    first = torch.index_select(self, 0, torch.select(pairs, 0, 0))
    return torch.linalg_vector_norm(first - torch.index_select(self, 0, torch.select(pairs, 0, 1)), p, [-1])


# ---- functions of one element ----------------------------------------------------------------------


def heaviside(self: Tensor, values: Tensor) -> Tensor:
    __torch__.operators.device._need(self.dtype == values.dtype and not torch.is_complex(self))
    return torch.where(torch.eq(self, 0), values, torch.to(torch.gt(self, 0), self.dtype))


def float_power__Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    __torch__.operators.device._need(not torch.is_complex(self) and not torch.is_complex(exponent))
    return torch.pow(torch.to(self, 7), torch.to(exponent, 7))


def float_power__Tensor_Scalar(self: Tensor, exponent: number) -> Tensor:
    __torch__.operators.device._need(not torch.is_complex(self))
    return torch.pow(torch.to(self, 7), exponent)


# by reflection left of 1/2
def _trigamma(x: Tensor) -> Tensor:
    left = torch.lt(x, 0.5)
    zeta = torch.special_zeta(torch.full_like(x, 2), torch.where(left, torch.rsub(x, 1), x))
    return torch.where(left, torch.square(torch.reciprocal(torch.sin(x * 3.1415926535897931)) * 3.1415926535897931) - zeta, zeta)


def polygamma(n: int, self: Tensor) -> Tensor:
    __torch__.operators.device._need(n >= 0 and not torch.is_complex(self))
    x = self
    if not __torch__.operators.device._is_float(self):
        x = torch.to(self, 6)
    wide = __torch__.operators.backward._wide(x)
    if n == 0:
        result = torch.digamma(wide)
    elif n == 1:
        result = __torch__.operators.device._trigamma(wide)
    else:
        factor = -1.
        for i in range(n):
            factor = factor * -(i + 1)
        result = torch.special_zeta(torch.full_like(wide, n + 1), wide) * factor
    return torch.to(result, x.dtype)


def mvlgamma(self: Tensor, p: int) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and p > 0)
    x = self if self.dtype == 6 else torch.to(self, 7)
    result = torch.full_like(torch.to(self, 7), 0.25 * (p * (p - 1)) * 1.1447298858494002)
    for i in range(p):
        result = result + torch.lgamma(torch.to(x - 0.5 * i, 7))
    return torch.to(result, self.dtype)


def isclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    __torch__.operators.device._need(self.dtype == other.dtype and not torch.is_complex(self) and rtol >= 0. and atol >= 0.)
    close = torch.eq(self, other)
    if equal_nan and __torch__.operators.device._is_float(self):
        close = torch.logical_or(close, torch.logical_and(torch.isnan(self), torch.isnan(other)))
    if rtol != 0. or atol != 0.:
        a = self
        b = other
        if not __torch__.operators.device._is_float(self):
            a = torch.to(a, 7)
            b = torch.to(b, 7)
        apart = torch.abs(a - b)
        close = torch.logical_or(close, torch.logical_and(torch.isfinite(apart), torch.le(apart, torch.abs(b * rtol) + atol)))
    return close


def isreal(self: Tensor) -> Tensor:
    if torch.is_complex(self):
        return torch.eq(torch.imag(self), 0)
    return torch.ones_like(self, dtype=11)


# ---- complex numbers -------------------------------------------------------------------------------


def complex(real: Tensor, imag: Tensor) -> Tensor:
    __torch__.operators.device._need(real.dtype == imag.dtype and real.dtype >= 6 and real.dtype <= 7)
    a, b = torch.broadcast_tensors([real, imag])
    return torch.view_as_complex(torch.stack([a, b], -1))


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    __torch__.operators.device._need(abs.dtype == angle.dtype and abs.dtype >= 6 and abs.dtype <= 7)
    return torch.complex(abs * torch.cos(angle), abs * torch.sin(angle))


def _imag(t: Tensor) -> Tensor:
    if torch.is_complex(t):
        return torch.imag(t)
    return torch.zeros_like(t)


def _real(t: Tensor) -> Tensor:
    if torch.is_complex(t):
        return torch.real(t)
    return t


def _is_complex(t: Tensor) -> bool:
    return t.dtype == 9 or t.dtype == 10


def _need_complex(a: Tensor, b: Tensor):
    __torch__.operators.device._need((__torch__.operators.device._is_complex(a) or __torch__.operators.device._is_complex(b)) and a.dtype != 8 and b.dtype != 8)


def add__Tensor(self: Tensor, other: Tensor, alpha: number) -> Tensor:
    __torch__.operators.device._need_complex(self, other)
    real = torch.add(__torch__.operators.device._real(self), __torch__.operators.device._real(other), alpha=alpha)
    return torch.complex(real, torch.add(__torch__.operators.device._imag(self), __torch__.operators.device._imag(other), alpha=alpha))


def sub__Tensor(self: Tensor, other: Tensor, alpha: number) -> Tensor:
    __torch__.operators.device._need_complex(self, other)
    real = torch.sub(__torch__.operators.device._real(self), __torch__.operators.device._real(other), alpha=alpha)
    return torch.complex(real, torch.sub(__torch__.operators.device._imag(self), __torch__.operators.device._imag(other), alpha=alpha))


def mul__Tensor(self: Tensor, other: Tensor) -> Tensor:
    __torch__.operators.device._need_complex(self, other)
    a = __torch__.operators.device._real(self)
    c = __torch__.operators.device._real(other)
    if not torch.is_complex(self):
        return torch.complex(a * c, a * torch.imag(other))
    b = torch.imag(self)
    if not torch.is_complex(other):
        return torch.complex(a * c, b * c)
    d = torch.imag(other)
    return torch.complex(a * c - b * d, a * d + b * c)


def div__Tensor(self: Tensor, other: Tensor) -> Tensor:
    __torch__.operators.device._need_complex(self, other)
    a = __torch__.operators.device._real(self)
    c = __torch__.operators.device._real(other)
    if not torch.is_complex(other):
        return torch.complex(a / c, torch.imag(self) / c)
    b = __torch__.operators.device._imag(self)
    d = torch.imag(other)
    # the larger part of the divisor goes out of both, so that no square overflows
    scale = torch.maximum(torch.abs(c), torch.abs(d))
    c = c / scale
    d = d / scale
    square = (c * c + d * d) * scale
    return torch.complex((a * c + b * d) / square, (b * c - a * d) / square)


# a number as a tensor that a complex one can meet
def _number(self: Tensor, other: number) -> Tensor:
    return torch.scalar_tensor(other, dtype=torch.result_type(self, other), layout=None, device=self.device, pin_memory=None)


def add__Scalar(self: Tensor, other: number, alpha: number) -> Tensor:
    return torch.add(self, __torch__.operators.device._number(self, other), alpha=alpha)


def sub__Scalar(self: Tensor, other: number, alpha: number) -> Tensor:
    return torch.sub(self, __torch__.operators.device._number(self, other), alpha=alpha)


def mul__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.mul(self, __torch__.operators.device._number(self, other))


def div__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.div(self, __torch__.operators.device._number(self, other))


def mm(self: Tensor, mat2: Tensor) -> Tensor:
    return torch.matmul(self, mat2)


def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    return torch.matmul(self, mat2)


def matmul(self: Tensor, other: Tensor) -> Tensor:
    __torch__.operators.device._need(self.dtype == other.dtype and __torch__.operators.device._is_complex(self))
    a = torch.real(self)
    b = torch.imag(self)
    c = torch.real(other)
    d = torch.imag(other)
    return torch.complex(torch.matmul(a, c) - torch.matmul(b, d), torch.matmul(a, d) + torch.matmul(b, c))


def neg(self: Tensor) -> Tensor:
    __torch__.operators.device._need_complex(self, self)
    return torch.complex(torch.neg(torch.real(self)), torch.neg(torch.imag(self)))


def abs(self: Tensor) -> Tensor:
    __torch__.operators.device._need_complex(self, self)
    return torch.hypot(torch.real(self), torch.imag(self))


def angle(self: Tensor) -> Tensor:
    __torch__.operators.device._need_complex(self, self)
    return torch.atan2(torch.imag(self), torch.real(self))


def exp(self: Tensor) -> Tensor:
    __torch__.operators.device._need_complex(self, self)
    return torch.polar(torch.exp(torch.real(self)), torch.imag(self))


def conj(self: Tensor) -> Tensor:
    if not torch.is_complex(self):
        return self
    return torch.complex(torch.real(self), torch.neg(torch.imag(self)))


def conj_physical(self: Tensor) -> Tensor:
    return torch.conj(self)


def _conj(self: Tensor) -> Tensor:
    return torch.conj(self)


# ---- places ----------------------------------------------------------------------------------------


def one_hot(self: Tensor, num_classes: int) -> Tensor:
    __torch__.operators.device._need(self.dtype == 4 and num_classes != 0)
    classes = num_classes
    if classes < 0:
        __torch__.operators.device._need(classes == -1)
        classes = int(torch.item(torch.max(self))) + 1
    sizes = self.size()
    sizes.append(classes)
    places = torch.unsqueeze(self, -1)
    return torch.scatter(torch.zeros(sizes, dtype=4, layout=None, device=self.device, pin_memory=None), -1, places, 1)


def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    __torch__.operators.device._need(self.dtype == source.dtype and (mask.dtype == 11 or mask.dtype == 0) and torch.is_contiguous(self))
    mask = torch.expand(torch.to(mask, 11), self.size())
    rank = torch.cumsum(torch.reshape(mask, [-1]), 0) - 1
    return torch.where(mask, torch.reshape(torch.take(source, torch.clamp_min(rank, 0)), self.size()), self)


def scatter_reduce__two(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    __torch__.operators.device._need(reduce == "mean")
    sums = torch.scatter_reduce(self, dim, index, src, "sum", include_self=include_self)
    if include_self:
        counts = torch.ones_like(self)
    else:
        counts = torch.zeros_like(self)
    counts = torch.clamp_min(torch.scatter_add(counts, dim, index, torch.ones_like(src)), 1)
    if __torch__.operators.device._is_float(self):
        return torch.div(sums, counts)
    return torch.div(sums, counts, rounding_mode="floor")


def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    __torch__.operators.device._need(self.dtype == source.dtype and index.dtype == 4 and index.numel() == source.numel())
    places: List[Optional[Tensor]] = [torch.reshape(index, [-1])]
    flat = torch.index_put(torch.reshape(self, [-1]), places, torch.reshape(source, [-1]), accumulate)
    return torch.reshape(flat, self.size())


def isin__Tensor_Tensor(elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    found = torch.any(torch.eq(torch.unsqueeze(elements, -1), torch.reshape(test_elements, [-1])), -1)
    if invert:
        found = torch.logical_not(found)
    return found


# starts of runs of equal elements; runs of each element; how long they are
def _runs(flat: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    n = flat.size(0)
    differs = torch.ne(torch.narrow(flat, 0, 1, n - 1), torch.narrow(flat, 0, 0, n - 1))
    first = torch.cat([torch.ones([1], dtype=11, layout=None, device=flat.device, pin_memory=None), differs], 0)
    starts = torch.reshape(torch.nonzero(first), [-1])
    ends = torch.cat([torch.narrow(starts, 0, 1, starts.size(0) - 1), torch.full([1], n, dtype=4, layout=None, device=flat.device, pin_memory=None)], 0)
    return starts, torch.cumsum(first, 0) - 1, ends - starts


def _asked(t: Tensor, asked: bool) -> Tensor:
    if asked:
        return t
    return torch.empty([0], dtype=4, layout=None, device=t.device, pin_memory=None)


def _unique2(self: Tensor, sorted: bool, return_inverse: bool, return_counts: bool) -> Tuple[Tensor, Tensor, Tensor]:
    __torch__.operators.device._need(not torch.is_complex(self))
    values, order = torch.sort(torch.reshape(self, [-1]), stable=True, dim=0, descending=False)
    starts, run, counts = __torch__.operators.device._runs(values)
    inverse = torch.reshape(torch.scatter(run, 0, order, run), self.size())
    return torch.index_select(values, 0, starts), __torch__.operators.device._asked(inverse, return_inverse), __torch__.operators.device._asked(counts, return_counts)


def unique_consecutive(self: Tensor, return_inverse: bool, return_counts: bool, dim: Optional[int]) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        __torch__.operators.device._need(self.dim() == 1)
    flat = torch.reshape(self, [-1])
    starts, run, counts = __torch__.operators.device._runs(flat)
    return torch.index_select(flat, 0, starts), __torch__.operators.device._asked(torch.reshape(run, self.size()), return_inverse), __torch__.operators.device._asked(counts, return_counts)


def bincount(self: Tensor, weights: Optional[Tensor], minlength: int) -> Tensor:
    __torch__.operators.device._need(self.dim() == 1 and self.dtype <= 4 and minlength >= 0)
    places = torch.to(self, 4)
    least, most = torch.aminmax(places)
    __torch__.operators.device._need(int(torch.item(least)) >= 0)
    n = max(int(torch.item(most)) + 1, minlength)
    if weights is None:
        amounts = torch.ones_like(places)
    else:
        amounts = weights
        if weights.dtype != 6:
            amounts = torch.to(weights, 7)
    return torch.scatter_add(torch.zeros([n], dtype=amounts.dtype, layout=None, device=self.device, pin_memory=None), 0, places, amounts)


# ---- windows ---------------------------------------------------------------------------------------


def _windows(size: int, kernel: int, dilation: int, padding: int, stride: int) -> int:
    __torch__.operators.device._need(kernel > 0 and dilation > 0 and stride > 0 and padding >= 0)
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _pairs(kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]):
    __torch__.operators.device._need(len(kernel_size) == 2 and len(dilation) == 2 and len(padding) == 2 and len(stride) == 2)


def im2col(self: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and (self.dim() == 3 or self.dim() == 4))
    __torch__.operators.device._pairs(kernel_size, dilation, padding, stride)
    rows = __torch__.operators.device._windows(self.size(-2), kernel_size[0], dilation[0], padding[0], stride[0])
    cols = __torch__.operators.device._windows(self.size(-1), kernel_size[1], dilation[1], padding[1], stride[1])
    __torch__.operators.device._need(rows > 0 and cols > 0)
    x = self
    if self.dim() == 3:
        x = torch.unsqueeze(self, 0)
    x = torch.contiguous(torch.constant_pad_nd(x, [padding[1], padding[1], padding[0], padding[0]], 0))
    width = x.size(3)
    plane = x.size(2) * width
    sizes = [x.size(0), x.size(1), kernel_size[0], kernel_size[1], rows, cols]
    strides = [x.size(1) * plane, plane, dilation[0] * width, dilation[1], stride[0] * width, stride[1]]
    columns = torch.reshape(torch.as_strided(x, sizes, strides, torch.storage_offset(x)), [x.size(0), x.size(1) * kernel_size[0] * kernel_size[1], rows * cols])
    if self.dim() == 3:
        columns = torch.squeeze(columns, 0)
    return columns


def col2im(self: Tensor, output_size: List[int], kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    __torch__.operators.device._need(__torch__.operators.device._is_float(self) and (self.dim() == 2 or self.dim() == 3) and len(output_size) == 2)
    __torch__.operators.device._pairs(kernel_size, dilation, padding, stride)
    rows = __torch__.operators.device._windows(output_size[0], kernel_size[0], dilation[0], padding[0], stride[0])
    cols = __torch__.operators.device._windows(output_size[1], kernel_size[1], dilation[1], padding[1], stride[1])
    taps = kernel_size[0] * kernel_size[1]
    __torch__.operators.device._need(rows > 0 and cols > 0 and self.size(-2) % taps == 0 and self.size(-1) == rows * cols)
    x = self
    if self.dim() == 2:
        x = torch.unsqueeze(self, 0)
    x = torch.reshape(__torch__.operators.backward._wide(x), [x.size(0), x.size(1) // taps, kernel_size[0], kernel_size[1], rows, cols])
    out = torch.zeros([x.size(0), x.size(1), output_size[0] + 2 * padding[0], output_size[1] + 2 * padding[1]], dtype=x.dtype, layout=None, device=x.device, pin_memory=None)
    for i in range(kernel_size[0]):
        at = i * dilation[0]
        lines = torch.slice(out, 2, at, at + (rows - 1) * stride[0] + 1, stride[0])
        for k in range(kernel_size[1]):
            to = k * dilation[1]
            torch.add_(torch.slice(lines, 3, to, to + (cols - 1) * stride[1] + 1, stride[1]), torch.select(torch.select(x, 2, i), 2, k))
    out = torch.narrow(torch.narrow(out, 2, padding[0], output_size[0]), 3, padding[1], output_size[1])
    out = torch.to(torch.contiguous(out), self.dtype)
    if self.dim() == 2:
        out = torch.squeeze(out, 0)
    return out


def max_unpool2d(self: Tensor, indices: Tensor, output_size: List[int]) -> Tensor:
    __torch__.operators.device._need(indices.dtype == 4 and indices.size() == self.size() and len(output_size) == 2 and (self.dim() == 3 or self.dim() == 4))
    sizes = self.size()
    lines = torch.flatten(indices, -2, -1)
    sizes[-2] = output_size[0]
    sizes[-1] = output_size[1]
    zeros = torch.flatten(torch.zeros(sizes, dtype=self.dtype, layout=None, device=self.device, pin_memory=None), -2, -1)
    return torch.reshape(torch.scatter(zeros, -1, lines, torch.flatten(self, -2, -1)), sizes)
