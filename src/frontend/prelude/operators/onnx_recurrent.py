# SPDX-License-Identifier: Apache-2.0
# onnx_recurrent.py - recurrent layers of ONNX, step by step (frontend/onnx/onnx_rows.def).


# What torch's layers have not: other activations, sequences of several lengths, peepholes, clipped gates, gates that are coupled, and GRUs whose reset gate comes before
# the product.


# [directions, in, gates] of bytes as [directions, gates, in] of floats; scale and zero: one for each
# direction, or for each column of it.
def onnx_recurrent_weight(w: Tensor, scale: Tensor, zero: Optional[Tensor]) -> Tensor:
    y = torch.to(w, 6)
    each = [w.size(0), 1, -1]
    if zero is not None:
        y = y - torch.reshape(torch.to(zero, 6), each)
    return torch.transpose(y * torch.reshape(scale, each), 1, 2)


def _onnx_clip(x: Tensor, clip: float) -> Tensor:
    return torch.clamp(x, -clip, clip) if clip > 0. else x


def _onnx_activation(x: Tensor, clip: float, name: str, alpha: float, beta: float) -> Tensor:
    y = __torch__.operators.onnx_recurrent._onnx_clip(x, clip)
    if name == "Sigmoid":
        return torch.sigmoid(y)
    if name == "Tanh":
        return torch.tanh(y)
    if name == "Relu":
        return torch.relu(y)
    if name == "LeakyRelu":
        return torch.leaky_relu(y, alpha)
    if name == "ThresholdedRelu":
        return torch.where(y >= alpha, y, torch.zeros_like(y))
    if name == "Elu":
        return torch.elu(y, alpha)
    if name == "Affine":
        return y * alpha + beta
    if name == "ScaledTanh":
        return torch.tanh(y * beta) * alpha
    if name == "HardSigmoid":
        return torch.clamp(y * alpha + beta, 0.0, 1.0)
    if name == "Softsign":
        return y / (torch.abs(y) + 1)
    return torch.softplus(y)


# The last state; of sequences without elements it is zero, as in ONNX Runtime.
def _onnx_last(x: Tensor, lens: Optional[Tensor]) -> Tensor:
    if lens is None:
        return x
    return torch.where(torch.unsqueeze(lens > 0, 1), x, torch.zeros_like(x))


def _onnx_running(x: Tensor, lens: Optional[Tensor], t: int) -> Optional[Tensor]:
    return torch.unsqueeze(lens > t, 1) if lens is not None else None


def _onnx_kept(running: Optional[Tensor], new: Tensor, old: Tensor) -> Tensor:
    return torch.where(running, new, old) if running is not None else new


def _onnx_bias(b: Optional[Tensor], d: int, x: Tensor, gates: int) -> Tuple[Tensor, Tensor]:
    if b is not None:
        halves = torch.chunk(b[d], 2, 0)
        return halves[0], halves[1]
    none = torch.zeros([gates], dtype=x.dtype)
    return none, none


def _onnx_backward(direction: str, d: int) -> bool:
    return direction == "reverse" or d == 1


def onnx_lstm_steps(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], c: Optional[Tensor], p: Optional[Tensor], lens: Optional[Tensor], direction: str, clip: float, coupled: bool, acts: List[str], alphas: List[float], betas: List[float]) -> Tuple[Tensor, Tensor, Tensor]:
    hs = __torch__.operators.onnx_layers._onnx_state(x, r, h)
    cs = __torch__.operators.onnx_layers._onnx_state(x, r, c)
    steps = x.size(0)
    n = r.size(2)
    outs = annotate(List[Tensor], [])
    lasts = annotate(List[Tensor], [])
    cells = annotate(List[Tensor], [])
    for d in range(r.size(0)):
        back = __torch__.operators.onnx_recurrent._onnx_backward(direction, d)
        bias, more = __torch__.operators.onnx_recurrent._onnx_bias(b, d, x, 4 * n)
        f = 3 * d
        hidden = hs[d]
        cell = cs[d]
        y = torch.zeros([steps, x.size(1), n], dtype=x.dtype)
        for i in range(steps):
            t = steps - 1 - i if back else i
            gates = torch.linear(x[t], w[d], bias) + torch.linear(hidden, r[d], more)
            parts = torch.chunk(gates, 4, 1)
            at_in = parts[0]
            at_out = parts[1]
            at_forget = parts[2]
            if p is not None:
                holes = torch.chunk(p[d], 3, 0)
                at_in = at_in + holes[0] * cell
                at_forget = at_forget + holes[2] * cell
            enters = __torch__.operators.onnx_recurrent._onnx_activation(at_in, clip, acts[f], alphas[f], betas[f])
            stays = __torch__.operators.onnx_recurrent._onnx_activation(at_forget, clip, acts[f], alphas[f], betas[f])
            if coupled:
                stays = torch.rsub(enters, 1)
            made = stays * cell + enters * __torch__.operators.onnx_recurrent._onnx_activation(parts[3], clip, acts[f + 1], alphas[f + 1], betas[f + 1])
            if p is not None:
                at_out = at_out + torch.chunk(p[d], 3, 0)[1] * made
            shown = __torch__.operators.onnx_recurrent._onnx_activation(at_out, clip, acts[f], alphas[f], betas[f]) * __torch__.operators.onnx_recurrent._onnx_activation(made, 0.0, acts[f + 2], alphas[f + 2], betas[f + 2])
            running = __torch__.operators.onnx_recurrent._onnx_running(x, lens, t)
            torch.copy_(y[t], __torch__.operators.onnx_recurrent._onnx_kept(running, shown, torch.zeros_like(shown)))
            hidden = __torch__.operators.onnx_recurrent._onnx_kept(running, shown, hidden)
            cell = __torch__.operators.onnx_recurrent._onnx_kept(running, made, cell)
        outs.append(y)
        lasts.append(__torch__.operators.onnx_recurrent._onnx_last(hidden, lens))
        cells.append(__torch__.operators.onnx_recurrent._onnx_last(cell, lens))
    return torch.stack(outs, 1), torch.stack(lasts, 0), torch.stack(cells, 0)


def onnx_gru_steps(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], lens: Optional[Tensor], direction: str, clip: float, after: bool, acts: List[str], alphas: List[float], betas: List[float]) -> Tuple[Tensor, Tensor]:
    hs = __torch__.operators.onnx_layers._onnx_state(x, r, h)
    steps = x.size(0)
    n = r.size(2)
    outs = annotate(List[Tensor], [])
    lasts = annotate(List[Tensor], [])
    for d in range(r.size(0)):
        back = __torch__.operators.onnx_recurrent._onnx_backward(direction, d)
        bias, more = __torch__.operators.onnx_recurrent._onnx_bias(b, d, x, 3 * n)
        biases = torch.chunk(more, 3, 0)
        weights = torch.chunk(r[d], 3, 0)
        f = 2 * d
        hidden = hs[d]
        y = torch.zeros([steps, x.size(1), n], dtype=x.dtype)
        for i in range(steps):
            t = steps - 1 - i if back else i
            parts = torch.chunk(torch.linear(x[t], w[d], bias), 3, 1)
            update = __torch__.operators.onnx_recurrent._onnx_activation(parts[0] + torch.linear(hidden, weights[0], biases[0]), clip, acts[f], alphas[f], betas[f])
            reset = __torch__.operators.onnx_recurrent._onnx_activation(parts[1] + torch.linear(hidden, weights[1], biases[1]), clip, acts[f], alphas[f], betas[f])
            if after:
                mixed = reset * torch.linear(hidden, weights[2], biases[2])
            else:
                mixed = torch.linear(reset * hidden, weights[2], biases[2])
            made = __torch__.operators.onnx_recurrent._onnx_activation(parts[2] + mixed, clip, acts[f + 1], alphas[f + 1], betas[f + 1])
            shown = torch.rsub(update, 1) * made + update * hidden
            running = __torch__.operators.onnx_recurrent._onnx_running(x, lens, t)
            torch.copy_(y[t], __torch__.operators.onnx_recurrent._onnx_kept(running, shown, torch.zeros_like(shown)))
            hidden = __torch__.operators.onnx_recurrent._onnx_kept(running, shown, hidden)
        outs.append(y)
        lasts.append(__torch__.operators.onnx_recurrent._onnx_last(hidden, lens))
    return torch.stack(outs, 1), torch.stack(lasts, 0)


def onnx_rnn_steps(x: Tensor, w: Tensor, r: Tensor, b: Optional[Tensor], h: Optional[Tensor], lens: Optional[Tensor], direction: str, clip: float, acts: List[str], alphas: List[float], betas: List[float]) -> Tuple[Tensor, Tensor]:
    hs = __torch__.operators.onnx_layers._onnx_state(x, r, h)
    steps = x.size(0)
    n = r.size(2)
    outs = annotate(List[Tensor], [])
    lasts = annotate(List[Tensor], [])
    for d in range(r.size(0)):
        back = __torch__.operators.onnx_recurrent._onnx_backward(direction, d)
        bias, more = __torch__.operators.onnx_recurrent._onnx_bias(b, d, x, n)
        hidden = hs[d]
        y = torch.zeros([steps, x.size(1), n], dtype=x.dtype)
        for i in range(steps):
            t = steps - 1 - i if back else i
            shown = __torch__.operators.onnx_recurrent._onnx_activation(torch.linear(x[t], w[d], bias) + torch.linear(hidden, r[d], more), clip, acts[d], alphas[d], betas[d])
            running = __torch__.operators.onnx_recurrent._onnx_running(x, lens, t)
            torch.copy_(y[t], __torch__.operators.onnx_recurrent._onnx_kept(running, shown, torch.zeros_like(shown)))
            hidden = __torch__.operators.onnx_recurrent._onnx_kept(running, shown, hidden)
        outs.append(y)
        lasts.append(__torch__.operators.onnx_recurrent._onnx_last(hidden, lens))
    return torch.stack(outs, 1), torch.stack(lasts, 0)
