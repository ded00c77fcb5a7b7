# SPDX-License-Identifier: Apache-2.0
# Derivatives of layers: normalisation, convolution, products, embeddings, distances, paths of labels (see ../operators.py). A result that
# output_mask leaves out is None.


# ---- normalisation ---------------------------------------------------------------------------------


def native_layer_norm_backward(grad_out: Tensor, input: Tensor, normalized_shape: List[int], mean: Tensor, rstd: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    lead = input.dim() - len(normalized_shape)
    inner: List[int] = []
    outer: List[int] = []
    for i in range(input.dim()):
        if i < lead:
            outer.append(i)
        else:
            inner.append(i)
    __torch__.operators.backward._check_real("LayerNormBackwardKernelImpl", input, input)
    g = __torch__.operators.backward._wide(grad_out)
    normal = (__torch__.operators.backward._wide(input) - mean) * rstd
    grad_input: Optional[Tensor] = None
    grad_weight: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if output_mask[0]:
        scaled = g
        if weight is not None:
            scaled = g * __torch__.operators.backward._wide(weight)
        if input.numel() == 0:
            grad_input = torch.zeros_like(input)
        else:
            centred = scaled - torch.mean(scaled, inner, True) - normal * torch.mean(scaled * normal, inner, True)
            grad_input = torch.to(centred * rstd, input.dtype)
    if output_mask[1]:
        grad_weight = torch.to(__torch__.operators.layers._sum_over(g * normal, outer), input.dtype)
    if output_mask[2]:
        grad_bias = torch.to(__torch__.operators.layers._sum_over(g, outer), input.dtype)
    return grad_input, grad_weight, grad_bias


# no dims: no sum
def _sum_over(t: Tensor, dims: List[int]) -> Tensor:
    if len(dims) > 0:
        t = torch.sum(t, dims)
    return t


def native_group_norm_backward(grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Optional[Tensor], N: int, C: int, HxW: int, group: int, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    sizes = [N, group, C // max(group, 1), HxW]
    __torch__.operators.backward._check_real("GroupNormBackwardKernelImpl", input, input)
    g = torch.reshape(__torch__.operators.backward._wide(grad_out), sizes)
    spread = torch.reshape(rstd, [N, group, 1, 1])
    normal = (torch.reshape(__torch__.operators.backward._wide(input), sizes) - torch.reshape(mean, [N, group, 1, 1])) * spread
    grad_input: Optional[Tensor] = None
    grad_weight: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if output_mask[0]:
        scaled = g
        if weight is not None:
            scaled = g * torch.reshape(__torch__.operators.backward._wide(weight), [1, group, C // max(group, 1), 1])
        centred = scaled - torch.mean(scaled, [2, 3], True) - normal * torch.mean(scaled * normal, [2, 3], True)
        grad_input = torch.reshape(torch.to(centred * spread, input.dtype), input.size())
    if output_mask[1]:
        grad_weight = torch.to(torch.reshape(torch.sum(g * normal, [0, 3]), [C]), input.dtype)
    if output_mask[2]:
        grad_bias = torch.to(torch.reshape(torch.sum(g, [0, 3]), [C]), input.dtype)
    return grad_input, grad_weight, grad_bias


# channels stand in dim 1
def _by_channel(t: Tensor, like: Tensor) -> Tensor:
    sizes: List[int] = []
    for i in range(like.dim()):
        sizes.append(1)
    sizes[1] = -1
    return torch.reshape(t, sizes)


def _all_but_channels(t: Tensor) -> List[int]:
    dims: List[int] = []
    for i in range(t.dim()):
        if i != 1:
            dims.append(i)
    return dims


def native_batch_norm_backward(grad_out: Tensor, input: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], save_mean: Optional[Tensor], save_invstd: Optional[Tensor], train: bool, eps: float, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    __torch__.operators.backward._check_real("batch_norm_backward_cpu", input, input)
    g = __torch__.operators.backward._wide(grad_out)
    x = __torch__.operators.backward._wide(input)
    if train:
        mean = __torch__.operators.layers._given(save_mean)
        spread = __torch__.operators.backward._wide(__torch__.operators.layers._given(save_invstd))
    else:
        mean = __torch__.operators.layers._given(running_mean)
        spread = torch.rsqrt(__torch__.operators.backward._wide(__torch__.operators.layers._given(running_var)) + eps)
    dims = __torch__.operators.layers._all_but_channels(input)
    centred = x - __torch__.operators.layers._by_channel(__torch__.operators.backward._wide(mean), input)
    total = torch.sum(g, dims)
    dots = torch.sum(centred * g, dims)
    grad_input: Optional[Tensor] = None
    grad_weight: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if output_mask[0]:
        scale = spread
        if weight is not None:
            scale = spread * __torch__.operators.backward._wide(weight)
        inner = g
        if train:
            n = max(input.numel() // max(input.size(1), 1), 1)
            slope = dots * spread * spread / n
            inner = g - centred * __torch__.operators.layers._by_channel(slope, input) - __torch__.operators.layers._by_channel(total / n, input)
        grad_input = torch.to(inner * __torch__.operators.layers._by_channel(scale, input), input.dtype)
    if output_mask[1]:
        grad_weight = torch.to(dots * spread, __torch__.operators.layers._dtype_of(weight, input))
    if output_mask[2]:
        grad_bias = torch.to(total, __torch__.operators.layers._dtype_of(weight, input))
    return grad_input, grad_weight, grad_bias


def _given(t: Optional[Tensor]) -> Tensor:
    if t is None:
        torch.ops.ctsc.fail("Expected a tensor of statistics, but got None")
        return torch.zeros([0], dtype=None, layout=None, device=None, pin_memory=None)
    else:
        return t


def _dtype_of(t: Optional[Tensor], other: Tensor) -> int:
    dtype = other.dtype
    if t is not None:
        dtype = t.dtype
    return dtype


def _weight_norm_interface_backward(grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    if not saved_v.is_contiguous() or not saved_g.is_contiguous() or not saved_norms.is_contiguous():
        torch.ops.ctsc.fail("saved_v, saved_g and saved_norms must be contiguous")
    dims: List[int] = []
    for i in range(saved_v.dim()):
        if i != dim:
            dims.append(i)
    norms = torch.to(saved_norms, saved_g.dtype)
    dots = torch.reshape(torch.sum(grad_w * saved_v, dims, True), saved_g.size())
    grad_v = (saved_g / norms) * (grad_w - saved_v * (dots / (norms * norms)))
    return grad_v, dots / norms


def _weight_norm_differentiable_backward(grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    return torch._weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim)


# ---- convolution -----------------------------------------------------------------------------------


# For each place of the kernel, products with the elements under it: `moved` is read at place * dilation + stride * output - padding.
# moved: [N, groups * a, ..], fixed: [N, groups * b, outputs]; the result: [groups * b, a, kernel]
def conv_weight_grad(moved: Tensor, fixed: Tensor, kernel: List[int], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    n = len(kernel)
    batch = moved.size(0)
    pads: List[int] = []
    count = 1
    for i in range(n):
        k = n - 1 - i
        reach = (fixed.size(k + 2) - 1) * stride[k] + (kernel[k] - 1) * dilation[k] + 1
        pads.append(padding[k])
        pads.append(max(reach - padding[k] - moved.size(k + 2), 0))
        count = count * kernel[k]
    padded = torch.constant_pad_nd(moved, pads, 0)
    a = moved.size(1) // groups
    b = fixed.size(1) // groups
    right = torch.reshape(torch.permute(torch.reshape(fixed, [batch, groups, b, -1]), [1, 2, 0, 3]), [groups, b, -1])
    parts: List[Tensor] = []
    for place in range(count):
        under = padded
        rest = place
        for i in range(n):
            k = n - 1 - i
            begin = rest % kernel[k] * dilation[k]
            rest = rest // kernel[k]
            under = torch.slice(under, k + 2, begin, begin + (fixed.size(k + 2) - 1) * stride[k] + 1, stride[k])
        left = torch.reshape(torch.permute(torch.reshape(under, [batch, groups, a, -1]), [1, 0, 3, 2]), [groups, -1, a])
        parts.append(torch.bmm(right, left))
    return torch.reshape(torch.stack(parts, -1), [groups * b, a] + kernel)


def _filled(values: List[int], n: int) -> List[int]:
    if len(values) == 1 and n > 1:
        return values * n
    return values


def _convolution_grads(grad_output: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, groups: int, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    n = weight.dim() - 2
    if grad_output.dim() != weight.dim() or input.dim() != weight.dim():
        torch.ops.ctsc.fail("Expected input and weight to have the same number of dims as grad_output, but got {}, {} and {}".format(input.size(), weight.size(), grad_output.size()))
    stride = __torch__.operators.layers._filled(stride, n)
    padding = __torch__.operators.layers._filled(padding, n)
    dilation = __torch__.operators.layers._filled(dilation, n)
    kernel = torch.slice(weight.size(), 2, 9223372036854775807, 1)
    g = grad_output
    grad_input: Optional[Tensor] = None
    grad_weight: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if output_mask[0]:
        zeros: List[int] = []
        extra: List[int] = []
        for i in range(n):
            zeros.append(0)
            extra.append(input.size(i + 2) - ((g.size(i + 2) - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel[i] - 1) + 1))
        if input.numel() == 0:
            grad_input = torch.zeros_like(input)
        elif transposed:
            # an output padding beyond the stride makes room for windows that no input had
            spread = torch.convolution(g, weight, None, stride, padding, dilation, False, zeros, groups)
            for i in range(n):
                spread = torch.slice(spread, i + 2, 0, input.size(i + 2), 1)
            grad_input = spread
        else:
            grad_input = torch.convolution(g, weight, None, stride, padding, dilation, True, extra, groups)
    if output_mask[1]:
        if input.numel() == 0:
            grad_weight = torch.zeros_like(weight)
        elif transposed:
            grad_weight = torch.ops.ctsc.conv_weight_grad(g, input, kernel, stride, padding, dilation, groups)
        else:
            grad_weight = torch.ops.ctsc.conv_weight_grad(input, g, kernel, stride, padding, dilation, groups)
    if output_mask[2]:
        grad_bias = torch.sum(g, __torch__.operators.layers._all_but_channels(g))
    return grad_input, grad_weight, grad_bias


def convolution_backward(grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    return __torch__.operators.layers._convolution_grads(grad_output, input, weight, stride, padding, dilation, transposed, groups, output_mask)


def convolution_backward_overrideable(grad_output: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    return __torch__.operators.layers._convolution_grads(grad_output, input, weight, stride, padding, dilation, transposed, groups, output_mask)


def _slow_conv2d_backward__output_mask(grad_output: Tensor, self: Tensor, weight: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    return __torch__.operators.layers._convolution_grads(grad_output, self, weight, stride, padding, [1, 1], False, 1, output_mask)


# self: the grad of [time, batch, out]; weight: [kernel, in, out]
def conv_tbc_backward(self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tuple[Tensor, Tensor, Tensor]:
    g = torch.permute(self, [1, 2, 0])
    kernels = torch.permute(weight, [2, 1, 0])
    steps = torch.permute(input, [1, 2, 0])
    grad_input = torch.convolution(g, kernels, None, [1], [pad], [1], True, [0], 1)
    grad_weight = torch.ops.ctsc.conv_weight_grad(steps, g, [weight.size(0)], [1], [pad], [1], 1)
    return torch.permute(grad_input, [2, 0, 1]), torch.permute(grad_weight, [2, 1, 0]), torch.sum(self, [0, 1])


# ---- products --------------------------------------------------------------------------------------


def linear_backward(self: Tensor, grad_output: Tensor, weight: Tensor, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    g = torch.reshape(grad_output, [-1, grad_output.size(-1)])
    grad_input: Optional[Tensor] = None
    grad_weight: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if output_mask[0]:
        grad_input = torch.reshape(torch.mm(g, weight), self.size())
    if output_mask[1]:
        grad_weight = torch.mm(torch.t(g), torch.reshape(self, [-1, self.size(-1)]))
    if output_mask[2]:
        grad_bias = torch.sum(g, [0])
    return grad_input, grad_weight, grad_bias


def matmul_backward(grad: Tensor, self: Tensor, other: Tensor, mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    left = self
    right = other
    g = grad
    if other.dim() == 1:
        right = torch.unsqueeze(other, 1)
        g = torch.unsqueeze(g, -1)
    if self.dim() == 1:
        left = torch.unsqueeze(self, 0)
        g = torch.unsqueeze(g, -2)
    grad_self: Optional[Tensor] = None
    grad_other: Optional[Tensor] = None
    if mask[0]:
        grad_self = torch.reshape(torch.sum_to_size(torch.matmul(g, torch.conj(torch.transpose(right, -1, -2))), left.size()), self.size())
    if mask[1]:
        grad_other = torch.reshape(torch.sum_to_size(torch.matmul(torch.conj(torch.transpose(left, -1, -2)), g), right.size()), other.size())
    return grad_self, grad_other


# ---- embeddings ------------------------------------------------------------------------------------


def embedding_dense_backward(grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    at = torch.reshape(indices, [-1])
    rows = torch.reshape(grad_output, [at.numel(), grad_output.size(-1)])
    zeros = torch.zeros([num_weights, grad_output.size(-1)], dtype=grad_output.dtype, layout=None, device=grad_output.device, pin_memory=None)
    if scale_grad_by_freq and at.numel() > 0:
        counts = torch.bincount(at, None, num_weights)
        rows = rows / torch.to(torch.unsqueeze(torch.index_select(counts, 0, at), 1), rows.dtype)
    if padding_idx >= 0:
        rows = torch.where(torch.unsqueeze(torch.ne(at, padding_idx), 1), rows, torch.zeros_like(rows))
    return torch.index_add(zeros, 0, at, rows)


# ---- distances -------------------------------------------------------------------------------------


# what a difference weighs in the p-norm `dist`, times grad
def _norm_slope(difference: Tensor, grad: Tensor, dist: Tensor, p: float) -> Tensor:
    nothing = torch.zeros_like(difference)
    if p == 0:
        return nothing
    if p == 1:
        return grad * torch.sign(difference)
    if p == 2:
        return torch.where(torch.eq(dist, 0), nothing, grad * difference / dist)
    size = torch.abs(difference)
    if p == float("inf"):
        return grad * torch.sign(difference) * torch.to(torch.eq(size, dist), grad.dtype)
    if p < 2:
        slope = torch.sign(difference) * torch.pow(size, p - 1) * grad / torch.pow(dist, p - 1)
        return torch.where(torch.logical_or(torch.eq(dist, 0), torch.logical_and(torch.eq(difference, 0), torch.full_like(difference, 1., dtype=11))), nothing, slope)
    return torch.where(torch.eq(dist, 0), nothing, difference * torch.pow(size, p - 2) * grad / torch.pow(dist, p - 1))


def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    difference = torch.unsqueeze(x1, -2) - torch.unsqueeze(x2, -3)
    slope = __torch__.operators.layers._norm_slope(difference, torch.unsqueeze(grad, -1), torch.unsqueeze(cdist, -1), p)
    return torch.sum(slope, [-2])


def _pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    n = self.size(0)
    pairs = torch.triu_indices(n, n, 1, dtype=4, layout=None, device=self.device, pin_memory=None)
    first = torch.select(pairs, 0, 0)
    second = torch.select(pairs, 0, 1)
    difference = torch.index_select(self, 0, first) - torch.index_select(self, 0, second)
    slope = __torch__.operators.layers._norm_slope(difference, torch.unsqueeze(grad, 1), torch.unsqueeze(pdist, 1), p)
    return torch.index_add(torch.index_add(torch.zeros_like(self, memory_format=0), 0, first, slope), 0, second, slope, alpha=-1)


# ---- coordinates -----------------------------------------------------------------------------------


def affine_grid_generator_backward(grad: Tensor, size: List[int], align_corners: bool) -> Tensor:
    n = len(size) - 2
    batch = grad.size(0)
    units = torch.reshape(torch.eye(n + 1, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None), [n + 1, 1, n + 1])
    theta = torch.repeat(units, [1, n, 1])
    sizes = [n + 1, size[1]] + torch.slice(size, 2, 9223372036854775807, 1)
    # [n + 1, places]: the coordinates that the operator multiplies
    base = torch.reshape(torch.select(torch.affine_grid_generator(theta, sizes, align_corners), -1, 0), [n + 1, -1])
    return torch.transpose(torch.matmul(base, torch.reshape(grad, [batch, -1, n])), 1, 2)


# ---- connectionist temporal classification ---------------------------------------------------------


# A path is in state s (a label for odd s, a blank otherwise) after t steps; log_alpha[n, t, s] is the logarithm of the sum over such beginnings. Of
# the sum over all paths, states at the last step have shares, and each hands its share back to the states before it as they contributed to it.
def _ctc_loss_backward__Tensor(grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, neg_log_likelihood: Tensor, log_alpha: Tensor, blank: int, zero_infinity: bool) -> Tensor:
    logs = torch.unsqueeze(log_probs, 1) if log_probs.dim() == 2 else log_probs
    steps = logs.size(0)
    batch = logs.size(1)
    alpha = torch.reshape(log_alpha, [batch, log_alpha.size(-2), log_alpha.size(-1)])
    states = alpha.size(2)
    device = logs.device
    numbers = torch.arange(states, dtype=4, layout=None, device=device, pin_memory=None)
    lengths = torch.reshape(torch.to(target_lengths, 4), [batch])
    ends = torch.reshape(torch.to(input_lengths, 4), [batch])
    # the label of each state: [batch, states]
    places = torch.unsqueeze(torch.floor_divide(numbers, 2), 0)
    known = torch.lt(torch.unsqueeze(numbers, 0), torch.unsqueeze(lengths * 2 + 1, 1))
    odd = torch.logical_and(torch.logical_and(torch.eq(torch.remainder(numbers, 2), 1), torch.ones_like(known)), known)
    flat = torch.to(torch.reshape(targets, [-1]), 4)
    begins = torch.unsqueeze(torch.cumsum(lengths, 0) - lengths, 1)
    if targets.dim() == 2:
        begins = torch.unsqueeze(torch.arange(batch, dtype=4, layout=None, device=device, pin_memory=None) * targets.size(1), 1)
    labels = torch.full([batch, states], blank, dtype=4, layout=None, device=device, pin_memory=None)
    if flat.numel() > 0:
        at = torch.clamp(begins + places, 0, flat.numel() - 1)
        labels = torch.where(odd, torch.take(flat, at), labels)
    nothing = torch.full([batch, 2], -inf, dtype=alpha.dtype, layout=None, device=device, pin_memory=None)
    # a label may follow a label at once if it is another one
    skips = torch.zeros([batch, states], dtype=11, layout=None, device=device, pin_memory=None)
    if states > 2:
        other = torch.ne(torch.slice(labels, 1, 2, states, 1), torch.slice(labels, 1, 0, states - 2, 1))
        skips = torch.logical_and(odd, torch.cat([torch.slice(skips, 1, 0, 2, 1), other], 1))
    last = torch.logical_or(torch.eq(torch.unsqueeze(numbers, 0), torch.unsqueeze(lengths * 2, 1)), torch.eq(torch.unsqueeze(numbers, 0), torch.unsqueeze(lengths * 2 - 1, 1)))
    loss = torch.reshape(neg_log_likelihood, [batch, 1])
    share = torch.zeros([batch, states], dtype=alpha.dtype, layout=None, device=device, pin_memory=None)
    zeros = share
    occupancies: List[Tensor] = []
    for i in range(steps):
        t = steps - 1 - i
        here = torch.select(alpha, 1, t)
        if t + 1 < steps:
            # what each state got: from itself, from the one before, from the one before that
            to = torch.select(alpha, 1, t + 1)
            emitted = torch.gather(torch.select(logs, 0, t + 1), 1, labels) - to
            before = torch.cat([nothing, here], 1)
            dead = torch.eq(to, -inf)
            stayed = torch.where(dead, zeros, share * torch.exp(here + emitted))
            moved = torch.where(dead, zeros, share * torch.exp(torch.slice(before, 1, 1, states + 1, 1) + emitted))
            jumped = torch.where(torch.logical_or(dead, torch.logical_not(skips)), zeros, share * torch.exp(torch.slice(before, 1, 0, states, 1) + emitted))
            padded = torch.constant_pad_nd(moved, [0, 1], 0)
            share = stayed + torch.slice(padded, 1, 1, states + 1, 1)
            padded = torch.constant_pad_nd(jumped, [0, 2], 0)
            share = share + torch.slice(padded, 1, 2, states + 2, 1)
        ended = torch.unsqueeze(torch.eq(ends, t + 1), 1)
        final = torch.where(torch.logical_and(last, torch.ne(here, -inf)), torch.exp(here + loss), zeros)
        share = torch.where(ended, final, share)
        occupancies.append(torch.scatter_add(torch.zeros_like(torch.select(logs, 0, 0)), 1, labels, share))
    slope = torch.exp(logs) - torch.flip(torch.stack(occupancies, 0), [0])
    slope = torch.where(torch.isinf(torch.reshape(loss, [1, batch, 1])), torch.full_like(slope, 0. if zero_infinity else float("nan")), slope)
    inside = torch.lt(torch.reshape(torch.arange(steps, dtype=4, layout=None, device=device, pin_memory=None), [-1, 1, 1]), torch.reshape(ends, [1, -1, 1]))
    slope = torch.where(inside, slope * torch.reshape(grad, [1, batch, 1]), torch.zeros_like(slope))
    return torch.reshape(slope, log_probs.size())


def _ctc_loss_backward(grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], neg_log_likelihood: Tensor, log_alpha: Tensor, blank: int, zero_infinity: bool) -> Tensor:
    ends = torch.tensor(input_lengths, dtype=4, device=log_probs.device)
    lengths = torch.tensor(target_lengths, dtype=4, device=log_probs.device)
    return __torch__.operators.layers._ctc_loss_backward__Tensor(grad, log_probs, targets, ends, lengths, neg_log_likelihood, log_alpha, blank, zero_infinity)
