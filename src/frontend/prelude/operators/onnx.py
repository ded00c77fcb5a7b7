# SPDX-License-Identifier: Apache-2.0
# Operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def). onnx_ints and the like are what the importer asks for where
# shapes are computed by tensors.


def onnx_ints(self: Tensor) -> List[int]:
    out = annotate(List[int], [])
    flat = torch.reshape(self, [-1])
    for i in range(flat.size(0)):
        out.append(int(flat[i]))
    return out


def onnx_shape(self: Tensor, start: int, end: int) -> Tensor:
    return torch.tensor(torch.slice(self.size(), start, end))


# ---- element by element ------------------------------------------------------------------------------------------------


def onnx_hard_sigmoid(self: Tensor, alpha: float, beta: float) -> Tensor:
    return torch.clamp(self * alpha + beta, 0.0, 1.0)


def onnx_prelu(self: Tensor, slope: Tensor) -> Tensor:
    return torch.where(self < 0, self * slope, self)


def onnx_selu(self: Tensor, alpha: float, gamma: float) -> Tensor:
    return torch.elu(self, alpha) * gamma


def onnx_shrink(self: Tensor, lambd: float, bias: float) -> Tensor:
    zero = torch.zeros_like(self)
    return torch.where(self < -lambd, self + bias, torch.where(self > lambd, self - bias, zero)).to(self.dtype)


def onnx_softsign(self: Tensor) -> Tensor:
    return self / (torch.abs(self) + 1)


def onnx_is_inf(self: Tensor, negative: int, positive: int) -> Tensor:
    found = torch.isinf(self)
    if negative == 0:
        found = torch.logical_and(found, self > 0)
    if positive == 0:
        found = torch.logical_and(found, self < 0)
    return found


def onnx_div(self: Tensor, other: Tensor) -> Tensor:
    if torch.is_floating_point(self) or torch.is_complex(self):
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")


def onnx_pow(self: Tensor, exponent: Tensor) -> Tensor:
    if torch.is_floating_point(exponent) and not torch.is_floating_point(self):
        return torch.to(torch.pow(torch.to(self, 7), exponent), self.dtype)
    return torch.to(torch.pow(self, torch.to(exponent, self.dtype)), self.dtype)


def onnx_softmax_flat(self: Tensor, axis: int, log: bool) -> Tensor:
    flat = __torch__.operators.onnx.onnx_flatten(self, axis)
    if log:
        return torch.reshape(torch.log_softmax(flat, 1), self.size())
    return torch.reshape(torch.softmax(flat, 1), self.size())


def onnx_hardmax(self: Tensor, axis: int) -> Tensor:
    return torch.scatter(torch.zeros_like(self), axis, torch.argmax(self, axis, True), 1.0)


# ---- reductions --------------------------------------------------------------------------------------------------------


def onnx_all_dims(self: Tensor, dims: List[int]) -> List[int]:
    if len(dims) > 0:
        return dims
    out = annotate(List[int], [])
    for i in range(self.dim()):
        out.append(i)
    return out


def onnx_logsumexp(self: Tensor, dims: List[int], keepdim: bool) -> Tensor:
    return torch.logsumexp(self, __torch__.operators.onnx.onnx_all_dims(self, dims), keepdim)


def onnx_sum_square(self: Tensor, dims: List[int], keepdim: bool) -> Tensor:
    return torch.sum(self * self, dims, keepdim)


def onnx_log_sum(self: Tensor, dims: List[int], keepdim: bool) -> Tensor:
    return torch.log(torch.sum(self, dims, keepdim))


def onnx_prod(self: Tensor, dims: List[int], keepdim: bool) -> Tensor:
    out = self
    for dim in __torch__.operators.onnx.onnx_all_dims(self, dims):
        out = torch.prod(out, dim, True)
    if keepdim:
        return out
    shape = annotate(List[int], [])
    all = __torch__.operators.onnx.onnx_all_dims(self, dims)
    for i in range(self.dim()):
        gone = False
        for dim in all:
            if dim == i or dim + self.dim() == i:
                gone = True
        if not gone:
            shape.append(self.size(i))
    return torch.reshape(out, shape)


def onnx_cumsum(self: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    x = self
    if reverse:
        x = torch.flip(x, [axis])
    out = torch.cumsum(x, axis, dtype=self.dtype)
    if exclusive:
        out = out - x
    if reverse:
        out = torch.flip(out, [axis])
    return out


# ---- shapes ------------------------------------------------------------------------------------------------------------


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
            out = __torch__.operators.onnx.onnx_slice_back(out, axis, starts[i], ends[i], step)
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


def onnx_range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    if torch.is_floating_point(start):
        return torch.arange(float(start), float(limit), float(delta), dtype=start.dtype)
    return torch.arange(int(start), int(limit), int(delta), dtype=start.dtype)


def onnx_eye_like(self: Tensor, k: int, dtype: int) -> Tensor:
    rows = torch.reshape(torch.arange(self.size(0)), [-1, 1])
    columns = torch.reshape(torch.arange(self.size(1)), [1, -1])
    return torch.to(torch.eq(columns - rows, k), dtype)


# ---- selection ---------------------------------------------------------------------------------------------------------


def onnx_wrap(indices: Tensor, n: int) -> Tensor:
    at = torch.to(indices, 4)
    return torch.where(at < 0, at + n, at)


def onnx_gather_elements(self: Tensor, indices: Tensor, axis: int) -> Tensor:
    return torch.gather(self, axis, __torch__.operators.onnx.onnx_wrap(indices, self.size(axis)))


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
    at = __torch__.operators.onnx.onnx_wrap(indices, self.size(axis))
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
    at = __torch__.operators.onnx.onnx_wrap(indices, n)
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


# ---- pooling, normalisation --------------------------------------------------------------------------------------------


def onnx_same_pad(self: Tensor, kernel: List[int], strides: List[int], dilations: List[int], lower: bool, fill: float) -> Tensor:
    pads = annotate(List[int], [])
    n = len(kernel)
    for k in range(n):
        i = n - 1 - k
        size = self.size(i + 2)
        out = (size + strides[i] - 1) // strides[i]
        total = (out - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size
        if total < 0:
            total = 0
        less = total // 2
        pads.append(total - less if lower else less)
        pads.append(less if lower else total - less)
    return torch.constant_pad_nd(self, pads, fill)


def onnx_global_pool(self: Tensor, max: bool) -> Tensor:
    dims = annotate(List[int], [])
    for i in range(self.dim() - 2):
        dims.append(i + 2)
    if max:
        return torch.amax(self, dims, True)
    return torch.mean(self, dims, True)


def onnx_lp_pool(self: Tensor, p: int, kernel: List[int], strides: List[int]) -> Tensor:
    powers = torch.pow(torch.abs(self), p)
    return torch.pow(torch.avg_pool2d(powers, kernel, strides) * float(kernel[0] * kernel[1]), 1.0 / float(p))


def onnx_layer_norm(self: Tensor, scale: Tensor, bias: Optional[Tensor], axis: int, eps: float) -> Tensor:
    at = axis + self.dim() if axis < 0 else axis
    shape = annotate(List[int], [])
    for i in range(self.dim() - at):
        shape.append(self.size(at + i))
    out = torch.layer_norm(self, shape, None, None, eps) * scale
    if bias is not None:
        out = out + bias
    return out


def onnx_group_norm(self: Tensor, scale: Tensor, bias: Tensor, groups: int, eps: float) -> Tensor:
    each = self.size(1) // groups
    return torch.group_norm(self, groups, torch.repeat_interleave(scale, each), torch.repeat_interleave(bias, each), eps)


def onnx_rms_norm(self: Tensor, scale: Tensor, axis: int, eps: float) -> Tensor:
    at = axis + self.dim() if axis < 0 else axis
    dims = annotate(List[int], [])
    for i in range(self.dim() - at):
        dims.append(at + i)
    return self * torch.rsqrt(torch.mean(self * self, dims, True) + eps) * scale


def onnx_lrn(self: Tensor, size: int, alpha: float, beta: float, bias: float) -> Tensor:
    squares = torch.unsqueeze(torch.reshape(self * self, [self.size(0), self.size(1), -1]), 1)
    padded = torch.constant_pad_nd(squares, [0, 0, (size - 1) // 2, size // 2], 0.0)
    sums = torch.avg_pool2d(padded, [size, 1], [1, 1]) * float(size)
    sums = torch.reshape(sums, self.size())
    return self / torch.pow(sums * (alpha / float(size)) + bias, beta)


def onnx_lp_norm(self: Tensor, axis: int, p: int) -> Tensor:
    norm = torch.norm(self, p, [axis], True)
    return torch.where(torch.eq(norm, 0), torch.zeros_like(self), self / norm)


def onnx_mean_variance(self: Tensor, axes: List[int]) -> Tensor:
    mean = torch.mean(self, axes, True)
    centred = self - mean
    return centred / (torch.sqrt(torch.mean(centred * centred, axes, True)) + 1e-9)


# ---- images ------------------------------------------------------------------------------------------------------------


def onnx_coordinates(n: int, out: int, scale: float, place: str) -> Tensor:
    at = torch.arange(out, dtype=6)
    if place == "asymmetric":
        return at / scale
    if place == "align_corners":
        if out == 1:
            return torch.zeros_like(at)
        return at * (float(n - 1) / float(out - 1))
    if place == "pytorch_half_pixel" and out == 1:
        return torch.zeros_like(at)
    return (at + 0.5) / scale - 0.5


def onnx_nearest(at: Tensor, mode: str) -> Tensor:
    if mode == "floor":
        return torch.floor(at)
    if mode == "ceil":
        return torch.ceil(at)
    if mode == "round_prefer_ceil":
        return torch.floor(at + 0.5)
    return torch.ceil(at - 0.5)


def onnx_resize(self: Tensor, sizes: Optional[List[int]], scales: Optional[List[float]], mode: str, place: str, nearest: str) -> Tensor:
    x = self
    for i in range(self.dim()):
        n = self.size(i)
        out = n
        scale = 1.0
        if scales is not None:
            scale = scales[i]
            out = int(torch.floor(float(n) * scale))
        if sizes is not None:
            out = sizes[i]
            scale = float(out) / float(n)
        if out != n or scale != 1.0:
            at = __torch__.operators.onnx.onnx_coordinates(n, out, scale, place)
            if mode == "nearest":
                low = torch.clamp(__torch__.operators.onnx.onnx_nearest(at, nearest), 0, n - 1)
                x = torch.index_select(x, i, torch.to(low, 4))
            else:
                at = torch.clamp(at, 0, n - 1)
                low = torch.floor(at)
                shape = annotate(List[int], [])
                for k in range(self.dim()):
                    shape.append(-1 if k == i else 1)
                part = torch.to(torch.reshape(at - low, shape), self.dtype)
                a = torch.index_select(x, i, torch.to(low, 4))
                b = torch.index_select(x, i, torch.to(torch.clamp(low + 1, 0, n - 1), 4))
                x = a + (b - a) * part
    return x


# ---- recurrent layers --------------------------------------------------------------------------------------------------


# Weights of one direction: gates in torch's order.
def _onnx_gates(w: Tensor, order: List[int]) -> Tensor:
    parts = torch.chunk(w, len(order), 0)
    out = annotate(List[Tensor], [])
    for i in order:
        out.append(parts[i])
    return torch.cat(out, 0)


def _onnx_params(w: Tensor, r: Tensor, b: Optional[Tensor], order: List[int]) -> List[Tensor]:
    out = annotate(List[Tensor], [])
    for i in range(w.size(0)):
        out.append(__torch__.operators.onnx._onnx_gates(w[i], order))
        out.append(__torch__.operators.onnx._onnx_gates(r[i], order))
        if b is not None:
            halves = torch.chunk(b[i], 2, 0)
            out.append(__torch__.operators.onnx._onnx_gates(halves[0], order))
            out.append(__torch__.operators.onnx._onnx_gates(halves[1], order))
    return out


def _onnx_state(x: Tensor, r: Tensor, state: Optional[Tensor]) -> Tensor:
    if state is not None:
        return state
    return torch.zeros([r.size(0), x.size(1), r.size(2)], dtype=x.dtype)


# [steps, batch, directions * hidden] as [steps, directions, batch, hidden]
def _onnx_steps(y: Tensor, r: Tensor) -> Tensor:
    return torch.transpose(torch.reshape(y, [y.size(0), y.size(1), r.size(0), r.size(2)]), 1, 2)


def onnx_lstm(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], c: Optional[Tensor], direction: str) -> Tuple[Tensor, Tensor, Tensor]:
    params = __torch__.operators.onnx._onnx_params(w, r, b, [0, 2, 3, 1])
    states = [__torch__.operators.onnx._onnx_state(x, r, h), __torch__.operators.onnx._onnx_state(x, r, c)]
    back = direction == "reverse"
    steps = torch.flip(x, [0]) if back else x
    y, hn, cn = torch.lstm(steps, states, params, b is not None, 1, 0.0, False, direction == "bidirectional", False)
    if back:
        y = torch.flip(y, [0])
    return (__torch__.operators.onnx._onnx_steps(y, r), hn, cn)


def onnx_gru(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], direction: str) -> Tuple[Tensor, Tensor]:
    params = __torch__.operators.onnx._onnx_params(w, r, b, [1, 0, 2])
    back = direction == "reverse"
    steps = torch.flip(x, [0]) if back else x
    y, hn = torch.gru(steps, __torch__.operators.onnx._onnx_state(x, r, h), params, b is not None, 1, 0.0, False, direction == "bidirectional", False)
    if back:
        y = torch.flip(y, [0])
    return (__torch__.operators.onnx._onnx_steps(y, r), hn)


def onnx_rnn(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], direction: str, relu: bool) -> Tuple[Tensor, Tensor]:
    params = __torch__.operators.onnx._onnx_params(w, r, b, [0])
    back = direction == "reverse"
    steps = torch.flip(x, [0]) if back else x
    state = __torch__.operators.onnx._onnx_state(x, r, h)
    two = direction == "bidirectional"
    if relu:
        y, hn = torch.rnn_relu(steps, state, params, b is not None, 1, 0.0, False, two, False)
    else:
        y, hn = torch.rnn_tanh(steps, state, params, b is not None, 1, 0.0, False, two, False)
    if back:
        y = torch.flip(y, [0])
    return (__torch__.operators.onnx._onnx_steps(y, r), hn)


# ---- quantised numbers -------------------------------------------------------------------------------------------------


# Scales along that axis of x: one of all, one of each, or one of each block.
def _onnx_along(x: Tensor, v: Tensor, axis: int) -> Tensor:
    if torch.numel(v) == 1 or x.dim() == 0:
        return torch.reshape(v, annotate(List[int], []))
    at = axis + x.dim() if axis < 0 else axis
    if v.dim() == x.dim() and v.dim() > 1:
        if v.size(at) == x.size(at):
            return v
        block = (x.size(at) + v.size(at) - 1) // v.size(at)
        return torch.slice(torch.repeat_interleave(v, block, at), at, 0, x.size(at))
    shape = annotate(List[int], [])
    for i in range(x.dim()):
        shape.append(-1 if i == at else 1)
    return torch.reshape(v, shape)


def _onnx_saturated(y: Tensor, dtype: int) -> Tensor:
    if dtype == 1:
        return torch.to(torch.clamp(y, -128, 127), 1)
    if dtype == 2:
        return torch.to(torch.clamp(y, -32768, 32767), 2)
    if dtype != 0:
        torch.ops.ctsc.fail("quantisation to a type other than int8, uint8 and int16 is not supported")
    return torch.to(torch.clamp(y, 0, 255), 0)


# type: of the result where no zero point says it; precision: that of the division, 0: of x.
def onnx_quantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int, type: int, precision: int) -> Tensor:
    s = __torch__.operators.onnx._onnx_along(x, scale, axis)
    if precision != 0:
        y = torch.round(torch.to(x, precision) / torch.to(s, precision))
    else:
        y = torch.round(x / s)
    if zero is None:
        return __torch__.operators.onnx._onnx_saturated(y, type)
    y = torch.to(y, 7) + torch.to(__torch__.operators.onnx._onnx_along(x, zero, axis), 7)
    return __torch__.operators.onnx._onnx_saturated(y, zero.dtype)


def onnx_dequantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int) -> Tensor:
    y = torch.to(x, scale.dtype)
    if zero is not None:
        y = y - torch.to(__torch__.operators.onnx._onnx_along(x, zero, axis), scale.dtype)
    return y * __torch__.operators.onnx._onnx_along(x, scale, axis)


# Integers minus their zero point, as double: sums of products stay exact. rows: the zero points are of rows.
def onnx_centred(x: Tensor, zero: Optional[Tensor], rows: bool) -> Tensor:
    y = torch.to(x, 7)
    if zero is None:
        return y
    z = torch.to(zero, 7)
    if rows and z.dim() == 1 and torch.numel(z) > 1:
        z = torch.unsqueeze(z, -1)
    return y - z


def onnx_matmul_integer(a: Tensor, b: Tensor, a_zero: Optional[Tensor], b_zero: Optional[Tensor]) -> Tensor:
    x = __torch__.operators.onnx.onnx_centred(a, a_zero, True)
    return torch.to(torch.matmul(x, __torch__.operators.onnx.onnx_centred(b, b_zero, False)), 3)


# Of a convolution: one per output channel.
def onnx_centred_weight(w: Tensor, zero: Optional[Tensor]) -> Tensor:
    y = torch.to(w, 7)
    if zero is None:
        return y
    z = torch.to(zero, 7)
    if torch.numel(z) == 1:
        return y - torch.reshape(z, annotate(List[int], []))
    shape = [-1]
    for i in range(w.dim() - 1):
        shape.append(1)
    return y - torch.reshape(z, shape)


# scale: of the accumulated products; a vector is of `axis`.
def onnx_requantise(y: Tensor, scale: Tensor, out: Tensor, zero: Tensor, axis: int) -> Tensor:
    by = torch.to(scale, 6) / torch.to(out, 6)
    if torch.numel(by) == 1:
        by = torch.reshape(by, annotate(List[int], []))
    elif by.dim() == 1 and axis >= 0:
        shape = annotate(List[int], [])
        for i in range(y.dim()):
            shape.append(-1 if i == axis else 1)
        by = torch.reshape(by, shape)
    z = torch.to(zero, 7)
    if torch.numel(z) == 1:
        z = torch.reshape(z, annotate(List[int], []))
    return __torch__.operators.onnx._onnx_saturated(torch.round(y * torch.to(by, 7)) + z, zero.dtype)


def onnx_qlinear_matmul(a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, y_scale: Tensor, y_zero: Tensor) -> Tensor:
    x = __torch__.operators.onnx.onnx_centred(a, a_zero, True)
    y = torch.matmul(x, __torch__.operators.onnx.onnx_centred(b, b_zero, False))
    scale = a_scale
    if scale.dim() == 1 and torch.numel(scale) > 1:
        scale = torch.unsqueeze(scale, -1)
    return __torch__.operators.onnx.onnx_requantise(y, scale * b_scale, y_scale, y_zero, -1)


def onnx_dynamic_quantize(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    high = torch.clamp(torch.max(x), 0.0, None)
    low = torch.clamp(torch.min(x), None, 0.0)
    scale = torch.where(torch.eq(high, low), torch.ones_like(high), high - low) / 255.0
    zero = torch.round(torch.clamp(-low / scale, 0.0, 255.0))
    y = torch.clamp(torch.round(x / scale) + zero, 0, 255)
    return (torch.to(y, 0), scale, torch.to(zero, 0))


# ---- sequences ---------------------------------------------------------------------------------------------------------


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
    return torch.split_with_sizes(self, __torch__.operators.onnx.onnx_ints(split), axis)


# ---- boxes -------------------------------------------------------------------------------------------------------------


def onnx_nms(boxes: Tensor, scores: Tensor, most: int, overlap: float, least: Optional[Tensor], centred: bool) -> Tensor:
    if centred:
        half = boxes[:, :, 2:] / 2
        corners = torch.cat([boxes[:, :, :2] - half, boxes[:, :, :2] + half], 2)
    else:
        corners = torch.cat([torch.minimum(boxes[:, :, :2], boxes[:, :, 2:]), torch.maximum(boxes[:, :, :2], boxes[:, :, 2:])], 2)
    found = annotate(List[Tensor], [])
    for b in range(scores.size(0)):
        for c in range(scores.size(1)):
            of = scores[b][c]
            at = torch.arange(of.size(0))
            if least is not None:
                at = torch.reshape(torch.nonzero(of > least), [-1])
            kept = torch.ops.torchvision.nms(torch.to(torch.index_select(corners[b], 0, at), 6), torch.to(torch.index_select(of, 0, at), 6), overlap)
            at = torch.index_select(at, 0, kept[:most])
            found.append(torch.stack([torch.full_like(at, b), torch.full_like(at, c), at], 1))
    if len(found) == 0:
        return torch.zeros([0, 3], dtype=4)
    return torch.cat(found, 0)


def onnx_roi_align(self: Tensor, rois: Tensor, batch: Tensor, height: int, width: int, ratio: int, scale: float, aligned: bool) -> Tensor:
    at = torch.cat([torch.unsqueeze(torch.to(batch, rois.dtype), 1), rois], 1)
    return torch.ops.torchvision.roi_align(self, at, scale, height, width, ratio, aligned)


# ---- attention ---------------------------------------------------------------------------------------------------------


def _onnx_heads(x: Tensor, heads: int) -> Tensor:
    if x.dim() == 4:
        return x
    return torch.transpose(torch.reshape(x, [x.size(0), x.size(1), heads, -1]), 1, 2)


# What is added to the scores of rows [0, q) and columns [0, kv); None: nothing.
def _onnx_attention_bias(x: Tensor, mask: Optional[Tensor], q: int, kv: int, causal: bool, past: int, lengths: Optional[Tensor], left: int, right: int) -> Optional[Tensor]:
    bias = torch.zeros([q, kv], dtype=x.dtype)
    any = False
    if mask is not None:
        any = True
        m = mask
        if m.dtype == 11:
            m = torch.masked_fill(torch.zeros_like(m, dtype=x.dtype), torch.logical_not(m), float("-inf"))
        if m.size(-1) < kv:
            m = torch.constant_pad_nd(m, [0, kv - m.size(-1)], float("-inf"))
        bias = bias + m
    if causal or left >= 0 or right >= 0:
        any = True
        rows = torch.reshape(torch.arange(q), [-1, 1])
        columns = torch.reshape(torch.arange(kv), [1, -1])
        if lengths is not None:
            rows = rows + torch.reshape(torch.to(lengths, 4) - q, [-1, 1, 1, 1])
        else:
            rows = rows + past
        gone = torch.zeros_like(rows - columns, dtype=11)
        if causal:
            gone = torch.logical_or(gone, columns > rows)
        if left >= 0:
            gone = torch.logical_or(gone, rows - columns > left)
        if right >= 0:
            gone = torch.logical_or(gone, columns - rows > right)
        bias = torch.masked_fill(bias, gone, float("-inf"))
    if lengths is not None:
        any = True
        gone = torch.ge(torch.arange(kv), torch.reshape(torch.to(lengths, 4), [-1, 1, 1, 1]))
        bias = torch.masked_fill(bias, gone, float("-inf"))
    if any:
        return bias
    return None


def onnx_attention(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], past_key: Optional[Tensor], past_value: Optional[Tensor], lengths: Optional[Tensor], causal: bool, q_heads: int, kv_heads: int, scale: Optional[float], softcap: float, precision: Optional[int], mode: int, left: int, right: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    q = __torch__.operators.onnx._onnx_heads(query, q_heads)
    k = __torch__.operators.onnx._onnx_heads(key, kv_heads)
    v = __torch__.operators.onnx._onnx_heads(value, kv_heads)
    past = 0
    if past_key is not None:
        past = past_key.size(2)
        k = torch.cat([past_key, k], 2)
    if past_value is not None:
        v = torch.cat([past_value, v], 2)
    present_key = k
    present_value = v
    groups = q.size(1) // k.size(1)
    if groups > 1:
        k = torch.repeat_interleave(k, groups, 1)
        v = torch.repeat_interleave(v, groups, 1)
    bias = __torch__.operators.onnx._onnx_attention_bias(q, mask, q.size(2), k.size(2), causal, past, lengths, left, right)
    factor = float(q.size(3)) ** -0.5
    if scale is not None:
        factor = scale
    root = factor ** 0.5
    scores = torch.matmul(q * root, torch.transpose(k * root, 2, 3))
    shown = scores
    if softcap > 0:
        scores = torch.tanh(scores / softcap) * softcap
        if mode == 1:
            shown = scores
    if bias is not None:
        scores = scores + bias
    if mode == 2:
        shown = scores
    if precision is not None:
        scores = torch.to(scores, precision)
    weights = torch.softmax(scores, -1)
    if bias is not None:
        weights = torch.masked_fill(weights, torch.eq(torch.amax(bias, [-1], True), float("-inf")), 0.0)
    weights = torch.to(weights, query.dtype)
    if mode == 3:
        shown = weights
    y = torch.matmul(weights, v)
    if query.dim() == 3:
        y = torch.reshape(torch.transpose(y, 1, 2), [y.size(0), y.size(2), -1])
    return (y, present_key, present_value, torch.to(shown, query.dtype))


# Without cache, cap and other results: one kernel.
def onnx_attention_plain(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], causal: bool, q_heads: int, kv_heads: int, scale: Optional[float]) -> Tensor:
    q = __torch__.operators.onnx._onnx_heads(query, q_heads)
    k = __torch__.operators.onnx._onnx_heads(key, kv_heads)
    v = __torch__.operators.onnx._onnx_heads(value, kv_heads)
    groups = q.size(1) // k.size(1)
    if groups > 1:
        k = torch.repeat_interleave(k, groups, 1)
        v = torch.repeat_interleave(v, groups, 1)
    y = torch.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale)
    if query.dim() == 3:
        y = torch.reshape(torch.transpose(y, 1, 2), [y.size(0), y.size(2), -1])
    return y


def onnx_rotary(self: Tensor, cosines: Tensor, sines: Tensor, at: Optional[Tensor], interleaved: bool, heads: int, dim: int) -> Tensor:
    x = self
    if self.dim() == 4:
        x = torch.transpose(self, 1, 2)
    else:
        x = torch.reshape(self, [self.size(0), self.size(1), heads, -1])
    n = dim if dim > 0 else x.size(3)
    c = cosines
    s = sines
    if at is not None:
        c = torch.index(cosines, annotate(List[Optional[Tensor]], [at]))
        s = torch.index(sines, annotate(List[Optional[Tensor]], [at]))
    c = torch.unsqueeze(c, 2)
    s = torch.unsqueeze(s, 2)
    turned = x[:, :, :, :n]
    if interleaved:
        a = torch.slice(turned, 3, 0, None, 2)
        b = torch.slice(turned, 3, 1, None, 2)
        y = torch.flatten(torch.stack([c * a - s * b, s * a + c * b], -1), 3)
    else:
        a, b = torch.chunk(turned, 2, 3)
        y = torch.cat([c * a - s * b, s * a + c * b], 3)
    y = torch.cat([y, x[:, :, :, n:]], 3)
    if self.dim() == 4:
        return torch.transpose(y, 1, 2)
    return torch.reshape(y, self.size())


def onnx_swish(self: Tensor, alpha: float) -> Tensor:
    return self * torch.sigmoid(self * alpha)


# ---- what older forms of the operators left to fixed sizes -------------------------------------------------------------


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


def onnx_arg_last(self: Tensor, axis: int, keepdim: bool, least: bool) -> Tensor:
    back = torch.flip(self, [axis])
    if least:
        return self.size(axis) - 1 - torch.argmin(back, axis, keepdim)
    return self.size(axis) - 1 - torch.argmax(back, axis, keepdim)


# Of equal elements the first ones.
def onnx_topk(self: Tensor, k: int, axis: int, largest: bool) -> Tuple[Tensor, Tensor]:
    values, indices = torch.sort(self, stable=True, dim=axis, descending=largest)
    return (torch.slice(values, axis, 0, k), torch.slice(indices, axis, 0, k))


def onnx_layer_norm_parts(self: Tensor, scale: Tensor, bias: Optional[Tensor], axis: int, eps: float, type: int) -> Tuple[Tensor, Tensor, Tensor]:
    dims = annotate(List[int], [])
    for i in range(self.dim()):
        if i >= (axis + self.dim() if axis < 0 else axis):
            dims.append(i)
    x = torch.to(self, type)
    mean = torch.mean(x, dims, True)
    centred = x - mean
    by = torch.reciprocal(torch.sqrt(torch.mean(centred * centred, dims, True) + eps))
    y = torch.to(centred * by, self.dtype) * scale
    if bias is not None:
        y = y + bias
    return (y, mean, by)


# Sums over windows, of any number of dims; pads: begins, then ends.
def _onnx_window_sum(self: Tensor, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool) -> Tensor:
    n = len(kernel)
    around = annotate(List[int], [])
    for k in range(n):
        i = n - 1 - k
        reach = (kernel[i] - 1) * dilations[i] + 1
        end = pads[n + i]
        if ceil:
            left = (self.size(i + 2) + pads[i] + end - reach) % strides[i]
            outs = (self.size(i + 2) + pads[i] + end - reach) // strides[i] + 1
            if left > 0 and outs * strides[i] < self.size(i + 2) + pads[i]:
                end = end + strides[i] - left
        around.append(pads[i])
        around.append(end)
    x = torch.constant_pad_nd(self, around, 0)
    for i in range(n):
        reach = (kernel[i] - 1) * dilations[i] + 1
        outs = (x.size(i + 2) - reach) // strides[i] + 1
        total = torch.slice(x, i + 2, 0, (outs - 1) * strides[i] + 1, strides[i])
        for k in range(kernel[i] - 1):
            at = (k + 1) * dilations[i]
            total = total + torch.slice(x, i + 2, at, at + (outs - 1) * strides[i] + 1, strides[i])
        x = total
    return x


def onnx_average_pool(self: Tensor, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool, all: bool) -> Tensor:
    sums = __torch__.operators.onnx._onnx_window_sum(self, kernel, strides, pads, dilations, ceil)
    ones = torch.ones_like(self)
    n = len(kernel)
    if all:
        around = annotate(List[int], [])
        none = annotate(List[int], [])
        for k in range(n):
            around.append(pads[n - 1 - k])
            around.append(pads[2 * n - 1 - k])
            none.append(0)
            none.append(0)
        ones = torch.constant_pad_nd(ones, around, 1)
        return sums / __torch__.operators.onnx._onnx_window_sum(ones, kernel, strides, none, dilations, ceil)
    return sums / __torch__.operators.onnx._onnx_window_sum(ones, kernel, strides, pads, dilations, ceil)


def onnx_lp_pool_any(self: Tensor, p: int, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool) -> Tensor:
    sums = __torch__.operators.onnx._onnx_window_sum(torch.pow(torch.abs(self), float(p)), kernel, strides, pads, dilations, ceil)
    return torch.pow(sums, 1.0 / float(p))


# What is left of the full result of a transposed convolution.
def onnx_transpose_shape(self: Tensor, shape: List[int], lower: bool) -> Tensor:
    x = self
    n = len(shape)
    for i in range(n):
        total = x.size(i + 2) - shape[i]
        if total < 0:
            around = annotate(List[int], [])
            for k in range(n - i):
                around.append(0)
                around.append(-total if k == n - i - 1 else 0)
            x = torch.constant_pad_nd(x, around, 0)
        else:
            begin = total - total // 2 if lower else total // 2
            x = torch.slice(x, i + 2, begin, begin + shape[i])
    return x


def onnx_same_shape(self: Tensor, strides: List[int]) -> List[int]:
    out = annotate(List[int], [])
    for i in range(len(strides)):
        out.append(self.size(i + 2) * strides[i])
    return out


# Indices of max_pool into the whole tensor; column-major: the last two dims exchanged.
def onnx_pool_indices(self: Tensor, x: Tensor, columns: bool) -> Tensor:
    plane = 1
    for i in range(x.dim() - 2):
        plane = plane * x.size(i + 2)
    at = self
    if columns and x.dim() == 4:
        h = x.size(2)
        w = x.size(3)
        at = torch.remainder(self, w) * h + torch.div(self, w, rounding_mode="floor")
    shape = annotate(List[int], [])
    for i in range(x.dim()):
        shape.append(x.size(0) if i == 0 else x.size(1) if i == 1 else 1)
    return at + torch.reshape(torch.arange(x.size(0) * x.size(1)) * plane, shape)


def onnx_max_unpool(self: Tensor, indices: Tensor, shape: Optional[Tensor], kernel: List[int], strides: List[int], pads: List[int]) -> Tensor:
    own = [self.size(0), self.size(1)]
    n = len(kernel)
    for i in range(n):
        own.append((self.size(i + 2) - 1) * strides[i] + kernel[i] - pads[i] - pads[n + i])
    total = 1
    for i in own:
        total = total * i
    flat = torch.scatter(torch.zeros([total], dtype=self.dtype), 0, torch.reshape(indices, [-1]), torch.reshape(self, [-1]))
    y = torch.reshape(flat, own)
    if shape is None:
        return y
    to = __torch__.operators.onnx.onnx_ints(shape)
    around = annotate(List[int], [])
    for k in range(len(to)):
        i = len(to) - 1 - k
        around.append(0)
        around.append(to[i] - own[i])
    return torch.constant_pad_nd(y, around, 0)


# ---- Resize in all its forms -------------------------------------------------------------------------------------------


def _onnx_cubic(distance: Tensor, a: float) -> Tensor:
    x = torch.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, torch.zeros_like(x)))


# Where the elements of the result lie in the source.
def _onnx_places(n: int, out: int, scale: float, place: str, begin: float, end: float) -> Tensor:
    at = torch.arange(out, dtype=7)
    width = scale * float(n)
    if place == "asymmetric":
        return at / scale
    if place == "align_corners":
        return torch.zeros_like(at) if width == 1.0 else at * float(n - 1) / (width - 1.0)
    if place == "tf_crop_and_resize":
        if width == 1.0:
            return torch.zeros_like(at) + (end - begin) * float(n - 1) / 2.0 + begin * float(n - 1)
        return at * (end - begin) * float(n - 1) / (width - 1.0) + begin * float(n - 1)
    if place == "pytorch_half_pixel" and width == 1.0:
        return torch.zeros_like(at) - 0.5
    if place == "half_pixel_symmetric":
        return float(n) / 2.0 * (1.0 - float(out) / width) + (at + 0.5) / scale - 0.5
    return (at + 0.5) / scale - 0.5


def _onnx_resize_axis(x: Tensor, axis: int, out: int, scale: float, mode: str, place: str, nearest: str, antialias: bool, exclude: bool, a: float, begin: float, end: float, fill: float) -> Tensor:
    n = x.size(axis)
    at = __torch__.operators.onnx._onnx_places(n, out, scale, place, begin, end)
    if mode == "nearest":
        low = torch.clamp(__torch__.operators.onnx.onnx_nearest(at, nearest), 0, n - 1)
        y = torch.index_select(x, axis, torch.to(low, 4))
    else:
        narrow = scale if antialias and scale < 1.0 else 1.0
        reach = 1.0 if mode == "linear" else 2.0
        first = int(torch.floor(-reach / narrow)) + 1
        base = torch.ceil(at) - 1
        taps = torch.arange(first, 2 - first, dtype=7)
        distance = (torch.unsqueeze(taps, 0) - torch.unsqueeze(at - base, 1)) * narrow
        if mode == "linear":
            part = torch.clamp(1.0 - torch.abs(distance), 0.0, 1.0)
        else:
            part = __torch__.operators.onnx._onnx_cubic(distance, a)
        index = torch.to(torch.unsqueeze(base, 1) + torch.unsqueeze(taps, 0), 4)
        if exclude:
            part = torch.masked_fill(part, torch.logical_or(index < 0, index >= n), 0.0)
        if exclude or narrow != 1.0:
            part = part / torch.sum(part, [1], True)
        weights = torch.scatter_add(torch.zeros([out, n], dtype=7), 1, torch.clamp(index, 0, n - 1), part)
        kind = x.dtype if torch.is_floating_point(x) else 7
        moved = torch.matmul(torch.to(torch.transpose(x, axis, -1), kind), torch.to(torch.t(weights), kind))
        y = torch.to(torch.transpose(moved, axis, -1), x.dtype)
    if place == "tf_crop_and_resize":
        shape = annotate(List[int], [])
        for k in range(x.dim()):
            shape.append(-1 if k == axis else 1)
        y = torch.masked_fill(y, torch.reshape(torch.logical_or(at < 0, at > n - 1), shape), fill)
    return y


def onnx_resize_any(self: Tensor, roi: Optional[Tensor], scales: Optional[Tensor], sizes: Optional[Tensor], axes: List[int], mode: str, place: str, nearest: str, antialias: bool, exclude: bool, a: float, fill: float, policy: str) -> Tensor:
    which = axes
    if len(which) == 0:
        which = annotate(List[int], [])
        for i in range(self.dim()):
            which.append(i)
    count = len(which)
    factors = annotate(List[float], [])
    outs = annotate(List[int], [])
    if sizes is not None:
        best = 0.0
        for i in range(count):
            want = int(sizes[i])
            n = self.size(which[i])
            factor = float(want) / float(n)
            factors.append(factor)
            outs.append(want)
            if i == 0 or (policy == "not_larger" and factor < best) or (policy == "not_smaller" and factor > best):
                best = factor
        if policy != "stretch":
            for i in range(count):
                factors[i] = best
                outs[i] = int(torch.floor(best * float(self.size(which[i])) + 0.5))
    elif scales is not None:
        for i in range(count):
            factor = float(scales[i])
            factors.append(factor)
            outs.append(int(torch.floor(factor * float(self.size(which[i])))))
    x = self
    for i in range(count):
        begin = 0.0
        end = 1.0
        if roi is not None and torch.numel(roi) == 2 * count:
            begin = float(roi[i])
            end = float(roi[count + i])
        axis = which[i]
        if axis < 0:
            axis = axis + self.dim()
        if outs[i] != self.size(axis) or factors[i] != 1.0 or place == "tf_crop_and_resize":
            x = __torch__.operators.onnx._onnx_resize_axis(x, axis, outs[i], factors[i], mode, place, nearest, antialias, exclude, a, begin, end, fill)
    return x
