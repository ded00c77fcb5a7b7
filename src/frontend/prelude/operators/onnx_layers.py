# SPDX-License-Identifier: Apache-2.0
# onnx_layers.py - operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def): pooling, normalisation, recurrent layers and attention.


# ---- pooling, normalisation ------------------------------------------------------------------------------------------


# As many pads as an output of ceil(size / stride) elements needs: begins, then ends.
def onnx_same_pads(self: Tensor, kernel: List[int], strides: List[int], dilations: List[int], lower: bool) -> List[int]:
    begins = annotate(List[int], [])
    ends = annotate(List[int], [])
    for i in range(len(kernel)):
        size = self.size(i + 2)
        out = (size + strides[i] - 1) // strides[i]
        total = (out - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size
        if total < 0:
            total = 0
        less = total // 2
        begins.append(total - less if lower else less)
        ends.append(less if lower else total - less)
    return begins + ends


def _onnx_around(self: Tensor, pads: List[int], fill: float) -> Tensor:
    n = len(pads) // 2
    around = annotate(List[int], [])
    for k in range(n):
        around.append(pads[n - 1 - k])
        around.append(pads[2 * n - 1 - k])
    return torch.constant_pad_nd(self, around, fill)


def onnx_same_pad(self: Tensor, kernel: List[int], strides: List[int], dilations: List[int], lower: bool, fill: float) -> Tensor:
    return __torch__.operators.onnx_layers._onnx_around(self, __torch__.operators.onnx_layers.onnx_same_pads(self, kernel, strides, dilations, lower), fill)


def onnx_global_lp_pool(self: Tensor, p: int) -> Tensor:
    dims = annotate(List[int], [])
    for i in range(self.dim() - 2):
        dims.append(i + 2)
    return torch.linalg_vector_norm(self, float(p), dims, True)


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


# Statistics of the batch; the running ones are those given, and these, by the momentum.
def onnx_batch_norm_training(self: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, eps: float, momentum: float) -> Tuple[Tensor, Tensor, Tensor]:
    dims = annotate(List[int], [])
    shape = annotate(List[int], [])
    for i in range(self.dim()):
        if i != 1:
            dims.append(i)
        shape.append(-1 if i == 1 else 1)
    x = torch.to(self, 6) if self.dtype != 7 else self
    own_mean = torch.mean(x, dims, True)
    centred = x - own_mean
    own_var = torch.mean(centred * centred, dims, True)
    y = centred / torch.sqrt(own_var + eps) * torch.reshape(scale, shape) + torch.reshape(bias, shape)
    new_mean = torch.reshape(own_mean, [-1]) * (1.0 - momentum) + mean * momentum
    new_var = torch.reshape(own_var, [-1]) * (1.0 - momentum) + var * momentum
    return (torch.to(y, self.dtype), torch.to(new_mean, mean.dtype), torch.to(new_var, var.dtype))


def onnx_rms_norm(self: Tensor, scale: Tensor, dims: List[int], eps: float) -> Tensor:
    return self * torch.rsqrt(torch.mean(self * self, dims, True) + eps) * scale


# The reciprocal of the root as well, in that type.
def onnx_rms_norm_parts(self: Tensor, scale: Tensor, axis: int, eps: float, type: int) -> Tuple[Tensor, Tensor]:
    dims = annotate(List[int], [])
    for i in range(self.dim()):
        if i >= (axis + self.dim() if axis < 0 else axis):
            dims.append(i)
    x = torch.to(self, type)
    by = torch.rsqrt(torch.mean(x * x, dims, True) + eps)
    return (torch.to(x * by * scale, scale.dtype), by)


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


# The pads, and after them what the last windows need where the number of these is rounded up.
def _onnx_window_pads(self: Tensor, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool) -> List[int]:
    n = len(kernel)
    out = pads.copy()
    for i in range(n):
        size = self.size(i + 2) + pads[i] + pads[n + i]
        reach = (kernel[i] - 1) * dilations[i] + 1
        left = torch.remainder(size - reach, strides[i])
        if ceil and left > 0 and ((size - reach) // strides[i] + 1) * strides[i] < self.size(i + 2) + pads[i]:
            out[n + i] = pads[n + i] + strides[i] - left
    return out


# Sums over windows, of any number of dims.
def _onnx_window_sum(self: Tensor, kernel: List[int], strides: List[int], dilations: List[int]) -> Tensor:
    x = self
    for i in range(len(kernel)):
        reach = (kernel[i] - 1) * dilations[i] + 1
        size = x.size(i + 2)
        if kernel[i] < 1 or kernel[i] > size or strides[i] < 1 or dilations[i] < 1 or (kernel[i] > 1 and dilations[i] > size) or reach > size:
            torch.ops.ctsc.fail("windows of {} elements, {} apart, do not fit {}".format(kernel[i], dilations[i], size))
        outs = (size - reach) // strides[i] + 1
        total = torch.slice(x, i + 2, 0, (outs - 1) * strides[i] + 1, strides[i])
        for k in range(kernel[i] - 1):
            at = (k + 1) * dilations[i]
            total = total + torch.slice(x, i + 2, at, at + (outs - 1) * strides[i] + 1, strides[i])
        x = total
    return x


# all: pads count as elements; what is beyond them does not.
def onnx_average_pool(self: Tensor, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool, all: bool) -> Tensor:
    whole = __torch__.operators.onnx_layers._onnx_window_pads(self, kernel, strides, pads, dilations, ceil)
    ones = torch.ones_like(self)
    rest = whole
    if all:
        ones = __torch__.operators.onnx_layers._onnx_around(ones, pads, 1.0)
        rest = annotate(List[int], [])
        for i in range(len(pads)):
            rest.append(whole[i] - pads[i])
    sums = __torch__.operators.onnx_layers._onnx_window_sum(__torch__.operators.onnx_layers._onnx_around(self, whole, 0.0), kernel, strides, dilations)
    return sums / __torch__.operators.onnx_layers._onnx_window_sum(__torch__.operators.onnx_layers._onnx_around(ones, rest, 0.0), kernel, strides, dilations)


def onnx_lp_pool_any(self: Tensor, p: int, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool) -> Tensor:
    whole = __torch__.operators.onnx_layers._onnx_window_pads(self, kernel, strides, pads, dilations, ceil)
    powers = __torch__.operators.onnx_layers._onnx_around(torch.pow(torch.abs(self), float(p)), whole, 0.0)
    return torch.pow(__torch__.operators.onnx_layers._onnx_window_sum(powers, kernel, strides, dilations), 1.0 / float(p))


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


# Indices of max_pool into the whole of x; `padded` is x with pads around it (none: an empty list); columns: the first spatial dim varies fastest.
def onnx_pool_indices(self: Tensor, x: Tensor, padded: Tensor, pads: List[int], columns: bool) -> Tensor:
    n = x.dim() - 2
    # the place along each dim, the last one first
    rest = self
    at = torch.zeros_like(self)
    step = 1
    for k in range(n):
        i = n - 1 - k
        size = padded.size(i + 2)
        own = torch.remainder(rest, size)
        rest = torch.div(rest, size, rounding_mode="floor")
        if len(pads) > 0:
            own = own - pads[i]
        if columns:
            for j in range(i):
                own = own * x.size(j + 2)
            at = at + own
        else:
            at = at + own * step
        step = step * x.size(i + 2)
    shape = annotate(List[int], [])
    for i in range(x.dim()):
        shape.append(x.size(0) if i == 0 else x.size(1) if i == 1 else 1)
    return at + torch.reshape(torch.arange(x.size(0) * x.size(1)) * step, shape)


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
    to = __torch__.operators.onnx_shapes.onnx_ints(shape)
    around = annotate(List[int], [])
    for k in range(len(to)):
        i = len(to) - 1 - k
        around.append(0)
        around.append(to[i] - own[i])
    return torch.constant_pad_nd(y, around, 0)


# ---- recurrent layers ------------------------------------------------------------------------------------------------


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
        out.append(__torch__.operators.onnx_layers._onnx_gates(w[i], order))
        out.append(__torch__.operators.onnx_layers._onnx_gates(r[i], order))
        if b is not None:
            halves = torch.chunk(b[i], 2, 0)
            out.append(__torch__.operators.onnx_layers._onnx_gates(halves[0], order))
            out.append(__torch__.operators.onnx_layers._onnx_gates(halves[1], order))
    return out


def _onnx_state(x: Tensor, r: Tensor, state: Optional[Tensor]) -> Tensor:
    if state is not None:
        return state
    return torch.zeros([r.size(0), x.size(1), r.size(2)], dtype=x.dtype)


# [steps, batch, directions * hidden] as [steps, directions, batch, hidden]
def _onnx_steps(y: Tensor, r: Tensor) -> Tensor:
    return torch.transpose(torch.reshape(y, [y.size(0), y.size(1), r.size(0), r.size(2)]), 1, 2)


def onnx_lstm(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], c: Optional[Tensor], direction: str) -> Tuple[Tensor, Tensor, Tensor]:
    params = __torch__.operators.onnx_layers._onnx_params(w, r, b, [0, 2, 3, 1])
    states = [__torch__.operators.onnx_layers._onnx_state(x, r, h), __torch__.operators.onnx_layers._onnx_state(x, r, c)]
    back = direction == "reverse"
    steps = torch.flip(x, [0]) if back else x
    y, hn, cn = torch.lstm(steps, states, params, b is not None, 1, 0.0, False, direction == "bidirectional", False)
    if back:
        y = torch.flip(y, [0])
    return (__torch__.operators.onnx_layers._onnx_steps(y, r), hn, cn)


def onnx_gru(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], direction: str) -> Tuple[Tensor, Tensor]:
    params = __torch__.operators.onnx_layers._onnx_params(w, r, b, [1, 0, 2])
    back = direction == "reverse"
    steps = torch.flip(x, [0]) if back else x
    y, hn = torch.gru(steps, __torch__.operators.onnx_layers._onnx_state(x, r, h), params, b is not None, 1, 0.0, False, direction == "bidirectional", False)
    if back:
        y = torch.flip(y, [0])
    return (__torch__.operators.onnx_layers._onnx_steps(y, r), hn)


def onnx_rnn(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], direction: str, relu: bool) -> Tuple[Tensor, Tensor]:
    params = __torch__.operators.onnx_layers._onnx_params(w, r, b, [0])
    back = direction == "reverse"
    steps = torch.flip(x, [0]) if back else x
    state = __torch__.operators.onnx_layers._onnx_state(x, r, h)
    two = direction == "bidirectional"
    if relu:
        y, hn = torch.rnn_relu(steps, state, params, b is not None, 1, 0.0, False, two, False)
    else:
        y, hn = torch.rnn_tanh(steps, state, params, b is not None, 1, 0.0, False, two, False)
    if back:
        y = torch.flip(y, [0])
    return (__torch__.operators.onnx_layers._onnx_steps(y, r), hn)


# ---- attention -------------------------------------------------------------------------------------------------------


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
    q = __torch__.operators.onnx_layers._onnx_heads(query, q_heads)
    k = __torch__.operators.onnx_layers._onnx_heads(key, kv_heads)
    v = __torch__.operators.onnx_layers._onnx_heads(value, kv_heads)
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
    bias = __torch__.operators.onnx_layers._onnx_attention_bias(q, mask, q.size(2), k.size(2), causal, past, lengths, left, right)
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
    q = __torch__.operators.onnx_layers._onnx_heads(query, q_heads)
    k = __torch__.operators.onnx_layers._onnx_heads(key, kv_heads)
    v = __torch__.operators.onnx_layers._onnx_heads(value, kv_heads)
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
    turned = torch.slice(x, 3, 0, n)
    if interleaved:
        a = torch.slice(turned, 3, 0, None, 2)
        b = torch.slice(turned, 3, 1, None, 2)
        y = torch.flatten(torch.stack([c * a - s * b, s * a + c * b], -1), 3)
    else:
        a, b = torch.chunk(turned, 2, 3)
        y = torch.cat([c * a - s * b, s * a + c * b], 3)
    if n < x.size(3):
        y = torch.cat([y, torch.slice(x, 3, n)], 3)
    if self.dim() == 4:
        return torch.transpose(y, 1, 2)
    return torch.reshape(y, self.size())


# ---- state space layers ----------------------------------------------------------------------------------------------


def onnx_linear_attention(query: Tensor, key: Tensor, value: Tensor, past: Optional[Tensor], decay: Optional[Tensor], beta: Optional[Tensor], q_heads: int, kv_heads: int, scale: float, rule: str) -> Tuple[Tensor, Tensor]:
    if rule != "linear" and rule != "gated" and rule != "delta" and rule != "gated_delta":
        torch.ops.ctsc.fail("LinearAttention has no update_rule '{}'".format(rule))
    if (decay is not None) != (rule == "gated" or rule == "gated_delta") or (beta is not None) != (rule == "delta" or rule == "gated_delta"):
        torch.ops.ctsc.fail("decay and beta are not those of update_rule '{}'".format(rule))
    b = query.size(0)
    steps = query.size(1)
    group = q_heads // kv_heads
    q = torch.reshape(torch.to(query, 6), [b, steps, kv_heads, group, query.size(2) // q_heads])
    k = torch.reshape(torch.to(key, 6), [b, steps, kv_heads, key.size(2) // kv_heads])
    v = torch.reshape(torch.to(value, 6), [b, steps, kv_heads, value.size(2) // kv_heads])
    state = torch.zeros([b, kv_heads, k.size(3), v.size(3)], dtype=6)
    kind = query.dtype
    if past is not None:
        state = torch.to(past, 6)
        kind = past.dtype
    factor = scale if scale != 0.0 else float(q.size(4)) ** -0.5
    y = torch.zeros([b, steps, kv_heads, group, v.size(3)], dtype=6)
    for i in range(steps):
        key_now = torch.select(k, 1, i)
        new = torch.select(v, 1, i)
        if decay is not None:
            gate = torch.exp(torch.to(torch.select(decay, 1, i), 6))
            state = state * torch.reshape(gate, [b, kv_heads, gate.size(1) // kv_heads, 1])
        if beta is not None:
            new = (new - torch.squeeze(torch.matmul(torch.unsqueeze(key_now, 2), state), 2)) * torch.unsqueeze(torch.to(torch.select(beta, 1, i), 6), 2)
        state = state + torch.unsqueeze(key_now, 3) * torch.unsqueeze(new, 2)
        torch.copy_(torch.select(y, 1, i), torch.matmul(torch.select(q, 1, i), state) * factor)
    return (torch.to(torch.reshape(y, [b, steps, q_heads * v.size(3)]), query.dtype), torch.to(state, kind))


def onnx_causal_conv(x: Tensor, weight: Tensor, bias: Optional[Tensor], past: Optional[Tensor], activation: str) -> Tuple[Tensor, Tensor]:
    before = weight.size(2) - 1
    padded = torch.constant_pad_nd(x, [before, 0], 0)
    if past is not None:
        padded = torch.cat([past, x], 2)
    y = torch.conv1d(padded, weight, bias, groups=x.size(1))
    if activation == "silu" or activation == "swish":
        y = torch.to(torch.silu(torch.to(y, 6) if y.dtype != 7 else y), x.dtype)
    elif activation != "none":
        torch.ops.ctsc.fail("CausalConvWithState has no activation '{}'".format(activation))
    return (y, torch.slice(padded, 2, padded.size(2) - before))


def onnx_tensor_scatter(self: Tensor, update: Tensor, start: Optional[Tensor], axis: int, mode: str) -> Tensor:
    dim = axis + self.dim() if axis < 0 else axis
    at = torch.reshape(torch.arange(update.size(dim)), [1, -1])
    if start is not None:
        at = at + torch.reshape(torch.to(start, 4), [-1, 1])
    if mode == "circular":
        at = torch.remainder(at, self.size(dim))
    shape = annotate(List[int], [])
    for i in range(self.dim()):
        shape.append(at.size(0) if i == 0 else at.size(1) if i == dim else 1)
    return torch.scatter(self, dim, torch.expand(torch.reshape(at, shape), update.size()), update)


def onnx_swiglu(self: Tensor, other: Tensor, alpha: float) -> Tensor:
    return self * torch.sigmoid(self * alpha) * other


# ---- training --------------------------------------------------------------------------------------------------------


def onnx_dropout(x: Tensor, ratio: Optional[Tensor], training: Tensor) -> Tuple[Tensor, Tensor]:
    p = 0.5
    if ratio is not None:
        p = float(ratio)
    if p == 0.0 or not bool(training):
        return (x, torch.ones_like(x, dtype=11))
    mask = torch.rand(x.size(), dtype=6) >= p
    return (torch.where(mask, x / (1.0 - p), torch.zeros_like(x)), mask)
