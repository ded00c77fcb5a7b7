# SPDX-License-Identifier: Apache-2.0
# Derivatives of normalisation and embeddings. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- normalisation ---------------------------------------------------------------------------------


# Statistics that are differentiated themselves are computed anew: what was saved of them is a constant.
def native_batch_norm__d_input__weight__bias(grad: Tensor, input: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, eps: float, result1: Tensor, result2: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    mean = result1
    invstd = result2
    if training and torch.is_grad_enabled():
        x = __torch__.operators.backward._wide(input)
        dims = __torch__.operators.layers._all_but_channels(input)
        mean = torch.mean(x, dims)
        centred = x - __torch__.operators.layers._by_channel(mean, input)
        invstd = torch.rsqrt(torch.mean(centred * centred, dims) + eps)
    grad_input, grad_weight, grad_bias = torch.native_batch_norm_backward(grad, input, weight, running_mean, running_var, mean, invstd, training, eps, wanted)
    return grad_input, grad_weight, grad_bias


def batch_norm__as(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    y, mean, invstd = torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return y


def _batch_norm_impl_index__as(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor, int]:
    y, mean, invstd = torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return y, mean, invstd, torch.empty([0], dtype=0, layout=None, device=None, pin_memory=None), 0


def _repeated(t: Optional[Tensor], n: int) -> Optional[Tensor]:
    result: Optional[Tensor] = None
    if t is not None:
        result = torch.repeat(t, [n])
    return result


# the statistics of all items go into the running ones as their mean
def _keep_mean(running: Optional[Tensor], repeated: Optional[Tensor], n: int):
    if running is not None:
        if repeated is not None:
            torch.copy_(running, torch.mean(torch.reshape(repeated, [n, -1]), [0]))


def instance_norm__as(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    if not use_input_stats:
        if running_mean is None or running_var is None:
            torch.ops.ctsc.fail("Expected running_mean and running_var to be defined when use_input_stats is false")
    if input.numel() == 0:
        return torch.clone(input)
    n = input.size(0)
    means = __torch__.derivatives.layers._repeated(running_mean, n)
    variances = __torch__.derivatives.layers._repeated(running_var, n)
    sizes = input.size()
    sizes[1] = sizes[1] * n
    sizes[0] = 1
    y = torch.batch_norm(torch.reshape(input, sizes), __torch__.derivatives.layers._repeated(weight, n), __torch__.derivatives.layers._repeated(bias, n), means, variances, use_input_stats, momentum, eps, cudnn_enabled)
    __torch__.derivatives.layers._keep_mean(running_mean, means, n)
    __torch__.derivatives.layers._keep_mean(running_var, variances, n)
    return torch.reshape(y, input.size())


# What gradients of the statistics mean for the input: n of its elements along dims go into each.
def _of_statistics(x: Tensor, mean: Tensor, rstd: Tensor, grad_mean: Optional[Tensor], grad_rstd: Optional[Tensor], n: int) -> Tensor:
    result = torch.zeros_like(x)
    if grad_mean is not None:
        result = result + __torch__.operators.backward._wide(grad_mean) / n
    if grad_rstd is not None:
        cube = rstd * rstd * rstd
        result = result - __torch__.operators.backward._wide(grad_rstd) * cube / n * (x - mean)
    return result


def native_layer_norm__d_input__weight__bias(grad: Tensor, input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: float, result1: Tensor, result2: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    mean = result1
    rstd = result2
    if torch.is_grad_enabled() and input.numel() > 0:
        x = __torch__.operators.backward._wide(input)
        inner: List[int] = []
        for i in range(len(normalized_shape)):
            inner.append(i - len(normalized_shape))
        mean = torch.mean(x, inner, True)
        rstd = torch.rsqrt(torch.mean((x - mean) * (x - mean), inner, True) + eps)
    grad_input, grad_weight, grad_bias = torch.native_layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, None, wanted)
    return grad_input, grad_weight, grad_bias


def layer_norm__as(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enable: bool) -> Tensor:
    y, mean, rstd = torch.native_layer_norm(input, normalized_shape, weight, bias, eps)
    return y


# [N, group] as what spreads over [N, group, channels of a group, places]
def _of_group(t: Optional[Tensor]) -> Optional[Tensor]:
    result: Optional[Tensor] = None
    if t is not None:
        result = torch.unsqueeze(torch.unsqueeze(t, -1), -1)
    return result


def native_group_norm__d_input__weight__bias(grad0: Optional[Tensor], grad1: Optional[Tensor], grad2: Optional[Tensor], input: Tensor, weight: Optional[Tensor], N: int, C: int, HxW: int, group: int, result1: Tensor, result2: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    grad_input: Optional[Tensor] = None
    grad_weight: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if input.numel() == 0:
        if wanted[0]:
            grad_input = torch.zeros_like(input)
        zeros = torch.zeros([C], dtype=input.dtype, layout=None, device=input.device, pin_memory=None)
        if wanted[1]:
            grad_weight = zeros
        if wanted[2]:
            grad_bias = zeros
        return grad_input, grad_weight, grad_bias
    if grad0 is not None:
        grad_input, grad_weight, grad_bias = torch.native_group_norm_backward(grad0, input, result1, result2, weight, N, C, HxW, group, wanted)
    if wanted[0]:
        if grad1 is not None or grad2 is not None:
            each = C // max(group, 1)
            x = torch.reshape(__torch__.operators.backward._wide(input), [N, group, each, HxW])
            mean = torch.reshape(__torch__.operators.backward._wide(result1), [N, group, 1, 1])
            rstd = torch.reshape(__torch__.operators.backward._wide(result2), [N, group, 1, 1])
            more = __torch__.derivatives.layers._of_statistics(x, mean, rstd, __torch__.derivatives.layers._of_group(grad1), __torch__.derivatives.layers._of_group(grad2), max(each * HxW, 1))
            more = torch.reshape(more, input.size())
            grad_input = more if grad_input is None else grad_input + more
    return grad_input, grad_weight, grad_bias


def group_norm__as(input: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enabled: bool) -> Tensor:
    if input.dim() < 2:
        torch.ops.ctsc.fail("Expected at least 2 dimensions for input tensor but received {}".format(input.dim()))
    channels = input.size(1)
    if num_groups <= 0 or channels % num_groups != 0:
        torch.ops.ctsc.fail("Expected number of channels in input to be divisible by num_groups, but got input of shape {} and num_groups={}".format(input.size(), num_groups))
    places = 1
    for i in range(2, input.dim()):
        places = places * input.size(i)
    y, mean, rstd = torch.native_group_norm(torch.contiguous(input), weight, bias, input.size(0), channels, places, num_groups, eps)
    return y


# of each slice along dim; -1: of all
def norm_except_dim__as(v: Tensor, pow: int, dim: int) -> Tensor:
    if dim == -1:
        return torch.norm(v, pow)
    rows = torch.transpose(v, 0, dim)
    sizes: List[int] = []
    for i in range(v.dim()):
        sizes.append(1)
    sizes[dim] = v.size(dim)
    return torch.reshape(torch.norm(torch.reshape(rows, [v.size(dim), -1]), pow, [1], False), sizes)


def _weight_norm__as(v: Tensor, g: Tensor, dim: int) -> Tensor:
    return v * (g / torch.norm_except_dim(v, 2, dim))


def _weight_norm_interface__as(v: Tensor, g: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    norms = torch.norm_except_dim(v, 2, dim)
    return v * (g / norms), norms


# ---- embeddings ------------------------------------------------------------------------------------


def embedding__d_weight(grad: Tensor, weight_sizes: List[int], indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    return torch.embedding_dense_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq)


def embedding_bag__as(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor], include_last_offset: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    y, bags, sizes, rows = torch._embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, -1)
    return y, bags, sizes, rows


def embedding_bag__padding_idx__as(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor], include_last_offset: bool, padding_idx: Optional[int]) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    skipped = -1
    n = weight.size(0)
    if padding_idx is not None:
        if padding_idx < -n or padding_idx >= n:
            torch.ops.ctsc.fail("padding_idx must be within the number of embeddings, {} through {}, but got {}".format(-n, n - 1, padding_idx))
        skipped = padding_idx + n if padding_idx < 0 else padding_idx
    y, bags, sizes, rows = torch._embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, skipped)
    return y, bags, sizes, rows


# the bag of each index
def _bags(indices: Tensor, offsets: Tensor, include_last_offset: bool) -> Tensor:
    begins = torch.to(offsets, 4)
    if include_last_offset:
        begins = torch.slice(begins, 0, 0, begins.size(0) - 1, 1)
    places = torch.arange(indices.numel(), dtype=4, layout=None, device=indices.device, pin_memory=None)
    return torch.searchsorted(begins, places, right=True) - 1


def _embedding_bag__d_weight(grad0: Tensor, weight_sizes: List[int], indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, per_sample_weights: Optional[Tensor], include_last_offset: bool, padding_idx: int, result2: Tensor, result3: Tensor) -> Tensor:
    zeros = torch.zeros(weight_sizes, dtype=grad0.dtype, layout=None, device=grad0.device, pin_memory=None)
    if mode == 2:
        kept = torch.where(torch.unsqueeze(torch.gt(result2, 0), 1), grad0, torch.zeros_like(grad0))
        return torch.scatter_add(zeros, 0, result3, kept)
    at = torch.to(torch.reshape(indices, [-1]), 4)
    rows = torch.index_select(grad0, 0, __torch__.derivatives.layers._bags(indices, offsets, include_last_offset))
    if mode == 1:
        sizes = torch.index_select(result2, 0, __torch__.derivatives.layers._bags(indices, offsets, include_last_offset))
        rows = rows / torch.to(torch.unsqueeze(sizes, 1), rows.dtype)
    if per_sample_weights is not None:
        rows = rows * torch.unsqueeze(per_sample_weights, 1)
    return torch.embedding_dense_backward(rows, at, weight_sizes[0], padding_idx, scale_grad_by_freq)


def _embedding_bag__d_per_sample_weights(grad0: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, include_last_offset: bool, padding_idx: int) -> Tensor:
    at = torch.to(torch.reshape(indices, [-1]), 4)
    rows = torch.index_select(grad0, 0, __torch__.derivatives.layers._bags(indices, offsets, include_last_offset))
    slopes = torch.sum(rows * torch.index_select(weight, 0, at), [1])
    return torch.where(torch.eq(at, padding_idx), torch.zeros_like(slopes), slopes)
