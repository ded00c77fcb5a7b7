# SPDX-License-Identifier: Apache-2.0
# Derivatives of Fourier transforms, and of complex numbers' parts. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- parts of complex numbers ----------------------------------------------------------------------


def real__d_self(grad: Tensor) -> Tensor:
    return grad


def imag__d_self(grad: Tensor) -> Tensor:
    return torch.complex(torch.zeros_like(grad), grad)


def view_as_real__d_self(grad: Tensor) -> Tensor:
    return torch.view_as_complex(torch.contiguous(grad, memory_format=0))


def view_as_complex__d_self(grad: Tensor) -> Tensor:
    return torch.view_as_real(torch.resolve_conj(torch.contiguous(grad, memory_format=0)))


def complex__d_real(grad: Tensor) -> Tensor:
    return torch.real(grad)


def complex__d_imag(grad: Tensor) -> Tensor:
    return torch.imag(grad)


def polar__d_abs(grad: Tensor, result: Tensor) -> Tensor:
    return torch.real(torch.conj(grad) * torch.sgn(result))


def polar__d_angle(grad: Tensor, result: Tensor) -> Tensor:
    return torch.neg(torch.imag(torch.conj(grad) * result))


# A step for real numbers; else what turns without changing the length.
def sgn__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if not torch.is_complex(self):
        return torch.zeros_like(grad)
    size = torch.abs(self)
    along = torch.to(torch.real(grad / result), grad.dtype) * result
    return torch.masked_fill(grad / size - along / size, torch.eq(size, 0), 0)


def angle__d_self(grad: Tensor, self: Tensor) -> Tensor:
    if not torch.is_complex(self):
        return torch.zeros_like(self)
    size = torch.abs(self)
    turned = torch.complex(torch.neg(torch.imag(self)), torch.real(self))
    return torch.masked_fill(torch.to(grad / (size * size), self.dtype) * turned, torch.eq(size, 0), 0)


# ---- the transforms everything is made of ----------------------------------------------------------


def _fft_c2c__d_self(grad: Tensor, dim: List[int], normalization: int, forward: bool) -> Tensor:
    return torch._fft_c2c(grad, dim, normalization, not forward)


# Half of the frequencies have a gradient, or all.
def _fft_r2c__d_self(grad: Tensor, dim: List[int], normalization: int, onesided: bool, self_sizes: List[int]) -> Tensor:
    g = grad
    if onesided:
        g = __torch__.derivatives.transforms._sized(grad, dim[-1], self_sizes[dim[-1]])
    return torch.real(torch._fft_c2c(g, dim, normalization, False))


# Frequencies that stand for two count twice.
def _fft_c2r__d_self(grad: Tensor, dim: List[int], normalization: int, self_sizes: List[int]) -> Tensor:
    last = dim[-1]
    result = torch._fft_r2c(grad, dim, normalization, True)
    n = result.size(last)
    twice = grad.size(last) - n
    if twice <= 0:
        return result
    weights = torch.ones([n], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    torch.fill_(torch.narrow(weights, 0, 1, twice), 2)
    behind = last
    if last >= 0:
        behind = last - grad.dim()
    for i in range(-1 - behind):
        weights = torch.unsqueeze(weights, -1)
    return result * weights


# ---- arguments of transforms -----------------------------------------------------------------------


# t with n elements in a dim: cut off, or followed by zeros.
def _sized(t: Tensor, dim: int, n: int) -> Tensor:
    have = t.size(dim)
    if have == n:
        return t
    if have > n:
        return torch.narrow(t, dim, 0, n)
    sizes = t.size()
    sizes[dim] = n - have
    return torch.cat([t, torch.zeros(sizes, dtype=t.dtype, layout=None, device=t.device, pin_memory=None)], dim)


# 0: no factor, 1: one over the root of the number of elements, 2: one over it.
def _norm_mode(norm: Optional[str], forward: bool) -> int:
    if norm is None:
        name = "backward"
    else:
        name = norm
    if name == "ortho":
        return 1
    if name == "forward":
        return 2 if forward else 0
    return 0 if forward else 2


# The dims of a transform in ascending numbers: those given, as many as sizes are given, or all.
def _fft_dims(n: int, s: Optional[List[int]], dim: Optional[List[int]]) -> List[int]:
    dims: List[int] = []
    if dim is not None:
        for i in range(len(dim)):
            at = dim[i]
            if at < 0:
                at = at + n
            dims.append(at)
    elif s is not None:
        for i in range(len(s)):
            dims.append(n - len(s) + i)
    else:
        for i in range(n):
            dims.append(i)
    return dims


# t with the sizes asked for; all but the last dim if only those.
def _fft_sized(t: Tensor, s: Optional[List[int]], dims: List[int], count: int) -> Tensor:
    result = t
    if s is not None:
        for i in range(count):
            if s[i] != -1:
                result = __torch__.derivatives.transforms._sized(result, dims[i], s[i])
    return result


# The size of a real result's last dim.
def _last_size(t: Tensor, s: Optional[List[int]], dims: List[int]) -> int:
    n = 2 * (t.size(dims[-1]) - 1)
    if s is not None:
        if s[-1] != -1:
            n = s[-1]
    return n


def _as_complex(t: Tensor) -> Tensor:
    if torch.is_complex(t):
        return t
    return torch.complex(t, torch.zeros_like(t))


def _c2c(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], forward: bool) -> Tensor:
    dims = __torch__.derivatives.transforms._fft_dims(self.dim(), s, dim)
    x = __torch__.derivatives.transforms._fft_sized(self, s, dims, len(dims))
    mode = __torch__.derivatives.transforms._norm_mode(norm, forward)
    if len(dims) == 0:
        return torch.clone(__torch__.derivatives.transforms._as_complex(x), memory_format=None)
    if torch.is_complex(x):
        return torch._fft_c2c(x, dims, mode, forward)
    out = torch._fft_r2c(x, dims, mode, False)
    return out if forward else torch.conj_physical(out)


def _r2c(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], forward: bool) -> Tensor:
    dims = __torch__.derivatives.transforms._fft_dims(self.dim(), s, dim)
    mode = __torch__.derivatives.transforms._norm_mode(norm, forward)
    x = __torch__.derivatives.transforms._fft_sized(self, s, dims, len(dims))
    if forward:
        return torch._fft_r2c(x, dims, mode, True)
    last = torch.conj_physical(torch._fft_r2c(x, [dims[-1]], mode, True))
    if len(dims) == 1:
        return last
    return torch._fft_c2c(last, dims[:-1], mode, False)


def _c2r(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], forward: bool) -> Tensor:
    x = __torch__.derivatives.transforms._as_complex(self)
    dims = __torch__.derivatives.transforms._fft_dims(self.dim(), s, dim)
    mode = __torch__.derivatives.transforms._norm_mode(norm, forward)
    n = __torch__.derivatives.transforms._last_size(x, s, dims)
    x = __torch__.derivatives.transforms._fft_sized(x, s, dims, len(dims) - 1)
    x = __torch__.derivatives.transforms._sized(x, dims[-1], n // 2 + 1)
    if not forward:
        return torch._fft_c2r(x, dims, mode, n)
    if len(dims) > 1:
        x = torch._fft_c2c(x, dims[:-1], mode, True)
    return torch._fft_c2r(torch.conj(x), [dims[-1]], mode, n)


def _one(n: Optional[int]) -> Optional[List[int]]:
    if n is None:
        return None
    return [n]


# ---- transforms ------------------------------------------------------------------------------------


def fft_fft__as(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2c(self, __torch__.derivatives.transforms._one(n), [dim], norm, True)


def fft_ifft__as(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2c(self, __torch__.derivatives.transforms._one(n), [dim], norm, False)


def fft_rfft__as(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._r2c(self, __torch__.derivatives.transforms._one(n), [dim], norm, True)


def fft_irfft__as(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2r(self, __torch__.derivatives.transforms._one(n), [dim], norm, False)


def fft_hfft__as(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2r(self, __torch__.derivatives.transforms._one(n), [dim], norm, True)


def fft_ihfft__as(self: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._r2c(self, __torch__.derivatives.transforms._one(n), [dim], norm, False)


def fft_fft2__as(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2c(self, s, dim, norm, True)


def fft_ifft2__as(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2c(self, s, dim, norm, False)


def fft_rfft2__as(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._r2c(self, s, dim, norm, True)


def fft_irfft2__as(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2r(self, s, dim, norm, False)


def fft_hfft2__as(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2r(self, s, dim, norm, True)


def fft_ihfft2__as(self: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._r2c(self, s, dim, norm, False)


def fft_fftn__as(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2c(self, s, dim, norm, True)


def fft_ifftn__as(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2c(self, s, dim, norm, False)


def fft_rfftn__as(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._r2c(self, s, dim, norm, True)


def fft_irfftn__as(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2r(self, s, dim, norm, False)


def fft_hfftn__as(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._c2r(self, s, dim, norm, True)


def fft_ihfftn__as(self: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return __torch__.derivatives.transforms._r2c(self, s, dim, norm, False)


def fft_fftshift__d_self(grad: Tensor, dim: Optional[List[int]]) -> Tensor:
    return torch.fft_ifftshift(grad, dim)


def fft_ifftshift__d_self(grad: Tensor, dim: Optional[List[int]]) -> Tensor:
    return torch.fft_fftshift(grad, dim)


# ---- short-time transforms -------------------------------------------------------------------------


# The window in the middle of n_fft zeros.
def _window(window: Optional[Tensor], win_length: int, n_fft: int, like: Tensor) -> Tensor:
    if window is None:
        w = torch.ones([win_length], dtype=like.dtype, layout=None, device=like.device, pin_memory=None)
    else:
        w = window
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        w = torch.constant_pad_nd(w, [left, n_fft - win_length - left], 0)
    return w


def _stft(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool]) -> Tensor:
    hop = n_fft // 4
    if hop_length is not None:
        hop = hop_length
    width = n_fft
    if win_length is not None:
        width = win_length
    x = self
    if self.dim() == 1:
        x = torch.unsqueeze(self, 0)
    frames = torch.unfold(x, 1, n_fft, hop)
    weighted = window is not None or width < n_fft
    if weighted:
        frames = frames * __torch__.derivatives.transforms._window(window, width, n_fft, torch.real(x))
    half = not torch.is_complex(frames)
    if half and onesided is not None:
        half = onesided
    mode = 1 if normalized else 0
    if torch.is_complex(frames):
        out = torch._fft_c2c(frames, [2], mode, True)
    else:
        out = torch._fft_r2c(frames, [2], mode, half)
    out = torch.transpose(out, 1, 2)
    if self.dim() == 1:
        out = torch.squeeze(out, 0)
    as_complex = torch.is_complex(self)
    if window is not None:
        as_complex = as_complex or torch.is_complex(window)
    if return_complex is not None:
        as_complex = return_complex
    if as_complex:
        return out
    return torch.view_as_real(out)


def _no_window(window: Optional[Tensor]) -> Optional[Tensor]:
    if window is None:
        return None
    return torch.detach(window)


def stft__as(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool, onesided: Optional[bool], return_complex: Optional[bool], align_to_window: Optional[bool]) -> Tensor:
    # may refuse
    torch.stft(torch.detach(self), n_fft, hop_length, win_length, __torch__.derivatives.transforms._no_window(window), normalized, onesided, return_complex)
    return __torch__.derivatives.transforms._stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


def stft__center__as(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], center: bool, pad_mode: str, normalized: bool, onesided: Optional[bool], return_complex: Optional[bool], align_to_window: Optional[bool]) -> Tensor:
    # may refuse
    torch.stft(torch.detach(self), n_fft, hop_length, win_length, __torch__.derivatives.transforms._no_window(window), center, pad_mode, normalized, onesided, return_complex)
    x = self
    if center:
        sizes = self.size()
        if self.dim() == 1:
            sizes = [1, self.size(0)]
        padded = torch.pad(torch.reshape(self, [1] + sizes), [n_fft // 2, n_fft // 2], pad_mode, None)
        sizes[-1] = sizes[-1] + n_fft // 2 * 2
        if self.dim() == 1:
            sizes = [sizes[1]]
        x = torch.reshape(padded, sizes)
    return __torch__.derivatives.transforms._stft(x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


# The frames in their places, divided by how much of the squared windows each element has got.
def istft__as(self: Tensor, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], center: bool, normalized: bool, onesided: Optional[bool], length: Optional[int], return_complex: bool) -> Tensor:
    shown = torch.istft(torch.detach(self), n_fft, hop_length, win_length, __torch__.derivatives.transforms._no_window(window), center, normalized, onesided, length, return_complex)
    hop = n_fft // 4
    if hop_length is not None:
        hop = hop_length
    width = n_fft
    if win_length is not None:
        width = win_length
    x = self
    if not torch.is_complex(self):
        x = torch.view_as_complex(torch.contiguous(self, memory_format=0))
    if x.dim() == 2:
        x = torch.unsqueeze(x, 0)
    half = x.size(1) != n_fft
    if onesided is not None:
        half = onesided
    spectrum = torch.transpose(x, 1, 2)
    mode = 1 if normalized else 2
    if return_complex:
        frames = torch._fft_c2c(spectrum, [2], mode, False)
    else:
        if not half:
            spectrum = torch.narrow(spectrum, 2, 0, n_fft // 2 + 1)
        frames = torch._fft_c2r(spectrum, [2], mode, n_fft)
    w = __torch__.derivatives.transforms._window(window, width, n_fft, torch.real(x))
    count = frames.size(1)
    total = n_fft + hop * (count - 1)
    places = torch.arange(total, dtype=4, layout=None, device=x.device, pin_memory=None)
    places = torch.reshape(torch.unfold(places, 0, n_fft, hop), [-1])
    batch = frames.size(0)
    flat = torch.reshape(frames * w, [batch, count * n_fft])
    y = torch.index_add(torch.zeros([batch, total], dtype=flat.dtype, layout=None, device=x.device, pin_memory=None), 1, places, flat)
    squares = torch.reshape(torch.expand(w * w, [count, n_fft]), [count * n_fft])
    envelope = torch.index_add(torch.zeros([total], dtype=squares.dtype, layout=None, device=x.device, pin_memory=None), 0, places, squares)
    first = 0
    if center:
        first = n_fft // 2
    n = shown.size(-1)
    kept = min(n, total - first)
    y = torch.narrow(y, 1, first, kept) / torch.narrow(envelope, 0, first, kept)
    y = __torch__.derivatives.transforms._sized(y, 1, n)
    return torch.reshape(y, shown.size())
