# SPDX-License-Identifier: Apache-2.0
# onnx_shapes.py - operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def): shapes, selection and sequences. onnx_ints and onnx_shape are what the importer asks for where shapes are computed by
# tensors.


def onnx_ints(self: Tensor) -> List[int]:
    out = annotate(List[int], [])
    flat = torch.reshape(self, [-1])
    for i in range(flat.size(0)):
        out.append(int(flat[i]))
    return out


def onnx_shape(self: Tensor, start: int, end: int) -> Tensor:
    return torch.tensor(torch.slice(self.size(), start, end))


# ---- shapes ----------------------------------------------------------------------------------------------------------


def onnx_reshape(self: Tensor, shape: List[int], copies: bool) -> Tensor:
    out = annotate(List[int], [])
    for i in range(len(shape)):
        if shape[i] == 0 and copies:
            out.append(self.size(i))
        else:
            out.append(shape[i])
    return torch.reshape(self, out)


def onnx_flatten(self: Tensor, axis: int) -> Tensor:
    at = axis + self.dim() if axis < 0 else axis
    first = 1
    last = 1
    for i in range(self.dim()):
        if i < at:
            first = first * self.size(i)
        else:
            last = last * self.size(i)
    return torch.reshape(self, [first, last])


def onnx_reverse_dims(self: Tensor) -> Tensor:
    order = annotate(List[int], [])
    for i in range(self.dim()):
        order.append(self.dim() - 1 - i)
    return torch.permute(self, order)


def onnx_expand(self: Tensor, shape: List[int]) -> Tensor:
    rank = self.dim() if self.dim() > len(shape) else len(shape)
    sizes = annotate(List[int], [])
    for i in range(rank):
        at = i - (rank - len(shape))
        own = i - (rank - self.dim())
        if at < 0:
            sizes.append(-1)
        elif shape[at] == 1 and own >= 0:
            sizes.append(-1)
        else:
            sizes.append(shape[at])
    return torch.expand(self, sizes)


def onnx_slice_back(self: Tensor, axis: int, start: int, end: int, step: int) -> Tensor:
    n = self.size(axis)
    at = start + n if start < 0 else start
    stop = end + n if end < 0 else end
    if at < 0:
        at = 0
    if at > n - 1:
        at = n - 1
    if stop < -1:
        stop = -1
    if at <= stop:
        return torch.slice(self, axis, 0, 0, 1)
    return torch.slice(torch.flip(self, [axis]), axis, n - 1 - at, n - 1 - stop, -step)


def onnx_slice(self: Tensor, starts: List[int], ends: List[int], axes: List[int], steps: List[int]) -> Tensor:
    out = self
    for i in range(len(starts)):
        axis = axes[i] if len(axes) > 0 else i
        step = steps[i] if len(steps) > 0 else 1
        if step < 0:
            out = __torch__.operators.onnx_shapes.onnx_slice_back(out, axis, starts[i], ends[i], step)
        else:
            out = torch.slice(out, axis, starts[i], ends[i], step)
    return out


def onnx_pad(self: Tensor, pads: List[int], fill: number) -> Tensor:
    out = annotate(List[int], [])
    n = len(pads) // 2
    for i in range(n):
        out.append(pads[n - 1 - i])
        out.append(pads[2 * n - 1 - i])
    return torch.constant_pad_nd(self, out, fill)


def onnx_depth_to_space(self: Tensor, block: int) -> Tensor:
    b, c, h, w = self.size()
    x = torch.reshape(self, [b, block, block, c // (block * block), h, w])
    return torch.reshape(torch.permute(x, [0, 3, 4, 1, 5, 2]), [b, c // (block * block), h * block, w * block])


def onnx_space_to_depth(self: Tensor, block: int, mode: str) -> Tensor:
    b, c, h, w = self.size()
    x = torch.reshape(self, [b, c, h // block, block, w // block, block])
    if mode == "CRD":
        return torch.reshape(torch.permute(x, [0, 1, 3, 5, 2, 4]), [b, c * block * block, h // block, w // block])
    return torch.reshape(torch.permute(x, [0, 3, 5, 1, 2, 4]), [b, c * block * block, h // block, w // block])


# Empty where torch complains that the step leads away from the end.
def onnx_range_floats(start: float, limit: float, delta: float, dtype: int) -> Tensor:
    if (delta > 0 and start >= limit) or (delta < 0 and start <= limit):
        return torch.zeros([0], dtype=dtype)
    return torch.arange(start, limit, delta, dtype=dtype)


def onnx_range_ints(start: int, limit: int, delta: int, dtype: int) -> Tensor:
    if (delta > 0 and start >= limit) or (delta < 0 and start <= limit):
        return torch.zeros([0], dtype=dtype)
    return torch.arange(start, limit, delta, dtype=dtype)


def onnx_range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    if torch.is_floating_point(start):
        return __torch__.operators.onnx_shapes.onnx_range_floats(float(start), float(limit), float(delta), start.dtype)
    return __torch__.operators.onnx_shapes.onnx_range_ints(int(start), int(limit), int(delta), start.dtype)


# The last parts are smaller, or empty.
def onnx_split_sizes(self: Tensor, parts: int, axis: int) -> List[int]:
    left = self.size(axis)
    if parts < 1 or parts > left + 65536:
        raise RuntimeError("Split: " + str(left) + " elements cannot be split into " + str(parts) + " parts")
    each = (left + parts - 1) // parts
    out = annotate(List[int], [])
    for i in range(parts):
        size = each if each < left else left
        out.append(size)
        left = left - size
    return out


# The results of a loop, one after the other; without an iteration, no elements of what the loop would have given.
def onnx_stack(self: List[Tensor], axis: int, shape: List[int], dtype: int) -> Tensor:
    if len(self) > 0:
        return torch.stack(self, axis)
    sizes = shape.copy()
    sizes.insert(axis if axis >= 0 else axis + len(shape) + 1, 0)
    return torch.zeros(sizes, dtype=dtype)


def onnx_gather(self: Tensor, indices: Tensor, axis: int) -> Tensor:
    at = annotate(List[Optional[Tensor]], [])
    if axis < -self.dim() or axis >= 0:
        raise RuntimeError("Gather: no axis " + str(axis + self.dim()) + " of a tensor with " + str(self.dim()) + " dims")
    for i in range(axis + self.dim()):
        at.append(None)
    at.append(indices)
    return torch.index(self, at)


def onnx_eye_like(self: Tensor, k: int, dtype: int) -> Tensor:
    rows = torch.reshape(torch.arange(self.size(0)), [-1, 1])
    columns = torch.reshape(torch.arange(self.size(1)), [1, -1])
    return torch.to(torch.eq(columns - rows, k), dtype)


def onnx_unsqueeze(self: Tensor, axes: List[int]) -> Tensor:
    rank = self.dim() + len(axes)
    x = self
    for i in range(rank):
        for axis in axes:
            if axis == i or axis + rank == i:
                x = torch.unsqueeze(x, i)
    return x


def onnx_squeeze(self: Tensor, axes: List[int]) -> Tensor:
    x = self
    for k in range(self.dim()):
        i = self.dim() - 1 - k
        for axis in axes:
            if axis == i or axis + self.dim() == i:
                x = torch.squeeze(x, i)
    return x


def onnx_pad_axes(self: Tensor, pads: List[int], axes: List[int], mode: str, fill: number) -> Tensor:
    n = len(pads) // 2
    before = annotate(List[int], [])
    after = annotate(List[int], [])
    for i in range(self.dim()):
        before.append(0)
        after.append(0)
    for i in range(n):
        axis = axes[i] if len(axes) > 0 else i
        if axis < 0:
            axis = axis + self.dim()
        before[axis] = pads[i]
        after[axis] = pads[n + i]
    if mode == "constant":
        out = annotate(List[int], [])
        for k in range(self.dim()):
            out.append(before[self.dim() - 1 - k])
            out.append(after[self.dim() - 1 - k])
        return torch.constant_pad_nd(self, out, fill)
    x = self
    for i in range(self.dim()):
        if before[i] != 0 or after[i] != 0:
            size = self.size(i)
            at = torch.arange(-before[i], size + after[i])
            if mode == "edge":
                at = torch.clamp(at, 0, size - 1)
            elif mode == "wrap" or size == 1:
                at = torch.remainder(at, size)
            else:
                at = torch.remainder(at, 2 * size - 2)
                at = torch.where(at >= size, 2 * size - 2 - at, at)
            x = torch.index_select(x, i, at)
    return x


# ---- selection -------------------------------------------------------------------------------------------------------


def onnx_wrap(indices: Tensor, n: int) -> Tensor:
    at = torch.to(indices, 4)
    return torch.where(at < 0, at + n, at)


def onnx_gather_elements(self: Tensor, indices: Tensor, axis: int) -> Tensor:
    return torch.gather(self, axis, __torch__.operators.onnx_shapes.onnx_wrap(indices, self.size(axis)))


def onnx_gather_nd(self: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    at = annotate(List[Optional[Tensor]], [])
    for i in range(batch_dims):
        shape = annotate(List[int], [])
        for k in range(indices.dim() - 1):
            shape.append(-1 if k == i else 1)
        at.append(torch.reshape(torch.arange(self.size(i)), shape))
    for i in range(indices.size(-1)):
        at.append(torch.to(torch.select(indices, -1, i), 4))
    return torch.index(self, at)


def onnx_scatter_elements(self: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str) -> Tensor:
    at = __torch__.operators.onnx_shapes.onnx_wrap(indices, self.size(axis))
    if reduction == "none":
        return torch.scatter(self, axis, at, updates)
    if reduction == "add":
        return torch.scatter_add(self, axis, at, updates)
    if reduction == "mul":
        return torch.scatter_reduce(self, axis, at, updates, "prod")
    if reduction == "max":
        return torch.scatter_reduce(self, axis, at, updates, "amax")
    return torch.scatter_reduce(self, axis, at, updates, "amin")


def onnx_scatter_nd(self: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
    at = annotate(List[Optional[Tensor]], [])
    for i in range(indices.size(-1)):
        at.append(torch.to(torch.select(indices, -1, i), 4))
    if reduction == "none" or reduction == "add":
        return torch.index_put(self, at, updates, reduction == "add")
    # rows of what the indices do not reach
    n = indices.size(-1)
    row = torch.zeros(torch.slice(indices.size(), 0, -1), dtype=4)
    count = 1
    for i in range(n):
        index = torch.to(torch.select(indices, -1, i), 4)
        row = row * self.size(i) + torch.where(index < 0, index + self.size(i), index)
        count = count * self.size(i)
    flat = torch.reshape(self, [count, -1])
    given = torch.reshape(updates, [-1, flat.size(1)])
    to = torch.expand(torch.reshape(row, [-1, 1]), given.size())
    how = "prod" if reduction == "mul" else "amax" if reduction == "max" else "amin"
    return torch.reshape(torch.scatter_reduce(flat, 0, to, given, how), self.size())


def onnx_one_hot(indices: Tensor, depth: Tensor, values: Tensor, axis: int) -> Tensor:
    n = int(torch.reshape(depth, [-1])[0])
    at = __torch__.operators.onnx_shapes.onnx_wrap(indices, n)
    where = axis + indices.dim() + 1 if axis < 0 else axis
    shape = annotate(List[int], [])
    for i in range(indices.dim() + 1):
        shape.append(n if i == where else 1)
    hot = torch.eq(torch.unsqueeze(at, where), torch.reshape(torch.arange(n), shape))
    return torch.where(hot, values[1], values[0])


def onnx_nonzero(self: Tensor) -> Tensor:
    return torch.t(torch.nonzero(self))


def onnx_compress(self: Tensor, condition: Tensor, axis: Optional[int]) -> Tensor:
    x = self
    dim = 0
    if axis is None:
        x = torch.reshape(self, [-1])
    else:
        dim = axis
    return torch.index_select(x, dim, torch.reshape(torch.nonzero(condition), [-1]))


def onnx_reverse_sequence(self: Tensor, lengths: Tensor, batch_axis: int, time_axis: int) -> Tensor:
    time = self.size(time_axis)
    t = torch.reshape(torch.arange(time), [1, -1])
    n = torch.reshape(torch.to(lengths, 4), [-1, 1])
    at = torch.where(t < n, n - 1 - t, t)
    if batch_axis > time_axis:
        at = torch.t(at)
    shape = annotate(List[int], [])
    for i in range(self.dim()):
        shape.append(self.size(i) if i == batch_axis or i == time_axis else 1)
    return torch.gather(self, time_axis, torch.expand(torch.reshape(at, shape), self.size()))


# ---- sequences -------------------------------------------------------------------------------------------------------


def onnx_sequence_insert(self: List[Tensor], item: Tensor, at: Optional[int]) -> List[Tensor]:
    out = self.copy()
    if at is None:
        out.append(item)
    else:
        out.insert(at, item)
    return out


def onnx_sequence_erase(self: List[Tensor], at: int) -> List[Tensor]:
    out = self.copy()
    out.pop(at)
    return out


def onnx_split_to_sequence(self: Tensor, split: Optional[Tensor], axis: int, keepdims: bool) -> List[Tensor]:
    if split is None:
        if keepdims:
            return torch.split(self, 1, axis)
        return torch.unbind(self, axis)
    if split.dim() == 0:
        return torch.split(self, int(split), axis)
    return torch.split_with_sizes(self, __torch__.operators.onnx_shapes.onnx_ints(split), axis)
