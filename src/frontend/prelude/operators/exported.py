# SPDX-License-Identifier: Apache-2.0
# What programs of torch.export mention besides aten: quantised arithmetic on plain integer tensors (quantized_decomposed), casts of autocast.


def autocast(self: Tensor, dtype: int) -> Tensor:
    if torch.is_floating_point(self) and self.dtype != 7:
        return torch.to(self, dtype)
    return self


def autocast__list(self: List[Tensor], dtype: int) -> List[Tensor]:
    out: List[Tensor] = []
    for t in self:
        out.append(torch.ops.ctsc.autocast(t, dtype))
    return out


# ---- for archives that are to run elsewhere: what kernels of ctsc's do -------------------------------------------------


def fail(message: str) -> None:
    raise RuntimeError(message)


def type_name(t: Tensor) -> str:
    names = ["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16"]
    return names[t.dtype] if t.dtype < len(names) else "another dtype"


def check_input(self: Tensor, name: str, sizes: List[int], least: List[int], most: List[int]) -> None:
    have = self.size()
    if len(have) != len(sizes):
        raise RuntimeError("Unexpected number of dimensions in input at {}.shape (expected {}, got {})".format(name, len(sizes), len(have)))
    for i in range(len(have)):
        if sizes[i] >= 0 and have[i] != sizes[i]:
            raise RuntimeError("Expected input at {}.shape[{}] to be equal to {}, but got {}".format(name, i, sizes[i], have[i]))
        if i < len(least) and have[i] < least[i]:
            raise RuntimeError("Expected input at {}.shape[{}] to be >= {}, but got {}".format(name, i, least[i], have[i]))
        if i < len(most) and have[i] > most[i]:
            raise RuntimeError("Expected input at {}.shape[{}] to be <= {}, but got {}".format(name, i, most[i], have[i]))


# as_strided() counts on strides, which results have not always as in PyTorch: refused where they differ, instead of being wrong.
def check_strides(self: Tensor, strides: List[int]) -> None:
    for i in range(len(strides)):
        if self.size(i) != 1 and self.numel() > 0 and self.stride(i) != strides[i]:
            raise RuntimeError("as_strided: a tensor has other strides than where the program was exported")


# ---- quantised arithmetic ----------------------------------------------------------------------------------------------


def _quantise_input(input: Tensor) -> Tensor:
    if input.dtype == 5 or input.dtype == 15:
        return torch.to(input, 6)
    if input.dtype != 6:
        torch.ops.ctsc.fail("Expecting input to have dtype torch.float32, but got another one")
    return input


def _quantised_dtype(input: Tensor, dtype: int) -> None:
    if input.dtype != dtype:
        torch.ops.ctsc.fail("Expecting input to have the dtype that it was quantised to, but got another one")


def quantize_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    x = __torch__.operators.exported._quantise_input(input)
    return torch.to(torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, quant_min, quant_max), dtype)


def quantize_per_tensor__tensor(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    return __torch__.operators.exported.quantize_per_tensor(input, float(scale), int(zero_point), quant_min, quant_max, dtype)


def quantize_per_tensor__tensor2(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: Tensor, quant_max: Tensor, dtype: int) -> Tensor:
    return __torch__.operators.exported.quantize_per_tensor(input, float(scale), int(zero_point), int(quant_min), int(quant_max), dtype)


def dequantize_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    __torch__.operators.exported._quantised_dtype(input, dtype)
    to = 6 if out_dtype is None else out_dtype
    return (torch.to(input, to) - zero_point) * scale


def dequantize_per_tensor__tensor(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    return __torch__.operators.exported.dequantize_per_tensor(input, float(scale), int(zero_point), quant_min, quant_max, dtype, out_dtype)


def dequantize_per_tensor__tensor2(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: Tensor, quant_max: Tensor, dtype: int, out_dtype: Optional[int]) -> Tensor:
    return __torch__.operators.exported.dequantize_per_tensor(input, float(scale), int(zero_point), int(quant_min), int(quant_max), dtype, out_dtype)


# ---- scales and zero points from the values ----------------------------------------------------------------------------


def choose_qparams__tensor(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int) -> Tuple[Tensor, Tensor]:
    low = torch.clamp(torch.min(input), None, 0)
    high = torch.clamp(torch.max(input), 0, None)
    scale = torch.maximum((high - low) / float(quant_max - quant_min), torch.full([1], eps))
    zero_point = torch.clamp(quant_min - torch.to(torch.round(low / scale), 3), quant_min, quant_max)
    return (torch.to(scale, 7), torch.to(zero_point, 4))


def choose_qparams_symmetric__tensor(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int) -> Tuple[Tensor, Tensor]:
    low = torch.clamp(torch.min(input), None, 0)
    high = torch.maximum(torch.neg(low), torch.clamp(torch.max(input), 0, None))
    scale = torch.maximum(high / (float(quant_max - quant_min) / 2), torch.full([1], eps))
    return (torch.to(scale, 7), torch.full([1], 128 if dtype == 0 else 0, dtype=4))


def choose_qparams_per_token(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    if dtype != 1:
        torch.ops.ctsc.fail("unsupported dtype in choose_qparams_per_token")
    scales = torch.amax(torch.abs(input), [-1], True)
    if scales.dtype == 5:
        scales = torch.to(scales, 6)
    scales = torch.clamp(scales, 1e-5) / 127
    return (scales, torch.zeros_like(scales))


def choose_qparams_per_token_asymmetric(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    low = torch.clamp(torch.amin(input, [-1], True), None, 0)
    high = torch.clamp(torch.amax(input, [-1], True), 0, None)
    scale = torch.clamp((high - low) / 255.0, 1.1920928955078125e-07)
    from_low = low / scale
    from_high = high / scale
    zero_point = torch.where((from_low - 128) + (from_high + 127) > 0, -128 - from_low, 127 - from_high)
    return (torch.to(scale, 7), torch.to(torch.round(torch.clamp(zero_point, -128, 127)), 4))


def _choose_qparams_per_token_asymmetric_impl(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    return __torch__.operators.exported.choose_qparams_per_token_asymmetric(input, dtype)


# ---- along a dim -------------------------------------------------------------------------------------------------------


# As many dims as x has, all but one of size 1.
def _along(scales: Tensor, x: Tensor, axis: int) -> Tensor:
    if axis >= x.dim() or axis < 0:
        torch.ops.ctsc.fail("Expecting axis to be < {}".format(x.dim()))
    shape = [1] * x.dim()
    shape[axis] = scales.size(0)
    return torch.view(scales, shape)


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    x = __torch__.operators.exported._quantise_input(input)
    s = __torch__.operators.exported._along(scales, x, axis)
    z = __torch__.operators.exported._along(zero_points, x, axis)
    return torch.to(torch.clamp(torch.round(x * torch.reciprocal(s)) + z, quant_min, quant_max), dtype)


def dequantize_per_channel(input: Tensor, scales: Tensor, zero_points: Optional[Tensor], axis: int, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]) -> Tensor:
    __torch__.operators.exported._quantised_dtype(input, dtype)
    to = 6 if out_dtype is None else out_dtype
    s = __torch__.operators.exported._along(scales, input, axis)
    if zero_points is None:
        return torch.to(input * s, to)
    return torch.to((input - __torch__.operators.exported._along(zero_points, input, axis)) * s, to)


def fake_quant_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    s = __torch__.operators.exported._along(torch.to(scales, 6), input, axis)
    z = __torch__.operators.exported._along(torch.to(zero_points, 3), input, axis)
    return (torch.clamp(torch.round(input * torch.reciprocal(s)) + z, quant_min, quant_max) - z) * s


def quantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int) -> Tensor:
    return torch.to(torch.clamp(torch.round(input * torch.reciprocal(scales) + zero_points), quant_min, quant_max), dtype)


def dequantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int, output_dtype: int) -> Tensor:
    return torch.to((input - zero_points) * scales, output_dtype)


# ---- groups of columns -------------------------------------------------------------------------------------------------


def _group(input: Tensor, scales: Tensor, group_size: int) -> Tensor:
    size = group_size
    if input.dim() != 2:
        torch.ops.ctsc.fail("input must be 2-dimensional")
    if size <= 1:
        torch.ops.ctsc.fail("group_size must be > 1")
    if size > input.size(-1) and scales.size(-1) == 1:
        size = input.size(-1)
    if input.size(-1) % size != 0:
        torch.ops.ctsc.fail("input.shape[-1] must be divisible by group_size")
    return torch.reshape(input, [-1, size])


def quantize_per_channel_group(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: int, group_size: int) -> Tensor:
    x = __torch__.operators.exported._group(input, scales, group_size)
    s = torch.reshape(scales, [-1, 1])
    z = torch.reshape(zero_points, [-1, 1])
    return torch.reshape(torch.to(torch.clamp(torch.round(x * torch.reciprocal(s) + z), quant_min, quant_max), dtype), input.size())


def dequantize_per_channel_group(input: Tensor, scales: Tensor, zero_points: Optional[Tensor], quant_min: int, quant_max: int, dtype: int, group_size: int, output_dtype: int) -> Tensor:
    x = __torch__.operators.exported._group(input, scales, group_size)
    z = torch.zeros([], dtype=3) if zero_points is None else torch.reshape(zero_points, [-1, 1])
    return torch.to(torch.reshape((x - z) * torch.reshape(scales, [-1, 1]), input.size()), output_dtype)


def convert_element_type__no_fuse(input: Tensor, dtype: int) -> Tensor:
    return torch.to(input, dtype)


# ---- torchao: blocks of any shape --------------------------------------------------------------------------------------


# The view in which each block is a range of dims, and these dims.
def _blocks(size: List[int], block: List[int]) -> Tuple[List[int], List[int]]:
    shape: List[int] = []
    dims: List[int] = []
    if len(size) != len(block):
        torch.ops.ctsc.fail("Got input dim:{}, block_size: {}".format(len(size), block))
    for i in range(len(block)):
        if block[i] != size[i] and block[i] > 1:
            if size[i] % block[i] != 0:
                torch.ops.ctsc.fail("Expecting input size at {} dimension: {} to be divisible by block_size at {} dimension: {}".format(i, size[i], i, block[i]))
            shape.append(size[i] // block[i])
            dims.append(len(shape))
            shape.append(block[i])
        else:
            if block[i] != 1:
                dims.append(len(shape))
            shape.append(size[i])
    return (shape, dims)


# One for each block.
def _one_each(shape: List[int], dims: List[int]) -> List[int]:
    ones: List[int] = []
    for i in range(len(shape)):
        ones.append(1 if i in dims else shape[i])
    return ones


def _bounds(dtype: int, quant_min: Optional[number], quant_max: Optional[number]) -> Tuple[float, float]:
    most: Dict[int, float] = {0: 255.0, 1: 127.0, 2: 32767.0, 3: 2147483647.0, 23: 57344.0, 24: 448.0, 25: 57344.0, 26: 240.0}
    if dtype not in most:
        torch.ops.ctsc.fail("Unsupported dtype: {}".format(dtype))
    high = most[dtype]
    low = 0.0 if dtype == 0 else -high if dtype >= 23 else -high - 1.0
    return (low if quant_min is None else float(quant_min), high if quant_max is None else float(quant_max))


def choose_qparams_affine(input: Optional[Tensor], mapping_type: str, block_size: List[int], target_dtype: int, quant_min: Optional[number], quant_max: Optional[number], eps: Optional[float], scale_dtype: Optional[int], zero_point_dtype: Optional[int], keepdim: bool) -> Tuple[Tensor, Tensor]:
    if input is None:
        torch.ops.ctsc.fail("choose_qparams_affine needs an input")
    x = torch.jit._unwrap_optional(input)
    lowest, highest = __torch__.operators.exported._bounds(target_dtype, quant_min, quant_max)
    least = 0.00006103515625 if x.dtype == 5 else 1.1754943508222875e-38
    if eps is not None:
        least = eps
    shape, dims = __torch__.operators.exported._blocks(x.size(), block_size)
    low, high = torch.view(x, shape), torch.view(x, shape)
    if len(dims) > 0:
        low, high = torch.amin(low, dims, keepdim), torch.amax(high, dims, keepdim)
    low, high = torch.clamp(low, None, 0), torch.clamp(high, 0, None)
    zero_dtype = zero_point_dtype
    if mapping_type == "ASYMMETRIC":
        scale = torch.clamp((high - low) / (highest - lowest), least)
        zero_point = torch.clamp(lowest - torch.round(low / scale), lowest, highest)
        if zero_point_dtype is None:
            zero_dtype = 3
    else:
        if mapping_type == "SYMMETRIC":
            scale = torch.maximum(torch.neg(low), high) / ((highest - lowest) / 2)
        else:
            scale = torch.maximum(low / lowest, high / highest)
        zero_point = torch.full_like(scale, int((highest + lowest + 1) / 2))
        scale = torch.clamp(scale, least)
    if keepdim:
        sizes: List[int] = []
        for i in range(len(block_size)):
            sizes.append(x.size(i) // block_size[i])
        scale, zero_point = torch.reshape(scale, sizes), torch.reshape(zero_point, sizes)
    return (torch.to(scale, x.dtype if scale_dtype is None else scale_dtype), torch.to(zero_point, zero_point.dtype if zero_dtype is None else zero_dtype))


def quantize_affine(input: Tensor, block_size: List[int], scale: Tensor, zero_point: Optional[Tensor], output_dtype: int, quant_min: Optional[number], quant_max: Optional[number]) -> Tensor:
    lowest, highest = __torch__.operators.exported._bounds(output_dtype, quant_min, quant_max)
    shape, dims = __torch__.operators.exported._blocks(input.size(), block_size)
    ones = __torch__.operators.exported._one_each(shape, dims)
    y = torch.round(torch.view(input, shape) * (1.0 / torch.view(scale, ones)))
    if zero_point is None or zero_point.numel() == 0:
        torch.ops.ctsc.fail("quantize_affine needs a zero point")
    else:
        y = y + torch.view(zero_point, ones)
    return torch.to(torch.view(torch.clamp(y, lowest, highest), input.size()), output_dtype)


def dequantize_affine(input: Tensor, block_size: List[int], scale: Tensor, zero_point: Optional[Tensor], input_dtype: int, quant_min: Optional[number], quant_max: Optional[number], output_dtype: int) -> Tensor:
    __torch__.operators.exported._quantised_dtype(input, input_dtype)
    shape, dims = __torch__.operators.exported._blocks(input.size(), block_size)
    ones = __torch__.operators.exported._one_each(shape, dims)
    y = torch.to(torch.view(input, shape), output_dtype)
    if zero_point is not None:
        y = y - torch.to(torch.view(zero_point, ones), output_dtype)
    return torch.to(torch.view(y * torch.view(scale, ones), input.size()), output_dtype)
