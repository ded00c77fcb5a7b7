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


def onnx_space_to_depth(self: Tensor, block: int) -> Tensor:
    b, c, h, w = self.size()
    x = torch.reshape(self, [b, c, h // block, block, w // block, block])
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
    if reduction != "none" and reduction != "add":
        torch.ops.ctsc.fail("ScatterND with a reduction other than none and add is not supported")
    return torch.index_put(self, at, updates, reduction == "add")


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


# A scale per channel, along that axis of x.
def _onnx_along(x: Tensor, v: Tensor, axis: int) -> Tensor:
    if torch.numel(v) == 1 or x.dim() == 0:
        return torch.reshape(v, annotate(List[int], []))
    if v.dim() != 1:
        torch.ops.ctsc.fail("scales of blocks are not supported")
    at = axis + x.dim() if axis < 0 else axis
    shape = annotate(List[int], [])
    for i in range(x.dim()):
        shape.append(-1 if i == at else 1)
    return torch.reshape(v, shape)


def onnx_quantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int) -> Tensor:
    y = torch.round(x / __torch__.operators.onnx._onnx_along(x, scale, axis))
    if zero is None:
        return torch.to(torch.clamp(y, 0, 255), 0)
    y = y + torch.to(__torch__.operators.onnx._onnx_along(x, zero, axis), y.dtype)
    if zero.dtype == 1:
        return torch.to(torch.clamp(y, -128, 127), 1)
    if zero.dtype != 0:
        torch.ops.ctsc.fail("QuantizeLinear to a type other than int8 and uint8 is not supported")
    return torch.to(torch.clamp(y, 0, 255), 0)


def onnx_dequantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int) -> Tensor:
    y = torch.to(x, scale.dtype)
    if zero is not None:
        y = y - torch.to(__torch__.operators.onnx._onnx_along(x, zero, axis), scale.dtype)
    return y * __torch__.operators.onnx._onnx_along(x, scale, axis)
