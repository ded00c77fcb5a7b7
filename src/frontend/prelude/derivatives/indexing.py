# SPDX-License-Identifier: Apache-2.0
# Derivatives of indexing. runtime/autograd/grad_rules.h explains the names of functions and parameters.


def index__Tensor__d_self(grad: Tensor, self_sizes: List[int], indices: List[Optional[Tensor]]) -> Tensor:
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_put(total, indices, grad, True)


def index__Tensor_hacked_twin__d_self(grad: Tensor, self_sizes: List[int], indices: List[Tensor]) -> Tensor:
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_put(total, indices, grad, True)


def _unsafe_index__Tensor__d_self(grad: Tensor, self_sizes: List[int], indices: List[Optional[Tensor]]) -> Tensor:
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_put(total, indices, grad, True)


def index_put__d_self(grad: Tensor, values_sizes: List[int], indices: List[Optional[Tensor]], accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    zero = torch.zeros([], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_put(grad, indices, zero, False)


def index_put__d_values(grad: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index(grad, indices)


def index_put__hacked_twin__d_self(grad: Tensor, indices: List[Tensor], accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    zero = torch.zeros([], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_put(grad, indices, zero, False)


def index_put__hacked_twin__d_values(grad: Tensor, indices: List[Tensor]) -> Tensor:
    return torch.index(grad, indices)


def _index_put_impl__d_self(grad: Tensor, indices: List[Optional[Tensor]], accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    zero = torch.zeros([], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_put(grad, indices, zero, False)


def _index_put_impl__d_values(grad: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index(grad, indices)


def index_select__d_self(grad: Tensor, self_sizes: List[int], dim: int, index: Tensor) -> Tensor:
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_add(total, dim, index, grad)


def index_add__d_self(grad: Tensor) -> Tensor:
    return grad


# A source of no dims stands for one of one.
def _selected(grad: Tensor, sizes: List[int], dim: int, index: Tensor) -> Tensor:
    return torch.expand(torch.reshape(torch.index_select(grad, dim, index), sizes), sizes)


def index_add__d_source(grad: Tensor, source_sizes: List[int], dim: int, index: Tensor, alpha: number) -> Tensor:
    part = __torch__.derivatives.indexing._selected(grad, source_sizes, dim, index)
    return part if alpha == 1 else part * alpha


def index_copy__d_self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return torch.index_fill(grad, dim, index, 0)


def index_copy__d_source(grad: Tensor, source_sizes: List[int], dim: int, index: Tensor) -> Tensor:
    return __torch__.derivatives.indexing._selected(grad, source_sizes, dim, index)


def index_fill__int_Scalar__d_self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return torch.index_fill(grad, dim, index, 0)


def index_fill__int_Tensor__d_self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return torch.index_fill(grad, dim, index, 0)


# Elements that several indices fill count once.
def index_fill__int_Tensor__d_value(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    if torch.dim(grad) == 0:
        return grad if torch.numel(index) > 0 else torch.zeros_like(grad)
    chosen = torch.index_fill(torch.zeros([torch.size(grad, dim)], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None), 0, index, 1)
    return torch.sum(torch.movedim(grad, dim, -1) * chosen)


def index_reduce__d_self__source(grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor, wanted: List[bool]) -> Tuple[Tensor, Tensor]:
    if torch.dim(source) == 0:
        full = torch.reshape(index, [-1])
    else:
        shape = annotate(List[int], [])
        for i in range(torch.dim(source)):
            shape.append(-1 if i == (dim + torch.dim(source) if dim < 0 else dim) else 1)
        full = torch.expand(torch.reshape(index, shape), source.size())
    return __torch__.derivatives.indexing._scatter_reduce(grad, self, dim, full, source, reduce, include_self, result)


# The mean divides by how many there were; the largest and the smallest share among equals.
def _scatter_reduce(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor) -> Tuple[Tensor, Tensor]:
    if reduce == "sum":
        grad_self = grad
        grad_src = torch.gather(grad, dim, index)
    elif reduce == "prod":
        masked_self = torch.masked_fill(self, torch.eq(self, 0), 1)
        masked_result = torch.scatter_reduce(masked_self, dim, index, src, reduce, include_self=include_self)
        grad_self = grad * masked_result / masked_self
        src_zero = torch.eq(src, 0)
        zeros_at = torch.scatter_add(torch.zeros_like(self), dim, index, torch.to(src_zero, self.dtype))
        single = torch.logical_and(src_zero, torch.eq(torch.gather(zeros_at, dim, index), 1))
        masked_src = torch.masked_fill(src, single, 1)
        masked_src_result = torch.scatter_reduce(self, dim, index, masked_src, reduce, include_self=include_self)
        other = torch.gather(grad * result, dim, index) / torch.masked_fill(src, src_zero, 1)
        grad_src = torch.where(single, torch.gather(grad * masked_src_result, dim, index), torch.masked_fill(other, src_zero, 0))
    elif reduce == "mean":
        count = torch.ones_like(self) if include_self else torch.zeros_like(self)
        count = torch.scatter_add(count, dim, index, torch.ones_like(src))
        count = torch.masked_fill(count, torch.eq(count, 0), 1)
        grad_self = grad / count
        grad_src = torch.gather(grad / count, dim, index)
    else:
        value = torch.gather(result, dim, index)
        self_is = torch.to(torch.eq(self, result), self.dtype)
        src_is = torch.to(torch.eq(src, value), self.dtype)
        shared = torch.scatter_add(self_is, dim, index, src_is)
        share = grad / shared
        grad_self = self_is * share
        grad_src = src_is * torch.gather(share, dim, index)
    if not include_self:
        grad_self = torch.scatter(grad_self, dim, index, 0)
    return grad_self, grad_src


def scatter_reduce__two__d_self__src(grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor, wanted: List[bool]) -> Tuple[Tensor, Tensor]:
    return __torch__.derivatives.indexing._scatter_reduce(grad, self, dim, index, src, reduce, include_self, result)


def gather__d_self(grad: Tensor, self_sizes: List[int], dim: int, index: Tensor) -> Tensor:
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.scatter_add(total, dim, index, grad)


def take_along_dim__as(self: Tensor, indices: Tensor, dim: Optional[int]) -> Tensor:
    if torch.__is__(dim, None):
        return torch.gather(torch.reshape(self, [-1]), 0, torch.reshape(indices, [-1]))
    axis = unchecked_cast(int, dim)
    axis = axis + torch.dim(self) if axis < 0 else axis
    to_self = annotate(List[int], [])
    to_indices = annotate(List[int], [])
    for i in range(torch.dim(self)):
        a = torch.size(self, i)
        b = torch.size(indices, i)
        wide = b if a == 1 else a
        to_self.append(a if i == axis else wide)
        to_indices.append(b if i == axis else wide)
    return torch.gather(torch.expand(self, to_self), axis, torch.expand(indices, to_indices))


def scatter__src__d_self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return torch.scatter(grad, dim, index, 0)


def scatter__src__d_src(grad: Tensor, src_sizes: List[int], index: Tensor, dim: int) -> Tensor:
    return __torch__.derivatives.indexing._gathered(grad, src_sizes, dim, index)


def scatter__value__d_self(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return torch.scatter(grad, dim, index, 0)


def scatter_add__d_self(grad: Tensor) -> Tensor:
    return grad


# Of a source only the part is read that is as large as the index.
def _gathered(grad: Tensor, sizes: List[int], dim: int, index: Tensor) -> Tensor:
    part = torch.gather(grad, dim, index)
    for i in range(torch.len(sizes)):
        if torch.size(part, i) != sizes[i]:
            whole = part.size()
            whole[i] = sizes[i]
            part = torch.slice_backward(part, whole, i, 0, torch.size(part, i), 1)
    return part


def scatter_add__d_src(grad: Tensor, src_sizes: List[int], dim: int, index: Tensor) -> Tensor:
    return __torch__.derivatives.indexing._gathered(grad, src_sizes, dim, index)


def masked_select__d_self(grad: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    full = torch.broadcast_tensors([self, mask])
    zeros = torch.zeros(full[0].size(), dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.masked_scatter(zeros, mask, grad)


def masked_scatter__d_self(grad: Tensor, mask: Tensor) -> Tensor:
    return torch.masked_fill(grad, mask, 0)


def masked_scatter__d_source(grad: Tensor, mask: Tensor, source_sizes: List[int]) -> Tensor:
    taken = torch.masked_select(grad, mask)
    n = 1
    for s in source_sizes:
        n *= s
    if torch.numel(taken) < n:
        taken = torch.constant_pad_nd(taken, [0, n - torch.numel(taken)], 0)
    return torch.reshape(torch.slice(taken, 0, 0, n, 1), source_sizes)


def take__d_self(grad: Tensor, self_sizes: List[int], index: Tensor) -> Tensor:
    n = 1
    for s in self_sizes:
        n *= s
    total = torch.zeros([n], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    places = torch.reshape(index, [-1])
    places = torch.where(torch.lt(places, 0), places + n, places)
    return torch.reshape(torch.index_add(total, 0, places, torch.reshape(grad, [-1])), self_sizes)


def put__d_self(grad: Tensor, index: Tensor, source_sizes: List[int], accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    zeros = torch.zeros(source_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.put(grad, index, zeros, False)


def put__d_source(grad: Tensor, index: Tensor, source_sizes: List[int]) -> Tensor:
    return torch.reshape(torch.take(grad, index), source_sizes)
