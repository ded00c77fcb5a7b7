# SPDX-License-Identifier: Apache-2.0
# Operators of no family, in TorchScript (see ../operators.py): gradients of samples, statistics of batch normalisation in steps, recurrent
# cells, odds and ends.


# ---- gradients of samples --------------------------------------------------------------------------


# Differences over two steps inside, over one at the ends; `spacing`: of all of them, or the places of the samples.
def _gradient_along(self: Tensor, dim: int, edge_order: int, spacing: float, places: Optional[Tensor]) -> Tensor:
    n = self.size(dim)
    before = torch.narrow(self, dim, 0, n - 2)
    here = torch.narrow(self, dim, 1, n - 2)
    after = torch.narrow(self, dim, 2, n - 2)
    parts: List[Tensor] = []
    if places is None:
        first = (torch.narrow(self, dim, 1, 1) - torch.narrow(self, dim, 0, 1)) / spacing
        last = (torch.narrow(self, dim, n - 1, 1) - torch.narrow(self, dim, n - 2, 1)) / spacing
        middle = (after - before) / spacing / 2
        if edge_order == 2:
            first = (torch.narrow(self, dim, 1, 1) * 4 - torch.narrow(self, dim, 0, 1) * 3 - torch.narrow(self, dim, 2, 1)) / (spacing * 2)
            last = (torch.narrow(self, dim, n - 1, 1) * 3 - torch.narrow(self, dim, n - 2, 1) * 4 + torch.narrow(self, dim, n - 3, 1)) / (spacing * 2)
    else:
        sizes: List[int] = []
        for i in range(self.dim()):
            sizes.append(1)
        sizes[dim] = n - 1
        steps = torch.reshape(torch.narrow(places, 0, 1, n - 1) - torch.narrow(places, 0, 0, n - 1), sizes)
        left = torch.narrow(steps, dim, 0, n - 2)
        right = torch.narrow(steps, dim, 1, n - 2)
        middle = before * (torch.neg(right) / (left * (left + right))) + here * ((right - left) / (left * right)) + after * (left / (right * (left + right)))
        begin = torch.narrow(steps, dim, 0, 1)
        end = torch.narrow(steps, dim, n - 2, 1)
        if edge_order == 1:
            first = (torch.narrow(self, dim, 1, 1) - torch.narrow(self, dim, 0, 1)) / begin
            last = (torch.narrow(self, dim, n - 1, 1) - torch.narrow(self, dim, n - 2, 1)) / end
        else:
            next = torch.narrow(steps, dim, 1, 1)
            first = torch.neg((begin * 2 + next) / (begin * (begin + next))) * torch.narrow(self, dim, 0, 1)
            first = first + (begin + next) / (begin * next) * torch.narrow(self, dim, 1, 1) - begin / (next * (begin + next)) * torch.narrow(self, dim, 2, 1)
            previous = torch.narrow(steps, dim, n - 3, 1)
            last = end / (previous * (previous + end)) * torch.narrow(self, dim, n - 3, 1)
            last = last - (end + previous) / (previous * end) * torch.narrow(self, dim, n - 2, 1) + (end * 2 + previous) / (end * (previous + end)) * torch.narrow(self, dim, n - 1, 1)
    parts.append(first)
    parts.append(middle)
    parts.append(last)
    return torch.cat(parts, dim)


def _gradients(self: Tensor, dim: Optional[List[int]], edge_order: int, spacing: List[float], places: List[Tensor]) -> List[Tensor]:
    if self.dtype == 0:
        torch.ops.ctsc.fail("torch.gradient does not support uint8 input.")
    count = max(len(spacing), len(places))
    if dim is None:
        if len(places) > 0 or len(spacing) > 1:
            if count != self.dim():
                torch.ops.ctsc.fail("torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {}', since dim argument was not given, but got a list of length {}".format(self.dim(), count))
    elif count > 1 or len(places) > 0:
        if count != len(dim):
            torch.ops.ctsc.fail("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but got a spacing argument of length {} and a dim argument of length {}.".format(count, len(dim)))
    if edge_order != 1 and edge_order != 2:
        torch.ops.ctsc.fail("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims: List[int] = []
    if dim is not None:
        for d in dim:
            if d < -self.dim() or d >= self.dim():
                torch.ops.ctsc.fail("Dimension out of range (expected to be in range of [{}, {}], but got {})".format(-self.dim(), self.dim() - 1, d))
            if d < 0:
                d = d + self.dim()
            if torch.__contains__(dims, d):
                torch.ops.ctsc.fail("dim {} appears multiple times in the list of dims".format(d))
            dims.append(d)
    else:
        for i in range(self.dim()):
            dims.append(i)
    for d in dims:
        if self.size(d) < edge_order + 1:
            torch.ops.ctsc.fail("torch.gradient expected each dimension size to be at least edge_order+1")
    results: List[Tensor] = []
    for i in range(len(dims)):
        at: Optional[Tensor] = None
        step = 1.
        if len(places) > 0:
            at = places[i]
            if at.dim() != 1:
                torch.ops.ctsc.fail("torch.gradient expected each element of spacing to have one dimension, but got an element with {} dimensions!".format(at.dim()))
            if at.size(0) != self.size(dims[i]):
                torch.ops.ctsc.fail("torch.gradient expected each element of spacing to have the same length as the dimension")
        elif len(spacing) > 1:
            step = spacing[i]
        elif len(spacing) == 1:
            step = spacing[0]
        results.append(__torch__.operators.assorted._gradient_along(self, dims[i], edge_order, step, at))
    return results


def _floats(values: List[number]) -> List[float]:
    result: List[float] = []
    for v in values:
        result.append(float(v))
    return result


def _one_dim(dim: Optional[int]) -> Optional[List[int]]:
    result: Optional[List[int]] = None
    if dim is not None:
        result = [dim]
    return result


def gradient__scalarint(self: Tensor, spacing: Optional[number], dim: Optional[int], edge_order: int) -> List[Tensor]:
    step = 1.
    if spacing is not None:
        step = float(spacing)
    return __torch__.operators.assorted._gradients(self, __torch__.operators.assorted._one_dim(dim), edge_order, [step], annotate(List[Tensor], []))


def gradient__scalararray(self: Tensor, spacing: number, dim: List[int], edge_order: int) -> List[Tensor]:
    return __torch__.operators.assorted._gradients(self, dim, edge_order, [float(spacing)], annotate(List[Tensor], []))


def gradient__array(self: Tensor, dim: List[int], edge_order: int) -> List[Tensor]:
    return __torch__.operators.assorted._gradients(self, dim, edge_order, [1.], annotate(List[Tensor], []))


def gradient__scalarrayint(self: Tensor, spacing: List[number], dim: Optional[int], edge_order: int) -> List[Tensor]:
    return __torch__.operators.assorted._gradients(self, __torch__.operators.assorted._one_dim(dim), edge_order, __torch__.operators.assorted._floats(spacing), annotate(List[Tensor], []))


def gradient__scalarrayarray(self: Tensor, spacing: List[number], dim: List[int], edge_order: int) -> List[Tensor]:
    return __torch__.operators.assorted._gradients(self, dim, edge_order, __torch__.operators.assorted._floats(spacing), annotate(List[Tensor], []))


def gradient__tensorarrayint(self: Tensor, spacing: List[Tensor], dim: Optional[int], edge_order: int) -> List[Tensor]:
    return __torch__.operators.assorted._gradients(self, __torch__.operators.assorted._one_dim(dim), edge_order, annotate(List[float], []), spacing)


def gradient__tensorarray(self: Tensor, spacing: List[Tensor], dim: List[int], edge_order: int) -> List[Tensor]:
    return __torch__.operators.assorted._gradients(self, dim, edge_order, annotate(List[float], []), spacing)


# ---- recurrent cells -------------------------------------------------------------------------------


def _thnn_fused_lstm_cell(input_gates: Tensor, hidden_gates: Tensor, cx: Tensor, input_bias: Optional[Tensor], hidden_bias: Optional[Tensor]) -> Tuple[Tensor, Tensor, Tensor]:
    gates = input_gates + hidden_gates
    if input_bias is not None:
        gates = gates + input_bias
    if hidden_bias is not None:
        gates = gates + hidden_bias
    n = cx.size(1)
    i = torch.sigmoid(torch.narrow(gates, 1, 0, n))
    f = torch.sigmoid(torch.narrow(gates, 1, n, n))
    c = torch.tanh(torch.narrow(gates, 1, 2 * n, n))
    o = torch.sigmoid(torch.narrow(gates, 1, 3 * n, n))
    cy = f * cx + i * c
    return o * torch.tanh(cy), cy, torch.cat([i, f, c, o], 1)


def _thnn_differentiable_lstm_cell_backward(grad_hy: Optional[Tensor], grad_cy: Optional[Tensor], input_gates: Tensor, hidden_gates: Tensor, input_bias: Optional[Tensor], hidden_bias: Optional[Tensor], cx: Tensor, cy: Tensor) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    grad: Optional[Tensor] = None
    grad_cx: Optional[Tensor] = None
    grad_bias: Optional[Tensor] = None
    if grad_hy is not None or grad_cy is not None:
        gates = input_gates + hidden_gates
        if input_bias is not None:
            gates = gates + input_bias
        if hidden_bias is not None:
            gates = gates + hidden_bias
        n = gates.size(1) // 4
        i = torch.sigmoid(torch.narrow(gates, 1, 0, n))
        f = torch.sigmoid(torch.narrow(gates, 1, n, n))
        c = torch.tanh(torch.narrow(gates, 1, 2 * n, n))
        o = torch.sigmoid(torch.narrow(gates, 1, 3 * n, n))
        t = torch.tanh(cy)
        g = torch.zeros_like(cy)
        go = torch.zeros_like(cy)
        if grad_hy is not None:
            g = grad_hy * o * torch.rsub(t * t, 1)
            go = grad_hy * t
        if grad_cy is not None:
            g = g + grad_cy
        parts = [g * c * torch.rsub(i, 1) * i, g * cx * torch.rsub(f, 1) * f, g * i * torch.rsub(c * c, 1), go * torch.rsub(o, 1) * o]
        whole = torch.cat(parts, 1)
        grad = whole
        grad_cx = g * f
        if input_bias is not None:
            grad_bias = torch.sum(whole, [0])
    return grad, grad, grad_cx, grad_bias, grad_bias


def _thnn_differentiable_gru_cell_backward(grad_hy: Tensor, input_gates: Tensor, hidden_gates: Tensor, hx: Tensor, input_bias: Optional[Tensor], hidden_bias: Optional[Tensor]) -> Tuple[Tensor, Tensor, Tensor, Optional[Tensor], Optional[Tensor]]:
    x = input_gates
    h = hidden_gates
    if input_bias is not None:
        x = x + input_bias
    if hidden_bias is not None:
        h = h + hidden_bias
    n = x.size(1) // 3
    hn = torch.narrow(h, 1, 2 * n, n)
    r = torch.sigmoid(torch.narrow(x, 1, 0, n) + torch.narrow(h, 1, 0, n))
    u = torch.sigmoid(torch.narrow(x, 1, n, n) + torch.narrow(h, 1, n, n))
    t = torch.tanh(torch.narrow(x, 1, 2 * n, n) + r * hn)
    grad_u = grad_hy * (hx - t) * torch.rsub(u, 1) * u
    grad_t = grad_hy * torch.rsub(u, 1) * torch.rsub(t * t, 1)
    grad_r = grad_t * hn * torch.rsub(r, 1) * r
    grad_x = torch.cat([grad_r, grad_u, grad_t], 1)
    grad_h = torch.cat([grad_r, grad_u, grad_t * r], 1)
    grad_input_bias: Optional[Tensor] = None
    grad_hidden_bias: Optional[Tensor] = None
    if input_bias is not None:
        grad_input_bias = torch.sum(grad_x, [0])
    if hidden_bias is not None:
        grad_hidden_bias = torch.sum(grad_h, [0])
    return grad_x, grad_h, grad_hy * u, grad_input_bias, grad_hidden_bias


# ---- batch normalisation in steps ------------------------------------------------------------------


def _check_channels(name: str, like: Tensor, t: Optional[Tensor]):
    if t is not None and t.numel() != like.size(1):
        torch.ops.ctsc.fail("{} should contain {} elements not {}".format(name, like.size(1), t.numel()))


def batch_norm_update_stats(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float) -> Tuple[Tensor, Tensor]:
    __torch__.operators.assorted._check_channels("running_mean", input, running_mean)
    __torch__.operators.assorted._check_channels("running_var", input, running_var)
    __torch__.operators.backward._check_real("batch_norm_update_stats_cpu", input, input)
    dims = __torch__.operators.layers._all_but_channels(input)
    mean = torch.mean(input, dims)
    var = torch.var(input, dims, False)
    n = input.numel() // max(input.size(1), 1)
    if running_mean is not None:
        torch.copy_(running_mean, mean * momentum + running_mean * (1. - momentum))
    if running_var is not None:
        torch.copy_(running_var, var * (float(n) / float(max(n - 1, 1))) * momentum + running_var * (1. - momentum))
    return mean, var


def _statistics(count: Tensor, mean: Tensor, invstd: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float) -> Tuple[Tensor, Tensor]:
    weight = torch.unsqueeze(count, 1)
    total = torch.sum(count)
    all_mean = torch.sum(mean * weight, [0]) / total
    offset = mean - all_mean
    squares = torch.sum((torch.pow(invstd, -2) - eps + offset * offset) * weight, [0])
    if running_mean is not None:
        torch.copy_(running_mean, all_mean * momentum + running_mean * (1. - momentum))
    if running_var is not None:
        torch.copy_(running_var, squares / (total - 1) * momentum + running_var * (1. - momentum))
    return all_mean, torch.rsqrt(squares / total + eps)


# mean, invstd: [workers, channels]; each saw `count` elements of a channel
def batch_norm_gather_stats(input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float, count: int) -> Tuple[Tensor, Tensor]:
    counts = torch.full([mean.size(0)], count, dtype=mean.dtype, layout=None, device=mean.device, pin_memory=None)
    return __torch__.operators.assorted._statistics(counts, mean, invstd, running_mean, running_var, momentum, eps)


def batch_norm_gather_stats_with_counts(input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float, counts: Tensor) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.assorted._statistics(torch.to(torch.reshape(counts, [-1]), mean.dtype), mean, invstd, running_mean, running_var, momentum, eps)


def batch_norm_stats(input: Tensor, eps: float) -> Tuple[Tensor, Tensor]:
    dims = __torch__.operators.layers._all_but_channels(input)
    x = __torch__.operators.backward._wide(input)
    return torch.mean(x, dims), torch.rsqrt(torch.var(x, dims, False) + eps)


def batch_norm_elemt(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, invstd: Tensor, eps: float) -> Tensor:
    x = __torch__.operators.backward._wide(input) - __torch__.operators.layers._by_channel(mean, input)
    x = x * __torch__.operators.layers._by_channel(invstd, input)
    if weight is not None:
        x = x * __torch__.operators.layers._by_channel(__torch__.operators.backward._wide(weight), input)
    if bias is not None:
        x = x + __torch__.operators.layers._by_channel(__torch__.operators.backward._wide(bias), input)
    return torch.to(x, input.dtype)


# ---- lists of tensors ------------------------------------------------------------------------------


def flatten_dense_tensors(tensors: List[Tensor]) -> Tensor:
    flat: List[Tensor] = []
    for t in tensors:
        flat.append(torch.reshape(t, [-1]))
    return torch.cat(flat, 0)


def unflatten_dense_tensors(flat: Tensor, tensors: List[Tensor]) -> List[Tensor]:
    result: List[Tensor] = []
    at = 0
    for t in tensors:
        n = t.numel()
        if n == 0:
            result.append(torch.empty([0], dtype=flat.dtype, layout=None, device=flat.device, pin_memory=None))
        else:
            result.append(torch.view(torch.narrow(flat, 0, at, n), t.size()))
            at = at + n
    return result


def _pack_sequence(output: Tensor, batch_sizes: Tensor, sorted_indices: Optional[Tensor], unsorted_indices: Optional[Tensor]) -> Tuple[Tensor, Tensor, Optional[Tensor], Optional[Tensor]]:
    return output, batch_sizes, sorted_indices, unsorted_indices


def _pack_padded_sequence_backward(grad: Tensor, input_size: List[int], batch_sizes: Tensor, batch_first: bool) -> Tensor:
    sizes = torch.slice(input_size, 0, 9223372036854775807, 1)
    if batch_first:
        sizes[0] = input_size[1]
        sizes[1] = input_size[0]
    zeros = torch.zeros(sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    places = torch.unsqueeze(torch.arange(0, sizes[1], 1, dtype=4, layout=None, device=batch_sizes.device, pin_memory=None), 0)
    present = torch.lt(places, torch.unsqueeze(batch_sizes, 1))
    # rows of time and batch that the packed ones came from, in their order
    rows = torch.nonzero(torch.reshape(torch.constant_pad_nd(present, [0, 0, 0, sizes[0] - batch_sizes.size(0)], 0), [-1]))
    flat = torch.index_copy(torch.flatten(zeros, 0, 1), 0, torch.reshape(rows, [-1]), grad)
    result = torch.reshape(flat, sizes)
    if batch_first:
        result = torch.transpose(result, 0, 1)
    return result


# ---- sizes and memory ------------------------------------------------------------------------------


def linalg_diagonal(A: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal(A, offset, dim1, dim2)


def vander(x: Tensor, N: Optional[int], increasing: bool) -> Tensor:
    if x.dim() != 1:
        torch.ops.ctsc.fail("x must be a one-dimensional tensor.")
    n = x.size(0)
    if N is not None:
        n = N
    if n < 0:
        torch.ops.ctsc.fail("N must be non-negative.")
    dtype = torch.result_type(x, torch.zeros([1], dtype=4, layout=None, device=None, pin_memory=None))
    result = torch.empty([x.size(0), n], dtype=dtype, layout=None, device=x.device, pin_memory=None)
    if n > 0:
        ones = torch.ones([x.size(0), 1], dtype=dtype, layout=None, device=x.device, pin_memory=None)
        if n > 1:
            factors = torch.expand(torch.to(torch.unsqueeze(x, 1), dtype), [x.size(0), n - 1])
            result = torch.cat([ones, torch.cumprod(factors, 1)], 1)
        else:
            result = ones
        if not increasing:
            result = torch.flip(result, [1])
    return result


def _dim_arange(like: Tensor, dim: int) -> Tensor:
    return torch.arange(0, like.size(dim), 1, dtype=4, layout=None, device=like.device, pin_memory=None)


def _grad_sum_to_size(self: Tensor, size: Optional[List[int]]) -> Tensor:
    result = self
    if size is not None:
        result = torch.sum_to_size(self, size)
    return result


def _size_if_not_equal(self_size: List[int], other_size: List[int]) -> Optional[List[int]]:
    result: Optional[List[int]] = None
    if self_size != other_size:
        result = self_size
    return result


def sym_numel(self: Tensor) -> int:
    return self.numel()


# Strides, sorted, are the products of the sizes below them.
def is_non_overlapping_and_dense(self: Tensor) -> bool:
    want = 1
    dense = True
    left: List[int] = []
    for i in range(self.dim()):
        if self.size(i) > 1:
            left.append(i)
    count = len(left)
    for i in range(count):
        found = -1
        for k in range(len(left)):
            if self.stride(left[k]) == want:
                found = k
        if found < 0:
            dense = False
        else:
            want = want * self.size(left.pop(found))
    return dense


def _debug_has_internal_overlap(self: Tensor) -> int:
    result = 2
    if torch.is_non_overlapping_and_dense(self):
        result = 0
    else:
        for i in range(self.dim()):
            if self.size(i) > 1 and self.stride(i) == 0:
                result = 1
    return result


def to_dense(self: Tensor, dtype: Optional[int], masked_grad: Optional[bool]) -> Tensor:
    result = self
    if dtype is not None:
        result = torch.to(self, dtype)
    return result


def _to_cpu(tensors: List[Tensor]) -> List[Tensor]:
    return torch.slice(tensors, 0, 9223372036854775807, 1)


# ---- numbers of distributions ------------------------------------------------------------------------


def _sample_dirichlet(self: Tensor, generator: Optional[Generator]) -> Tensor:
    if self.dtype != 7 and self.dtype != 6:
        torch.ops.ctsc.fail("\"dirichlet\" not implemented for '{}'".format(torch.ops.ctsc.type_name(self)))
    shares = torch._standard_gamma(self.to(7), generator)
    out = (shares / torch.sum(shares, [-1], True)).to(self.dtype)
    # neither end of (0, 1): the smallest normal number, the one in front of 1
    if self.dtype == 7:
        return torch.clamp(out, 2.2250738585072014e-308, 0.9999999999999999)
    return torch.clamp(out, 1.1754943508222875e-38, 0.9999999403953552)

# ---- lists of tensors, one by one -------------------------------------------------------------------


def _foreach_check(n: int, others: List[Tensor]):
    if n == 0:
        torch.ops.ctsc.fail("Tensor list must have at least one tensor.")
    if len(others) != n:
        torch.ops.ctsc.fail("Tensor lists must have the same number of tensors, got {} and {}".format(n, len(others)))


def _foreach_add__Scalar(self: List[Tensor], scalar: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.add(x, scalar) for x in self]


def _foreach_add___Scalar(self: List[Tensor], scalar: number):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.add_(x, scalar)


def _foreach_add__List(self: List[Tensor], other: List[Tensor], alpha: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), other)
    return [torch.add(self[i], other[i], alpha=alpha) for i in range(len(self))]


def _foreach_add___List(self: List[Tensor], other: List[Tensor], alpha: number):
    __torch__.operators.assorted._foreach_check(len(self), other)
    for i in range(len(self)):
        torch.add_(self[i], other[i], alpha=alpha)


def _foreach_sub__Scalar(self: List[Tensor], scalar: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.sub(x, scalar) for x in self]


def _foreach_sub___Scalar(self: List[Tensor], scalar: number):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.sub_(x, scalar)


def _foreach_sub__List(self: List[Tensor], other: List[Tensor], alpha: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), other)
    return [torch.sub(self[i], other[i], alpha=alpha) for i in range(len(self))]


def _foreach_sub___List(self: List[Tensor], other: List[Tensor], alpha: number):
    __torch__.operators.assorted._foreach_check(len(self), other)
    for i in range(len(self)):
        torch.sub_(self[i], other[i], alpha=alpha)


def _foreach_mul__Scalar(self: List[Tensor], scalar: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.mul(x, scalar) for x in self]


def _foreach_mul___Scalar(self: List[Tensor], scalar: number):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.mul_(x, scalar)


def _foreach_mul__List(self: List[Tensor], other: List[Tensor]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), other)
    return [torch.mul(self[i], other[i]) for i in range(len(self))]


def _foreach_mul___List(self: List[Tensor], other: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), other)
    for i in range(len(self)):
        torch.mul_(self[i], other[i])


def _foreach_div__Scalar(self: List[Tensor], scalar: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.div(x, scalar) for x in self]


def _foreach_div___Scalar(self: List[Tensor], scalar: number):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.div_(x, scalar)


def _foreach_div__List(self: List[Tensor], other: List[Tensor]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), other)
    return [torch.div(self[i], other[i]) for i in range(len(self))]


def _foreach_div___List(self: List[Tensor], other: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), other)
    for i in range(len(self)):
        torch.div_(self[i], other[i])


def _foreach_abs(self: List[Tensor]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.abs(x) for x in self]


def _foreach_abs_(self: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.abs_(x)


def _foreach_exp(self: List[Tensor]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.exp(x) for x in self]


def _foreach_exp_(self: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.exp_(x)


def _foreach_neg(self: List[Tensor]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.neg(x) for x in self]


def _foreach_neg_(self: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.neg_(x)


def _foreach_sqrt(self: List[Tensor]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.sqrt(x) for x in self]


def _foreach_sqrt_(self: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.sqrt_(x)


def _foreach_zero_(self: List[Tensor]):
    __torch__.operators.assorted._foreach_check(len(self), self)
    for x in self:
        torch.zero_(x)


def _foreach_norm__Scalar(self: List[Tensor], ord: number, dtype: Optional[int]) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), self)
    return [torch.linalg_vector_norm(x, ord, dtype=dtype) for x in self]


def _foreach_addcdiv__Scalar(self: List[Tensor], tensor1: List[Tensor], tensor2: List[Tensor], value: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), tensor1)
    __torch__.operators.assorted._foreach_check(len(self), tensor2)
    return [torch.addcdiv(self[i], tensor1[i], tensor2[i], value=value) for i in range(len(self))]


def _foreach_addcdiv___Scalar(self: List[Tensor], tensor1: List[Tensor], tensor2: List[Tensor], value: number):
    __torch__.operators.assorted._foreach_check(len(self), tensor1)
    __torch__.operators.assorted._foreach_check(len(self), tensor2)
    for i in range(len(self)):
        torch.addcdiv_(self[i], tensor1[i], tensor2[i], value=value)


def _foreach_addcmul__Scalar(self: List[Tensor], tensor1: List[Tensor], tensor2: List[Tensor], value: number) -> List[Tensor]:
    __torch__.operators.assorted._foreach_check(len(self), tensor1)
    __torch__.operators.assorted._foreach_check(len(self), tensor2)
    return [torch.addcmul(self[i], tensor1[i], tensor2[i], value=value) for i in range(len(self))]


def _foreach_addcmul___Scalar(self: List[Tensor], tensor1: List[Tensor], tensor2: List[Tensor], value: number):
    __torch__.operators.assorted._foreach_check(len(self), tensor1)
    __torch__.operators.assorted._foreach_check(len(self), tensor2)
    for i in range(len(self)):
        torch.addcmul_(self[i], tensor1[i], tensor2[i], value=value)


def _foreach_lerp___Scalar(self: List[Tensor], tensors1: List[Tensor], weight: number):
    __torch__.operators.assorted._foreach_check(len(self), tensors1)
    for i in range(len(self)):
        torch.lerp_(self[i], tensors1[i], weight)


def _foreach_copy_(self: List[Tensor], src: List[Tensor], non_blocking: bool):
    __torch__.operators.assorted._foreach_check(len(self), src)
    for i in range(len(self)):
        torch.copy_(self[i], src[i], non_blocking)
