# SPDX-License-Identifier: Apache-2.0
# Derivatives of recurrent networks and of attention. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- cells: 0 rnn_tanh, 1 rnn_relu, 2 gru, 3 lstm --------------------------------------------------


# The new state of what the input adds (with its bias) and the old state. The second of a state is an LSTM's cell.
def _step(kind: int, added: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, b_hh: Optional[Tensor], w_hr: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    recurrent = torch.linear(h, w_hh, b_hh)
    if kind == 0:
        return torch.tanh(recurrent + added), c
    if kind == 1:
        return torch.relu(recurrent + added), c
    if kind == 2:
        x = torch.chunk(added, 3, 1)
        r = torch.chunk(recurrent, 3, 1)
        new = torch.tanh(x[2] + r[2] * torch.sigmoid(r[0] + x[0]))
        return (h - new) * torch.sigmoid(r[1] + x[1]) + new, c
    gates = torch.chunk(recurrent + added, 4, 1)
    cell = torch.sigmoid(gates[1]) * c + torch.sigmoid(gates[0]) * torch.tanh(gates[2])
    out = torch.sigmoid(gates[3]) * torch.tanh(cell)
    if w_hr is not None:
        out = torch.linear(out, w_hr, None)
    return out, cell


def lstm_cell__as(input: Tensor, hx: List[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    return __torch__.derivatives.recurrent._step(3, torch.linear(input, w_ih, b_ih), hx[0], hx[1], w_hh, b_hh, None)


def gru_cell__as(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return __torch__.derivatives.recurrent._step(2, torch.linear(input, w_ih, b_ih), hx, hx, w_hh, b_hh, None)[0]


def rnn_tanh_cell__as(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return __torch__.derivatives.recurrent._step(0, torch.linear(input, w_ih, b_ih), hx, hx, w_hh, b_hh, None)[0]


def rnn_relu_cell__as(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return __torch__.derivatives.recurrent._step(1, torch.linear(input, w_ih, b_ih), hx, hx, w_hh, b_hh, None)[0]


# ---- layers ----------------------------------------------------------------------------------------


# A parameter of layer `at`, both directions counted: w_ih, w_hh, then biases, then a projection.
def _bias(params: List[Tensor], at: int, per: int, k: int, has_biases: bool) -> Optional[Tensor]:
    if not has_biases:
        return None
    return params[at * per + 2 + k]


def _projection(params: List[Tensor], at: int, per: int, has_biases: bool) -> Optional[Tensor]:
    k = 2
    if has_biases:
        k = 4
    if per <= k:
        return None
    return params[at * per + k]


# One direction over steps x (time, batch, features). The states: after the last step.
def _direction(kind: int, x: Tensor, h: Tensor, c: Tensor, params: List[Tensor], at: int, per: int, has_biases: bool, back: bool) -> Tuple[Tensor, Tensor, Tensor]:
    b_hh = __torch__.derivatives.recurrent._bias(params, at, per, 1, has_biases)
    w_hr = __torch__.derivatives.recurrent._projection(params, at, per, has_biases)
    w_hh = params[at * per + 1]
    added = torch.unbind(torch.linear(x, params[at * per], __torch__.derivatives.recurrent._bias(params, at, per, 0, has_biases)), 0)
    n = len(added)
    steps: List[Tensor] = []
    for i in range(n):
        now = i
        if back:
            now = n - 1 - i
        h, c = __torch__.derivatives.recurrent._step(kind, added[now], h, c, w_hh, b_hh, w_hr)
        steps.append(h)
    if back:
        turned: List[Tensor] = []
        for i in range(n):
            turned.append(steps[n - 1 - i])
        steps = turned
    return torch.stack(steps, 0), h, c


# The states of the first n sequences, which go on; after them those that have ended.
def _first(t: Tensor, n: int) -> Tensor:
    return t if t.size(0) == n else torch.narrow(t, 0, 0, n)


# The same over packed steps: forwards, sequences end; backwards, they begin with their initial states.
def _packed_direction(kind: int, x: Tensor, batches: List[int], h0: Tensor, c0: Tensor, params: List[Tensor], at: int, per: int, has_biases: bool, back: bool) -> Tuple[Tensor, Tensor, Tensor]:
    b_hh = __torch__.derivatives.recurrent._bias(params, at, per, 1, has_biases)
    w_hr = __torch__.derivatives.recurrent._projection(params, at, per, has_biases)
    w_hh = params[at * per + 1]
    added = torch.split_with_sizes(torch.linear(x, params[at * per], __torch__.derivatives.recurrent._bias(params, at, per, 0, has_biases)), batches, 0)
    n = len(batches)
    steps: List[Tensor] = []
    ended_h: List[Tensor] = []
    ended_c: List[Tensor] = []
    h = h0
    c = c0
    if back:
        h = __torch__.derivatives.recurrent._first(h0, batches[n - 1])
        c = __torch__.derivatives.recurrent._first(c0, batches[n - 1])
    for i in range(n):
        now = n - 1 - i if back else i
        have = h.size(0)
        size = batches[now]
        if size < have:
            ended_h.append(torch.narrow(h, 0, size, have - size))
            ended_c.append(torch.narrow(c, 0, size, have - size))
            h = torch.narrow(h, 0, 0, size)
            c = torch.narrow(c, 0, 0, size)
        if size > have:
            h = torch.cat([h, torch.narrow(h0, 0, have, size - have)], 0)
            c = torch.cat([c, torch.narrow(c0, 0, have, size - have)], 0)
        h, c = __torch__.derivatives.recurrent._step(kind, added[now], h, c, w_hh, b_hh, w_hr)
        steps.append(h)
    ended_h.append(h)
    ended_c.append(c)
    out = torch.cat(__torch__.derivatives.recurrent._turned(steps) if back else steps, 0)
    return out, torch.cat(__torch__.derivatives.recurrent._turned(ended_h), 0), torch.cat(__torch__.derivatives.recurrent._turned(ended_c), 0)


def _turned(list: List[Tensor]) -> List[Tensor]:
    turned: List[Tensor] = []
    for i in range(len(list)):
        turned.append(list[len(list) - 1 - i])
    return turned


# All layers; batches are empty where x is not packed.
def _layers(kind: int, input: Tensor, batches: List[int], h0: Tensor, c0: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
    directions = 1
    if bidirectional:
        directions = 2
    per = len(params) // (num_layers * directions)
    x = input
    hs: List[Tensor] = []
    cs: List[Tensor] = []
    for layer in range(num_layers):
        outs: List[Tensor] = []
        for direction in range(directions):
            at = layer * directions + direction
            h = torch.select(h0, 0, at)
            c = torch.select(c0, 0, at)
            if len(batches) == 0:
                out, h, c = __torch__.derivatives.recurrent._direction(kind, x, h, c, params, at, per, has_biases, direction == 1)
            else:
                out, h, c = __torch__.derivatives.recurrent._packed_direction(kind, x, batches, h, c, params, at, per, has_biases, direction == 1)
            outs.append(out)
            hs.append(h)
            cs.append(c)
        x = outs[0]
        if bidirectional:
            x = torch.cat(outs, x.dim() - 1)
        if train and dropout != 0. and layer < num_layers - 1:
            x = torch.dropout(x, dropout, True)
    return x, torch.stack(hs, 0), torch.stack(cs, 0)


def _padded(kind: int, input: Tensor, h0: Tensor, c0: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor, Tensor]:
    x = input
    if batch_first:
        x = torch.transpose(input, 0, 1)
    batches: List[int] = []
    out, h, c = __torch__.derivatives.recurrent._layers(kind, x, batches, h0, c0, params, has_biases, num_layers, dropout, train, bidirectional)
    if batch_first:
        out = torch.transpose(out, 0, 1)
    return out, h, c


def _packed(kind: int, data: Tensor, batch_sizes: Tensor, h0: Tensor, c0: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
    batches: List[int] = []
    for i in range(batch_sizes.size(0)):
        batches.append(int(torch.select(batch_sizes, 0, i)))
    return __torch__.derivatives.recurrent._layers(kind, data, batches, h0, c0, params, has_biases, num_layers, dropout, train, bidirectional)


def lstm__input__as(input: Tensor, hx: List[Tensor], params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor, Tensor]:
    return __torch__.derivatives.recurrent._padded(3, input, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def lstm__data__as(data: Tensor, batch_sizes: Tensor, hx: List[Tensor], params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
    return __torch__.derivatives.recurrent._packed(3, data, batch_sizes, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional)


def gru__input__as(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    out, h, c = __torch__.derivatives.recurrent._padded(2, input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return out, h


def gru__data__as(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
    out, h, c = __torch__.derivatives.recurrent._packed(2, data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional)
    return out, h


def rnn_tanh__input__as(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    out, h, c = __torch__.derivatives.recurrent._padded(0, input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return out, h


def rnn_tanh__data__as(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
    out, h, c = __torch__.derivatives.recurrent._packed(0, data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional)
    return out, h


def rnn_relu__input__as(input: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    out, h, c = __torch__.derivatives.recurrent._padded(1, input, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return out, h


def rnn_relu__data__as(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
    out, h, c = __torch__.derivatives.recurrent._packed(1, data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional)
    return out, h


# Packing and padding undo each other.
def _pack_padded_sequence__d_input(grad0: Tensor, input_sizes: List[int], batch_first: bool, result1: Tensor) -> Tensor:
    steps = input_sizes[1] if batch_first else input_sizes[0]
    return torch._pad_packed_sequence(grad0, result1, batch_first, 0., steps)[0]


def _pad_packed_sequence__d_data(grad0: Tensor, batch_first: bool, result1: Tensor) -> Tensor:
    return torch._pack_padded_sequence(grad0, result1, batch_first)[0]


# ---- attention -------------------------------------------------------------------------------------


def _factor(query: Tensor, scale: Optional[float]) -> float:
    if scale is not None:
        return scale
    return 1. / math.sqrt(float(query.size(-1)))


# What each query gives to each key, computed anew: it is not kept.
def _weights(query: Tensor, key: Tensor, mask: Optional[Tensor], is_causal: bool, factor: float) -> Tensor:
    scores = torch.matmul(query, torch.transpose(key, -2, -1)) * factor
    if is_causal:
        allowed = torch.ones([query.size(-2), key.size(-2)], dtype=11, layout=None, device=query.device, pin_memory=None)
        scores = torch.masked_fill(scores, torch.logical_not(torch.tril(allowed)), -inf)
    if mask is not None:
        if mask.dtype == 11:
            scores = torch.masked_fill(scores, torch.logical_not(mask), -inf)
        else:
            scores = scores + mask
    weights = torch.softmax(scores, -1, None)
    none = torch.all(torch.eq(scores, -inf), -1, True)
    return torch.masked_fill(weights, none, 0)


def _attention_grad(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], is_causal: bool, scale: Optional[float], result: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    factor = __torch__.derivatives.recurrent._factor(query, scale)
    weights = __torch__.derivatives.recurrent._weights(query, key, mask, is_causal, factor)
    q: Optional[Tensor] = None
    k: Optional[Tensor] = None
    v: Optional[Tensor] = None
    m: Optional[Tensor] = None
    if wanted[2]:
        v = torch.matmul(torch.transpose(weights, -2, -1), grad)
    if wanted[0] or wanted[1] or wanted[3]:
        along = torch.sum(grad * result, [-1], True, dtype=None)
        scores = weights * (torch.matmul(grad, torch.transpose(value, -2, -1)) - along)
        if wanted[3]:
            m = scores
        if wanted[0]:
            q = torch.matmul(scores, key) * factor
        if wanted[1]:
            k = torch.matmul(torch.transpose(scores, -2, -1), query) * factor
    return q, k, v, m


def _scaled_dot_product_efficient_attention__d_query__key__value__attn_bias(grad0: Tensor, query: Tensor, key: Tensor, value: Tensor, attn_bias: Optional[Tensor], is_causal: bool, scale: Optional[float], result0: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    return __torch__.derivatives.recurrent._attention_grad(grad0, query, key, value, attn_bias, is_causal, scale, result0, wanted)


def _scaled_dot_product_flash_attention_for_cpu__d_query__key__value(grad0: Tensor, query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], is_causal: bool, scale: Optional[float], result0: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    each = [wanted[0], wanted[1], wanted[2], False]
    q, k, v, m = __torch__.derivatives.recurrent._attention_grad(grad0, query, key, value, attn_mask, is_causal, scale, result0, each)
    return q, k, v


# Each head of keys and values as often as there are queries' heads for it.
def _shared(t: Tensor, heads: int) -> Tensor:
    times = heads // t.size(-3)
    if times == 1:
        return t
    return torch.repeat_interleave(t, times, -3, output_size=None)


def scaled_dot_product_attention__as(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    if enable_gqa:
        key = __torch__.derivatives.recurrent._shared(key, query.size(-3))
        value = __torch__.derivatives.recurrent._shared(value, query.size(-3))
    if dropout_p == 0.:
        return torch._scaled_dot_product_efficient_attention(query, key, value, attn_mask, False, 0., is_causal, scale=scale)[0]
    weights = __torch__.derivatives.recurrent._weights(query, key, attn_mask, is_causal, __torch__.derivatives.recurrent._factor(query, scale))
    return torch.matmul(torch.dropout(weights, dropout_p, True), value)


# Queries and keys are each scaled by half of the exponent.
def _attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, need_attn_weights: bool, is_causal: bool) -> Tuple[Tensor, Tensor]:
    root = math.sqrt(math.sqrt(float(query.size(-1))))
    scores = torch.matmul(query / root, torch.transpose(key, -2, -1) / root)
    if is_causal:
        allowed = torch.ones([query.size(-2), key.size(-2)], dtype=11, layout=None, device=query.device, pin_memory=None)
        scores = torch.masked_fill(scores, torch.logical_not(torch.tril(allowed)), -inf)
    if attn_mask is not None:
        if attn_mask.dtype == 11:
            scores = torch.masked_fill(scores, torch.logical_not(attn_mask), -inf)
        else:
            scores = scores + attn_mask
    weights = torch.softmax(scores, -1, None)
    if dropout_p > 0.:
        weights = torch.dropout(weights, dropout_p, True)
    result = torch.matmul(weights, value)
    if not need_attn_weights:
        weights = torch.empty([0], dtype=query.dtype, layout=None, device=query.device, pin_memory=None, memory_format=None)
    return result, weights


def _scaled_dot_product_attention__as(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, need_attn_weights: bool, is_causal: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.derivatives.recurrent._attention(query, key, value, attn_mask, dropout_p, need_attn_weights, is_causal)


def _scaled_dot_product_attention_forward__as(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, need_attn_weights: bool, is_causal: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.derivatives.recurrent._attention(query, key, value, attn_mask, dropout_p, need_attn_weights, is_causal)


def _scaled_dot_product_attention_math__as(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, need_attn_weights: bool, is_causal: bool) -> Tuple[Tensor, Tensor]:
    return __torch__.derivatives.recurrent._attention(query, key, value, attn_mask, dropout_p, need_attn_weights, is_causal)


def _masked_softmax__d_self(grad: Tensor, result: Tensor, dim: Optional[int]) -> Tensor:
    along = -1
    if dim is not None:
        along = dim
    weighted = grad * result
    return weighted - result * torch.sum(weighted, [along], True, dtype=None)
