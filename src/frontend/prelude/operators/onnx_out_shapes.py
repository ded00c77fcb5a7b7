# SPDX-License-Identifier: Apache-2.0
# What the writer of ONNX walks in the place of operators that have no node (onnx_out.py): views, selection, new tensors, layers, images, losses.


# ---- views -----------------------------------------------------------------------------------------------------------


def onnx_out_diagonal(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    a, b = __torch__.operators.onnx_out._wrap(dim1, self.dim()), __torch__.operators.onnx_out._wrap(dim2, self.dim())
    order: List[int] = []
    sizes: List[int] = []
    for i in range(self.dim()):
        if i != a and i != b:
            order.append(i)
            sizes.append(self.size(i))
    rows, columns = self.size(a), self.size(b)
    n = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = offset if offset >= 0 else -offset * columns
    flat = torch.reshape(torch.permute(self, order + [a, b]), sizes + [rows * columns])
    return torch.index_select(flat, -1, torch.arange(n, dtype=4) * (columns + 1) + start)


def onnx_out_diag_embed(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    ndim = self.dim() + 1
    a, b = __torch__.operators.onnx_out._wrap(dim1, ndim), __torch__.operators.onnx_out._wrap(dim2, ndim)
    if a > b:
        a, b, offset = b, a, -offset
    up, down = max(offset, 0), max(-offset, 0)
    n = self.size(-1) + up + down
    wide = torch.constant_pad_nd(self, [up, 0], 0)
    row = torch.unsqueeze(wide, -2) if offset > 0 else torch.unsqueeze(torch.constant_pad_nd(self, [0, down], 0), -2)
    i = torch.arange(n, dtype=4)
    on = torch.unsqueeze(i, 0) - torch.unsqueeze(i, 1) == offset
    whole = torch.where(on, row, torch.zeros([1], dtype=self.dtype))
    order: List[int] = []
    at = 0
    for k in range(ndim):
        if k == a:
            order.append(ndim - 2)
        elif k == b:
            order.append(ndim - 1)
        else:
            order.append(at)
            at = at + 1
    return torch.permute(whole, order)


def onnx_out_diag(self: Tensor, diagonal: int) -> Tensor:
    if self.dim() == 1:
        return torch.diag_embed(self, diagonal, 0, 1)
    return torch.clone(torch.diagonal(self, diagonal, 0, 1))


def onnx_out_diagflat(self: Tensor, offset: int) -> Tensor:
    return torch.diag_embed(torch.reshape(self, [-1]), offset, 0, 1)


def onnx_out_unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    if self.dim() == 0:
        return torch.unsqueeze(self, 0)
    d = __torch__.operators.onnx_out._wrap(dimension, self.dim())
    n = (self.size(d) - size) // step + 1
    at = torch.unsqueeze(torch.arange(n, dtype=4) * step, 1) + torch.arange(size, dtype=4)
    # [..., n, size, ...]: the windows go to the end
    windows = torch.index_select(self, d, torch.reshape(at, [-1]))
    sizes = self.size()
    front: List[int] = []
    back: List[int] = []
    for i in range(self.dim()):
        if i < d:
            front.append(sizes[i])
        elif i > d:
            back.append(sizes[i])
    return torch.movedim(torch.reshape(windows, front + [n, size] + back), d + 1, -1)


def onnx_out_movedim__int(self: Tensor, source: int, destination: int) -> Tensor:
    return torch.movedim(self, [source], [destination])


def onnx_out_movedim__intlist(self: Tensor, source: List[int], destination: List[int]) -> Tensor:
    ndim = self.dim()
    order: List[int] = []
    for i in range(ndim):
        order.append(-1)
    taken: List[int] = []
    for k in range(len(source)):
        order[__torch__.operators.onnx_out._wrap(destination[k], ndim)] = __torch__.operators.onnx_out._wrap(source[k], ndim)
        taken.append(__torch__.operators.onnx_out._wrap(source[k], ndim))
    at = 0
    for i in range(ndim):
        if order[i] < 0:
            while at in taken:
                at = at + 1
            order[i] = at
            at = at + 1
    return torch.permute(self, order)


def onnx_out_mT(self: Tensor) -> Tensor:
    return torch.transpose(self, -2, -1)


def onnx_out_mH(self: Tensor) -> Tensor:
    return torch.transpose(self, -2, -1)


def onnx_out_matrix_H(self: Tensor) -> Tensor:
    return torch.transpose(self, -2, -1)


def onnx_out_adjoint(self: Tensor) -> Tensor:
    return torch.transpose(self, -2, -1)


def onnx_out_atleast_1d(self: Tensor) -> Tensor:
    return torch.reshape(self, [1]) if self.dim() == 0 else self


def onnx_out_atleast_2d(self: Tensor) -> Tensor:
    return torch.reshape(self, [1, 1]) if self.dim() == 0 else torch.unsqueeze(self, 0) if self.dim() == 1 else self


def onnx_out_atleast_3d(self: Tensor) -> Tensor:
    if self.dim() == 0:
        return torch.reshape(self, [1, 1, 1])
    if self.dim() == 1:
        return torch.unsqueeze(torch.unsqueeze(self, 0), -1)
    return torch.unsqueeze(self, -1) if self.dim() == 2 else self


def onnx_out_atleast_1d__Sequence(tensors: List[Tensor]) -> List[Tensor]:
    out: List[Tensor] = []
    for t in tensors:
        out.append(torch.atleast_1d(t))
    return out


def onnx_out_atleast_2d__Sequence(tensors: List[Tensor]) -> List[Tensor]:
    out: List[Tensor] = []
    for t in tensors:
        out.append(torch.atleast_2d(t))
    return out


def onnx_out_atleast_3d__Sequence(tensors: List[Tensor]) -> List[Tensor]:
    out: List[Tensor] = []
    for t in tensors:
        out.append(torch.atleast_3d(t))
    return out


def onnx_out_rot90(self: Tensor, k: int, dims: List[int]) -> Tensor:
    turns = k % 4
    if turns == 1:
        return torch.transpose(torch.flip(self, [dims[1]]), dims[0], dims[1])
    if turns == 2:
        return torch.flip(self, dims)
    if turns == 3:
        return torch.flip(torch.transpose(self, dims[0], dims[1]), [dims[1]])
    return torch.clone(self)


def onnx_out_fliplr(self: Tensor) -> Tensor:
    return torch.flip(self, [1])


def onnx_out_flipud(self: Tensor) -> Tensor:
    return torch.flip(self, [0])


def onnx_out_roll(self: Tensor, shifts: List[int], dims: List[int]) -> Tensor:
    x = torch.reshape(self, [-1]) if len(dims) == 0 else self
    for k in range(len(shifts)):
        d = 0 if len(dims) == 0 else dims[k]
        n = x.size(d)
        if n > 0:
            x = torch.index_select(x, d, torch.remainder(torch.arange(n, dtype=4) - shifts[k], n))
    return torch.reshape(x, self.size()) if len(dims) == 0 else x


def onnx_out_tile(self: Tensor, dims: List[int]) -> Tensor:
    times: List[int] = []
    for i in range(self.dim() - len(dims)):
        times.append(1)
    return torch.repeat(self, times + dims)


def onnx_out_repeat_interleave__self_int(self: Tensor, repeats: int, dim: Optional[int], output_size: Optional[int]) -> Tensor:
    x = torch.reshape(self, [-1]) if dim is None else torch.reshape(self, [1]) if self.dim() == 0 else self
    d = 0 if dim is None else __torch__.operators.onnx_out._wrap(dim, self.dim())
    front: List[int] = []
    back: List[int] = []
    keep: List[int] = []
    for i in range(x.dim()):
        if i < d:
            front.append(x.size(i))
        elif i > d:
            back.append(x.size(i))
        keep.append(-1)
    wide = torch.expand(torch.unsqueeze(x, d + 1), keep[:d + 1] + [repeats] + keep[d + 1:])
    return torch.reshape(wide, front + [x.size(d) * repeats] + back)


def onnx_out_repeat_interleave__Tensor(repeats: Tensor, output_size: Optional[int]) -> Tensor:
    ends = torch.cumsum(repeats, 0)
    return torch.searchsorted(ends, torch.arange(int(torch.sum(repeats)), dtype=4), right=True)


def onnx_out_repeat_interleave__self_Tensor(self: Tensor, repeats: Tensor, dim: Optional[int], output_size: Optional[int]) -> Tensor:
    x = torch.reshape(self, [-1]) if dim is None else self
    d = 0 if dim is None else dim
    times = torch.expand(torch.reshape(repeats, [-1]), [x.size(d)])
    return torch.index_select(x, d, torch.repeat_interleave(times))


def onnx_out_narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    begin = start + self.size(dim) if start < 0 else start
    return torch.slice(self, dim, begin, begin + length, 1)


def onnx_out_narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    return torch.clone(torch.narrow(self, dim, start, length))


def onnx_out_narrow__Tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    at = torch.to(start, 4) + torch.arange(length, dtype=4)
    return torch.index_select(self, dim, torch.where(at < 0, at + self.size(dim), at) if length > 0 else at)


def onnx_out_tril(self: Tensor, diagonal: int) -> Tensor:
    if self.dtype == 4 or self.dtype == 6 or self.dtype == 7:
        return torch.tril(self, diagonal)
    wide = 6 if __torch__.operators.onnx_out._is_float(self.dtype) else 4
    return torch.to(torch.tril(torch.to(self, wide), diagonal), self.dtype)


def onnx_out_triu(self: Tensor, diagonal: int) -> Tensor:
    if self.dtype == 4 or self.dtype == 6 or self.dtype == 7:
        return torch.triu(self, diagonal)
    wide = 6 if __torch__.operators.onnx_out._is_float(self.dtype) else 4
    return torch.to(torch.triu(torch.to(self, wide), diagonal), self.dtype)


# ---- together, apart -------------------------------------------------------------------------------------------------


def onnx_out_hstack(tensors: List[Tensor]) -> Tensor:
    all = torch.atleast_1d(tensors)
    return torch.cat(all, 0 if all[0].dim() == 1 else 1)


def onnx_out_vstack(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_2d(tensors), 0)


def onnx_out_row_stack(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_2d(tensors), 0)


def onnx_out_dstack(tensors: List[Tensor]) -> Tensor:
    return torch.cat(torch.atleast_3d(tensors), 2)


def onnx_out_column_stack(tensors: List[Tensor]) -> Tensor:
    all: List[Tensor] = []
    for t in tensors:
        all.append(torch.reshape(t, [1, 1]) if t.dim() == 0 else torch.unsqueeze(t, 1) if t.dim() == 1 else t)
    return torch.cat(all, 1)


def onnx_out_hsplit__int(self: Tensor, sections: int) -> List[Tensor]:
    return torch.tensor_split(self, sections, 0 if self.dim() == 1 else 1)


def onnx_out_hsplit__array(self: Tensor, indices: List[int]) -> List[Tensor]:
    return torch.tensor_split(self, indices, 0 if self.dim() == 1 else 1)


def onnx_out_vsplit__int(self: Tensor, sections: int) -> List[Tensor]:
    return torch.tensor_split(self, sections, 0)


def onnx_out_vsplit__array(self: Tensor, indices: List[int]) -> List[Tensor]:
    return torch.tensor_split(self, indices, 0)


def onnx_out_dsplit__int(self: Tensor, sections: int) -> List[Tensor]:
    return torch.tensor_split(self, sections, 2)


def onnx_out_dsplit__array(self: Tensor, indices: List[int]) -> List[Tensor]:
    return torch.tensor_split(self, indices, 2)


def onnx_out_tensor_split__sections(self: Tensor, sections: int, dim: int) -> List[Tensor]:
    n = self.size(dim)
    out: List[Tensor] = []
    start = 0
    for i in range(sections):
        end = start + (n + sections - 1 - i) // sections
        out.append(torch.slice(self, dim, start, end, 1))
        start = end
    return out


def onnx_out_tensor_split__indices(self: Tensor, indices: List[int], dim: int) -> List[Tensor]:
    out: List[Tensor] = []
    start = 0
    for end in indices:
        out.append(torch.slice(self, dim, start, end, 1))
        start = end
    out.append(torch.slice(self, dim, start, 9223372036854775807, 1))
    return out


def onnx_out_meshgrid(tensors: List[Tensor]) -> List[Tensor]:
    return torch.meshgrid(tensors, indexing="ij")


def onnx_out_meshgrid__indexing(tensors: List[Tensor], indexing: str) -> List[Tensor]:
    n = len(tensors)
    grids: List[Tensor] = []
    for i in range(n):
        sizes: List[int] = []
        for k in range(n):
            sizes.append(1)
        at = 1 - i if indexing == "xy" and i < 2 and n > 1 else i
        sizes[at] = -1
        grids.append(torch.reshape(tensors[i], sizes))
    return torch.broadcast_tensors(grids)


def onnx_out_cartesian_prod(tensors: List[Tensor]) -> Tensor:
    if len(tensors) == 1:
        return torch.clone(tensors[0])
    columns: List[Tensor] = []
    for g in torch.meshgrid(tensors, indexing="ij"):
        columns.append(torch.reshape(g, [-1]))
    return torch.stack(columns, 1)


def onnx_out_combinations(self: Tensor, r: int, with_replacement: bool) -> Tensor:
    n = self.size(0)
    at: List[Tensor] = []
    for i in range(r):
        at.append(torch.arange(n, dtype=4))
    grids = torch.meshgrid(at, indexing="ij")
    keep = torch.ones_like(grids[0], dtype=11)
    columns: List[Tensor] = []
    for i in range(r):
        if i > 0:
            keep = torch.logical_and(keep, grids[i - 1] <= grids[i] if with_replacement else grids[i - 1] < grids[i])
        columns.append(torch.reshape(grids[i], [-1]))
    rows = torch.masked_select(torch.arange(keep.numel(), dtype=4), torch.reshape(keep, [-1]))
    out: List[Tensor] = []
    for c in columns:
        out.append(torch.index_select(self, 0, torch.index_select(c, 0, rows)))
    return torch.stack(out, 1)


def onnx_out_block_diag(tensors: List[Tensor]) -> Tensor:
    all = torch.atleast_2d(tensors)
    dtype = all[0].dtype
    left, width = 0, 0
    for t in all:
        width = width + t.size(1)
        dtype = torch.result_type(torch.zeros([1], dtype=dtype), t)
    rows: List[Tensor] = []
    for t in all:
        right = width - left - t.size(1)
        rows.append(torch.constant_pad_nd(torch.to(t, dtype), [left, right], 0))
        left = left + t.size(1)
    return torch.cat(rows, 0)


# ---- selection -------------------------------------------------------------------------------------------------------


# indices of integers alone, as wide as their masks
def _indices(indices: List[Optional[Tensor]]) -> List[Optional[Tensor]]:
    plain: List[Optional[Tensor]] = []
    for t in indices:
        if t is None:
            plain.append(None)
        elif t.dtype == 11 or t.dtype == 0:
            places = torch.nonzero(t)
            for k in range(t.dim()):
                plain.append(torch.select(places, 1, k))
        else:
            plain.append(torch.to(t, 4))
    return plain


# The order of `ndim` dims in which the first `one` and the `two` after them have changed places.
def _exchanged(one: int, two: int, ndim: int) -> List[int]:
    order: List[int] = []
    for i in range(two):
        order.append(one + i)
    for i in range(one):
        order.append(i)
    for i in range(one + two, ndim):
        order.append(i)
    return order


# the order that brings the indexed dims to the front, and how many they are
def _in_front(plain: List[Optional[Tensor]], ndim: int) -> Tuple[List[int], int, int, bool]:
    front: List[int] = []
    back: List[int] = []
    first = -1
    together = True
    for i in range(ndim):
        if i < len(plain) and plain[i] is not None:
            if first < 0:
                first = i
            if len(front) > 0 and front[len(front) - 1] != i - 1:
                together = False
            front.append(i)
        else:
            back.append(i)
    return (front + back, len(front), first, together)


def _given(plain: List[Optional[Tensor]]) -> List[Tensor]:
    out: List[Tensor] = []
    for t in plain:
        if t is not None:
            out.append(t)
    return out


def onnx_out_index__Tensor(self: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    plain = __torch__.operators.onnx_out_shapes._indices(indices)
    order, n, first, together = __torch__.operators.onnx_out_shapes._in_front(plain, self.dim())
    given = __torch__.operators.onnx_out_shapes._given(plain)
    if n == 0:
        return torch.clone(self)
    if n == 1:
        return torch.index(self, plain)
    wide = torch.broadcast_tensors(given)
    some: List[Optional[Tensor]] = []
    for t in wide:
        some.append(t)
    y = torch.index(torch.permute(self, order), some)
    if together and first > 0:
        y = torch.permute(y, __torch__.operators.onnx_out_shapes._exchanged(wide[0].dim(), first, y.dim()))
    return y


# x[..., at] = values, with the indexed dims in front: values get the sizes of what is chosen
def onnx_out_index_put(self: Tensor, indices: List[Optional[Tensor]], values: Tensor, accumulate: bool) -> Tensor:
    if len(indices) == 1 and not accumulate:
        mask = indices[0]
        if mask is not None:
            if mask.dtype == 11 and values.numel() == 1:
                m = mask
                for i in range(self.dim() - mask.dim()):
                    m = torch.unsqueeze(m, -1)
                return torch.where(m, torch.reshape(values, []), self)
    if accumulate and (self.dtype == 5 or self.dtype == 15):
        return torch.to(torch.index_put(torch.to(self, 6), indices, torch.to(values, 6), True), self.dtype)
    plain = __torch__.operators.onnx_out_shapes._indices(indices)
    order, n, first, together = __torch__.operators.onnx_out_shapes._in_front(plain, self.dim())
    wide = torch.broadcast_tensors(__torch__.operators.onnx_out_shapes._given(plain))
    width = wide[0].dim()
    front: List[int] = []
    for i in range(width):
        front.append(wide[0].size(i))
    rest: List[int] = []
    for k in range(n, self.dim()):
        rest.append(self.size(order[k]))
    if together and first > 0:
        chosen = torch.expand(values, rest[:first] + front + rest[first:])
        chosen = torch.permute(chosen, __torch__.operators.onnx_out_shapes._exchanged(first, width, chosen.dim()))
    else:
        chosen = torch.expand(values, front + rest)
    some: List[Optional[Tensor]] = []
    for t in wide:
        some.append(t)
    y = torch.index_put(torch.permute(self, order), some, chosen, accumulate)
    inverse: List[int] = []
    for i in range(self.dim()):
        inverse.append(0)
    for k in range(self.dim()):
        inverse[order[k]] = k
    return torch.permute(y, inverse)


def onnx_out_index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    if self.dim() == 0:
        return torch.clone(self)
    return torch.index_select(self, dim, torch.reshape(index, [1]) if index.dim() == 0 else index)


def onnx_out_take(self: Tensor, index: Tensor) -> Tensor:
    at = torch.reshape(index, [-1])
    return torch.reshape(torch.index_select(torch.reshape(self, [-1]), 0, torch.where(at < 0, at + self.numel(), at)), index.size())


def onnx_out_take_along_dim(self: Tensor, indices: Tensor, dim: Optional[int]) -> Tensor:
    if dim is None:
        return torch.gather(torch.reshape(self, [-1]), 0, torch.reshape(indices, [-1]))
    d = __torch__.operators.onnx_out._wrap(dim, self.dim())
    a = torch.zeros_like(torch.narrow(self, d, 0, 1), dtype=11)
    b = torch.zeros_like(torch.narrow(indices, d, 0, 1), dtype=11)
    x = torch.expand_as(self, torch.logical_or(torch.zeros_like(self, dtype=11), b))
    at = torch.expand_as(indices, torch.logical_or(torch.zeros_like(indices, dtype=11), a))
    return torch.gather(x, d, at)


def onnx_out_gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    if self.dim() == 0 or index.dim() == 0:
        flat = torch.gather(torch.reshape(self, [-1]), 0, torch.reshape(index, [-1]))
        return torch.reshape(flat, index.size())
    x = self
    for i in range(self.dim()):
        if i != __torch__.operators.onnx_out._wrap(dim, self.dim()):
            x = torch.narrow(x, i, 0, index.size(i))
    return torch.gather(x, dim, index)


def onnx_out_argwhere(self: Tensor) -> Tensor:
    return torch.nonzero(self)


def onnx_out_nonzero_numpy(self: Tensor) -> List[Tensor]:
    places = torch.nonzero(self)
    out: List[Tensor] = []
    for k in range(self.dim()):
        out.append(torch.select(places, 1, k))
    return out


def onnx_out_where(condition: Tensor) -> List[Tensor]:
    return torch.nonzero_numpy(condition)


def onnx_out_masked_select(self: Tensor, mask: Tensor) -> Tensor:
    a, b = torch.broadcast_tensors([self, mask])
    if a.dim() == 0:
        a, b = torch.reshape(a, [1]), torch.reshape(b, [1])
    return torch.masked_select(a, b)


def onnx_out_masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    m = torch.logical_or(mask, torch.zeros_like(self, dtype=11))
    x = torch.expand_as(self, m)
    flat = torch.reshape(source, [-1])
    at = torch.clamp_min(torch.cumsum(torch.reshape(torch.to(m, 4), [-1]), 0) - 1, 0)
    last = torch.clamp_max(at, flat.numel() - 1)
    return torch.where(m, torch.reshape(torch.index_select(flat, 0, last), x.size()), x)


def _along(index: Tensor, dim: int, ndim: int) -> Tensor:
    sizes: List[int] = []
    for i in range(ndim):
        sizes.append(1)
    sizes[dim] = -1
    return torch.reshape(torch.to(index, 4), sizes)


# the result of scatter where only `counts` of the elements were written
def _scattered(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    x = self
    ones = torch.ones_like(src)
    if not include_self:
        start = 1.0 if reduce == "prod" else 0.0
        dtype = self.dtype
        float = __torch__.operators.onnx_out._is_float(dtype)
        if reduce == "amax":
            start = -inf
        if reduce == "amin":
            start = inf
        if float or reduce == "sum" or reduce == "mean" or reduce == "prod":
            x = torch.scatter(self, dim, index, start)
        else:
            bits = [8, 7, 15, 31, 63][dtype]
            most = (1 << bits - 1) - 1 + (1 << bits - 1)
            least = 0 if dtype == 0 else -most - 1
            x = torch.scatter(self, dim, index, least if reduce == "amax" else most)
    if reduce == "mean":
        sum = torch.scatter_add(x, dim, index, src)
        count = torch.scatter_add(torch.ones_like(self) if include_self else torch.zeros_like(self), dim, index, ones)
        count = torch.clamp_min(count, 1)
        return torch.div(sum, count, rounding_mode=None if __torch__.operators.onnx_out._is_float(self.dtype) else "floor")
    if self.dtype == 5 or self.dtype == 15:
        return torch.to(torch.scatter_reduce(torch.to(x, 6), dim, index, torch.to(src, 6), reduce, include_self=True), self.dtype)
    return torch.scatter_reduce(x, dim, index, src, reduce, include_self=True)


def onnx_out_scatter_reduce__two(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    s = src
    for i in range(index.dim()):
        s = torch.narrow(s, i, 0, index.size(i))
    if self.dim() == 0:
        y = __torch__.operators.onnx_out_shapes._scattered(torch.reshape(self, [1]), 0, torch.reshape(index, [-1]), torch.reshape(s, [-1]), reduce, include_self)
        return torch.reshape(y, [])
    return __torch__.operators.onnx_out_shapes._scattered(self, dim, index, s, reduce, include_self)


def onnx_out_scatter__src(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    s = src
    for i in range(index.dim()):
        s = torch.narrow(s, i, 0, index.size(i))
    if self.dim() == 0:
        return torch.reshape(torch.scatter(torch.reshape(self, [1]), 0, torch.reshape(index, [-1]), torch.reshape(s, [-1])), [])
    return torch.scatter(self, dim, index, s)


def onnx_out_scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    if self.dtype == 5 or self.dtype == 15:
        return torch.to(torch.scatter_add(torch.to(self, 6), dim, index, torch.to(src, 6)), self.dtype)
    s = src
    for i in range(index.dim()):
        s = torch.narrow(s, i, 0, index.size(i))
    if self.dim() == 0:
        return torch.reshape(torch.scatter_add(torch.reshape(self, [1]), 0, torch.reshape(index, [-1]), torch.reshape(s, [-1])), [])
    return torch.scatter_add(self, dim, index, s)


def onnx_out_scatter__reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    return torch.scatter_reduce(self, dim, index, src, "sum" if reduce == "add" else "prod")


def onnx_out_scatter__value_reduce(self: Tensor, dim: int, index: Tensor, value: number, reduce: str) -> Tensor:
    src = torch.expand_as(torch.full([], value, dtype=self.dtype), index)
    return torch.scatter_reduce(self, dim, index, src, "sum" if reduce == "add" else "prod")


def _index_rows(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    ndim = max(self.dim(), 1)
    at = __torch__.operators.onnx_out_shapes._along(index, __torch__.operators.onnx_out._wrap(dim, ndim), ndim)
    return torch.expand_as(at, source)


def onnx_out_index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: number) -> Tensor:
    s = source if alpha == 1 else source * alpha
    return torch.scatter_add(self, dim, __torch__.operators.onnx_out_shapes._index_rows(self, dim, index, source), s)


def onnx_out_index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    s = torch.unsqueeze(source, dim) if source.dim() < self.dim() else source
    return torch.scatter(self, dim, __torch__.operators.onnx_out_shapes._index_rows(self, dim, index, s), s)


def _mask_along(mask: Tensor, dim: int, ndim: int) -> Tensor:
    sizes: List[int] = []
    for i in range(ndim):
        sizes.append(1)
    sizes[dim] = -1
    return torch.reshape(mask, sizes)


def _filled(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    x = torch.reshape(self, [1]) if self.dim() == 0 else self
    d = __torch__.operators.onnx_out._wrap(dim, x.dim())
    hit = torch.any(torch.unsqueeze(torch.arange(x.size(d), dtype=4), 1) == torch.remainder(torch.reshape(torch.to(index, 4), [-1]), x.size(d)), 1, False)
    y = torch.where(__torch__.operators.onnx_out_shapes._mask_along(hit, d, x.dim()), torch.to(value, self.dtype), x)
    return torch.reshape(y, []) if self.dim() == 0 else y


def onnx_out_index_fill__int_Scalar(self: Tensor, dim: int, index: Tensor, value: number) -> Tensor:
    return __torch__.operators.onnx_out_shapes._filled(self, dim, index, torch.full([], value, dtype=self.dtype))


def onnx_out_index_fill__int_Tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    return __torch__.operators.onnx_out_shapes._filled(self, dim, index, value)


def onnx_out_index_reduce(self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    at = __torch__.operators.onnx_out_shapes._index_rows(self, dim, index, source)
    return __torch__.operators.onnx_out_shapes._scattered(self, dim, at, source, reduce, include_self)


def onnx_out_select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    d = __torch__.operators.onnx_out._wrap(dim, self.dim())
    n = self.size(d)
    here = torch.eq(torch.arange(n, dtype=4), index + n if index < 0 else index)
    return torch.where(__torch__.operators.onnx_out_shapes._mask_along(here, d, self.dim()), torch.to(torch.unsqueeze(src, d), self.dtype), self)


def onnx_out_slice_scatter(self: Tensor, src: Tensor, dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    d = __torch__.operators.onnx_out._wrap(dim, self.dim())
    at = torch.slice(torch.arange(self.size(d), dtype=4), 0, start, end, step)
    return torch.index_copy(self, d, at, torch.to(src, self.dtype))


def onnx_out_diagonal_scatter(self: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    a, b = __torch__.operators.onnx_out._wrap(dim1, self.dim()), __torch__.operators.onnx_out._wrap(dim2, self.dim())
    up, down = max(offset, 0), max(-offset, 0)
    i, k = torch.arange(self.size(a), dtype=4), torch.arange(self.size(b), dtype=4)
    on = torch.unsqueeze(k, 0) - torch.unsqueeze(i, 1) == offset
    # element of src for each place
    at = torch.clamp(torch.unsqueeze(torch.minimum(i - down, i), 1) + torch.zeros_like(torch.unsqueeze(k, 0)), 0, src.size(-1) - 1)
    order: List[int] = []
    for j in range(self.dim()):
        if j != a and j != b:
            order.append(j)
    order = order + [a, b]
    inverse: List[int] = []
    for j in range(self.dim()):
        inverse.append(0)
    for j in range(self.dim()):
        inverse[order[j]] = j
    sizes: List[int] = []
    for j in range(src.dim() - 1):
        sizes.append(src.size(j))
    spread = torch.reshape(torch.index_select(src, -1, torch.reshape(at, [-1])), sizes + [self.size(a), self.size(b)])
    return torch.permute(torch.where(on, torch.to(spread, self.dtype), torch.permute(self, order)), inverse)


def onnx_out_put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    flat, at, s = torch.reshape(self, [-1]), torch.reshape(index, [-1]), torch.reshape(source, [-1])
    y = torch.scatter_add(flat, 0, at, s) if accumulate else torch.scatter(flat, 0, at, s)
    return torch.reshape(y, self.size())


def onnx_out_one_hot(self: Tensor, num_classes: int) -> Tensor:
    n = num_classes
    if num_classes < 0:
        n = int(torch.max(self)) + 1
    return torch.to(torch.unsqueeze(self, -1) == torch.arange(n, dtype=4), 4)


def _bags(weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, weights: Optional[Tensor], last: bool, padding_idx: int) -> Tensor:
    starts = torch.slice(offsets, 0, 0, offsets.size(0) - 1, 1) if last else offsets
    n = indices.size(0)
    i = torch.arange(n, dtype=4)
    bags = starts.size(0)
    ends = torch.cat([torch.slice(starts, 0, 1, 9223372036854775807, 1), torch.full([1], n, dtype=starts.dtype)], 0)
    # [bags, n]: which indices a bag has
    has = torch.logical_and(torch.unsqueeze(starts, 1) <= i, torch.unsqueeze(ends, 1) > i)
    if padding_idx >= 0:
        has = torch.logical_and(has, torch.ne(indices, padding_idx))
    rows = torch.index_select(weight, 0, torch.to(indices, 4))
    if mode == 2:
        low = torch.amax(torch.where(torch.unsqueeze(has, -1), rows, torch.full([], -inf, dtype=weight.dtype)), [1])
        return torch.where(torch.any(has, 1, True), low, torch.zeros_like(low))
    if weights is not None:
        rows = rows * torch.unsqueeze(weights, 1)
    sum = torch.sum(torch.where(torch.unsqueeze(has, -1), rows, torch.zeros([], dtype=weight.dtype)), [1])
    if mode == 0:
        return sum
    return sum / torch.clamp_min(torch.to(torch.sum(has, [1], True), weight.dtype), 1)


def onnx_out_embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    read = torch.index_fill(torch.zeros([self.size(0), 1], dtype=11), 0, torch.reshape(indices, [-1]), True)
    norm = torch.linalg_vector_norm(self, norm_type, [1], True)
    return torch.where(torch.logical_and(read, norm > max_norm), self * (max_norm / (norm + 1e-7)), self)


def onnx_out_embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor], include_last_offset: bool) -> Tensor:
    return __torch__.operators.onnx_out_shapes._bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset, -1)


def onnx_out_embedding_bag__padding_idx(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor], include_last_offset: bool, padding_idx: Optional[int]) -> Tensor:
    skip = -1 if padding_idx is None else padding_idx + weight.size(0) if padding_idx < 0 else padding_idx
    return __torch__.operators.onnx_out_shapes._bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset, skip)


# sorted; the first of each run of equal ones
def _runs(x: Tensor) -> Tensor:
    n = x.size(0)
    first = torch.arange(n, dtype=4) == 0
    before = torch.index_select(x, 0, torch.clamp_min(torch.arange(n, dtype=4) - 1, 0))
    differ = x != before
    return torch.logical_or(first, torch.any(differ, 1, False) if x.dim() == 2 else differ)


def _counts(starts: Tensor, n: int) -> Tensor:
    ends = torch.cat([torch.slice(starts, 0, 1, 9223372036854775807, 1), torch.full([1], n, dtype=4)], 0)
    return ends - starts


def onnx_out__unique2(self: Tensor, sorted: bool, return_inverse: bool, return_counts: bool) -> Tuple[Tensor, Tensor, Tensor]:
    x, order = torch.sort(torch.reshape(self, [-1]), 0, False)
    new = __torch__.operators.onnx_out_shapes._runs(x)
    nothing = torch.zeros([0], dtype=4)
    inverse, counts = nothing, nothing
    if return_inverse:
        places = torch.scatter(torch.zeros_like(order), 0, order, torch.cumsum(new, 0) - 1)
        inverse = torch.reshape(places, self.size())
    if return_counts:
        counts = __torch__.operators.onnx_out_shapes._counts(torch.select(torch.nonzero(new), 1, 0), x.size(0))
    return (torch.masked_select(x, new), inverse, counts)


def onnx_out_unique_consecutive(self: Tensor, return_inverse: bool, return_counts: bool, dim: Optional[int]) -> Tuple[Tensor, Tensor, Tensor]:
    rows = dim is not None and self.dim() > 1
    whole = torch.movedim(self, 0 if dim is None else dim, 0) if rows else torch.reshape(self, [-1])
    x = torch.reshape(whole, [whole.size(0), -1]) if rows else whole
    new = __torch__.operators.onnx_out_shapes._runs(x)
    nothing = torch.zeros([0], dtype=4)
    inverse, counts = nothing, nothing
    if return_inverse:
        inverse = torch.cumsum(new, 0) - 1
        inverse = inverse if rows else torch.reshape(inverse, self.size())
    places = torch.select(torch.nonzero(new), 1, 0)
    if return_counts:
        counts = __torch__.operators.onnx_out_shapes._counts(places, x.size(0))
    y = torch.index_select(whole, 0, places)
    return (torch.movedim(y, 0, 0 if dim is None else dim) if rows else y, inverse, counts)


def onnx_out_stft(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool], align_to_window: Optional[bool]) -> Tensor:
    if torch.is_complex(self):
        raise RuntimeError("of complex numbers")
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    w = torch.ones([width], dtype=self.dtype) if window is None else window
    left = (n_fft - width) // 2
    w = torch.constant_pad_nd(w, [left, n_fft - width - left], 0)
    # [..., frames, n_fft]
    frames = torch.unfold(self, -1, n_fft, hop) * w
    n = n_fft if onesided is not None and not onesided else n_fft // 2 + 1
    turns = torch.remainder(torch.unsqueeze(torch.arange(n_fft, dtype=4), 1) * torch.arange(n, dtype=4), n_fft)
    angle = torch.to(turns, 7) * (6.2831853071795865 / n_fft)
    real = torch.matmul(frames, torch.to(torch.cos(angle), self.dtype))
    imag = torch.matmul(frames, torch.to(torch.neg(torch.sin(angle)), self.dtype))
    y = torch.stack([torch.transpose(real, -1, -2), torch.transpose(imag, -1, -2)], -1)
    y = y * (float(n_fft) ** -0.5) if normalized else y
    return y if return_complex is not None and not return_complex else torch.view_as_complex(y)


def onnx_out_sum_to_size(self: Tensor, size: List[int]) -> Tensor:
    dims: List[int] = []
    lead = self.dim() - len(size)
    for i in range(self.dim()):
        if i < lead:
            dims.append(i)
        elif size[i - lead] == 1 and self.size(i) != 1:
            dims.append(i)
    return torch.reshape(torch.sum(self, dims, True), size) if len(dims) > 0 else torch.clone(self)


def onnx_out_fft_fftshift(self: Tensor, dim: Optional[List[int]]) -> Tensor:
    x = self
    for d in __torch__.operators.onnx_out._all_dims(self, dim):
        x = torch.roll(x, [self.size(d) // 2], [d])
    return x


def onnx_out_fft_ifftshift(self: Tensor, dim: Optional[List[int]]) -> Tensor:
    x = self
    for d in __torch__.operators.onnx_out._all_dims(self, dim):
        x = torch.roll(x, [(self.size(d) + 1) // 2], [d])
    return x


# rows are compared pair by pair: by their first elements that differ
def onnx_out_unique_dim(self: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> Tuple[Tensor, Tensor, Tensor]:
    x = torch.movedim(self, dim, 0)
    n = x.size(0)
    rows = torch.reshape(x, [n, -1])
    a, b = torch.unsqueeze(rows, 1), torch.unsqueeze(rows, 0)
    differ = a != b
    less = torch.squeeze(torch.gather(a < b, 2, torch.argmax(torch.to(differ, 3), 2, True)), 2)
    same = torch.logical_not(torch.any(differ, 2, False))
    i = torch.arange(n, dtype=4)
    first = torch.logical_not(torch.any(torch.logical_and(same, i < torch.unsqueeze(i, 1)), 1, False))
    inverse = torch.sum(torch.logical_and(torch.unsqueeze(first, 1), less), [0])
    places = torch.select(torch.nonzero(first), 1, 0)
    chosen = torch.index_select(places, 0, torch.argsort(torch.index_select(inverse, 0, places)))
    counts = torch.index_select(torch.sum(same, [1]), 0, chosen)
    return (torch.movedim(torch.index_select(x, 0, chosen), 0, dim), inverse, counts)


# ---- layers ----------------------------------------------------------------------------------------------------------


def onnx_out_instance_norm(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    if use_input_stats and input.dtype == 7:
        return torch.group_norm(input, input.size(1), weight, bias, eps, cudnn_enabled)
    if use_input_stats:
        return torch.instance_norm(input, weight, bias, None, None, True, momentum, eps, cudnn_enabled)
    return torch.batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, cudnn_enabled)


def onnx_out_group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, cudnn_enabled: bool) -> Tensor:
    if input.numel() == 0:
        return torch.clone(input)
    if input.dtype != 7:
        return torch.group_norm(input, num_groups, weight, bias, eps, cudnn_enabled)
    x = torch.reshape(input, [input.size(0), num_groups, -1])
    d = x - torch.mean(x, [2], True)
    y = torch.reshape(d / torch.sqrt(torch.mean(d * d, [2], True) + eps), input.size())
    sizes: List[int] = [-1]
    for i in range(input.dim() - 2):
        sizes.append(1)
    if weight is not None:
        y = y * torch.reshape(weight, sizes)
    if bias is not None:
        y = y + torch.reshape(bias, sizes)
    return y


def onnx_out_scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    k, v = key, value
    if enable_gqa:
        k = torch.repeat_interleave(k, query.size(-3) // k.size(-3), -3)
        v = torch.repeat_interleave(v, query.size(-3) // v.size(-3), -3)
    mask = attn_mask
    if is_causal and mask is None:
        before = torch.unsqueeze(torch.arange(query.size(-2), dtype=4), 1) >= torch.arange(k.size(-2), dtype=4)
        mask = torch.where(before, torch.zeros([], dtype=query.dtype), torch.full([], -inf, dtype=query.dtype))
    return torch.scaled_dot_product_attention(query, k, v, mask, dropout_p, False, scale=scale)


def onnx_out_avg_pool1d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool) -> Tensor:
    return torch.avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad)


# the sum of each window, by what it is divided. Windows that would begin after the end do not count
def _divided(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, n: int, divisor: int) -> Tensor:
    count = 1
    pads: List[int] = []
    kernel: List[int] = []
    steps: List[int] = []
    for i in range(n):
        k = kernel_size[i] if len(kernel_size) > 1 else kernel_size[0]
        s = k if len(stride) == 0 else stride[i] if len(stride) > 1 else stride[0]
        p = padding[i] if len(padding) > 1 else padding[0]
        size = self.size(self.dim() - n + i)
        left = size + 2 * p - k
        windows = left // s + 1
        if ceil_mode:
            windows = (left + s - 1) // s + 1
            windows = windows - 1 if (windows - 1) * s >= size + p else windows
        pads = [p, (windows - 1) * s + k - size - p] + pads
        kernel.append(k)
        steps.append(s)
        count = count * k
    x = torch.constant_pad_nd(self, pads, 0)
    zeros = [0, 0, 0][:n]
    y = torch.avg_pool2d(x, kernel, steps, zeros) if n == 2 else torch.avg_pool3d(x, kernel, steps, zeros)
    return y * (float(count) / float(divisor))


def onnx_out_avg_pool2d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    if divisor_override is None:
        return torch.avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad)
    return __torch__.operators.onnx_out_shapes._divided(self, kernel_size, stride, padding, ceil_mode, 2, divisor_override)


def onnx_out_avg_pool3d(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    if divisor_override is None:
        return torch.avg_pool3d(self, kernel_size, stride, padding, ceil_mode, count_include_pad)
    return __torch__.operators.onnx_out_shapes._divided(self, kernel_size, stride, padding, ceil_mode, 3, divisor_override)


# windows of several sizes, one dim after the other
def _windows(self: Tensor, output_size: List[int], most: bool) -> Tensor:
    x = self
    n = len(output_size)
    for k in range(n):
        d = self.dim() - n + k
        have, want = self.size(d), output_size[k]
        parts: List[Tensor] = []
        for i in range(want):
            begin, end = i * have // want, ((i + 1) * have + want - 1) // want
            part = torch.slice(x, d, begin, end, 1)
            parts.append(torch.amax(part, [d], True) if most else torch.mean(part, [d], True))
        x = torch.cat(parts, d)
    return x


# the places of their largest elements, counted over all dims of a window
def _window_places(self: Tensor, output_size: List[int]) -> Tensor:
    n = len(output_size)
    x, width = self, 1
    sizes: List[int] = self.size()[: self.dim() - n]
    order: List[int] = []
    for i in range(self.dim() - n):
        order.append(i)
    places = torch.zeros([1, 1], dtype=4)
    for k in range(n):
        d = self.dim() - n + k
        have, want = self.size(d), output_size[k]
        most = (have + want - 1) // want + 1
        i = torch.unsqueeze(torch.arange(want, dtype=4), 1)
        begin = torch.div(i * have, want, rounding_mode="floor")
        end = torch.div((i + 1) * have + want - 1, want, rounding_mode="floor")
        at = torch.minimum(begin + torch.arange(most, dtype=4), end - 1)
        x = torch.index_select(x, d + k, torch.reshape(at, [-1]))
        x = torch.reshape(x, x.size()[: d + k] + [want, most] + x.size()[d + k + 1:])
        # [windows, elements of one], of the dims so far
        wide = torch.unsqueeze(torch.unsqueeze(places, 1), 3) * have
        places = torch.reshape(wide + torch.unsqueeze(torch.unsqueeze(at, 0), 2), [places.size(0) * want, width * most])
        width = width * most
        sizes.append(want)
        order.append(d + k)
    for k in range(n):
        order.append(self.dim() - n + 2 * k + 1)
    x = torch.reshape(torch.permute(x, order), [-1, places.size(0), width])
    chosen = torch.argmax(x, -1, True)
    return torch.reshape(torch.gather(torch.expand_as(places, x), -1, chosen), sizes)


def onnx_out_adaptive_avg_pool3d(self: Tensor, output_size: List[int]) -> Tensor:
    even = self.dim() == 5
    for k in range(3):
        if output_size[k] < 1 or self.size(self.dim() - 3 + k) % output_size[k] != 0:
            even = False
    if even:
        return torch.adaptive_avg_pool3d(self, output_size)
    return __torch__.operators.onnx_out_shapes._windows(self, output_size, False)


def onnx_out_adaptive_max_pool1d(self: Tensor, output_size: List[int]) -> Tuple[Tensor, Tensor]:
    n = self.size(-1) // max(output_size[0], 1)
    if output_size[0] < 1 or self.size(-1) % output_size[0] != 0:
        return (__torch__.operators.onnx_out_shapes._windows(self, output_size, True), __torch__.operators.onnx_out_shapes._window_places(self, output_size))
    return torch.max_pool1d_with_indices(self, [n], [n], [0], [1], False)


def onnx_out_adaptive_max_pool3d(self: Tensor, output_size: List[int]) -> Tuple[Tensor, Tensor]:
    kernel: List[int] = []
    even = True
    for k in range(3):
        have, want = self.size(self.dim() - 3 + k), max(output_size[k], 1)
        kernel.append(have // want)
        if output_size[k] < 1 or have % want != 0:
            even = False
    if not even:
        return (__torch__.operators.onnx_out_shapes._windows(self, output_size, True), __torch__.operators.onnx_out_shapes._window_places(self, output_size))
    return torch.max_pool3d_with_indices(self, kernel, kernel, [0, 0, 0], [1, 1, 1], False)


def onnx_out_adaptive_max_pool2d(self: Tensor, output_size: List[int]) -> Tuple[Tensor, Tensor]:
    h, w = self.size(-2) // max(output_size[0], 1), self.size(-1) // max(output_size[1], 1)
    if output_size[0] < 1 or output_size[1] < 1 or self.size(-2) % output_size[0] != 0 or self.size(-1) % output_size[1] != 0:
        return (__torch__.operators.onnx_out_shapes._windows(self, output_size, True), __torch__.operators.onnx_out_shapes._window_places(self, output_size))
    return torch.max_pool2d_with_indices(self, [h, w], [h, w], [0, 0], [1, 1], False)


def onnx_out_max_unpool2d(self: Tensor, indices: Tensor, output_size: List[int]) -> Tensor:
    flat = self.size()[:-2] + [-1]
    y = torch.zeros(self.size()[:-2] + [output_size[0] * output_size[1]], dtype=self.dtype)
    y = torch.scatter(y, -1, torch.reshape(indices, flat), torch.reshape(self, flat))
    return torch.reshape(y, self.size()[:-2] + output_size)


def onnx_out_max_unpool3d(self: Tensor, indices: Tensor, output_size: List[int], stride: List[int], padding: List[int]) -> Tensor:
    flat = self.size()[:-3] + [-1]
    y = torch.zeros(self.size()[:-3] + [output_size[0] * output_size[1] * output_size[2]], dtype=self.dtype)
    y = torch.scatter(y, -1, torch.reshape(indices, flat), torch.reshape(self, flat))
    return torch.reshape(y, self.size()[:-3] + output_size)


def onnx_out_pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    if self.dim() == 4 and __torch__.operators.onnx_out._is_float(self.dtype):
        return torch.pixel_shuffle(self, upscale_factor)
    r = upscale_factor
    front: List[int] = []
    order: List[int] = []
    n = self.dim() - 3
    for i in range(n):
        front.append(self.size(i))
        order.append(i)
    c, h, w = self.size(-3) // (r * r), self.size(-2), self.size(-1)
    y = torch.permute(torch.reshape(self, front + [c, r, r, h, w]), order + [n, n + 3, n + 1, n + 4, n + 2])
    return torch.reshape(y, front + [c, h * r, w * r])


def onnx_out_pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    r = downscale_factor
    front: List[int] = []
    order: List[int] = []
    n = self.dim() - 3
    for i in range(n):
        front.append(self.size(i))
        order.append(i)
    c, h, w = self.size(-3), self.size(-2) // r, self.size(-1) // r
    y = torch.permute(torch.reshape(self, front + [c, h, r, w, r]), order + [n, n + 2, n + 4, n + 1, n + 3])
    return torch.reshape(y, front + [c * r * r, h, w])


def onnx_out_channel_shuffle(self: Tensor, groups: int) -> Tensor:
    sizes = self.size()
    y = torch.reshape(self, [sizes[0], groups, sizes[1] // groups] + sizes[2:])
    return torch.reshape(torch.transpose(y, 1, 2), sizes)


def _circular(self: Tensor, pad: List[int]) -> Tensor:
    x = self
    for k in range(len(pad) // 2):
        d = self.dim() - 1 - k
        before, after = pad[2 * k], pad[2 * k + 1]
        # what is left goes round
        x = torch.slice(x, d, max(-before, 0), x.size(d) - max(-after, 0), 1)
        n = x.size(d)
        parts: List[Tensor] = []
        if before > 0:
            parts.append(torch.slice(x, d, n - before, n, 1))
        parts.append(x)
        if after > 0:
            parts.append(torch.slice(x, d, 0, after, 1))
        x = torch.cat(parts, d)
    return x


def onnx_out__pad_circular(self: Tensor, pad: List[int]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._circular(self, pad)


def onnx_out_pad(self: Tensor, pad: List[int], mode: str, value: Optional[float]) -> Tensor:
    if mode == "circular":
        return __torch__.operators.onnx_out_shapes._circular(self, pad)
    if self.dtype == 11:
        if mode == "constant" and value is not None:
            return torch.pad(torch.to(self, 3), pad, mode, 1.0 if value != 0 else 0.0) != 0
        return torch.pad(torch.to(self, 3), pad, mode) != 0
    if self.dtype == 1 or self.dtype == 2:
        return torch.to(torch.pad(torch.to(self, 3), pad, mode, value), self.dtype)
    return torch.pad(self, pad, mode, value)


def onnx_out_affine_grid_generator(theta: Tensor, size: List[int], align_corners: bool) -> Tensor:
    n = len(size) - 2
    base: List[Tensor] = []
    for k in range(n):
        steps = size[2 + k]
        at = torch.arange(steps, dtype=theta.dtype)
        if align_corners:
            line = at * (2.0 / max(steps - 1, 1)) - 1 if steps > 1 else at * 0
        else:
            line = (at * 2 + 1) / float(steps) - 1
        base.append(line)
    grids = torch.meshgrid(base, indexing="ij")
    columns: List[Tensor] = []
    for k in range(n):
        columns.append(torch.reshape(grids[n - 1 - k], [-1]))
    columns.append(torch.ones_like(columns[0]))
    y = torch.matmul(torch.stack(columns, 1), torch.transpose(theta, 1, 2))
    return torch.reshape(y, [theta.size(0)] + size[2:] + [n])


def _two(list: List[int], i: int) -> int:
    return list[i] if len(list) > 1 else list[0]


# [N, C, kh*kw, rows*columns] of places in an image whose rows have `width` elements
def _places(size: List[int], kernel: List[int], dilation: List[int], stride: List[int], width: int) -> Tensor:
    rows = torch.arange(size[0], dtype=4) * stride[0]
    columns = torch.arange(size[1], dtype=4) * stride[1]
    dy = torch.arange(kernel[0], dtype=4) * dilation[0]
    dx = torch.arange(kernel[1], dtype=4) * dilation[1]
    y = torch.reshape(dy, [-1, 1, 1, 1]) + torch.reshape(rows, [1, 1, -1, 1])
    x = torch.reshape(dx, [1, -1, 1, 1]) + torch.reshape(columns, [1, 1, 1, -1])
    return torch.reshape(y * width + x, [-1])


def onnx_out_im2col(self: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    x = torch.unsqueeze(self, 0) if self.dim() == 3 else self
    x = torch.constant_pad_nd(x, [padding[1], padding[1], padding[0], padding[0]], 0)
    h = (x.size(2) - dilation[0] * (kernel_size[0] - 1) - 1) // stride[0] + 1
    w = (x.size(3) - dilation[1] * (kernel_size[1] - 1) - 1) // stride[1] + 1
    at = __torch__.operators.onnx_out_shapes._places([h, w], kernel_size, dilation, stride, x.size(3))
    flat = torch.index_select(torch.reshape(x, [x.size(0), x.size(1), -1]), 2, at)
    y = torch.reshape(flat, [x.size(0), x.size(1) * kernel_size[0] * kernel_size[1], h * w])
    return torch.squeeze(y, 0) if self.dim() == 3 else y


def onnx_out_col2im(self: Tensor, output_size: List[int], kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    x = torch.unsqueeze(self, 0) if self.dim() == 2 else self
    high, wide = output_size[0] + 2 * padding[0], output_size[1] + 2 * padding[1]
    h = (high - dilation[0] * (kernel_size[0] - 1) - 1) // stride[0] + 1
    w = (wide - dilation[1] * (kernel_size[1] - 1) - 1) // stride[1] + 1
    channels = x.size(1) // (kernel_size[0] * kernel_size[1])
    at = __torch__.operators.onnx_out_shapes._places([h, w], kernel_size, dilation, stride, wide)
    flat = torch.zeros([x.size(0), channels, high * wide], dtype=x.dtype)
    flat = torch.index_add(flat, 2, at, torch.reshape(x, [x.size(0), channels, -1]))
    y = torch.reshape(flat, [x.size(0), channels, high, wide])
    y = torch.slice(torch.slice(y, 2, padding[0], padding[0] + output_size[0], 1), 3, padding[1], padding[1] + output_size[1], 1)
    return torch.squeeze(y, 0) if self.dim() == 2 else y


# [out, in]: weights of elements within `reach` of a centre, as PIL has them
def _smooth(have: int, want: int, align_corners: bool, scale: Optional[float], cubic: bool) -> Tensor:
    step = float(have) / float(want)
    if align_corners:
        step = float(have - 1) / float(want - 1) if want > 1 else 0.0
    elif scale is not None:
        if scale > 0:
            step = 1.0 / scale
    wide = max(step, 1.0)
    reach = (2.0 if cubic else 1.0) * wide
    centre = torch.unsqueeze((torch.arange(want, dtype=7) + 0.5) * step, 1)
    at = torch.arange(have, dtype=7)
    first = torch.clamp_min(torch.floor(centre - reach + 0.5), 0)
    last = torch.clamp_max(torch.floor(centre + reach + 0.5), have)
    d = torch.abs((at - centre + 0.5) * (1.0 / wide))
    if cubic:
        near = (d * 1.5 - 2.5) * d * d + 1
        far = ((d * -0.5 + 2.5) * d - 4) * d + 2
        w = torch.where(d < 1, near, torch.where(d < 2, far, torch.zeros_like(d)))
    else:
        w = torch.clamp_min(1 - d, 0)
    w = torch.where(torch.logical_and(at >= first, at < last), w, torch.zeros_like(w))
    return w / torch.sum(w, [1], True)


def _smoothed(self: Tensor, size: List[int], align_corners: bool, scale_h: Optional[float], scale_w: Optional[float], cubic: bool) -> Tensor:
    rows = __torch__.operators.onnx_out_shapes._smooth(self.size(2), size[0], align_corners, scale_h, cubic)
    columns = __torch__.operators.onnx_out_shapes._smooth(self.size(3), size[1], align_corners, scale_w, cubic)
    x = __torch__.operators.onnx_out._wide(self)
    y = torch.matmul(torch.to(rows, x.dtype), torch.matmul(x, torch.t(torch.to(columns, x.dtype))))
    return torch.to(y, self.dtype)


def _aa(self: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]], cubic: bool) -> Tensor:
    if output_size is not None:
        return __torch__.operators.onnx_out_shapes._smoothed(self, output_size, align_corners, None, None, cubic)
    size = [self.size(2), self.size(3)]
    h, w = 1.0, 1.0
    if scale_factors is not None:
        h, w = scale_factors[0], scale_factors[1]
    return __torch__.operators.onnx_out_shapes._smoothed(self, [int(size[0] * h), int(size[1] * w)], align_corners, h, w, cubic)


def onnx_out__upsample_bilinear2d_aa(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._smoothed(self, output_size, align_corners, scales_h, scales_w, False)


def onnx_out__upsample_bilinear2d_aa__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._aa(input, output_size, align_corners, scale_factors, False)


def onnx_out__upsample_bicubic2d_aa(self: Tensor, output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._smoothed(self, output_size, align_corners, scales_h, scales_w, True)


def onnx_out__upsample_bicubic2d_aa__vec(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._aa(input, output_size, align_corners, scale_factors, True)


# ---- losses ----------------------------------------------------------------------------------------------------------


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    return torch.mean(loss) if reduction == 1 else torch.sum(loss) if reduction == 2 else loss


def onnx_out_kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    loss = torch.exp(target) * (target - self) if log_target else torch.xlogy(target, target) - target * self
    return __torch__.operators.onnx_out_shapes._reduced(loss, reduction)


def onnx_out_binary_cross_entropy_with_logits(self: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    log = torch.log_sigmoid(self)
    if pos_weight is not None:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log
    else:
        loss = (1 - target) * self - log
    if weight is not None:
        loss = loss * weight
    return __torch__.operators.onnx_out_shapes._reduced(loss, reduction)


def onnx_out_mse_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return __torch__.operators.onnx_out_shapes._reduced(torch.square(self - target), reduction)


def onnx_out_l1_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return __torch__.operators.onnx_out_shapes._reduced(torch.abs(self - target), reduction)


def onnx_out_smooth_l1_loss(self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    d = torch.abs(self - target)
    if beta > 0:
        d = torch.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)
    return __torch__.operators.onnx_out_shapes._reduced(d, reduction)


def onnx_out_huber_loss(self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    d = torch.abs(self - target)
    return __torch__.operators.onnx_out_shapes._reduced(torch.where(d < delta, d * d * 0.5, (d - 0.5 * delta) * delta), reduction)


# ---- between bounds that are tensors -----------------------------------------------------------------------------------


def _between(start: Tensor, end: Tensor, steps: int, dtype: Optional[int]) -> Tensor:
    to = 6 if dtype is None else dtype
    if to != 6 and to != 7:
        raise RuntimeError("of integers, or floats of 16 bits")
    a, b = torch.to(start, to), torch.to(end, to)
    step = (b - a) / max(steps - 1, 1)
    i = torch.arange(steps, dtype=to)
    return torch.where(i < steps // 2 if steps > 1 else i < 1, a + step * i, b - step * (steps - 1 - i))


def onnx_out_linspace__Tensor_Tensor(start: Tensor, end: Tensor, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._between(start, end, steps, dtype)


def onnx_out_linspace__Tensor_Scalar(start: Tensor, end: number, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._between(start, torch.full([], float(end)), steps, dtype)


def onnx_out_linspace__Scalar_Tensor(start: number, end: Tensor, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return __torch__.operators.onnx_out_shapes._between(torch.full([], float(start)), end, steps, dtype)


def onnx_out_logspace__Tensor_Tensor(start: Tensor, end: Tensor, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.pow(base, torch.linspace(start, end, steps, dtype=dtype))


def onnx_out_logspace__Tensor_Scalar(start: Tensor, end: number, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.pow(base, torch.linspace(start, end, steps, dtype=dtype))


def onnx_out_logspace__Scalar_Tensor(start: number, end: Tensor, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return torch.pow(base, torch.linspace(start, end, steps, dtype=dtype))
