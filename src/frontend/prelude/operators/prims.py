# SPDX-License-Identifier: Apache-2.0
# Operators of the namespace prims, to which programs are taken apart with torch's whole table of decompositions, in TorchScript (see
# ../operators.py): prims::add is prims_add here.


# ---- of an element ---------------------------------------------------------------------------------


def prims_abs(self: Tensor) -> Tensor:
    return torch.abs(self)


def prims_acos(self: Tensor) -> Tensor:
    return torch.acos(self)


def prims_acosh(self: Tensor) -> Tensor:
    return torch.acosh(self)


def prims_asin(self: Tensor) -> Tensor:
    return torch.asin(self)


def prims_asinh(self: Tensor) -> Tensor:
    return torch.asinh(self)


def prims_atan(self: Tensor) -> Tensor:
    return torch.atan(self)


def prims_atanh(self: Tensor) -> Tensor:
    return torch.atanh(self)


def prims_bessel_i0(self: Tensor) -> Tensor:
    return torch.special_i0(self)


def prims_bessel_i0e(self: Tensor) -> Tensor:
    return torch.special_i0e(self)


def prims_bessel_i1(self: Tensor) -> Tensor:
    return torch.special_i1(self)


def prims_bessel_i1e(self: Tensor) -> Tensor:
    return torch.special_i1e(self)


def prims_bessel_j0(self: Tensor) -> Tensor:
    return torch.special_bessel_j0(self)


def prims_bessel_j1(self: Tensor) -> Tensor:
    return torch.special_bessel_j1(self)


def prims_bitwise_not(self: Tensor) -> Tensor:
    return torch.bitwise_not(self)


def prims_ceil(self: Tensor) -> Tensor:
    return torch.ceil(self)


def prims_conj_physical(self: Tensor) -> Tensor:
    return torch.conj_physical(self)


def prims_cos(self: Tensor) -> Tensor:
    return torch.cos(self)


def prims_cosh(self: Tensor) -> Tensor:
    return torch.cosh(self)


def prims_digamma(self: Tensor) -> Tensor:
    return torch.digamma(self)


def prims_erf(self: Tensor) -> Tensor:
    return torch.erf(self)


def prims_erf_inv(self: Tensor) -> Tensor:
    return torch.erfinv(self)


def prims_erfc(self: Tensor) -> Tensor:
    return torch.erfc(self)


def prims_erfcx(self: Tensor) -> Tensor:
    return torch.special_erfcx(self)


def prims_exp(self: Tensor) -> Tensor:
    return torch.exp(self)


def prims_exp2(self: Tensor) -> Tensor:
    return torch.exp2(self)


def prims_expm1(self: Tensor) -> Tensor:
    return torch.expm1(self)


def prims_floor(self: Tensor) -> Tensor:
    return torch.floor(self)


def prims_isfinite(self: Tensor) -> Tensor:
    return torch.isfinite(self)


def prims_lgamma(self: Tensor) -> Tensor:
    return torch.lgamma(self)


def prims_log(self: Tensor) -> Tensor:
    return torch.log(self)


def prims_log10(self: Tensor) -> Tensor:
    return torch.log10(self)


def prims_log1p(self: Tensor) -> Tensor:
    return torch.log1p(self)


def prims_log2(self: Tensor) -> Tensor:
    return torch.log2(self)


def prims_ndtri(self: Tensor) -> Tensor:
    return torch.special_ndtri(self)


def prims_neg(self: Tensor) -> Tensor:
    return torch.neg(self)


def prims_reciprocal(self: Tensor) -> Tensor:
    return torch.reciprocal(self)


def prims_round(self: Tensor) -> Tensor:
    return torch.round(self)


def prims_rsqrt(self: Tensor) -> Tensor:
    return torch.rsqrt(self)


def prims_sign(self: Tensor) -> Tensor:
    return torch.sign(self)


def prims_signbit(self: Tensor) -> Tensor:
    return torch.signbit(self)


def prims_sin(self: Tensor) -> Tensor:
    return torch.sin(self)


def prims_sinh(self: Tensor) -> Tensor:
    return torch.sinh(self)


def prims_spherical_bessel_j0(self: Tensor) -> Tensor:
    return torch.special_spherical_bessel_j0(self)


def prims_sqrt(self: Tensor) -> Tensor:
    return torch.sqrt(self)


def prims_tan(self: Tensor) -> Tensor:
    return torch.tan(self)


def prims_tanh(self: Tensor) -> Tensor:
    return torch.tanh(self)


def prims_trunc(self: Tensor) -> Tensor:
    return torch.trunc(self)


def prims_add(self: Tensor, other: Tensor) -> Tensor:
    return torch.add(self, other)


def prims_atan2(self: Tensor, other: Tensor) -> Tensor:
    return torch.atan2(self, other)


def prims_bitwise_and(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_and(self, other)


def prims_bitwise_or(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_or(self, other)


def prims_bitwise_xor(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_xor(self, other)


def prims_eq(self: Tensor, other: Tensor) -> Tensor:
    return torch.eq(self, other)


def prims_fmax(self: Tensor, other: Tensor) -> Tensor:
    return torch.fmax(self, other)


def prims_fmin(self: Tensor, other: Tensor) -> Tensor:
    return torch.fmin(self, other)


def prims_fmod(self: Tensor, other: Tensor) -> Tensor:
    return torch.fmod(self, other)


def prims_gcd(self: Tensor, other: Tensor) -> Tensor:
    return torch.gcd(self, other)


def prims_ge(self: Tensor, other: Tensor) -> Tensor:
    return torch.ge(self, other)


def prims_gt(self: Tensor, other: Tensor) -> Tensor:
    return torch.gt(self, other)


def prims_hypot(self: Tensor, other: Tensor) -> Tensor:
    return torch.hypot(self, other)


def prims_igamma(self: Tensor, other: Tensor) -> Tensor:
    return torch.igamma(self, other)


def prims_igammac(self: Tensor, other: Tensor) -> Tensor:
    return torch.igammac(self, other)


def prims_le(self: Tensor, other: Tensor) -> Tensor:
    return torch.le(self, other)


def prims_lt(self: Tensor, other: Tensor) -> Tensor:
    return torch.lt(self, other)


def prims_maximum(self: Tensor, other: Tensor) -> Tensor:
    return torch.maximum(self, other)


def prims_minimum(self: Tensor, other: Tensor) -> Tensor:
    return torch.minimum(self, other)


def prims_mul(self: Tensor, other: Tensor) -> Tensor:
    return torch.mul(self, other)


def prims_ne(self: Tensor, other: Tensor) -> Tensor:
    return torch.ne(self, other)


def prims_nextafter(self: Tensor, other: Tensor) -> Tensor:
    return torch.nextafter(self, other)


def prims_pow(self: Tensor, other: Tensor) -> Tensor:
    return torch.pow(self, other)


def prims_remainder(self: Tensor, other: Tensor) -> Tensor:
    return torch.remainder(self, other)


def prims_shift_left(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_left_shift(self, other)


def prims_shift_right_arithmetic(self: Tensor, other: Tensor) -> Tensor:
    return torch.bitwise_right_shift(self, other)


def prims_sub(self: Tensor, other: Tensor) -> Tensor:
    return torch.sub(self, other)


def prims_zeta(self: Tensor, other: Tensor) -> Tensor:
    return torch.special_zeta(self, other)


def prims_cbrt(self: Tensor) -> Tensor:
    return torch.copysign(torch.pow(torch.abs(self), 1. / 3.), self)


# Of integers, towards zero.
def prims_div(self: Tensor, other: Tensor) -> Tensor:
    if torch.is_floating_point(self) or torch.is_complex(self):
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")


def prims_where(pred: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.where(pred, a, b)


def prims_fill(self: Tensor, value: number) -> Tensor:
    return torch.full_like(self, value)


def prims_frexp(self: Tensor) -> Tuple[Tensor, Tensor]:
    mantissa, exponent = torch.frexp(self)
    return mantissa, exponent


def prims_convert_element_type(a: Tensor, dtype: int) -> Tensor:
    return torch._to_copy(a, dtype=dtype)


def prims_device_put(a: Tensor, device: Device, non_blocking: bool) -> Tensor:
    return torch._to_copy(a, device=device)


def prims_item(a: Tensor) -> number:
    return torch.item(a)


# ---- shapes ----------------------------------------------------------------------------------------


def prims_as_strided(a: Tensor, size: List[int], stride: List[int], storage_offset: int) -> Tensor:
    return torch.as_strided(a, size, stride, storage_offset)


def prims_as_strided_scatter(self: Tensor, src: Tensor, size: List[int], stride: List[int], storage_offset: int) -> Tensor:
    return torch.as_strided_scatter(self, src, size, stride, storage_offset)


def prims_broadcast_in_dim(a: Tensor, shape: List[int], broadcast_dimensions: List[int]) -> Tensor:
    v = a
    for i in range(len(shape)):
        if i not in broadcast_dimensions:
            v = torch.unsqueeze(v, i)
    return torch.expand(v, shape)


def _prims_collapsed(a: Tensor, start: int, end: int) -> List[int]:
    sizes: List[int] = []
    for i in range(a.dim()):
        if i > start and i <= end:
            sizes[start] = sizes[start] * a.size(i)
        else:
            sizes.append(a.size(i))
    if len(sizes) == 0:
        sizes.append(1)
    return sizes


# end is the last dim of those that become one. Operands may lie otherwise than PyTorch's: nothing writes these views, so they may be copies.
def prims_collapse_view(a: Tensor, start: int, end: int) -> Tensor:
    return torch.reshape(a, __torch__.operators.prims._prims_collapsed(a, start, end))


def prims_collapse(a: Tensor, start: int, end: int) -> Tensor:
    return torch.clone(torch.reshape(a, __torch__.operators.prims._prims_collapsed(a, start, end)))


def prims_split_dim(a: Tensor, dim: int, outer_length: int) -> Tensor:
    sizes: List[int] = []
    for i in range(a.dim()):
        if i == dim:
            sizes.append(outer_length)
            sizes.append(a.size(i) // outer_length)
        else:
            sizes.append(a.size(i))
    return torch.reshape(a, sizes)


def prims_squeeze(a: Tensor, dimensions: List[int]) -> Tensor:
    sizes: List[int] = []
    strides: List[int] = []
    for i in range(a.dim()):
        if i not in dimensions:
            sizes.append(a.size(i))
            strides.append(a.stride(i))
    return torch.as_strided(a, sizes, strides, torch.storage_offset(a))


def prims_transpose(a: Tensor, permutation: List[int]) -> Tensor:
    return torch.permute(a, permutation)


def prims_slice_in_dim(a: Tensor, start_index: int, limit_index: int, stride: int, axis: int) -> Tensor:
    return torch.slice(a, axis, start_index, limit_index, stride)


def prims_slice(a: Tensor, start_indices: List[int], limit_indices: List[int], strides: Optional[List[int]]) -> Tensor:
    v = a
    for i in range(len(start_indices)):
        step = 1
        if strides is not None:
            step = strides[i]
        v = torch.slice(v, i, start_indices[i], limit_indices[i], step)
    return v


def prims_rev(a: Tensor, dims: List[int]) -> Tensor:
    return torch.flip(a, dims)


def prims_view_of(a: Tensor) -> Tensor:
    return torch.alias(a)


def prims_view_of_dtype(a: Tensor, dtype: int) -> Tensor:
    return torch.view(a, dtype)


def prims_conj(a: Tensor) -> Tensor:
    return torch.conj(a)


def prims_real(self: Tensor) -> Tensor:
    return torch.real(self)


def prims_imag(self: Tensor) -> Tensor:
    return torch.imag(self)


def prims_clone(self: Tensor, memory_format: Optional[int]) -> Tensor:
    return torch.clone(self, memory_format=memory_format)


def prims_copy_strided(a: Tensor, stride: List[int]) -> Tensor:
    made = torch.empty_strided(a.size(), stride, dtype=a.dtype, device=a.device)
    return torch.copy_(made, a)


def prims_copy_to(a: Tensor, b: Tensor) -> Tensor:
    return torch.copy_(a, b)


# ---- reductions ------------------------------------------------------------------------------------


def prims_sum(inp: Tensor, dims: Optional[List[int]], output_dtype: Optional[int]) -> Tensor:
    return torch.sum(inp, dims, False, dtype=output_dtype)


def prims_prod(inp: Tensor, dims: Optional[List[int]], output_dtype: Optional[int]) -> Tensor:
    if dims is None:
        return torch.prod(inp, dtype=output_dtype)
    result = inp
    for i in range(inp.dim()):
        dim = inp.dim() - 1 - i
        if dim in dims:
            result = torch.prod(result, dim, False, dtype=output_dtype)
    return result


def _prims_all(inp: Tensor, dims: Optional[List[int]]) -> List[int]:
    found: List[int] = []
    if dims is not None:
        found = dims
    return found


def prims_amax(inp: Tensor, dims: Optional[List[int]], output_dtype: Optional[int]) -> Tensor:
    return torch.amax(inp, __torch__.operators.prims._prims_all(inp, dims), False)


def prims_amin(inp: Tensor, dims: Optional[List[int]], output_dtype: Optional[int]) -> Tensor:
    return torch.amin(inp, __torch__.operators.prims._prims_all(inp, dims), False)


def prims_var(inp: Tensor, dims: Optional[List[int]], correction: Optional[float], output_dtype: Optional[int]) -> Tensor:
    return torch.var(inp, dims, correction=correction, keepdim=False)


# ---- what is made ----------------------------------------------------------------------------------


def prims_iota(length: int, start: int, step: int, dtype: int, device: Device, requires_grad: bool) -> Tensor:
    if step == 0:
        return torch.full([length], start, dtype=dtype, device=device)
    return torch.arange(start, start + length * step, step, dtype=dtype, device=device)


def prims_arange(start: number, end: number, step: number, dtype: Optional[int], device: Optional[Device], requires_grad: bool) -> Tensor:
    return torch.arange(start, end, step, dtype=dtype, device=device)


def prims_empty(shape: List[int], dtype: int, device: Device, requires_grad: bool) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device)


def prims_empty_strided(shape: List[int], strides: List[int], dtype: int, device: Device, requires_grad: bool) -> Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device=device)


def prims_empty_permuted(shape: List[int], physical_layout: List[int], dtype: int, device: Device, requires_grad: bool) -> Tensor:
    return torch.empty_permuted(shape, physical_layout, dtype=dtype, device=device)


def prims_full(shape: List[int], fill_value: number, dtype: int, device: Device, requires_grad: bool) -> Tensor:
    return torch.full(shape, fill_value, dtype=dtype, device=device)


def prims_full_like(a: Tensor, fill_value: number, dtype: int, device: Device, requires_grad: bool) -> Tensor:
    return torch.full_like(a, fill_value, dtype=dtype, device=device)


def prims_scalar_tensor(s: number, dtype: Optional[int], device: Optional[Device]) -> Tensor:
    return torch.scalar_tensor(s, dtype=dtype, device=device)


def prims_normal(shape: List[int], mean: number, std: number, dtype: int, device: Device, requires_grad: bool, generator: Optional[Generator]) -> Tensor:
    return torch.normal_(torch.empty(shape, dtype=dtype, device=device), float(mean), float(std), generator=generator)


def prims_uniform(shape: List[int], low: number, high: number, dtype: int, device: Device, stride: List[int], generator: Optional[Generator]) -> Tensor:
    return torch.uniform_(torch.empty_strided(shape, stride, dtype=dtype, device=device), float(low), float(high), generator=generator)


# ---- algebra ---------------------------------------------------------------------------------------


def prims_svd(A: Tensor, full_matrices: bool) -> Tuple[Tensor, Tensor, Tensor]:
    u, s, vh = torch.linalg_svd(A, full_matrices)
    return u, s, vh


def prims_fft_c2c(self: Tensor, dim: List[int], forward: bool) -> Tensor:
    return torch._fft_c2c(self, dim, 0, forward)


def prims_fft_r2c(self: Tensor, dim: List[int], onesided: bool) -> Tensor:
    return torch._fft_r2c(self, dim, 0, onesided)


def prims_fft_c2r(self: Tensor, dim: List[int], last_dim_size: int) -> Tensor:
    return torch._fft_c2r(self, dim, 0, last_dim_size)
