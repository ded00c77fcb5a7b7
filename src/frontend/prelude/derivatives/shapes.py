# SPDX-License-Identifier: Apache-2.0
# Derivatives of views, copies and joins. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# The gradient of a tensor whose elements at (size, stride, offset) have gradient grad: each element of its storage gets what arrives there.
def _as_strided_grad(grad: Tensor, base_sizes: List[int], base_strides: List[int], size: List[int], stride: List[int], offset: int) -> Tensor:
    extent = 1
    for i in range(torch.len(base_sizes)):
        extent += (base_sizes[i] - 1) * base_strides[i]
    flat = torch.zeros([extent], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    places = torch.arange(extent, dtype=4, layout=None, device=grad.device, pin_memory=None)
    places = torch.reshape(torch.as_strided(places, size, stride, offset), [-1])
    flat = torch.index_add(flat, 0, places, torch.reshape(grad, [-1]))
    return torch.as_strided(flat, base_sizes, base_strides, 0)


# ---- views ----------------------------------------------------------------------------------------


def alias__d_self(grad: Tensor) -> Tensor:
    return grad


def lift_fresh__d_self(grad: Tensor) -> Tensor:
    return grad


def view__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def _unsafe_view__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def view_as__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def reshape__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def reshape_as__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def _reshape_alias__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def flatten__using_ints__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def unflatten__int__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def ravel__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def squeeze__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def squeeze__dim__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def squeeze__dims__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def unsqueeze__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def atleast_1d__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def atleast_2d__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def atleast_3d__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    return torch.reshape(grad, self_sizes)


def atleast_1d__Sequence__as(tensors: List[Tensor]) -> List[Tensor]:
    out = annotate(List[Tensor], [])
    for t in tensors:
        out.append(torch.atleast_1d(t))
    return out


def atleast_2d__Sequence__as(tensors: List[Tensor]) -> List[Tensor]:
    out = annotate(List[Tensor], [])
    for t in tensors:
        out.append(torch.atleast_2d(t))
    return out


def atleast_3d__Sequence__as(tensors: List[Tensor]) -> List[Tensor]:
    out = annotate(List[Tensor], [])
    for t in tensors:
        out.append(torch.atleast_3d(t))
    return out


def transpose__int__d_self(grad: Tensor, dim0: int, dim1: int) -> Tensor:
    return torch.transpose(grad, dim0, dim1)


def t__d_self(grad: Tensor) -> Tensor:
    return torch.t(grad)


def adjoint__d_self(grad: Tensor) -> Tensor:
    return torch.adjoint(grad)


def mT__d_self(grad: Tensor) -> Tensor:
    return torch.transpose(grad, -2, -1)


def mT__a__d_self(grad: Tensor) -> Tensor:
    return torch.transpose(grad, -2, -1)


def mH__d_self(grad: Tensor) -> Tensor:
    return torch.adjoint(grad)


def mH__a__d_self(grad: Tensor) -> Tensor:
    return torch.adjoint(grad)


def matrix_H__d_self(grad: Tensor) -> Tensor:
    return torch.adjoint(grad)


def matrix_H__a__d_self(grad: Tensor) -> Tensor:
    return torch.adjoint(grad)


def numpy_T__d_self(grad: Tensor) -> Tensor:
    return torch.numpy_T(grad)


def numpy_T__a__d_self(grad: Tensor) -> Tensor:
    return torch.numpy_T(grad)


def permute__d_self(grad: Tensor, dims: List[int]) -> Tensor:
    back = annotate(List[int], [])
    n = torch.len(dims)
    for i in range(n):
        back.append(0)
    for i in range(n):
        back[dims[i] + n if dims[i] < 0 else dims[i]] = i
    return torch.permute(grad, back)


def movedim__intlist__d_self(grad: Tensor, source: List[int], destination: List[int]) -> Tensor:
    return torch.movedim(grad, destination, source)


def movedim__int__d_self(grad: Tensor, source: int, destination: int) -> Tensor:
    return torch.movedim(grad, destination, source)


# The engine sums over the dims that were added or stretched.
def expand__d_self(grad: Tensor) -> Tensor:
    return grad


def expand_as__d_self(grad: Tensor) -> Tensor:
    return grad


def broadcast_to__d_self(grad: Tensor) -> Tensor:
    return grad


def broadcast_tensors__d_tensors(grads: List[Tensor]) -> List[Tensor]:
    return grads


def select__int__d_self(grad: Tensor, self_sizes: List[int], dim: int, index: int) -> Tensor:
    return torch.select_backward(grad, self_sizes, dim, index)


def slice__Tensor__d_self(grad: Tensor, self_sizes: List[int], dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    first = 0
    last = 9223372036854775807
    if torch.__isnot__(start, None):
        first = unchecked_cast(int, start)
    if torch.__isnot__(end, None):
        last = unchecked_cast(int, end)
    return torch.slice_backward(grad, self_sizes, dim, first, last, step)


def narrow__d_self(grad: Tensor, self_sizes: List[int], dim: int, start: int, length: int) -> Tensor:
    first = start + self_sizes[dim] if start < 0 else start
    return torch.slice_backward(grad, self_sizes, dim, first, first + length, 1)


def narrow__Tensor__as(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    return torch.narrow(self, dim, int(torch.item(start)), length)


def narrow_copy__d_self(grad: Tensor, self_sizes: List[int], dim: int, start: int, length: int) -> Tensor:
    first = start + self_sizes[dim] if start < 0 else start
    return torch.slice_backward(grad, self_sizes, dim, first, first + length, 1)


def select_backward__d_grad_output(grad: Tensor, dim: int, index: int) -> Tensor:
    return torch.select(grad, dim, index)


def slice_backward__d_grad_output(grad: Tensor, dim: int, start: int, end: int, step: int) -> Tensor:
    return torch.slice(grad, dim, start, end, step)


def diagonal_backward__d_grad_output(grad: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal(grad, offset, dim1, dim2)


def diagonal__d_self(grad: Tensor, self_sizes: List[int], offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal_backward(grad, self_sizes, offset, dim1, dim2)


def unfold__d_self(grad: Tensor, self_sizes: List[int], dimension: int, size: int, step: int) -> Tensor:
    if torch.len(self_sizes) == 0:
        return torch.sum(grad)
    dim = dimension + torch.len(self_sizes) if dimension < 0 else dimension
    n = self_sizes[dim]
    places = torch.arange(n, dtype=4, layout=None, device=grad.device, pin_memory=None)
    places = torch.reshape(torch.unfold(places, 0, size, step), [-1])
    windows = torch.movedim(grad, -1, dim + 1)
    windows = torch.flatten(windows, dim, dim + 1)
    total = torch.zeros(self_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.index_add(total, dim, places, windows)


def as_strided__d_self(grad: Tensor, self_sizes: List[int], self_layout: List[int], size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    first = self_layout[-1]
    offset = first
    if storage_offset is not None:
        offset = storage_offset
    return __torch__.derivatives.shapes._as_strided_grad(grad, self_sizes, self_layout[:-1], size, stride, offset - first)


def view__dtype__d_self(grad: Tensor, self_dtype: int) -> Tensor:
    torch.ops.ctsc.fail("view.dtype is not differentiable")
    return grad


# ---- writes into a copy ----------------------------------------------------------------------------


def select_scatter__d_self(grad: Tensor, src_sizes: List[int], dim: int, index: int) -> Tensor:
    zeros = torch.zeros(src_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.select_scatter(grad, zeros, dim, index)


def select_scatter__d_src(grad: Tensor, dim: int, index: int) -> Tensor:
    return torch.select(grad, dim, index)


def slice_scatter__d_self(grad: Tensor, src_sizes: List[int], dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    zeros = torch.zeros(src_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.slice_scatter(grad, zeros, dim, start, end, step)


def slice_scatter__d_src(grad: Tensor, dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    return torch.slice(grad, dim, start, end, step)


def diagonal_scatter__d_self(grad: Tensor, src_sizes: List[int], offset: int, dim1: int, dim2: int) -> Tensor:
    zeros = torch.zeros(src_sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return torch.diagonal_scatter(grad, zeros, offset, dim1, dim2)


def diagonal_scatter__d_src(grad: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal(grad, offset, dim1, dim2)


# As PyTorch has it, up to 2.x at least: what src has overwritten, not the rest.
def as_strided_scatter__d_self(grad: Tensor, size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    part = torch.as_strided(torch.contiguous(grad), size, stride, storage_offset)
    return torch.as_strided_scatter(torch.zeros_like(torch.contiguous(grad)), part, size, stride, storage_offset)


def as_strided_scatter__d_src(grad: Tensor, size: List[int], stride: List[int], storage_offset: Optional[int]) -> Tensor:
    return torch.as_strided(torch.contiguous(grad), size, stride, storage_offset)


# ---- copies ----------------------------------------------------------------------------------------


def clone__d_self(grad: Tensor) -> Tensor:
    return grad


def contiguous__d_self(grad: Tensor) -> Tensor:
    return grad


def copy__d_src(grad: Tensor) -> Tensor:
    return grad


def _to_copy__d_self(grad: Tensor) -> Tensor:
    return grad


def to__device__d_self(grad: Tensor) -> Tensor:
    return grad


def autocast__d_self(grad: Tensor) -> Tensor:
    return grad


def _autocast_to_reduced_precision__d_self(grad: Tensor) -> Tensor:
    return grad


def _autocast_to_full_precision__d_self(grad: Tensor) -> Tensor:
    return grad


def to__dtype__d_self(grad: Tensor) -> Tensor:
    return grad


def to__other__d_self(grad: Tensor) -> Tensor:
    return grad


def to__dtype_layout__d_self(grad: Tensor) -> Tensor:
    return grad


def to__prim_Device__d_self(grad: Tensor) -> Tensor:
    return grad


def to__prim_dtype__d_self(grad: Tensor) -> Tensor:
    return grad


def to__prim_other__d_self(grad: Tensor) -> Tensor:
    return grad


def type_as__d_self(grad: Tensor) -> Tensor:
    return grad


def cpu__d_self(grad: Tensor) -> Tensor:
    return grad


def cuda__d_self(grad: Tensor) -> Tensor:
    return grad


def _cast_Double__d_self(grad: Tensor) -> Tensor:
    return grad


def _cast_Float__d_self(grad: Tensor) -> Tensor:
    return grad


def _cast_Half__d_self(grad: Tensor) -> Tensor:
    return grad


def pin_memory__d_self(grad: Tensor) -> Tensor:
    return grad


# ---- splitting and joining --------------------------------------------------------------------------


def split__Tensor__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def unsafe_split__Tensor__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def split__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def split__sizes__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def split_with_sizes__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def unsafe_split_with_sizes__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def chunk__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def unsafe_chunk__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


def tensor_split__sections__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.cat(grads, dim)


# The parts may overlap, or leave elements out: each is a slice.
def _cut(grads: List[Tensor], self_sizes: List[int], cuts: List[int], dim: int) -> Tensor:
    total = torch.zeros(self_sizes, dtype=grads[0].dtype, layout=None, device=grads[0].device, pin_memory=None)
    start = 0
    for i in range(torch.len(grads)):
        if i < torch.len(cuts):
            total = total + torch.slice_backward(grads[i], self_sizes, dim, start, cuts[i], 1)
            start = cuts[i]
        else:
            total = total + torch.slice_backward(grads[i], self_sizes, dim, start, 9223372036854775807, 1)
    return total


def tensor_split__indices__d_self(grads: List[Tensor], self_sizes: List[int], indices: List[int], dim: int) -> Tensor:
    return __torch__.derivatives.shapes._cut(grads, self_sizes, indices, dim)


def tensor_split__tensor_indices_or_sections__d_self(grads: List[Tensor], self_sizes: List[int], tensor_indices_or_sections: Tensor, dim: int) -> Tensor:
    if torch.dim(tensor_indices_or_sections) == 0:
        return torch.cat(grads, dim)
    cuts = annotate(List[int], [])
    for i in range(torch.len(grads) - 1):
        cuts.append(int(torch.item(tensor_indices_or_sections[i])))
    return __torch__.derivatives.shapes._cut(grads, self_sizes, cuts, dim)


def hsplit__int__d_self(grads: List[Tensor], self_sizes: List[int]) -> Tensor:
    return torch.cat(grads, 0 if torch.len(self_sizes) == 1 else 1)


def hsplit__array__d_self(grads: List[Tensor], self_sizes: List[int], indices: List[int]) -> Tensor:
    return __torch__.derivatives.shapes._cut(grads, self_sizes, indices, 0 if torch.len(self_sizes) == 1 else 1)


def vsplit__int__d_self(grads: List[Tensor]) -> Tensor:
    return torch.cat(grads, 0)


def vsplit__array__d_self(grads: List[Tensor], self_sizes: List[int], indices: List[int]) -> Tensor:
    return __torch__.derivatives.shapes._cut(grads, self_sizes, indices, 0)


def dsplit__int__d_self(grads: List[Tensor]) -> Tensor:
    return torch.cat(grads, 2)


def dsplit__array__d_self(grads: List[Tensor], self_sizes: List[int], indices: List[int]) -> Tensor:
    return __torch__.derivatives.shapes._cut(grads, self_sizes, indices, 2)


def unbind__int__d_self(grads: List[Tensor], dim: int) -> Tensor:
    return torch.stack(grads, dim)


def cat__d_tensors(grad: Tensor, tensors_sizes: List[List[int]], dim: int) -> List[Tensor]:
    out = annotate(List[Tensor], [])
    start = 0
    for i in range(torch.len(tensors_sizes)):
        sizes = tensors_sizes[i]
        if torch.len(sizes) == 1 and sizes[0] == 0:
            out.append(torch.zeros([0], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None))
        else:
            out.append(torch.narrow(grad, dim, start, sizes[dim]))
            start += sizes[dim]
    return out


def stack__d_tensors(grad: Tensor, dim: int) -> List[Tensor]:
    return torch.unbind(grad, dim)


def _stack__d_tensors(grad: Tensor, dim: int) -> List[Tensor]:
    return torch.unbind(grad, dim)


def hstack__as(tensors: List[Tensor]) -> Tensor:
    wide = torch.atleast_1d(tensors)
    return torch.cat(wide, 0 if torch.dim(wide[0]) == 1 else 1)


def vstack__as(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_2d(tensors), 0)


def dstack__as(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_3d(tensors), 2)


def column_stack__as(tensors: List[Tensor]) -> Tensor:
    columns = annotate(List[Tensor], [])
    for t in tensors:
        columns.append(torch.reshape(t, [torch.numel(t), 1]) if torch.dim(t) <= 1 else t)
    return torch.cat(columns, 1)


def block_diag__as(tensors: List[Tensor]) -> Tensor:
    wide = torch.atleast_2d(tensors)
    columns = 0
    for t in wide:
        columns += torch.size(t, 1)
    rows = annotate(List[Tensor], [])
    before = 0
    for t in wide:
        n = torch.size(t, 1)
        rows.append(torch.constant_pad_nd(t, [before, columns - before - n], 0))
        before += n
    return torch.cat(rows, 0)


def _meshgrid(tensors: List[Tensor], swap: bool) -> List[Tensor]:
    n = torch.len(tensors)
    sizes = annotate(List[int], [])
    for t in tensors:
        sizes.append(torch.numel(t))
    out = annotate(List[Tensor], [])
    for i in range(n):
        shape = annotate(List[int], [])
        for k in range(n):
            shape.append(-1 if k == i else 1)
        grid = torch.expand(torch.reshape(tensors[i], shape), sizes)
        out.append(torch.transpose(grid, 0, 1) if swap else grid)
    return out


def meshgrid__as(tensors: List[Tensor]) -> List[Tensor]:
    return __torch__.derivatives.shapes._meshgrid(tensors, False)


def meshgrid__indexing__as(tensors: List[Tensor], indexing: str) -> List[Tensor]:
    return __torch__.derivatives.shapes._meshgrid(tensors, indexing == "xy" and torch.len(tensors) >= 2)


def cartesian_prod__as(tensors: List[Tensor]) -> Tensor:
    if torch.len(tensors) == 1:
        return tensors[0]
    columns = annotate(List[Tensor], [])
    for grid in __torch__.derivatives.shapes._meshgrid(tensors, False):
        columns.append(torch.flatten(grid, 0, -1))
    return torch.stack(columns, 1)


def combinations__as(self: Tensor, r: int, with_replacement: bool) -> Tensor:
    if r == 0:
        return torch.empty([0], dtype=self.dtype, layout=None, device=self.device, pin_memory=None)
    places = torch.arange(torch.numel(self), dtype=4, layout=None, device=self.device, pin_memory=None)
    return torch.index(self, annotate(List[Optional[Tensor]], [torch.combinations(places, r, with_replacement)]))


# ---- repeating and turning ---------------------------------------------------------------------------


def flip__d_self(grad: Tensor, dims: List[int]) -> Tensor:
    return torch.flip(grad, dims)


def fliplr__d_self(grad: Tensor) -> Tensor:
    return torch.fliplr(grad)


def flipud__d_self(grad: Tensor) -> Tensor:
    return torch.flipud(grad)


def rot90__d_self(grad: Tensor, k: int, dims: List[int]) -> Tensor:
    return torch.rot90(grad, -k, dims)


def roll__d_self(grad: Tensor, shifts: List[int], dims: List[int]) -> Tensor:
    back = annotate(List[int], [])
    for s in shifts:
        back.append(-s)
    return torch.roll(grad, back, dims)


def repeat__d_self(grad: Tensor, self_sizes: List[int], repeats: List[int]) -> Tensor:
    lead = torch.len(repeats) - torch.len(self_sizes)
    split = annotate(List[int], [])
    dims = annotate(List[int], [])
    for i in range(torch.len(repeats)):
        dims.append(torch.len(split))
        split.append(repeats[i])
        if i >= lead:
            split.append(self_sizes[i - lead])
    if torch.len(repeats) == 0:
        return grad
    return torch.reshape(torch.sum(torch.reshape(grad, split), dims), self_sizes)


def tile__as(self: Tensor, dims: List[int]) -> Tensor:
    repeats = annotate(List[int], [])
    for i in range(torch.dim(self) - torch.len(dims)):
        repeats.append(1)
    for n in dims:
        repeats.append(n)
    return torch.repeat(self, repeats)


def repeat_interleave__self_int__as(self: Tensor, repeats: int, dim: Optional[int], output_size: Optional[int]) -> Tensor:
    input = self
    axis = 0
    if torch.__is__(dim, None):
        input = torch.flatten(self, 0, -1)
    else:
        axis = unchecked_cast(int, dim)
    places = torch.arange(torch.size(input, axis), dtype=4, layout=None, device=self.device, pin_memory=None)
    return torch.index_select(input, axis, torch.repeat_interleave(places, repeats))


def repeat_interleave__self_Tensor__as(self: Tensor, repeats: Tensor, dim: Optional[int], output_size: Optional[int]) -> Tensor:
    input = self
    axis = 0
    if torch.__is__(dim, None):
        input = torch.flatten(self, 0, -1)
    else:
        axis = unchecked_cast(int, dim)
    places = torch.arange(torch.size(input, axis), dtype=4, layout=None, device=self.device, pin_memory=None)
    return torch.index_select(input, axis, torch.repeat_interleave(places, repeats))


# ---- triangles and diagonals --------------------------------------------------------------------------


def tril__d_self(grad: Tensor, diagonal: int) -> Tensor:
    return torch.tril(grad, diagonal)


def triu__d_self(grad: Tensor, diagonal: int) -> Tensor:
    return torch.triu(grad, diagonal)


def diag__as(self: Tensor, diagonal: int) -> Tensor:
    if torch.dim(self) == 1:
        return torch.diag_embed(self, diagonal)
    return torch.clone(torch.diagonal(self, diagonal))


def diagflat__as(self: Tensor, offset: int) -> Tensor:
    return torch.diag_embed(torch.flatten(self, 0, -1), offset)


def diag_embed__d_self(grad: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return torch.diagonal(grad, offset, dim1, dim2)


def trace__d_self(grad: Tensor, self_sizes: List[int]) -> Tensor:
    ones = torch.eye(self_sizes[0], self_sizes[1], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    return ones * grad


def fill_diagonal___d_self(grad: Tensor, wrap: bool) -> Tensor:
    return torch.fill_diagonal_(torch.clone(grad), 0, wrap)
