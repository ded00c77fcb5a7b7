# SPDX-License-Identifier: Apache-2.0
# What the writer of ONNX walks in the place of single recurrent cells and of operators with packed weights (frontend/onnx/onnx_out_body.c): quantized::NAME is
# onnx_out_quantized_NAME.


def _lstm_state(gates: Tensor, c: Tensor) -> Tuple[Tensor, Tensor]:
    i, f, g, o = torch.chunk(gates, 4, 1)
    c1 = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return (torch.sigmoid(o) * torch.tanh(c1), c1)


def _gru_state(x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    xr, xz, xn = torch.chunk(x, 3, 1)
    hr, hz, hn = torch.chunk(y, 3, 1)
    n = torch.tanh(xn + torch.sigmoid(hr + xr) * hn)
    return (h - n) * torch.sigmoid(hz + xz) + n


def onnx_out_lstm_cell(input: Tensor, hx: List[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out_quantised._lstm_state(torch.linear(input, w_ih, b_ih) + torch.linear(hx[0], w_hh, b_hh), hx[1])


def onnx_out_gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return __torch__.operators.onnx_out_quantised._gru_state(torch.linear(input, w_ih, b_ih), torch.linear(hx, w_hh, b_hh), hx)


def onnx_out_rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return torch.tanh(torch.linear(input, w_ih, b_ih) + torch.linear(hx, w_hh, b_hh))


def onnx_out_rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor]) -> Tensor:
    return torch.relu(torch.linear(input, w_ih, b_ih) + torch.linear(hx, w_hh, b_hh))


def _dynamic(x: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, h: Tensor, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
    return torch.ops.quantized.linear_dynamic(h, w_hh, True) + torch.ops.quantized.linear_dynamic(x, w_ih, True)


def onnx_out_quantized_quantized_lstm_cell_dynamic(input: Tensor, hx: List[Tensor], w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, bias_ih: Tensor, bias_hh: Tensor) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.onnx_out_quantised._lstm_state(__torch__.operators.onnx_out_quantised._dynamic(input, w_ih, hx[0], w_hh), hx[1])


def onnx_out_quantized_quantized_gru_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return __torch__.operators.onnx_out_quantised._gru_state(torch.ops.quantized.linear_dynamic(input, w_ih, True), torch.ops.quantized.linear_dynamic(hx, w_hh, True), hx)


def onnx_out_quantized_quantized_rnn_tanh_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return torch.tanh(__torch__.operators.onnx_out_quantised._dynamic(input, w_ih, hx, w_hh))


def onnx_out_quantized_quantized_rnn_relu_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return torch.relu(__torch__.operators.onnx_out_quantised._dynamic(input, w_ih, hx, w_hh))


# Rows as floats: only those that are asked for, where DequantizeLinear would compute the whole table at each call.
def onnx_out_quantized_embedding_byte(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, pruned_weights: bool) -> Tensor:
    table = torch.ops.quantized.embedding_bag_unpack(weight)
    scale = torch.unsqueeze(torch.to(torch.q_per_channel_scales(table), 6), 1)
    least = torch.unsqueeze(torch.to(torch.q_per_channel_zero_points(table), 6), 1) * scale
    rows = torch.to(torch.embedding(torch.int_repr(table), indices), 6)
    return rows * torch.embedding(scale, indices) - torch.embedding(least, indices)


def onnx_out_quantized_embedding_bag_byte(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, per_sample_weights: Optional[Tensor], compressed_indices_mapping: Optional[Tensor], include_last_offset: bool) -> Tensor:
    if offsets is None or indices.dim() != 1:
        torch.ops.ctsc.fail("bags of indices of two dims")
    rows = __torch__.operators.onnx_out_quantised.onnx_out_quantized_embedding_byte(weight, indices, False)
    places = torch.arange(indices.size(0))
    return __torch__.operators.onnx_out_shapes._bags(rows, places, torch.jit._unwrap_optional(offsets), 0, per_sample_weights, include_last_offset, -1)
