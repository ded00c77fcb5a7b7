# SPDX-License-Identifier: Apache-2.0
# Derivatives of reductions, scans and sorting. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# t, the result of a reduction over dims (all if there are none), with the dims that went away as dims of one.
def _restore(t: Tensor, dims: List[int], ndim: int, keepdim: bool) -> Tensor:
    if keepdim or ndim == 0:
        return t
    shape = t.size()
    if torch.len(dims) == 0:
        for i in range(ndim):
            shape.append(1)
        return torch.reshape(t, shape)
    gone = annotate(List[bool], [])
    for i in range(ndim):
        gone.append(False)
    for d in dims:
        gone[d + ndim if d < 0 else d] = True
    full = annotate(List[int], [])
    at = 0
    for i in range(ndim):
        if gone[i]:
            full.append(1)
        else:
            full.append(shape[at])
            at += 1
    return torch.reshape(t, full)


def _dims(dims: Optional[List[int]]) -> List[int]:
    if torch.__is__(dims, None):
        return annotate(List[int], [])
    return unchecked_cast(List[int], dims)


def _count(sizes: List[int], dims: List[int]) -> int:
    n = 1
    if torch.len(dims) == 0:
        for s in sizes:
            n *= s
    elif torch.len(sizes) > 0:
        for d in dims:
            n *= sizes[d]
    return n


# ---- sums and means ---------------------------------------------------------------------------------


def sum__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.expand(grad, self_sizes)


def sum__dim_IntList__d_self(grad: Tensor, self_sizes: List[int], dim: Optional[List[int]], keepdim: bool) -> Tensor:
    dims = __torch__.derivatives.reduce._dims(dim)
    return torch.expand(__torch__.derivatives.reduce._restore(grad, dims, torch.len(self_sizes), keepdim), self_sizes)


def sum_to_size__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.expand(grad, self_sizes)


def nansum__d_self(grad: Tensor, self: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    dims = __torch__.derivatives.reduce._dims(dim)
    wide = torch.expand(__torch__.derivatives.reduce._restore(grad, dims, torch.dim(self), keepdim), self.size())
    return torch.masked_fill(wide, torch.isnan(self), 0)


def nanmean__as(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    dims = __torch__.derivatives.reduce._dims(dim)
    count = torch.sum(torch.logical_not(torch.isnan(self)), dims, keepdim)
    return torch.nansum(self, dims, keepdim, dtype=dtype) / count


def mean__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.expand(grad, self_sizes) / __torch__.derivatives.reduce._count(self_sizes, annotate(List[int], []))


def mean__dim__d_self(grad: Tensor, self_sizes: List[int], dim: Optional[List[int]], keepdim: bool) -> Tensor:
    dims = __torch__.derivatives.reduce._dims(dim)
    wide = __torch__.derivatives.reduce._restore(grad, dims, torch.len(self_sizes), keepdim)
    return torch.expand(wide, self_sizes) / __torch__.derivatives.reduce._count(self_sizes, dims)


def logsumexp__d_self(grad: Tensor, self: Tensor, dim: List[int], keepdim: bool, result: Tensor) -> Tensor:
    g = __torch__.derivatives.reduce._restore(grad, dim, torch.dim(self), keepdim)
    y = __torch__.derivatives.reduce._restore(result, dim, torch.dim(self), keepdim)
    return g * torch.exp(self - y)


# ---- variance -----------------------------------------------------------------------------------------


def _variance(grad: Tensor, self: Tensor, dims: List[int], correction: number, keepdim: bool) -> Tensor:
    g = __torch__.derivatives.reduce._restore(grad, dims, torch.dim(self), keepdim)
    n = __torch__.derivatives.reduce._count(self.size(), dims)
    mean = torch.mean(self, dims, True) if torch.len(dims) > 0 else torch.mean(self)
    return g * (self - mean) * 2. / (n - correction)


def _deviation(grad: Tensor, self: Tensor, result: Tensor, dims: List[int], correction: number, keepdim: bool) -> Tensor:
    slope = torch.masked_fill(grad / (result * 2.), torch.eq(result, 0), 0)
    return __torch__.derivatives.reduce._variance(slope, self, dims, correction, keepdim)


def _correction(correction: Optional[number]) -> number:
    if torch.__is__(correction, None):
        return 1
    return unchecked_cast(number, correction)


def var__d_self(grad: Tensor, self: Tensor, unbiased: bool) -> Tensor:
    return __torch__.derivatives.reduce._variance(grad, self, annotate(List[int], []), int(unbiased), False)


def var__dim__d_self(grad: Tensor, self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tensor:
    return __torch__.derivatives.reduce._variance(grad, self, __torch__.derivatives.reduce._dims(dim), int(unbiased), keepdim)


def var__correction__d_self(grad: Tensor, self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tensor:
    c = __torch__.derivatives.reduce._correction(correction)
    return __torch__.derivatives.reduce._variance(grad, self, __torch__.derivatives.reduce._dims(dim), c, keepdim)


def std__d_self(grad: Tensor, self: Tensor, unbiased: bool, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._deviation(grad, self, result, annotate(List[int], []), int(unbiased), False)


def std__dim__d_self(grad: Tensor, self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._deviation(grad, self, result, __torch__.derivatives.reduce._dims(dim), int(unbiased), keepdim)


def std__correction__d_self(grad: Tensor, self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool, result: Tensor) -> Tensor:
    c = __torch__.derivatives.reduce._correction(correction)
    return __torch__.derivatives.reduce._deviation(grad, self, result, __torch__.derivatives.reduce._dims(dim), c, keepdim)


def var_mean__as(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, unbiased), torch.mean(self)


def var_mean__dim__as(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, unbiased, keepdim), torch.mean(self, dim, keepdim)


def var_mean__correction__as(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.var(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim)


def std_mean__as(self: Tensor, unbiased: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, unbiased), torch.mean(self)


def std_mean__dim__as(self: Tensor, dim: Optional[List[int]], unbiased: bool, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, dim, unbiased, keepdim), torch.mean(self, dim, keepdim)


def std_mean__correction__as(self: Tensor, dim: Optional[List[int]], correction: Optional[number], keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.std(self, dim, correction=correction, keepdim=keepdim), torch.mean(self, dim, keepdim)


# ---- products ---------------------------------------------------------------------------------------------


# For each element along dim the product of all others.
def _product_of_others(x: Tensor, dim: int) -> Tensor:
    sizes = x.size()
    if sizes[dim] == 0:
        return x
    sizes[dim] = 1
    one = torch.ones(sizes, dtype=x.dtype, layout=None, device=x.device, pin_memory=None)
    before = torch.cumprod(torch.cat([one, torch.slice(x, dim, 0, -1, 1)], dim), dim)
    back = torch.flip(torch.slice(x, dim, 1, 9223372036854775807, 1), [dim])
    behind = torch.flip(torch.cumprod(torch.cat([one, back], dim), dim), [dim])
    return before * behind


def prod__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if torch.dim(self) == 0:
        return torch.clone(grad)
    x = self if torch.is_complex(self) or torch.is_floating_point(self) else torch.to(self, grad.dtype)
    if bool(torch.all(torch.ne(self, 0))):
        return grad * torch.conj(result / x)
    others = __torch__.derivatives.reduce._product_of_others(torch.reshape(x, [-1]), 0)
    return grad * torch.conj(torch.reshape(others, self.size()))


def prod__dim_int__d_self(grad: Tensor, self: Tensor, dim: int, keepdim: bool, result: Tensor) -> Tensor:
    if torch.dim(self) == 0:
        return torch.clone(grad)
    g = __torch__.derivatives.reduce._restore(grad, [dim], torch.dim(self), keepdim)
    if bool(torch.all(torch.ne(self, 0))):
        return g * torch.conj(__torch__.derivatives.reduce._restore(result, [dim], torch.dim(self), keepdim) / self)
    return g * torch.conj(__torch__.derivatives.reduce._product_of_others(self, dim))


# ---- scans --------------------------------------------------------------------------------------------------


def _reverse_cumsum(x: Tensor, dim: int) -> Tensor:
    return torch.flip(torch.cumsum(torch.flip(x, [dim]), dim), [dim])


def cumsum__d_self(grad: Tensor, dim: int) -> Tensor:
    if torch.dim(grad) == 0:
        return grad
    return __torch__.derivatives.reduce._reverse_cumsum(grad, dim)


# With zeros: elements before the first zero as without, the first zero by products that leave it out, elements after it 0 (written as
# a product with that zero, so that the derivative of this is right as well).
def cumprod__d_self(grad: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    if torch.dim(self) == 0:
        return grad
    x = torch.conj(self)
    w = grad * torch.conj(result)
    if bool(torch.all(torch.ne(self, 0))):
        return __torch__.derivatives.reduce._reverse_cumsum(w, dim) / x
    zero = torch.eq(self, 0)
    zeros_so_far = torch.cumsum(zero, dim)
    first = torch.logical_and(zero, torch.eq(zeros_so_far, 1))
    whole = torch.masked_fill(x, zero, 1)
    without = torch.cumprod(torch.masked_fill(x, first, 1), dim)
    reached = __torch__.derivatives.reduce._reverse_cumsum(grad * without, dim)
    behind = reached / whole * torch.sum(torch.masked_fill(x, torch.logical_not(first), 0), [dim], True)
    before = __torch__.derivatives.reduce._reverse_cumsum(w, dim) / whole
    return torch.where(first, reached, torch.where(torch.eq(zeros_so_far, 0), before, behind))


def _reverse_logcumsumexp(x: Tensor, dim: int) -> Tensor:
    return torch.flip(torch.logcumsumexp(torch.flip(x, [dim]), dim), [dim])


def logcumsumexp__d_self(grad: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    if torch.dim(grad) == 0 or torch.numel(grad) == 0:
        return grad
    least = torch.full_like(grad, float("-inf"))
    positive = torch.where(torch.gt(grad, 0), torch.log(grad), least)
    negative = torch.where(torch.lt(grad, 0), torch.log(torch.neg(grad)), least)
    up = torch.exp(__torch__.derivatives.reduce._reverse_logcumsumexp(positive - result, dim) + self)
    down = torch.exp(__torch__.derivatives.reduce._reverse_logcumsumexp(negative - result, dim) + self)
    return up - down


def _logcumsumexp__as(self: Tensor, dim: int) -> Tensor:
    return torch.logcumsumexp(self, dim)


def _scan_at(grad: Tensor, self_sizes: List[int], dim: int, indices: Tensor) -> Tensor:
    if torch.len(self_sizes) == 0:
        return grad
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.scatter_add(total, dim, indices, grad)


def cummax__d_self(grad0: Tensor, self_sizes: List[int], dim: int, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._scan_at(grad0, self_sizes, dim, result1)


def cummin__d_self(grad0: Tensor, self_sizes: List[int], dim: int, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._scan_at(grad0, self_sizes, dim, result1)


# ---- the largest, the smallest ------------------------------------------------------------------------------------


# Equal ones share the gradient.
def _shared(grad: Tensor, chosen: Tensor) -> Tensor:
    return torch.masked_fill(torch.expand(grad / torch.sum(chosen), chosen.size()), torch.logical_not(chosen), 0)


def _equal_to(self: Tensor, result: Tensor) -> Tensor:
    same = torch.eq(self, result)
    return torch.logical_or(same, torch.logical_and(torch.isnan(self), torch.isnan(result)))


def max__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._shared(grad, __torch__.derivatives.reduce._equal_to(self, result))


def min__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._shared(grad, __torch__.derivatives.reduce._equal_to(self, result))


def median__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._shared(grad, __torch__.derivatives.reduce._equal_to(self, result))


def nanmedian__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._shared(grad, __torch__.derivatives.reduce._equal_to(self, result))


def _extreme(grad: Tensor, self: Tensor, result: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    g = __torch__.derivatives.reduce._restore(grad, dim, torch.dim(self), keepdim)
    chosen = torch.eq(self, __torch__.derivatives.reduce._restore(result, dim, torch.dim(self), keepdim))
    count = torch.sum(chosen, dim, True) if torch.len(dim) > 0 else torch.sum(chosen)
    return chosen * (g / count)


def amax__d_self(grad: Tensor, self: Tensor, dim: List[int], keepdim: bool, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._extreme(grad, self, result, dim, keepdim)


def amin__d_self(grad: Tensor, self: Tensor, dim: List[int], keepdim: bool, result: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._extreme(grad, self, result, dim, keepdim)


def aminmax__as(self: Tensor, dim: Optional[int], keepdim: bool) -> Tuple[Tensor, Tensor]:
    dims = annotate(List[int], [])
    if torch.__isnot__(dim, None):
        dims.append(unchecked_cast(int, dim))
    return torch.amin(self, dims, keepdim), torch.amax(self, dims, keepdim)


# The gradient of a reduction that tells where its results were found.
def _found(grad: Tensor, self_sizes: List[int], dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    if torch.len(self_sizes) == 0:
        return grad
    g = grad if keepdim else torch.unsqueeze(grad, dim)
    at = indices if keepdim else torch.unsqueeze(indices, dim)
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.scatter(total, dim, at, g)


def max__dim__d_self(grad0: Tensor, self_sizes: List[int], dim: int, keepdim: bool, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, keepdim)


def min__dim__d_self(grad0: Tensor, self_sizes: List[int], dim: int, keepdim: bool, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, keepdim)


def median__dim__d_self(grad0: Tensor, self_sizes: List[int], dim: int, keepdim: bool, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, keepdim)


def nanmedian__dim__d_self(grad0: Tensor, self_sizes: List[int], dim: int, keepdim: bool, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, keepdim)


def kthvalue__d_self(grad0: Tensor, self_sizes: List[int], dim: int, keepdim: bool, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, keepdim)


def mode__d_self(grad0: Tensor, self_sizes: List[int], dim: int, keepdim: bool, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, keepdim)


# ---- sorting --------------------------------------------------------------------------------------------------------


def sort__d_self(grad0: Tensor, self_sizes: List[int], dim: int, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, True)


def sort__stable__d_self(grad0: Tensor, self_sizes: List[int], dim: int, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, True)


def topk__d_self(grad0: Tensor, self_sizes: List[int], dim: int, result1: Tensor) -> Tensor:
    return __torch__.derivatives.reduce._found(grad0, self_sizes, dim, result1, True)


def msort__as(self: Tensor) -> Tensor:
    values, indices = torch.sort(self, 0)
    return values


# Between the two neighbours of q's rank among the elements (but nan, if ignored) along dim.
def _quantile(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str, ignore_nan: bool) -> Tensor:
    ndim = torch.dim(self)
    x = torch.reshape(self, [-1])
    axis = 0
    if torch.__isnot__(dim, None):
        axis = unchecked_cast(int, dim)
        axis = axis + ndim if axis < 0 else axis
        x = torch.movedim(self, axis, -1) if ndim > 0 else torch.unsqueeze(self, -1)
    kept = self.size()
    if torch.__isnot__(dim, None):
        if ndim > 0:
            kept[axis] = 1
    else:
        for i in range(ndim):
            kept[i] = 1
    values, indices = torch.sort(x, -1)
    n = torch.size(values, -1)
    qs = torch.reshape(q, [-1])
    if ignore_nan:
        last = torch.to(torch.sum(torch.logical_not(torch.isnan(values)), [-1], True) - 1, values.dtype)
        rank = torch.masked_fill(qs * last, torch.lt(qs * last, 0), 0)
    else:
        rank = torch.expand(qs * (n - 1), torch.slice(values.size(), None, -1, 1) + [torch.numel(qs)])
        unknown = torch.any(torch.isnan(values), -1, True)
        rank = torch.masked_fill(rank, unknown, n - 1)
    if interpolation == "lower":
        rank = torch.floor(rank)
    elif interpolation == "higher":
        rank = torch.ceil(rank)
    elif interpolation == "nearest":
        rank = torch.round(rank)
    below = torch.to(rank, 4)
    low = torch.gather(values, -1, below)
    if interpolation == "linear" or interpolation == "midpoint":
        above = torch.to(torch.ceil(rank), 4)
        weight = torch.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
        low = torch.lerp(low, torch.gather(values, -1, above), weight)
    if torch.dim(q) == 0:
        out = torch.squeeze(low, -1)
        return torch.reshape(out, kept) if keepdim else out
    out = torch.movedim(low, -1, 0)
    return torch.reshape(out, [torch.numel(qs)] + kept) if keepdim else out


def quantile__as(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.derivatives.reduce._quantile(self, q, dim, keepdim, interpolation, False)


def quantile__scalar__as(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.derivatives.reduce._quantile(self, torch.scalar_tensor(q, dtype=self.dtype), dim, keepdim, interpolation, False)


def nanquantile__as(self: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.derivatives.reduce._quantile(self, q, dim, keepdim, interpolation, True)


def nanquantile__scalar__as(self: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return __torch__.derivatives.reduce._quantile(self, torch.scalar_tensor(q, dtype=self.dtype), dim, keepdim, interpolation, True)


# ---- segments --------------------------------------------------------------------------------------


# Where t, whose dims are those of data with segments along axis, has what belongs to each element of data: indices for gather; and which elements belong to
# any segment.
def _segment_of(data_sizes: List[int], lengths: Optional[Tensor], offsets: Optional[Tensor], axis: int) -> Tuple[Tensor, Tensor]:
    if offsets is not None:
        ends = torch.slice(offsets, -1, 1)
        begins = torch.slice(offsets, -1, 0, 1)
    else:
        assert lengths is not None
        ends = torch.cumsum(lengths, -1)
        begins = torch.zeros_like(torch.slice(ends, -1, 0, 1))
    positions = torch.arange(data_sizes[axis], dtype=4, device=ends.device)
    shape = annotate(List[int], [])
    for i in range(axis):
        shape.append(data_sizes[i])
    shape.append(data_sizes[axis])
    at = torch.expand(positions, shape)
    segment = torch.searchsorted(torch.contiguous(torch.to(ends, 4)), torch.contiguous(at), right=True)
    within = torch.logical_and(torch.lt(segment, ends.size(-1)), torch.ge(at, begins))
    segment = torch.clamp(segment, max=ends.size(-1) - 1)
    for i in range(axis + 1, torch.len(data_sizes)):
        segment = torch.unsqueeze(segment, -1)
        within = torch.unsqueeze(within, -1)
    return torch.expand(segment, data_sizes), torch.expand(within, data_sizes)


def segment_reduce__d_data(grad: Tensor, result: Tensor, data: Tensor, reduce: str, lengths: Optional[Tensor], offsets: Optional[Tensor], axis: int, initial: Optional[number]) -> Tensor:
    if axis < 0:
        axis = axis + torch.dim(data)
    segment, within = __torch__.derivatives.reduce._segment_of(data.size(), lengths, offsets, axis)
    g = torch.gather(grad, axis, segment)
    none = torch.zeros_like(grad)
    if reduce == "sum":
        pass
    elif reduce == "mean":
        g = g / torch.gather(torch.scatter_add(none, axis, segment, torch.to(within, grad.dtype)), axis, segment)
    elif reduce == "prod":
        zero = torch.logical_and(torch.eq(data, 0), within)
        zeros = torch.gather(torch.scatter_add(none, axis, segment, torch.to(zero, grad.dtype)), axis, segment)
        others = torch.gather(torch.segment_reduce(torch.masked_fill(data, zero, 1), "prod", lengths=lengths, offsets=offsets, axis=axis, unsafe=True, initial=initial), axis, segment)
        g = torch.where(zero, torch.where(torch.eq(zeros, 1), g * others, torch.zeros_like(g)),
                        torch.where(torch.eq(zeros, 0), g * others / torch.masked_fill(data, zero, 1), torch.zeros_like(g)))
    else:
        best = torch.logical_and(torch.eq(data, torch.gather(result, axis, segment)), within)
        count = torch.gather(torch.scatter_add(none, axis, segment, torch.to(best, grad.dtype)), axis, segment)
        # PyTorch shares between equal ones what is positive
        g = torch.where(best, torch.where(torch.gt(g, 0), g / count, g), torch.zeros_like(g))
    return torch.where(within, g, torch.zeros_like(g))
