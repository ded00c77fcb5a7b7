# SPDX-License-Identifier: Apache-2.0
# What the writer of ONNX walks in the place of operators of complex numbers (onnx_out.py says how). In a model they are tensors of real numbers with one more
# dim, the parts: view_as_real and view_as_complex are not nodes. onnx_out_complex_NAME is taken where an argument is complex.


def _re(self: Tensor) -> Tensor:
    return torch.select(torch.view_as_real(torch.resolve_conj(self)), -1, 0) if torch.is_complex(self) else self


def _im(self: Tensor) -> Tensor:
    return torch.select(torch.view_as_real(torch.resolve_conj(self)), -1, 1) if torch.is_complex(self) else torch.zeros_like(self)


def _of(re: Tensor, im: Tensor) -> Tensor:
    return torch.view_as_complex(torch.stack([re, im], -1))


def _wraps(dims: List[int], ndim: int) -> List[int]:
    out: List[int] = []
    for d in dims:
        out.append(d + ndim if d < 0 else d)
    return out


def onnx_out_complex_real(self: Tensor) -> Tensor:
    return torch.select(torch.view_as_real(torch.resolve_conj(self)), -1, 0)


def onnx_out_complex_imag(self: Tensor) -> Tensor:
    return torch.select(torch.view_as_real(torch.resolve_conj(self)), -1, 1)


def onnx_out_complex_abs(self: Tensor) -> Tensor:
    return torch.hypot(torch.real(self), torch.imag(self))


def onnx_out_complex_angle(self: Tensor) -> Tensor:
    return torch.atan2(torch.imag(self), torch.real(self))


def onnx_out_complex__conj(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out_complex._of(torch.real(self), torch.neg(torch.imag(self)))


def onnx_out_complex_conj(self: Tensor) -> Tensor:
    return torch._conj(self)


def onnx_out_complex_conj_physical(self: Tensor) -> Tensor:
    return torch._conj(self)


def onnx_out_complex_neg(self: Tensor) -> Tensor:
    return torch.view_as_complex(torch.neg(torch.view_as_real(torch.resolve_conj(self))))


def onnx_out_complex_mul__Tensor(self: Tensor, other: Tensor) -> Tensor:
    a, b = __torch__.operators.onnx_out_complex._re(self), __torch__.operators.onnx_out_complex._im(self)
    c, d = __torch__.operators.onnx_out_complex._re(other), __torch__.operators.onnx_out_complex._im(other)
    if not torch.is_complex(other):
        return __torch__.operators.onnx_out_complex._of(a * c, b * c)
    if not torch.is_complex(self):
        return __torch__.operators.onnx_out_complex._of(a * c, a * d)
    return __torch__.operators.onnx_out_complex._of(a * c - b * d, a * d + b * c)


def onnx_out_complex_mul__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.mul(self, torch.tensor(other))


def onnx_out_complex_square(self: Tensor) -> Tensor:
    return self * self


def onnx_out_complex_pow__Tensor_Scalar(self: Tensor, exponent: number) -> Tensor:
    if exponent != 2:
        raise RuntimeError("powers of complex numbers")
    return self * self


def onnx_out_complex_div__Tensor(self: Tensor, other: Tensor) -> Tensor:
    c = __torch__.operators.onnx_out_complex._re(other)
    if not torch.is_complex(other):
        return __torch__.operators.onnx_out_complex._of(torch.real(self) / c, torch.imag(self) / c)
    d = torch.imag(other)
    large = torch.maximum(torch.abs(c), torch.abs(d))
    c, d = c / large, d / large
    return self * __torch__.operators.onnx_out_complex._of(c, torch.neg(d)) * torch.reciprocal(large * (c * c + d * d))


def onnx_out_complex_div__Scalar(self: Tensor, other: number) -> Tensor:
    return torch.div(self, torch.tensor(other))


def onnx_out_complex_reciprocal(self: Tensor) -> Tensor:
    return torch.ones_like(torch.real(self)) / self


def onnx_out_complex_add__Tensor(self: Tensor, other: Tensor, alpha: number) -> Tensor:
    x = other if alpha == 1 else other * alpha
    re = __torch__.operators.onnx_out_complex._re(self) + __torch__.operators.onnx_out_complex._re(x)
    return __torch__.operators.onnx_out_complex._of(re, __torch__.operators.onnx_out_complex._im(self) + __torch__.operators.onnx_out_complex._im(x))


def onnx_out_complex_add__Scalar(self: Tensor, other: number, alpha: number) -> Tensor:
    return torch.add(self, torch.tensor(other), alpha=alpha)


def onnx_out_complex_sub__Tensor(self: Tensor, other: Tensor, alpha: number) -> Tensor:
    return torch.add(self, torch.neg(other), alpha=alpha)


def onnx_out_complex_sub__Scalar(self: Tensor, other: number, alpha: number) -> Tensor:
    return torch.sub(self, torch.tensor(other), alpha=alpha)


def onnx_out_complex_exp(self: Tensor) -> Tensor:
    return torch.polar(torch.exp(torch.real(self)), torch.imag(self))


def onnx_out_polar(abs: Tensor, angle: Tensor) -> Tensor:
    return __torch__.operators.onnx_out_complex._of(abs * torch.cos(angle), abs * torch.sin(angle))


def onnx_out_complex(real: Tensor, imag: Tensor) -> Tensor:
    zero = torch.zeros_like(real * imag)
    return __torch__.operators.onnx_out_complex._of(real + zero, imag + zero)


def onnx_out_complex_sum(self: Tensor, dtype: Optional[int]) -> Tensor:
    return __torch__.operators.onnx_out_complex._of(torch.sum(torch.real(self)), torch.sum(torch.imag(self)))


def onnx_out_complex_sum__dim_IntList(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    return __torch__.operators.onnx_out_complex._of(torch.sum(torch.real(self), dim, keepdim), torch.sum(torch.imag(self), dim, keepdim))


def onnx_out_complex_mean(self: Tensor, dtype: Optional[int]) -> Tensor:
    return __torch__.operators.onnx_out_complex._of(torch.mean(torch.real(self)), torch.mean(torch.imag(self)))


def onnx_out_complex_mean__dim(self: Tensor, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    return __torch__.operators.onnx_out_complex._of(torch.mean(torch.real(self), dim, keepdim), torch.mean(torch.imag(self), dim, keepdim))


def onnx_out_complex_matmul(self: Tensor, other: Tensor) -> Tensor:
    a, b = __torch__.operators.onnx_out_complex._re(self), __torch__.operators.onnx_out_complex._im(self)
    c, d = __torch__.operators.onnx_out_complex._re(other), __torch__.operators.onnx_out_complex._im(other)
    return __torch__.operators.onnx_out_complex._of(torch.matmul(a, c) - torch.matmul(b, d), torch.matmul(a, d) + torch.matmul(b, c))


def onnx_out_complex_mm(self: Tensor, mat2: Tensor) -> Tensor:
    return torch.matmul(self, mat2)


def onnx_out_complex_bmm(self: Tensor, mat2: Tensor) -> Tensor:
    return torch.matmul(self, mat2)


def onnx_out_complex_size(self: Tensor) -> List[int]:
    return torch.view_as_real(torch.resolve_conj(self)).size()[:-1]


def onnx_out_complex_size__int(self: Tensor, dim: int) -> int:
    return torch.view_as_real(torch.resolve_conj(self)).size(dim + self.dim() if dim < 0 else dim)


def onnx_out_complex_numel(self: Tensor) -> int:
    return torch.real(self).numel()


# ---- where elements are moved -----------------------------------------------------------------------------------------


def onnx_out_complex_clone(self: Tensor, memory_format: Optional[int]) -> Tensor:
    return torch.view_as_complex(torch.clone(torch.view_as_real(torch.resolve_conj(self))))


def onnx_out_complex_reshape(self: Tensor, shape: List[int]) -> Tensor:
    return torch.view_as_complex(torch.reshape(torch.view_as_real(torch.resolve_conj(self)), shape + [2]))


def onnx_out_complex_view(self: Tensor, size: List[int]) -> Tensor:
    return torch.reshape(self, size)


def onnx_out_complex_flatten__using_ints(self: Tensor, start_dim: int, end_dim: int) -> Tensor:
    end = end_dim + self.dim() if end_dim < 0 else end_dim
    start = start_dim + self.dim() if start_dim < 0 else start_dim
    return torch.view_as_complex(torch.flatten(torch.view_as_real(torch.resolve_conj(self)), start, end))


def onnx_out_complex_expand(self: Tensor, size: List[int], implicit: bool) -> Tensor:
    return torch.view_as_complex(torch.expand(torch.view_as_real(torch.resolve_conj(self)), size + [2]))


def onnx_out_complex_permute(self: Tensor, dims: List[int]) -> Tensor:
    order = __torch__.operators.onnx_out_complex._wraps(dims, self.dim())
    return torch.view_as_complex(torch.permute(torch.view_as_real(torch.resolve_conj(self)), order + [self.dim()]))


def onnx_out_complex_transpose__int(self: Tensor, dim0: int, dim1: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim0, dim1], self.dim())
    return torch.view_as_complex(torch.transpose(torch.view_as_real(torch.resolve_conj(self)), d[0], d[1]))


def onnx_out_complex_t(self: Tensor) -> Tensor:
    return torch.transpose(self, 0, 1) if self.dim() > 1 else self


def onnx_out_complex_unsqueeze(self: Tensor, dim: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim], self.dim() + 1)
    return torch.view_as_complex(torch.unsqueeze(torch.view_as_real(torch.resolve_conj(self)), d[0]))


def onnx_out_complex_squeeze__dim(self: Tensor, dim: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim], self.dim())
    return torch.view_as_complex(torch.squeeze(torch.view_as_real(torch.resolve_conj(self)), d[0]))


def onnx_out_complex_select__int(self: Tensor, dim: int, index: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim], self.dim())
    return torch.view_as_complex(torch.select(torch.view_as_real(torch.resolve_conj(self)), d[0], index))


def onnx_out_complex_slice__Tensor(self: Tensor, dim: int, start: Optional[int], end: Optional[int], step: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim], self.dim())
    return torch.view_as_complex(torch.slice(torch.view_as_real(torch.resolve_conj(self)), d[0], start, end, step))


def _parts(tensors: List[Tensor]) -> List[Tensor]:
    out: List[Tensor] = []
    for t in tensors:
        out.append(torch.stack([__torch__.operators.onnx_out_complex._re(t), __torch__.operators.onnx_out_complex._im(t)], -1))
    return out


def onnx_out_complex_cat(tensors: List[Tensor], dim: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim], tensors[0].dim())
    return torch.view_as_complex(torch.cat(__torch__.operators.onnx_out_complex._parts(tensors), d[0]))


def onnx_out_complex_stack(tensors: List[Tensor], dim: int) -> Tensor:
    d = __torch__.operators.onnx_out_complex._wraps([dim], tensors[0].dim() + 1)
    return torch.view_as_complex(torch.stack(__torch__.operators.onnx_out_complex._parts(tensors), d[0]))


# ---- Fourier transforms: products with matrices of roots --------------------------------------------------------------


# cos and sin of 2 pi i k / n for i < rows and k < columns
def _roots(n: int, rows: int, columns: int) -> Tuple[Tensor, Tensor]:
    turns = torch.remainder(torch.unsqueeze(torch.arange(rows, dtype=4), 1) * torch.arange(columns, dtype=4), n)
    angle = torch.to(turns, 7) * (6.2831853071795865 / n)
    return (torch.cos(angle), torch.sin(angle))


def _scale(n: int, norm: Optional[str], inverse: bool) -> float:
    mode = "backward" if norm is None else norm
    if mode == "ortho":
        return float(n) ** -0.5
    return 1.0 / n if inverse == (mode == "backward") else 1.0


# real numbers, dim last, n of them: cut, or followed by zeros
def _line(self: Tensor, dim: int, n: int) -> Tensor:
    x = torch.transpose(self, dim, -1)
    if x.size(-1) > n:
        return torch.slice(x, -1, 0, n)
    return torch.constant_pad_nd(x, [0, n - x.size(-1)], 0) if x.size(-1) < n else x


def _floats(self: Tensor) -> Tensor:
    return self if torch.is_complex(self) or __torch__.operators.onnx_out._is_float(self.dtype) else torch.to(self, 6)


# the first m numbers of the transform
def _dft(self: Tensor, size: Optional[int], dim: int, norm: Optional[str], inverse: bool, half: bool) -> Tensor:
    n = self.size(dim) if size is None else size
    m = n // 2 + 1 if half else n
    d = __torch__.operators.onnx_out_complex._wraps([dim], self.dim())[0]
    x = __torch__.operators.onnx_out_complex._floats(self)
    re = __torch__.operators.onnx_out_complex._line(__torch__.operators.onnx_out_complex._re(x), d, n)
    c, s = __torch__.operators.onnx_out_complex._roots(n, n, m)
    scale = __torch__.operators.onnx_out_complex._scale(n, norm, inverse)
    c, s = torch.to(c * scale, re.dtype), torch.to(s * (scale if inverse else -scale), re.dtype)
    real, imag = torch.matmul(re, c), torch.matmul(re, s)
    if not torch.is_complex(x): # the numbers that are real have no sign of an imaginary part
        imag = torch.where(torch.remainder(torch.arange(m, dtype=4) * 2, n) == 0, 0.0, imag)
    else:
        im = __torch__.operators.onnx_out_complex._line(torch.imag(x), d, n)
        real, imag = real - torch.matmul(im, s), imag + torch.matmul(im, c)
    return __torch__.operators.onnx_out_complex._of(torch.transpose(real, d, -1), torch.transpose(imag, d, -1))


def onnx_out_fft_fft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.operators.onnx_out_complex._dft(self, n, dim, norm, False, False)


def onnx_out_fft_ifft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.operators.onnx_out_complex._dft(self, n, dim, norm, True, False)


def onnx_out_fft_rfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.operators.onnx_out_complex._dft(self, n, dim, norm, False, True)


def onnx_out_fft_irfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    size = 2 * (self.size(dim) - 1) if n is None else n
    bins = size // 2 + 1
    d = __torch__.operators.onnx_out_complex._wraps([dim], self.dim())[0]
    x = __torch__.operators.onnx_out_complex._floats(self)
    re = __torch__.operators.onnx_out_complex._line(__torch__.operators.onnx_out_complex._re(x), d, bins)
    im = __torch__.operators.onnx_out_complex._line(__torch__.operators.onnx_out_complex._im(x), d, bins)
    c, s = __torch__.operators.onnx_out_complex._roots(size, bins, size)
    k = torch.unsqueeze(torch.arange(bins, dtype=4), 1)
    twice = torch.where(torch.logical_or(k == 0, k * 2 == size), 1.0, 2.0) * __torch__.operators.onnx_out_complex._scale(size, norm, True)
    y = torch.matmul(re, torch.to(c * twice, re.dtype)) - torch.matmul(im, torch.to(s * twice, re.dtype))
    return torch.transpose(y, d, -1)


def onnx_out_fft_hfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    size = 2 * (self.size(dim) - 1) if n is None else n
    x = torch.fft_irfft(torch._conj(self) if torch.is_complex(self) else self, size, dim, "forward")
    return x * __torch__.operators.onnx_out_complex._scale(size, norm, False)


def onnx_out_fft_ihfft(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    size = self.size(dim) if n is None else n
    return torch._conj(torch.fft_rfft(self * __torch__.operators.onnx_out_complex._scale(size, norm, True), size, dim))


# the dims that are transformed
def _dims(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]]) -> List[int]:
    if dim is not None:
        return dim
    out: List[int] = []
    for i in range(self.dim() if s is None else len(s)):
        out.append(i - (self.dim() if s is None else len(s)))
    return out


def _size(s: Optional[List[int]], i: int) -> Optional[int]:
    if s is None:
        return None
    return None if s[i] == -1 else s[i]


def _all(self: Tensor, s: Optional[List[int]], dims: List[int], norm: Optional[str], inverse: bool, count: int) -> Tensor:
    x = self
    for i in range(count):
        x = __torch__.operators.onnx_out_complex._dft(x, __torch__.operators.onnx_out_complex._size(s, i), dims[i], norm, inverse, False)
    return x


def onnx_out_fft_fftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = __torch__.operators.onnx_out_complex._dims(self, s, dim)
    return __torch__.operators.onnx_out_complex._all(self, s, dims, norm, False, len(dims))


def onnx_out_fft_ifftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = __torch__.operators.onnx_out_complex._dims(self, s, dim)
    return __torch__.operators.onnx_out_complex._all(self, s, dims, norm, True, len(dims))


def onnx_out_fft_rfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = __torch__.operators.onnx_out_complex._dims(self, s, dim)
    last = len(dims) - 1
    x = torch.fft_rfft(self, __torch__.operators.onnx_out_complex._size(s, last), dims[last], norm)
    return __torch__.operators.onnx_out_complex._all(x, s, dims, norm, False, last)


def onnx_out_fft_irfftn(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    dims = __torch__.operators.onnx_out_complex._dims(self, s, dim)
    last = len(dims) - 1
    x = __torch__.operators.onnx_out_complex._all(self, s, dims, norm, True, last)
    return torch.fft_irfft(x, __torch__.operators.onnx_out_complex._size(s, last), dims[last], norm)


def onnx_out_fft_fft2(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return torch.fft_fftn(self, s, dim, norm)


def onnx_out_fft_ifft2(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return torch.fft_ifftn(self, s, dim, norm)


def onnx_out_fft_rfft2(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return torch.fft_rfftn(self, s, dim, norm)


def onnx_out_fft_irfft2(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return torch.fft_irfftn(self, s, dim, norm)
