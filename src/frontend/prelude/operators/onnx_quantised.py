# SPDX-License-Identifier: Apache-2.0
# onnx_quantised.py - operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def): quantised numbers.


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
    if dtype == 27:
        return torch.to(torch.clamp(y, 0, 65535), 27)
    if dtype != 0:
        torch.ops.ctsc.fail("quantisation to a type other than int8, uint8, int16 and uint16 is not supported")
    return torch.to(torch.clamp(y, 0, 255), 0)


# type: of the result where no zero point says it; precision: that of the division, 0: of x.
def onnx_quantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int, type: int, precision: int) -> Tensor:
    s = __torch__.operators.onnx_quantised._onnx_along(x, scale, axis)
    if precision != 0:
        y = torch.round(torch.to(x, precision) / torch.to(s, precision))
    else:
        y = torch.round(x / s)
    if zero is None:
        return __torch__.operators.onnx_quantised._onnx_saturated(y, type)
    y = torch.to(y, 7) + torch.to(__torch__.operators.onnx_quantised._onnx_along(x, zero, axis), 7)
    return __torch__.operators.onnx_quantised._onnx_saturated(y, zero.dtype)


# As floats of eight bits. torch bounds float8_e4m3fn (24) and nothing else; beyond its largest number but one half of a step it would be NaN.
def onnx_float8(x: Tensor, type: int, saturate: bool) -> Tensor:
    y = x if torch.is_floating_point(x) else torch.to(x, 6)
    if saturate:
        if type == 23 or type == 25:
            y = torch.clamp(y, -57344, 57344)
        elif type == 26:
            y = torch.clamp(y, -240, 240)
    elif type == 24:
        y = torch.where(torch.gt(torch.abs(y), 464), torch.full_like(y, float("nan")), y)
    return torch.to(y, type)


# As powers of two; zero and less are the least of them, or NaN if they are not bounded.
def onnx_float8_exponent(x: Tensor, saturate: bool, round: str) -> Tensor:
    least = 2.0 ** -127
    most = 2.0 ** 127
    y = torch.clamp(torch.to(x, 6), least, most)
    if not saturate:
        y = torch.where(torch.logical_or(torch.lt(x, least), torch.gt(x, most)), torch.full_like(y, float("nan")), y)
    near = torch.to(torch.to(y, 44), 6)
    if round == "up":
        near = torch.where(torch.lt(near, y), near * 2, near)
    elif round == "down":
        near = torch.where(torch.gt(near, y), near * 0.5, near)
    return torch.to(near, 44)


# As floats of four bits, kept in eight: steps of a half up to 2, of one up to 4, and of two up to 6. NaN is 0.
def onnx_float4(x: Tensor) -> Tensor:
    y = torch.clamp(torch.to(x, 6), -6, 6)
    size = torch.abs(y)
    step = torch.where(torch.lt(size, 2), torch.full_like(y, 0.5), torch.where(torch.lt(size, 4), torch.ones_like(y), torch.full_like(y, 2.0)))
    y = torch.round(y / step) * step
    return torch.to(torch.where(torch.isnan(y), torch.zeros_like(y), y), 24)


def onnx_quantize_float4(x: Tensor, scale: Tensor, axis: int, precision: int) -> Tensor:
    s = __torch__.operators.onnx_quantised._onnx_along(x, scale, axis)
    if precision != 0:
        return __torch__.operators.onnx_quantised.onnx_float4(torch.to(x, precision) / torch.to(s, precision))
    return __torch__.operators.onnx_quantised.onnx_float4(x / s)


def onnx_quantize_float8(x: Tensor, scale: Tensor, axis: int, type: int, saturate: bool, precision: int) -> Tensor:
    s = __torch__.operators.onnx_quantised._onnx_along(x, scale, axis)
    if precision != 0:
        y = torch.to(x, precision) / torch.to(s, precision)
    else:
        y = x / s
    return __torch__.operators.onnx_quantised.onnx_float8(y, type, saturate)


def onnx_dequantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int) -> Tensor:
    y = torch.to(x, scale.dtype)
    if zero is not None:
        y = y - torch.to(__torch__.operators.onnx_quantised._onnx_along(x, zero, axis), scale.dtype)
    return y * __torch__.operators.onnx_quantised._onnx_along(x, scale, axis)


# One scale for each `block` elements along axis; the last block may be shorter.
def onnx_dequantize_blocks(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int, block: int) -> Tensor:
    y = torch.to(x, scale.dtype)
    if zero is not None:
        y = y - torch.narrow(torch.repeat_interleave(torch.to(zero, scale.dtype), block, axis), axis, 0, x.size(axis))
    return y * torch.narrow(torch.repeat_interleave(scale, block, axis), axis, 0, x.size(axis))


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
    x = __torch__.operators.onnx_quantised.onnx_centred(a, a_zero, True)
    return torch.to(torch.matmul(x, __torch__.operators.onnx_quantised.onnx_centred(b, b_zero, False)), 3)


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


# pads: those in front of all dims, then those after them.
def onnx_conv_integer(x: Tensor, w: Tensor, x_zero: Optional[Tensor], w_zero: Optional[Tensor], stride: List[int], pads: List[int], dilation: List[int], groups: int) -> Tensor:
    n = len(stride)
    sides = annotate(List[int], [])
    none = annotate(List[int], [])
    for i in range(n):
        sides.append(pads[n - 1 - i])
        sides.append(pads[2 * n - 1 - i])
        none.append(0)
    y = torch.constant_pad_nd(__torch__.operators.onnx_quantised.onnx_centred(x, x_zero, False), sides, 0)
    k = __torch__.operators.onnx_quantised.onnx_centred_weight(w, w_zero)
    return torch.to(torch.convolution(y, k, None, stride, none, dilation, False, none, groups), 3)


def onnx_dynamic_quantize(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    high = torch.clamp(torch.max(x), 0.0, None)
    low = torch.clamp(torch.min(x), None, 0.0)
    scale = torch.where(torch.eq(high, low), torch.ones_like(high), high - low) / 255.0
    zero = torch.round(torch.clamp(-low / scale, 0.0, 255.0))
    y = torch.clamp(torch.round(x / scale) + zero, 0, 255)
    return (torch.to(y, 0), scale, torch.to(zero, 0))
