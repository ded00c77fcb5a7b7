# SPDX-License-Identifier: Apache-2.0
# Operators that came after PyTorch 1.13, in TorchScript (see ../operators.py).


# ---- norms -----------------------------------------------------------------------------------------


def _epsilon(dtype: int) -> float:
    eps = 1.1920928955078125e-07
    if dtype == 7:
        eps = 2.220446049250313e-16
    return eps


# Half precision is computed in single precision, as PyTorch does: (input, normalised input, its reciprocal root mean square)
def _rms(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tuple[Tensor, Tensor]:
    n = len(normalized_shape)
    if n == 0:
        torch.ops.ctsc.fail("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []")
    if weight is not None:
        if weight.size() != normalized_shape:
            torch.ops.ctsc.fail("Expected weight to be of same shape as normalized_shape, but got weight of shape {} and normalized_shape = {}".format(weight.size(), normalized_shape))
    fits = input.dim() >= n
    if fits:
        fits = input.size()[input.dim() - n:] == normalized_shape
    if not fits:
        wanted = ""
        for size in normalized_shape:
            if len(wanted) > 0:
                wanted = wanted + ", "
            wanted = wanted + "{}".format(size)
        torch.ops.ctsc.fail("Given normalized_shape={}, expected input with shape [*{}], but got input of size{}".format(normalized_shape, wanted, input.size()))
    if not torch.is_floating_point(input) and not torch.is_complex(input):
        torch.ops.ctsc.fail("\"rms_norm\" not implemented for '{}'".format(torch.ops.ctsc.type_name(input)))
    x = input
    if input.dtype == 5 or input.dtype == 15:
        x = torch.to(input, 6)
    dims: List[int] = []
    for i in range(n):
        dims.append(input.dim() - n + i)
    added = __torch__.operators.recent._epsilon(x.dtype)
    if eps is not None:
        added = eps
    root = torch.rsqrt(torch.mean(torch.pow(x, 2), dims, True) + added)
    result = x * root
    if weight is not None:
        result = result * weight
    return torch.to(result, input.dtype), root


def rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tensor:
    result, root = __torch__.operators.recent._rms(input, normalized_shape, weight, eps)
    return result.contiguous()


def _fused_rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tuple[Tensor, Tensor]:
    result, root = __torch__.operators.recent._rms(input, normalized_shape, weight, eps)
    return result, root


def _native_batch_norm_legit(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _native_batch_norm_legit__no_stats(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    return torch.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


def _native_batch_norm_legit_no_training(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    result, mean, root = torch.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return result, mean, root


def _native_batch_norm_legit_functional(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    new_mean = torch.clone(running_mean)
    new_var = torch.clone(running_var)
    result, mean, root = torch.native_batch_norm(input, weight, bias, new_mean, new_var, training, momentum, eps)
    return result, mean, root, new_mean, new_var


def _batch_norm_with_update(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    result, mean, root = torch.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return result, mean, root, torch.empty([0], dtype=0)


def _batch_norm_with_update_functional(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    new_mean = torch.clone(running_mean)
    new_var = torch.clone(running_var)
    result, mean, root = torch.native_batch_norm(input, weight, bias, new_mean, new_var, True, momentum, eps)
    return result, mean, root, torch.empty([0], dtype=0), new_mean, new_var


def _batch_norm_no_update(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    result, mean, root = torch.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return result, mean, root, torch.empty([0], dtype=0)


# ---- attention -------------------------------------------------------------------------------------


def _safe_softmax(self: Tensor, dim: int, dtype: Optional[int]) -> Tensor:
    result = torch.softmax(self, dim, dtype)
    masked = torch.all(torch.eq(self, -inf), dim, True)
    return torch.where(masked, torch.zeros_like(result), result)


# The logarithm of the sum of exponentials of each query's products, in single precision at least.
def _log_sum_exp(query: Tensor, key: Tensor, mask: Optional[Tensor], is_causal: bool, scale: Optional[float]) -> Tensor:
    dtype = query.dtype
    if dtype == 5 or dtype == 15:
        dtype = 6
    factor = 1. / math.sqrt(float(query.size(-1)))
    if scale is not None:
        factor = scale
    products = torch.matmul(torch.to(query, dtype), torch.transpose(torch.to(key, dtype), -2, -1)) * factor
    if is_causal:
        allowed = torch.tril(torch.ones([query.size(-2), key.size(-2)], dtype=11))
        products = torch.masked_fill(products, torch.logical_not(allowed), -inf)
    if mask is not None:
        if mask.dtype == 11:
            products = torch.masked_fill(products, torch.logical_not(mask), -inf)
        else:
            products = products + mask
    return torch.logsumexp(products, [-1])


def _scaled_dot_product_flash_attention_for_cpu(query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool, attn_mask: Optional[Tensor], scale: Optional[float]) -> Tuple[Tensor, Tensor]:
    if dropout_p != 0.:
        torch.ops.ctsc.fail("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    result = torch.scaled_dot_product_attention(query, key, value, attn_mask, 0., is_causal, scale=scale)
    return result, __torch__.operators.recent._log_sum_exp(query, key, attn_mask, is_causal, scale)


# What only gradients need is empty.
def _scaled_dot_product_efficient_attention(query: Tensor, key: Tensor, value: Tensor, attn_bias: Optional[Tensor], compute_log_sumexp: bool, dropout_p: float, is_causal: bool, scale: Optional[float]) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    result = torch.scaled_dot_product_attention(query, key, value, attn_bias, dropout_p, is_causal, scale=scale)
    sums = torch.empty([query.size(0), query.size(1), 0], dtype=6)
    if compute_log_sumexp:
        sums = torch.to(__torch__.operators.recent._log_sum_exp(query, key, attn_bias, is_causal, scale), 6)
    seed = torch.zeros([], dtype=4)
    return result, sums, seed, torch.zeros([], dtype=4)


# Those of CUDA, in programs that were decomposed there.
def _scaled_dot_product_flash_attention(query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool, return_debug_mask: bool, scale: Optional[float]) -> Tuple[Tensor, Tensor, Tensor, Tensor, int, int, Tensor, Tensor, Tensor]:
    result = torch.scaled_dot_product_attention(query, key, value, None, dropout_p, is_causal, scale=scale)
    sums = torch.to(__torch__.operators.recent._log_sum_exp(query, key, None, is_causal, scale), 6)
    none = torch.empty([0], dtype=4)
    return result, sums, none, torch.empty([0], dtype=4), query.size(2), key.size(2), torch.zeros([2], dtype=4), torch.zeros([], dtype=4), torch.empty([0], dtype=query.dtype)


def _scaled_dot_product_cudnn_attention(query: Tensor, key: Tensor, value: Tensor, attn_bias: Optional[Tensor], compute_log_sumexp: bool, dropout_p: float, is_causal: bool, return_debug_mask: bool, scale: Optional[float]) -> Tuple[Tensor, Tensor, Tensor, Tensor, int, int, Tensor, Tensor, Tensor]:
    result = torch.scaled_dot_product_attention(query, key, value, attn_bias, dropout_p, is_causal, scale=scale)
    sums = torch.empty([0], dtype=6)
    if compute_log_sumexp:
        sums = torch.unsqueeze(torch.to(__torch__.operators.recent._log_sum_exp(query, key, attn_bias, is_causal, scale), 6), -1)
    none = torch.empty([0], dtype=4)
    return result, sums, none, torch.empty([0], dtype=4), query.size(2), key.size(2), torch.zeros([], dtype=4), torch.zeros([], dtype=4), torch.empty([0], dtype=query.dtype)


def _scaled_dot_product_fused_attention_overrideable(query: Tensor, key: Tensor, value: Tensor, attn_bias: Optional[Tensor], dropout_p: float, is_causal: bool, return_debug_mask: bool, scale: Optional[float]) -> Tuple[Tensor, Tensor, Tensor, Tensor, int, int, Tensor, Tensor, Tensor]:
    result = torch.scaled_dot_product_attention(query, key, value, attn_bias, dropout_p, is_causal, scale=scale)
    sums = torch.to(__torch__.operators.recent._log_sum_exp(query, key, attn_bias, is_causal, scale), 6)
    none = torch.empty([0], dtype=4)
    return result, sums, none, torch.empty([0], dtype=4), query.size(2), key.size(2), torch.zeros([], dtype=4), torch.zeros([], dtype=4), torch.empty([0], dtype=query.dtype)


def _fused_sdp_choice(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> int:
    return 0


# ---- products --------------------------------------------------------------------------------------


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    if self.dim() != 2:
        torch.ops.ctsc.fail("_int_mm: self must be a matrix, got {}-D tensor".format(self.dim()))
    if mat2.dim() != 2:
        torch.ops.ctsc.fail("_int_mm: mat2 must be a matrix, got {}-D tensor".format(mat2.dim()))
    if self.size(1) != mat2.size(0):
        torch.ops.ctsc.fail("_int_mm: mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})".format(self.size(0), self.size(1), mat2.size(0), mat2.size(1)))
    if self.dtype != 0 and self.dtype != 1:
        torch.ops.ctsc.fail("int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {}".format(torch.ops.ctsc.type_name(self)))
    if mat2.dtype != 1:
        torch.ops.ctsc.fail("int_mm_out_cpu: Expected mat2 dtype to be int8 but got {}".format(torch.ops.ctsc.type_name(mat2)))
    return torch.mm(torch.to(self, 3), torch.to(mat2, 3))


def _weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    if self.dtype != 5 and self.dtype != 6 and self.dtype != 15:
        torch.ops.ctsc.fail("_weight_int8pack_mm_cpu : expect A to be either 32-bit or 16-bit float tensor.")
    if mat2.dtype != 1 or mat2.dim() != 2:
        torch.ops.ctsc.fail("_weight_int8pack_mm_cpu : expect B to be int8 tensor.")
    if self.dim() != 2 or self.size(1) != mat2.size(1):
        torch.ops.ctsc.fail("_weight_int8pack_mm_cpu : expect A to be 2D tensor.")
    if scales.dim() != 1 or scales.size(0) != mat2.size(0):
        torch.ops.ctsc.fail("_weight_int8pack_mm_cpu : expect scales to be 1d tensor with size {}".format(mat2.size(0)))
    sums = torch.mm(torch.to(self, 6), torch.t(torch.to(mat2, 6)))
    return torch.to(sums * torch.to(scales, 6), self.dtype)


# Weights of four bits, packed as PyTorch does on the processor that runs this: pairs of rows in a byte, in blocks of as many rows as its vectors have floats, four times.
def _int4_rows(packed: Tensor) -> Tensor:
    n, k, lanes = packed.size(0), packed.size(1) * 2, torch.ops.ctsc.float_lanes()
    block = 64 if lanes == 16 else 32
    bytes = packed.reshape([-1])
    full = n // block * block * k // 2
    head = bytes[:full].reshape([-1, k, 1, block // 2])
    rows = torch.cat([head & 15, head >> 4], 2)
    if lanes == 0:
        rows = torch.cat([rows[:, :, :1].unsqueeze(4), rows[:, :, 1:].unsqueeze(4)], 4)
    tail = bytes[full:].reshape([k, (n % block) // 2, 1])
    rest = torch.cat([tail & 15, tail >> 4], 2).reshape([k, n % block])
    return torch.cat([rows.reshape([n // block, k, block]).transpose(1, 2).reshape([n // block * block, k]), rest.t()], 0)


def _convert_weight_to_int4pack_for_cpu(self: Tensor, innerKTiles: int) -> Tensor:
    if self.dim() != 2 or self.dtype != 3:
        torch.ops.ctsc.fail("_convert_weight_to_int4pack_cpu : expect weight to be kInt.")
    if self.size(0) % 16 != 0:
        torch.ops.ctsc.fail("_convert_weight_to_int4pack_cpu : expect N to be dividable by 16")
    if self.size(1) % 2 != 0:
        torch.ops.ctsc.fail("_convert_weight_to_int4pack_cpu : expect K to be dividable by 2")
    n, k, lanes = self.size(0), self.size(1), torch.ops.ctsc.float_lanes()
    block = 64 if lanes == 16 else 32
    whole = n // block * block
    codes = torch.to(self, 0)
    head = codes[:whole].reshape([n // block, block, k]).transpose(1, 2)
    if lanes == 0:
        head = head.reshape([n // block, k, block // 2, 2]).transpose(2, 3)
    halves = head.reshape([n // block, k, 2, block // 2])
    tail = codes[whole:].t().reshape([k, (n - whole) // 2, 2])
    packed = torch.cat([(halves[:, :, 0] | halves[:, :, 1] << 4).reshape([-1]), (tail[:, :, 0] | tail[:, :, 1] << 4).reshape([-1])], 0)
    return packed.reshape([n, k // 2])


def _weight_int4pack_mm_for_cpu(self: Tensor, mat2: Tensor, qGroupSize: int, qScaleAndZeros: Tensor) -> Tensor:
    if self.dim() != 2 or (self.dtype != 5 and self.dtype != 6 and self.dtype != 15):
        torch.ops.ctsc.fail("_weight_int4pack_mm_cpu : expect A to be either 32-bit or 16-bit float tensor.")
    if mat2.dim() != 2 or mat2.dtype != 0 or mat2.size(1) * 2 != self.size(1) or mat2.size(0) % 16 != 0:
        torch.ops.ctsc.fail("_weight_int4pack_mm_cpu : expect B to be uint8 tensor.")
    if qScaleAndZeros.dim() != 3 or qScaleAndZeros.size(1) != mat2.size(0) or qScaleAndZeros.size(2) != 2 or qScaleAndZeros.size(0) * qGroupSize != self.size(1):
        torch.ops.ctsc.fail("_weight_int4pack_mm_cpu: expect qScaleAndZeros to be 3d tensor with sizes [:, {}, 2]".format(mat2.size(0)))
    both = torch.repeat_interleave(torch.to(qScaleAndZeros, 6), qGroupSize, 0)
    weight = torch.to(__torch__.operators.recent._int4_rows(mat2).t(), 6).sub(8) * both[:, :, 0] + both[:, :, 1]
    return torch.to(torch.mm(torch.to(self, 6), weight), self.dtype)


# Matrices of 8-bit floats: the sums in float32, times the scales, of the whole matrix or of its rows and columns.
def _scaled_mm(self: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Optional[Tensor], scale_result: Optional[Tensor], out_dtype: Optional[int], use_fast_accum: bool) -> Tensor:
    if self.dim() != 2 or mat2.dim() != 2 or self.size(1) != mat2.size(0):
        torch.ops.ctsc.fail("mat1 and mat2 shapes cannot be multiplied")
    rows = scale_a.size() == [self.size(0), 1] and scale_b.size() == [1, mat2.size(1)]
    if not rows and (scale_a.numel() != 1 or scale_b.numel() != 1):
        torch.ops.ctsc.fail("Invalid scaling configuration.")
    y = torch.mm(torch.to(self, 6), torch.to(mat2, 6))
    y = y * scale_a * scale_b if rows else y * (torch.reshape(scale_a, []) * torch.reshape(scale_b, []))
    if bias is not None:
        y = y + torch.to(bias, 6)
    dtype = self.dtype if out_dtype is None else out_dtype
    if scale_result is not None and out_dtype is not None and 23 <= dtype and dtype <= 26:
        y = y / torch.reshape(scale_result, [])
    return torch.to(y, dtype)


# Products of groups: of rows (self [m, k], mat2 [g, k, n]), of columns (self [g, m, k], mat2 [k, n]), of what is summed over (both of two dims;
# the result is [g, m, n]), or of matrices of a batch. offs says where each group ends.
def _grouped_mm(self: Tensor, mat2: Tensor, offs: Optional[Tensor], bias: Optional[Tensor], out_dtype: Optional[int]) -> Tensor:
    if bias is not None:
        torch.ops.ctsc.fail("Bias not supported yet")
    if self.dim() != 2 and self.dim() != 3:
        torch.ops.ctsc.fail("mat_a has to be 2 or 3d")
    if mat2.dim() != 2 and mat2.dim() != 3:
        torch.ops.ctsc.fail("mat_b has to be 2 or 3d")
    flat = self.dim() == 2 or mat2.dim() == 2
    if flat != (offs is not None):
        torch.ops.ctsc.fail("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if flat and self.dim() == 2 and mat2.dim() == 2:
        if self.size(1) != mat2.size(0):
            torch.ops.ctsc.fail("contraction dimension of mat_a and mat_b must match")
    elif self.size(-1) != mat2.size(-2):
        torch.ops.ctsc.fail("contraction dimension of mat_a and mat_b must match")
    if out_dtype is not None:
        if out_dtype != self.dtype:
            torch.ops.ctsc.fail("Grouped gemm output dtype must match `mat_a` dtype")
    result = torch.empty([0], dtype=self.dtype)
    if offs is None:
        result = torch.bmm(self, mat2)
    else:
        parts: List[Tensor] = []
        first = 0
        for i in range(offs.size(0)):
            last = int(torch.select(offs, 0, i))
            if self.dim() == 2 and mat2.dim() == 2:
                parts.append(torch.unsqueeze(torch.mm(torch.slice(self, 1, first, last), torch.slice(mat2, 0, first, last)), 0))
            elif self.dim() == 2:
                parts.append(torch.mm(torch.slice(self, 0, first, last), torch.select(mat2, 0, i)))
            else:
                parts.append(torch.mm(torch.select(self, 0, i), torch.slice(mat2, 1, first, last)))
            first = last
        rest = self.size(0) - first
        if self.dim() == 2 and mat2.dim() == 3:
            if rest > 0:
                parts.append(torch.zeros([rest, mat2.size(2)], dtype=self.dtype))
        if self.dim() == 3:
            if mat2.size(1) > first:
                parts.append(torch.zeros([self.size(1), mat2.size(1) - first], dtype=self.dtype))
        along = 0
        if self.dim() == 3:
            along = 1
        result = torch.cat(parts, along)
    return result


# ---- reductions ------------------------------------------------------------------------------------


def _reduced(self: Tensor, dim: Optional[List[int]]) -> List[int]:
    dims: List[int] = []
    if dim is None:
        for i in range(self.dim()):
            dims.append(i)
    else:
        for d in dim:
            if d < -max(self.dim(), 1) or d >= max(self.dim(), 1):
                torch.ops.ctsc.fail("Dimension out of range (expected to be in range of [{}, {}], but got {})".format(-max(self.dim(), 1), max(self.dim(), 1) - 1, d))
            if d < 0:
                d = d + max(self.dim(), 1)
            if torch.__contains__(dims, d):
                torch.ops.ctsc.fail("dim {} appears multiple times in the list of dims".format(d))
            dims.append(d)
    return dims


def all__dims(self: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    dims = __torch__.operators.recent._reduced(self, dim)
    result = self
    if len(dims) == 0:
        kind = 11
        if self.dtype == 0:
            kind = 0
        result = torch.to(torch.ne(self, 0), kind)
    if self.dim() == 0 and len(dims) > 0:
        result = torch.all(self)
    else:
        for d in dims:
            result = torch.all(result, d, True)
        if not keepdim:
            result = torch.squeeze(result, dims)
    return result


def any__dims(self: Tensor, dim: Optional[List[int]], keepdim: bool) -> Tensor:
    dims = __torch__.operators.recent._reduced(self, dim)
    result = self
    if len(dims) == 0:
        kind = 11
        if self.dtype == 0:
            kind = 0
        result = torch.to(torch.ne(self, 0), kind)
    if self.dim() == 0 and len(dims) > 0:
        result = torch.any(self)
    else:
        for d in dims:
            result = torch.any(result, d, True)
        if not keepdim:
            result = torch.squeeze(result, dims)
    return result


def _is_all_true(self: Tensor) -> Tensor:
    if self.dtype != 11:
        torch.ops.ctsc.fail("Expected self.scalar_type() == at::kBool to be true, but got false.")
    return torch.all(self)


def _is_any_true(self: Tensor) -> Tensor:
    if self.dtype != 11:
        torch.ops.ctsc.fail("Expected self.scalar_type() == at::kBool to be true, but got false.")
    return torch.any(self)


# ---- indices ---------------------------------------------------------------------------------------


def _unsafe_index__Tensor(self: Tensor, indices: List[Optional[Tensor]]) -> Tensor:
    return torch.index(self, indices)


def _unsafe_index__Tensor_hacked_twin(self: Tensor, indices: List[Tensor]) -> Tensor:
    return torch.index(self, indices)


def _unsafe_index_put(self: Tensor, indices: List[Optional[Tensor]], values: Tensor, accumulate: bool) -> Tensor:
    return torch.index_put(self, indices, values, accumulate)


def _unsafe_index_put__hacked_twin(self: Tensor, indices: List[Tensor], values: Tensor, accumulate: bool) -> Tensor:
    return torch.index_put(self, indices, values, accumulate)


# Indices may be out of bounds where the mask is false.
def _masked_indices(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]]) -> List[Optional[Tensor]]:
    result: List[Optional[Tensor]] = []
    for i in range(len(indices)):
        at = indices[i]
        if at is None:
            result.append(None)
        else:
            result.append(torch.clamp(at, -self.size(i), self.size(i) - 1))
    return result


def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]], fill: number) -> Tensor:
    found = torch.index(self, __torch__.operators.recent._masked_indices(self, mask, indices))
    return torch.masked_fill(found, torch.logical_not(mask), fill)


def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]], values: Tensor) -> Tensor:
    kept = torch.masked_fill(values, torch.logical_not(mask), 0)
    return torch.index_put(self, __torch__.operators.recent._masked_indices(self, mask, indices), kept, True)


def nonzero_static(self: Tensor, size: int, fill_value: int) -> Tensor:
    if size < 0:
        torch.ops.ctsc.fail("nonzero_static: 'size' must be an non-negative integer")
    found = torch.slice(torch.nonzero(self), 0, 0, size)
    rest = torch.full([size - found.size(0), self.dim()], fill_value, dtype=4)
    return torch.cat([found, rest], 0)


# ---- fake quantisation -----------------------------------------------------------------------------


def _fake_bounds(quant_min: int, quant_max: int, zero_point: int) -> None:
    if quant_min > quant_max:
        torch.ops.ctsc.fail("`quant_min` should be less than or\n        equal to `quant_max`.")
    if zero_point < quant_min or zero_point > quant_max:
        torch.ops.ctsc.fail("`zero_point` must be between `quant_min` and `quant_max`.")


def fake_quantize_per_tensor_affine_cachemask(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tuple[Tensor, Tensor]:
    __torch__.operators.recent._fake_bounds(quant_min, quant_max, zero_point)
    # the reciprocal in single precision, as PyTorch has it; nearbyint before the zero point is added
    inverse = torch.reciprocal(torch.full([], scale, dtype=6))
    steps = torch.round(torch.to(self, 6) * inverse) + zero_point
    kept = torch.logical_and(torch.ge(steps, quant_min), torch.le(steps, quant_max))
    steps = torch.where(torch.isnan(steps), quant_min, steps)
    result = (torch.clamp(steps, quant_min, quant_max) - zero_point) * torch.full([], scale, dtype=6)
    return torch.to(result, self.dtype), kept


def fake_quantize_per_tensor_affine(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
    result, kept = torch.fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max)
    return result


def _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: int, quant_max: int) -> Tuple[Tensor, Tensor]:
    result = torch.clone(self)
    kept = torch.ones_like(self, dtype=11)
    if bool(torch.ne(torch.select(torch.reshape(fake_quant_enabled, [-1]), 0, 0), 0)):
        result, kept = torch.fake_quantize_per_tensor_affine_cachemask(self, float(scale), int(zero_point), quant_min, quant_max)
    return result, kept


def fake_quantize_per_tensor_affine__tensor_qparams(self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    result, kept = torch.fake_quantize_per_tensor_affine_cachemask(self, float(scale), int(zero_point), quant_min, quant_max)
    return result


def fake_quantize_per_channel_affine_cachemask(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tuple[Tensor, Tensor]:
    if scale.dim() != 1:
        torch.ops.ctsc.fail("scale should be a 1-D tensor")
    if zero_point.dim() != 1:
        torch.ops.ctsc.fail("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        torch.ops.ctsc.fail("scale and zero-point need to have the same dimensions")
    if axis < 0 or axis >= self.dim():
        torch.ops.ctsc.fail("`axis` must be between 0 and number of dimensions of input")
    if scale.numel() != self.size(axis):
        torch.ops.ctsc.fail("dimensions of scale and zero-point are not consistent with input tensor")
    if quant_min > quant_max:
        torch.ops.ctsc.fail("`quant_min` should be less than or\n        equal to `quant_max`.")
    if bool(torch.lt(torch.min(zero_point), quant_min)) or bool(torch.gt(torch.max(zero_point), quant_max)):
        torch.ops.ctsc.fail("`zero_point` must be between `quant_min` and `quant_max`.")
    sizes: List[int] = []
    for i in range(self.dim()):
        sizes.append(1)
    sizes[axis] = scale.numel()
    step = torch.reshape(torch.to(scale, 6), sizes)
    zero = torch.reshape(torch.to(zero_point, 6), sizes)
    steps = torch.round(torch.to(self, 6) * torch.reciprocal(step)) + zero
    kept = torch.logical_and(torch.ge(steps, quant_min), torch.le(steps, quant_max))
    # as integers; those that a processor cannot represent become the least one
    steps = torch.where(torch.lt(torch.abs(steps), 9.2233720368547758e+18), steps, quant_min)
    result = (torch.clamp(steps, quant_min, quant_max) - zero) * step
    return torch.to(result, self.dtype), kept


def fake_quantize_per_channel_affine(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    result, kept = torch.fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max)
    return result


# What training with quantisation in mind does at each call: moving averages of the smallest and largest number.
def _fake_observe(self: Tensor, running_min: Tensor, running_max: Tensor, averaging_const: float, rows: bool) -> None:
    low, high = torch.reshape(torch.amin(self), [1]), torch.reshape(torch.amax(self), [1])
    if rows:
        low, high = torch.amin(torch.flatten(self, 1), [1]), torch.amax(torch.flatten(self, 1), [1])
        if running_min.numel() == 0:
            torch.fill_(torch.resize_(running_min, [self.size(0)]), float("inf"))
            torch.fill_(torch.resize_(running_max, [self.size(0)]), -float("inf"))
    for run, now in [(running_min, low), (running_max, high)]:
        now = torch.reshape(now, torch.size(run))
        torch.copy_(run, torch.where(torch.isinf(run), now, run + averaging_const * (now - run)))


# Scales and zero points follow from the averages. They are stored by calls that observe: others would store what is there.
def fused_moving_avg_obs_fake_quant(self: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: float, quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool = False, symmetric_quant: bool = False) -> Tensor:
    observe, fake = int(observer_on) != 0, int(fake_quant_on) != 0
    if ch_axis > 0 and ch_axis >= self.dim():
        torch.ops.ctsc.fail("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    if per_row_fake_quant and ch_axis != 0 and (observe or fake):
        torch.ops.ctsc.fail("Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == 0")
    if observe:
        __torch__.operators.recent._fake_observe(self, running_min, running_max, averaging_const, per_row_fake_quant)
    if not fake:
        return torch.clone(self)
    steps = torch.ops.ctsc.fake_scale(running_min, running_max, quant_min, quant_max, symmetric_quant)
    zeros = torch.ops.ctsc.fake_zero(running_min, running_max, quant_min, quant_max, symmetric_quant)
    if observe:
        torch.copy_(torch.resize_(scale, torch.size(steps)), steps)
        torch.copy_(torch.resize_(zero_point, torch.size(zeros)), zeros)
    if per_row_fake_quant:
        return torch.fake_quantize_per_channel_affine(self, steps, zeros, 0, quant_min, quant_max)
    return torch.fake_quantize_per_tensor_affine(self, steps, zeros, quant_min, quant_max)


# ---- odds and ends ---------------------------------------------------------------------------------


# The exclusive or of the elements' 64 bits: of floating-point numbers those of a double, of others those of an int64
def hash_tensor(self: Tensor, dim: List[int], keepdim: bool, mode: int) -> Tensor:
    if mode != 0:
        torch.ops.ctsc.fail("Unknown hash_tensor mode: {}".format(mode))
    if torch.is_complex(self):
        torch.ops.ctsc.fail("\"xor_sum_cpu\" not implemented for '{}'".format(torch.ops.ctsc.type_name(self)))
    if self.numel() == 0 and len(dim) == 0:
        torch.ops.ctsc.fail("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
    bits = self
    if torch.is_floating_point(self):
        bits = torch.view_copy(torch.to(self, 7), dtype=4)
    else:
        bits = torch.to(self, 4)
    reduced: List[int] = []
    for d in dim:
        reduced.append(__torch__.operators._wrap(d, max(self.dim(), 1)))
    sizes: List[int] = []
    kept: List[int] = []
    order: List[int] = []
    for i in range(self.dim()):
        if len(dim) == 0 or i in reduced:
            if self.size(i) == 0:
                torch.ops.ctsc.fail("hash_tensor: Expected reduction dim {} to have non-zero size.".format(i))
            if keepdim:
                sizes.append(1)
        else:
            sizes.append(self.size(i))
            kept.append(self.size(i))
            order.append(i)
    for i in range(self.dim()):
        if len(dim) == 0 or i in reduced:
            order.append(i)
    bits = torch.flatten(torch.permute(bits, order), len(kept)) if len(kept) < self.dim() else torch.unsqueeze(bits, -1)
    while bits.size(-1) > 1:
        half = bits.size(-1) // 2
        pairs = torch.bitwise_xor(torch.narrow(bits, -1, 0, half), torch.narrow(bits, -1, half, half))
        if bits.size(-1) % 2 == 1:
            pairs = torch.cat([pairs, torch.narrow(bits, -1, 2 * half, 1)], -1)
        bits = pairs
    return torch.view_copy(torch.reshape(bits, sizes), dtype=29)


# Each tensor in num_chunks parts along dim, filled up with zeros to equal ones, each part flat; the parts of all side by side
def _chunk_cat(tensors: List[Tensor], dim: int, num_chunks: int) -> Tensor:
    if num_chunks < 1:
        torch.ops.ctsc.fail("_chunk_cat expects positive num_chunks")
    if len(tensors) == 0:
        torch.ops.ctsc.fail("_chunk_cat expects a non-empty input tensor list")
    first = tensors[0]
    along = dim
    for t in tensors:
        if t.numel() == 0:
            torch.ops.ctsc.fail("_chunk_cat expects non-empty tensor")
        if t.dtype != first.dtype:
            torch.ops.ctsc.fail("_chunk_cat expects all input tensors with the same dtype")
        if t.dim() != first.dim() and dim < 0:
            torch.ops.ctsc.fail("_chunk_cat expects non-negative dim when input tensors have different ndims")
        along = __torch__.operators._wrap(dim, t.dim())
        for i in range(along):
            if t.size(i) != first.size(i):
                torch.ops.ctsc.fail("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    parts: List[Tensor] = []
    for t in tensors:
        size = t.size(along)
        padding = (size + num_chunks - 1) // num_chunks * num_chunks - size
        if padding > 0:
            sizes = t.size()
            sizes[along] = padding
            t = torch.cat([t, torch.new_zeros(t, sizes)], along)
        parts.append(torch.reshape(t, first.size()[:along] + [num_chunks, -1]))
    return torch.cat(parts, along + 1)


# Around the largest real part of each line; those that are not finite are left where they are
def complex_logsumexp(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    if self.numel() == 0:
        return torch.log(torch.sum(torch.exp(self), dim, keepdim))
    largest = torch.amax(torch.real(self), dim, True)
    largest = torch.where(torch.isfinite(largest), largest, torch.zeros_like(largest))
    sums = torch.log(torch.sum(torch.exp(self - largest), dim, True)) + largest
    return sums if keepdim else torch.reshape(sums, torch.sum(largest, dim, False).size())


def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    return torch.where(torch.gt(self, 0), self, weight * self)


def _reshape_copy(self: Tensor, size: List[int]) -> Tensor:
    return torch.clone(torch.reshape(self, size))


def _lazy_clone(self: Tensor) -> Tensor:
    return torch.clone(self)


def _linalg_eigh(A: Tensor, UPLO: str, compute_v: bool) -> Tuple[Tensor, Tensor]:
    if compute_v:
        values, vectors = torch.linalg_eigh(A, UPLO)
        return values, vectors
    return torch.linalg_eigvalsh(A, UPLO), torch.new_empty(A, [0])


def _linalg_svd(A: Tensor, full_matrices: bool, compute_uv: bool, driver: Optional[str]) -> Tuple[Tensor, Tensor, Tensor]:
    if compute_uv:
        u, s, vh = torch.linalg_svd(A, full_matrices, driver=driver)
        return u, s, vh
    return torch.new_empty(A, [0]), torch.linalg_svdvals(A, driver=driver), torch.new_empty(A, [0])


def _linalg_eigvals(self: Tensor) -> Tensor:
    return torch.linalg_eigvals(self)


def linalg__powsum(self: Tensor, ord: number, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    x = self
    if dtype is not None:
        x = torch.to(self, dtype)
    return torch.sum(torch.pow(torch.abs(x), ord), dim, keepdim)


def broadcast_shapes(a: List[int], b: List[int]) -> List[int]:
    return torch._infer_size(a, b)


def empty_permuted(size: List[int], physical_layout: List[int], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    n = len(size)
    if n != len(physical_layout):
        torch.ops.ctsc.fail("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {} is not equal to len(physical_layout) = {}".format(n, len(physical_layout)))
    places: List[int] = []
    sizes: List[int] = []
    for i in range(n):
        places.append(-1)
    for i in range(n):
        at = physical_layout[i]
        if at < 0 or at >= n:
            torch.ops.ctsc.fail("Dimension out of range (expected to be between 0 and {}, but got {} at index {}).  NB: negative dims not currently supported; file an issue if you want it.".format(n - 1, at, i))
        if places[at] >= 0:
            torch.ops.ctsc.fail("Duplicate dim not allowed")
        places[at] = i
        sizes.append(size[at])
    return torch.permute(torch.empty(sizes, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory), places)


def linspace__Tensor_Tensor(start: Tensor, end: Tensor, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    if start.dim() != 0 or end.dim() != 0:
        torch.ops.ctsc.fail("linspace only supports 0-dimensional start and end tensors, but got start with {} dimension(s) and end with {} dimension(s).".format(start.dim(), end.dim()))
    return torch.linspace(torch.item(start), torch.item(end), steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def linspace__Tensor_Scalar(start: Tensor, end: number, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    if start.dim() != 0:
        torch.ops.ctsc.fail("linspace only supports 0-dimensional start and end tensors, but got start with {} dimension(s).".format(start.dim()))
    return torch.linspace(torch.item(start), end, steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def linspace__Scalar_Tensor(start: number, end: Tensor, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    if end.dim() != 0:
        torch.ops.ctsc.fail("linspace only supports 0-dimensional start and end tensors, but got end with {} dimension(s).".format(end.dim()))
    return torch.linspace(start, torch.item(end), steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def logspace__Tensor_Tensor(start: Tensor, end: Tensor, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    if start.dim() != 0 or end.dim() != 0:
        torch.ops.ctsc.fail("logspace only supports 0-dimensional start and end tensors, but got start with {} dimension(s) and end with {} dimension(s).".format(start.dim(), end.dim()))
    return torch.logspace(torch.item(start), torch.item(end), steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def logspace__Tensor_Scalar(start: Tensor, end: number, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    if start.dim() != 0:
        torch.ops.ctsc.fail("logspace only supports 0-dimensional start and end tensors, but got start with {} dimension(s).".format(start.dim()))
    return torch.logspace(torch.item(start), end, steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def logspace__Scalar_Tensor(start: number, end: Tensor, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    if end.dim() != 0:
        torch.ops.ctsc.fail("logspace only supports 0-dimensional start and end tensors, but got end with {} dimension(s).".format(end.dim()))
    return torch.logspace(start, torch.item(end), steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def _functional_assert_async__msg(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    if not bool(self):
        torch.ops.ctsc.fail(assert_msg)
    return torch.clone(dep_token)


def _functional_assert_scalar(self: number, assert_msg: str, dep_token: Tensor) -> Tensor:
    if not bool(self):
        torch.ops.ctsc.fail(assert_msg)
    return torch.clone(dep_token)


# ---- products in another dtype ---------------------------------------------------------------------


# Narrow factors, a wide sum: as if both had the result's dtype from the start.
def mm__dtype(self: Tensor, mat2: Tensor, out_dtype: int) -> Tensor:
    return torch.mm(torch.to(self, out_dtype), torch.to(mat2, out_dtype))


def bmm__dtype(self: Tensor, mat2: Tensor, out_dtype: int) -> Tensor:
    return torch.bmm(torch.to(self, out_dtype), torch.to(mat2, out_dtype))


def addmm__dtype(self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: int, beta: number, alpha: number) -> Tensor:
    return torch.addmm(torch.to(self, out_dtype), torch.to(mat1, out_dtype), torch.to(mat2, out_dtype), beta=beta, alpha=alpha)


def baddbmm__dtype(self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: int, beta: number, alpha: number) -> Tensor:
    return torch.baddbmm(torch.to(self, out_dtype), torch.to(batch1, out_dtype), torch.to(batch2, out_dtype), beta=beta, alpha=alpha)


# ---- random tensors like others, from a generator --------------------------------------------------


def rand_like__generator(self: Tensor, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    out = torch.empty_like(self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format)
    return torch.uniform_(out, 0.0, 1.0, generator=generator)


def randn_like__generator(self: Tensor, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    out = torch.empty_like(self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format)
    return torch.normal_(out, 0.0, 1.0, generator=generator)


def randint_like__generator(self: Tensor, high: int, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    out = torch.empty_like(self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format)
    return torch.random_(out, 0, high, generator=generator)


def randint_like__low_generator_dtype(self: Tensor, low: int, high: int, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    out = torch.empty_like(self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format)
    return torch.random_(out, low, high, generator=generator)


def _one_int(high: Tensor) -> int:
    if torch.numel(high) != 1 or high.dim() != 0:
        torch.ops.ctsc.fail("high must be a scalar tensor and on CPU")
    return int(torch.item(high))


def randint_like__Tensor(self: Tensor, high: Tensor, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    top = __torch__.operators.recent._one_int(high)
    return torch.randint_like(self, top, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format)


def randint_like__Tensor_generator(self: Tensor, high: Tensor, generator: Optional[Generator], dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool], memory_format: Optional[int]) -> Tensor:
    top = __torch__.operators.recent._one_int(high)
    out = torch.empty_like(self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, memory_format=memory_format)
    return torch.random_(out, 0, top, generator=generator)


def rrelu_with_noise_functional(self: Tensor, noise: Tensor, lower: number, upper: number, training: bool, generator: Optional[Generator]) -> Tuple[Tensor, Tensor]:
    slopes = torch.clone(noise)
    out = torch.rrelu_with_noise(self, slopes, lower, upper, training, generator)
    return out, slopes


# ---- matrices ----------------------------------------------------------------------------------------


# A = UH with orthonormal columns of U and H = sqrt(A^H A), from A = W S V^H
def linalg_polar(A: Tensor) -> Tuple[Tensor, Tensor]:
    if A.dim() < 2:
        torch.ops.ctsc.fail("linalg.polar: The input tensor A must have at least 2 dimensions.")
    if A.size(-2) < A.size(-1):
        torch.ops.ctsc.fail("linalg.polar: input must have at least as many rows as columns, but got {} by {} matrices".format(A.size(-2), A.size(-1)))
    w, s, vh = torch.linalg_svd(A, False)
    v = torch.conj(torch.transpose(vh, -2, -1))
    return torch.matmul(w, vh), torch.matmul(v * torch.unsqueeze(s, -2), vh)


def linalg_matrix_sqrth(self: Tensor) -> Tensor:
    values, v = torch.linalg_eigh(self)
    return torch.matmul(v * torch.unsqueeze(torch.sqrt(values), -2), torch.conj(torch.transpose(v, -2, -1)))


def nbytes(a: Tensor) -> int:
    return torch.numel(a) * torch.element_size(a)


def itemsize(a: Tensor) -> int:
    return torch.element_size(a)


def is_xla(a: Tensor) -> bool:
    return False


def is_mtia(a: Tensor) -> bool:
    return False


def is_maia(a: Tensor) -> bool:
    return False
