# SPDX-License-Identifier: Apache-2.0
# Recurrent networks with packed, quantised weights. The input's share of the gates is computed for all steps at once, as in PyTorch: scale and
# zero point of a dynamically quantised input follow from the whole sequence.


def _cell_lstm(gates: Tensor, c: Tensor) -> Tuple[Tensor, Tensor]:
    i, f, g, o = torch.chunk(gates, 4, 1)
    c1 = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return (torch.sigmoid(o) * torch.tanh(c1), c1)


def _cell_gru(x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    xr, xz, xn = torch.chunk(x, 3, 1)
    hr, hz, hn = torch.chunk(y, 3, 1)
    r = torch.sigmoid(hr + xr)
    z = torch.sigmoid(hz + xz)
    n = torch.tanh(xn + hn * r)
    return (h - n) * z + n


# A state is [h, c] in an LSTM, [h] in a GRU. x, y: the input's and the state's share of the gates.
def _cell(x: Tensor, y: Tensor, state: List[Tensor]) -> List[Tensor]:
    if len(state) == 2:
        h, c = __torch__.operators.quantized._cell_lstm(y + x, state[1])
        return [h, c]
    return [__torch__.operators.quantized._cell_gru(x, y, state[0])]


# ---- one layer, one direction ----------------------------------------------------------------------


def _layer(input: Tensor, state: List[Tensor], cell: __torch__.torch.classes.rnn.CellParamsBase, backward: bool) -> Tuple[Tensor, List[Tensor]]:
    x = torch.ops.ctsc.packed_cell_linear(cell, input, False)
    steps: List[Tensor] = []
    n = input.size(0)
    for t in range(n):
        k = n - 1 - t if backward else t
        state = __torch__.operators.quantized._cell(torch.select(x, 0, k), torch.ops.ctsc.packed_cell_linear(cell, state[0], True), state)
        steps.append(state[0])
    if backward:
        steps.reverse()
    return (torch.stack(steps, 0), state)


def _rows(state: List[Tensor], first: int, n: int) -> List[Tensor]:
    return [torch.narrow(s, 0, first, n) for s in state]


# The states of several groups of rows, one below the other.
def _joined(groups: List[List[Tensor]]) -> List[Tensor]:
    return [torch.cat([g[i] for g in groups], 0) for i in range(len(groups[0]))]


# Packed sequences: step t has sizes[t] rows, ever fewer. Forward, rows whose sequence has ended are set aside; backward, they
# come in with their first state.
def _layer_packed(data: Tensor, sizes: List[int], first: List[Tensor], cell: __torch__.torch.classes.rnn.CellParamsBase, backward: bool) -> Tuple[Tensor, List[Tensor]]:
    x = torch.ops.ctsc.packed_cell_linear(cell, data, False)
    steps: List[Tensor] = []
    ended: List[List[Tensor]] = []
    n = len(sizes)
    at = data.size(0) if backward else 0
    last = sizes[n - 1] if backward else sizes[0]
    state = __torch__.operators.quantized._rows(first, 0, last)
    for t in range(n):
        rows = sizes[n - 1 - t] if backward else sizes[t]
        if backward:
            at = at - rows
            if rows > last:
                state = __torch__.operators.quantized._joined([state, __torch__.operators.quantized._rows(first, last, rows - last)])
        elif rows < last:
            ended.append(__torch__.operators.quantized._rows(state, rows, last - rows))
            state = __torch__.operators.quantized._rows(state, 0, rows)
        last = rows
        state = __torch__.operators.quantized._cell(torch.narrow(x, 0, at, rows), torch.ops.ctsc.packed_cell_linear(cell, state[0], True), state)
        steps.append(state[0])
        if not backward:
            at = at + rows
    ended.append(state)
    if backward:
        steps.reverse()
    ended.reverse()
    return (torch.cat(steps, 0), __torch__.operators.quantized._joined(ended))


# ---- networks ---------------------------------------------------------------------------------------


def _check_network(cells: int, num_layers: int, bidirectional: bool, hidden: int) -> int:
    directions = 2 if bidirectional else 1
    if cells != num_layers * directions or hidden != cells:
        torch.ops.ctsc.fail("got an incorrect number of RNN parameters")
    return directions


def _network(input: Tensor, sizes: Optional[List[int]], first: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, List[Tensor]]:
    directions = __torch__.operators.quantized._check_network(len(params), num_layers, bidirectional, first[0].size(0))
    states: List[List[Tensor]] = []
    for layer in range(num_layers):
        parts: List[Tensor] = []
        for side in range(directions):
            k = layer * directions + side
            state = [torch.select(s, 0, k) for s in first]
            if sizes is None:
                y, state = __torch__.operators.quantized._layer(input, state, params[k], side == 1)
            else:
                y, state = __torch__.operators.quantized._layer_packed(input, sizes, state, params[k], side == 1)
            parts.append(y)
            states.append(state)
        input = torch.cat(parts, -1)
        if dropout != 0 and train and layer < num_layers - 1:
            input = torch.dropout(input, dropout, True)
    return (input, [torch.stack([s[i] for s in states], 0) for i in range(len(first))])


def _lstm_network(input: Tensor, sizes: Optional[List[int]], hx: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
    if len(hx) != 2:
        torch.ops.ctsc.fail("lstm expects two hidden states")
    if hx[0].size(2) != hx[1].size(2):
        torch.ops.ctsc.fail("quantized LSTM with projections is not supported")
    y, state = __torch__.operators.quantized._network(input, sizes, hx, params, num_layers, dropout, train, bidirectional)
    return (y, state[0], state[1])


def _gru_network(input: Tensor, sizes: Optional[List[int]], hx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
    y, state = __torch__.operators.quantized._network(input, sizes, [hx], params, num_layers, dropout, train, bidirectional)
    return (y, state[0])


def _batch_sizes(sizes: Tensor) -> List[int]:
    out: List[int] = []
    for i in range(sizes.size(0)):
        out.append(int(sizes[i]))
    if len(out) == 0:
        torch.ops.ctsc.fail("Expected batch_sizes to have at least one element")
    return out


def quantized_lstm__input(input: Tensor, hx: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, dtype: Optional[int], use_dynamic: bool) -> Tuple[Tensor, Tensor, Tensor]:
    x = torch.transpose(input, 0, 1) if batch_first else input
    y, h, c = __torch__.operators.quantized._lstm_network(x, None, hx, params, num_layers, dropout, train, bidirectional)
    return (torch.transpose(y, 0, 1) if batch_first else y, h, c)


def quantized_lstm__data(data: Tensor, batch_sizes: Tensor, hx: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, dtype: Optional[int], use_dynamic: bool) -> Tuple[Tensor, Tensor, Tensor]:
    sizes = __torch__.operators.quantized._batch_sizes(batch_sizes)
    return __torch__.operators.quantized._lstm_network(data, sizes, hx, params, num_layers, dropout, train, bidirectional)


def quantized_gru__input(input: Tensor, hx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
    x = torch.transpose(input, 0, 1) if batch_first else input
    y, h = __torch__.operators.quantized._gru_network(x, None, hx, params, num_layers, dropout, train, bidirectional)
    return (torch.transpose(y, 0, 1) if batch_first else y, h)


def quantized_gru__data(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
    sizes = __torch__.operators.quantized._batch_sizes(batch_sizes)
    return __torch__.operators.quantized._gru_network(data, sizes, hx, params, num_layers, dropout, train, bidirectional)


# ---- single cells -----------------------------------------------------------------------------------


def quantized_lstm_cell_dynamic(input: Tensor, hx: List[Tensor], w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, bias_ih: Tensor, bias_hh: Tensor) -> Tuple[Tensor, Tensor]:
    if len(hx) != 2:
        torch.ops.ctsc.fail("lstm_cell expects two hidden states")
    gates = torch.ops.quantized.linear_dynamic(hx[0], w_hh, True) + torch.ops.quantized.linear_dynamic(input, w_ih, True)
    return __torch__.operators.quantized._cell_lstm(gates, hx[1])


def quantized_gru_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return __torch__.operators.quantized._cell_gru(torch.ops.quantized.linear_dynamic(input, w_ih, True), torch.ops.quantized.linear_dynamic(hx, w_hh, True), hx)


def quantized_rnn_relu_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return torch.relu(torch.ops.quantized.linear_dynamic(hx, w_hh, True) + torch.ops.quantized.linear_dynamic(input, w_ih, True))


def quantized_rnn_tanh_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return torch.tanh(torch.ops.quantized.linear_dynamic(hx, w_hh, True) + torch.ops.quantized.linear_dynamic(input, w_ih, True))


# ---- weights with scales beside them --------------------------------------------------------------------------------


# Blocks of 128 where the last may be shorter, else of one size.
def _block(size: int, count: int) -> int:
    if count == (size + 127) // 128:
        return 128
    if count < 1 or size % count != 0:
        torch.ops.ctsc.fail("{} scales do not divide {} elements of a weight into blocks".format(count, size))
    return size // count


# scale: one, one of each row, or one of each block; bytes are exponents of two.
def scaled_weight(weight: Tensor, scale: Tensor) -> Tensor:
    y = torch.to(weight, 6)
    s = torch.to(scale, 6)
    if scale.dtype == 0:
        s = torch.exp2(s - 127.0)
    if torch.numel(s) == 1:
        return y * torch.reshape(s, annotate(List[int], []))
    if s.dim() == 1 and y.dim() > 0:
        shape = [-1]
        for i in range(y.dim() - 1):
            shape.append(1)
        s = torch.reshape(s, shape)
    if s.dim() != y.dim():
        torch.ops.ctsc.fail("scales of {} dims for a weight of {}".format(s.dim(), y.dim()))
    for i in range(y.dim()):
        if s.size(i) != 1 and s.size(i) != y.size(i):
            block = __torch__.operators.quantized._block(y.size(i), s.size(i))
            s = torch.slice(torch.repeat_interleave(s, block, i), i, 0, y.size(i))
    return y * s
