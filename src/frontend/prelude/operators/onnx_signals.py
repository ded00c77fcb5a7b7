# SPDX-License-Identifier: Apache-2.0
# onnx_signals.py - operators of ONNX (frontend/onnx/onnx_rows.def): losses, signals, what moves parts of images, reductions of nothing.


# ---- losses ------------------------------------------------------------------------------------------------------------


def onnx_nll_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: str, ignore_index: int) -> Tensor:
    how = 1
    if reduction == "none":
        how = 0
    elif reduction == "sum":
        how = 2
    return torch.nll_loss_nd(self, torch.to(target, 4), weight, how, ignore_index)


def onnx_cross_entropy(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: str, ignore_index: int) -> Tuple[Tensor, Tensor]:
    p = torch.log_softmax(self, 1)
    return __torch__.operators.onnx_signals.onnx_nll_loss(p, target, weight, reduction, ignore_index), p


# ---- signals -----------------------------------------------------------------------------------------------------------


def _onnx_number_type(w: Tensor, datatype: int) -> Tensor:
    types = annotate(List[int], [-1, 6, 0, 1, 27, 2, 3, 4, -1, 11, 5, 7, 28, 29, -1, -1, 15])
    if datatype < 0 or datatype >= len(types) or types[datatype] < 0:
        torch.ops.ctsc.fail("output_datatype is {}, which is not a type of real numbers".format(datatype))
    return torch.to(w, types[datatype])


def onnx_hann_window(size: Tensor, periodic: bool, datatype: int) -> Tensor:
    return __torch__.operators.onnx_signals._onnx_number_type(torch.hann_window(int(size), periodic, dtype=7), datatype)


def onnx_hamming_window(size: Tensor, periodic: bool, datatype: int) -> Tensor:
    return __torch__.operators.onnx_signals._onnx_number_type(torch.hamming_window(int(size), periodic, 25. / 46., 21. / 46., dtype=7), datatype)


def onnx_blackman_window(size: Tensor, periodic: bool, datatype: int) -> Tensor:
    return __torch__.operators.onnx_signals._onnx_number_type(torch.blackman_window(int(size), periodic, dtype=7), datatype)


# of [..., 1] or [..., 2]
def _onnx_complex(x: Tensor) -> Tensor:
    if x.size(-1) == 2:
        return torch.view_as_complex(torch.contiguous(x))
    if x.size(-1) != 1:
        torch.ops.ctsc.fail("the last dim of a signal is 1 or 2, not {}".format(x.size(-1)))
    real = torch.squeeze(x, -1)
    return torch.complex(real, torch.zeros_like(real))


def onnx_dft(x: Tensor, length: Optional[Tensor], axis: int, inverse: bool, onesided: bool) -> Tensor:
    z = __torch__.operators.onnx_signals._onnx_complex(x)
    at = axis + x.dim() if axis < 0 else axis
    n = z.size(at)
    if length is not None:
        n = int(length)
    if inverse and onesided:
        if length is None:
            n = 2 * (n - 1)
        return torch.unsqueeze(torch.fft_irfft(z, n, at), -1)
    y = torch.fft_ifft(z, n, at) if inverse else torch.fft_fft(z, n, at)
    if onesided:
        y = torch.slice(y, at, 0, n // 2 + 1, 1)
    return torch.clone(torch.view_as_real(y))


def onnx_dft_axis(x: Tensor, length: Optional[Tensor], axis: Optional[Tensor], inverse: bool, onesided: bool) -> Tensor:
    at = -2
    if axis is not None:
        at = int(axis)
    return __torch__.operators.onnx_signals.onnx_dft(x, length, at, inverse, onesided)


def onnx_stft(signal: Tensor, step: Tensor, window: Optional[Tensor], length: Optional[Tensor], onesided: bool) -> Tensor:
    z = __torch__.operators.onnx_signals._onnx_complex(signal)
    n = z.size(1)
    if window is not None:
        n = window.size(0)
    elif length is not None:
        n = int(length)
    hop = int(step)
    if n < 1 or hop < 1 or n > z.size(1):
        torch.ops.ctsc.fail("frames of {} elements, {} apart, do not fit a signal of {}".format(n, hop, z.size(1)))
    frames = torch.unfold(z, 1, n, hop)
    if window is not None:
        frames = frames * window
    y = torch.fft_fft(frames, n, -1)
    if onesided:
        y = torch.slice(y, -1, 0, n // 2 + 1, 1)
    return torch.clone(torch.view_as_real(y))


# ---- more of images ----------------------------------------------------------------------------------------------------


def onnx_affine_grid(theta: Tensor, size: Tensor, align_corners: bool) -> Tensor:
    return torch.affine_grid_generator(theta, __torch__.operators.onnx_shapes.onnx_ints(size), align_corners)


def onnx_center_crop_pad(x: Tensor, shape: Tensor, axes: Optional[List[int]]) -> Tensor:
    wanted = __torch__.operators.onnx_shapes.onnx_ints(shape)
    dims = annotate(List[int], [])
    if axes is not None:
        dims = axes
    else:
        for i in range(x.dim()):
            dims.append(i)
    if len(dims) != len(wanted):
        torch.ops.ctsc.fail("there are {} sizes for {} axes".format(len(wanted), len(dims)))
    out = x
    for i in range(len(dims)):
        dim = dims[i] + x.dim() if dims[i] < 0 else dims[i]
        have = out.size(dim)
        want = wanted[i]
        if want < have:
            start = (have - want) // 2
            out = torch.slice(out, dim, start, start + want, 1)
        elif want > have:
            before = (want - have) // 2
            pads = annotate(List[int], [])
            for k in range(2 * (x.dim() - dim)):
                pads.append(0)
            pads[len(pads) - 2] = before
            pads[len(pads) - 1] = want - have - before
            out = torch.constant_pad_nd(out, pads, 0)
    return torch.clone(out)


def _onnx_each(given: Optional[List[int]], n: int, otherwise: int) -> List[int]:
    if given is not None:
        return given
    out = annotate(List[int], [])
    for i in range(n):
        out.append(otherwise)
    return out


# Elements of windows, summed where these overlap.
def onnx_col2im(x: Tensor, image: Tensor, block: Tensor, dilations: Optional[List[int]], pads: Optional[List[int]], strides: Optional[List[int]]) -> Tensor:
    size = __torch__.operators.onnx_shapes.onnx_ints(image)
    kernel = __torch__.operators.onnx_shapes.onnx_ints(block)
    n = len(size)
    apart = __torch__.operators.onnx_signals._onnx_each(dilations, n, 1)
    edges = __torch__.operators.onnx_signals._onnx_each(pads, 2 * n, 0)
    hops = __torch__.operators.onnx_signals._onnx_each(strides, n, 1)
    if len(kernel) != n or len(apart) != n or len(edges) != 2 * n or len(hops) != n:
        torch.ops.ctsc.fail("the attributes are not those of an image of {} dims".format(n))
    whole = annotate(List[int], [])
    for i in range(n):
        whole.append(size[i] + edges[i] + edges[n + i])
    if n == 2:
        y = torch.col2im(x, whole, kernel, apart, [0, 0], hops)
    else:
        # where each element goes: by its place in the window, and by the window
        at = torch.zeros([1, 1], dtype=4)
        shape = [x.size(0), -1]
        taps = 1
        for i in range(n):
            windows = (whole[i] - (kernel[i] - 1) * apart[i] - 1) // hops[i] + 1
            own = torch.reshape(torch.arange(kernel[i]) * apart[i], [-1, 1]) + torch.reshape(torch.arange(windows) * hops[i], [1, -1])
            at = torch.unsqueeze(torch.unsqueeze(at, 1), 3) * whole[i] + torch.unsqueeze(torch.unsqueeze(own, 0), 2)
            at = torch.reshape(at, [at.size(0) * at.size(1), at.size(2) * at.size(3)])
            shape.append(whole[i])
            taps = taps * kernel[i]
        total = 1
        for w in whole:
            total = total * w
        each = torch.reshape(x, [x.size(0), x.size(1) // taps, -1])
        flat = torch.scatter_add(torch.zeros([x.size(0), x.size(1) // taps, total], dtype=x.dtype), 2, torch.expand(torch.reshape(at, [1, 1, -1]), each.size()), each)
        y = torch.reshape(flat, shape)
    for i in range(n):
        y = torch.slice(y, i + 2, edges[i], edges[i] + size[i], 1)
    return torch.clone(y)


def onnx_mel_weights(bins: Tensor, length: Tensor, rate: Tensor, low: Tensor, high: Tensor, datatype: int) -> Tensor:
    n = int(bins)
    k = int(length)
    begin = torch.log10(torch.to(low, 7) / 700.0 + 1.0) * 2595.0
    step = (torch.log10(torch.to(high, 7) / 700.0 + 1.0) * 2595.0 - begin) / float(n + 2)
    hertz = (torch.pow(10.0, (torch.arange(n + 2, dtype=7) * step + begin) / 2595.0) - 1.0) * 700.0
    at = __torch__.operators.onnx_shapes.onnx_ints(torch.floor(hertz * float(k + 1) / torch.to(rate, 7)))
    out = torch.zeros([k // 2 + 1, n], dtype=7)
    j = torch.arange(k // 2 + 1, dtype=7)
    for i in range(n):
        a = at[i]
        b = at[i + 1]
        c = at[i + 2]
        column = torch.zeros_like(j)
        if a == b:
            column = torch.where(torch.eq(j, b), torch.ones_like(j), column)
        else:
            column = torch.where(torch.logical_and(j >= a, j <= b), (j - a) / float(b - a), column)
        if c > b:
            column = torch.where(torch.logical_and(j >= b, j < c), (c - j) / float(c - b), column)
        torch.copy_(torch.select(out, 1, i), column)
    return __torch__.operators.onnx_signals._onnx_number_type(out, datatype)


def onnx_deform_conv(x: Tensor, w: Tensor, offset: Tensor, b: Optional[Tensor], mask: Optional[Tensor], apart: List[int], edges: List[int], hops: List[int], groups: int, offset_groups: int) -> Tensor:
    if w.dim() != 4:
        torch.ops.ctsc.fail("DeformConv is of images with two dims only")
    bias = torch.zeros([w.size(0)], dtype=x.dtype)
    if b is not None:
        bias = b
    scale = torch.zeros([x.size(0), 0, 0, 0], dtype=x.dtype)
    if mask is not None:
        scale = mask
    wide = torch.constant_pad_nd(x, [edges[1], edges[3], edges[0], edges[2]], 0)
    return torch.ops.torchvision.deform_conv2d(wide, w, offset, scale, bias, hops[0], hops[1], 0, 0, apart[0], apart[1], groups, offset_groups, mask is not None)


# ---- reductions of nothing ---------------------------------------------------------------------------------------------


# The least number of the dtype, or the largest
def _onnx_end(x: Tensor, least: bool) -> Tensor:
    if x.dtype == 11:
        return torch.scalar_tensor(0 if least else 1, dtype=11)
    if torch.is_floating_point(x):
        return torch.scalar_tensor(-inf if least else inf, dtype=x.dtype)
    most = 255
    if x.dtype == 1:
        most = 127
    elif x.dtype == 2:
        most = 32767
    elif x.dtype == 3:
        most = 2147483647
    elif x.dtype == 4:
        most = 9223372036854775807
    if not least:
        return torch.scalar_tensor(most, dtype=x.dtype)
    return torch.scalar_tensor(0 if x.dtype == 0 else -most - 1, dtype=x.dtype)


def onnx_amax_empty(x: Tensor, dims: List[int], keep: bool) -> Tensor:
    if torch.numel(x) > 0:
        return torch.amax(x, dims, keep)
    shape = torch.sum(torch.to(x, 6), dims, keep)
    return torch.clone(torch.expand(__torch__.operators.onnx_signals._onnx_end(x, True), shape.size()))


def onnx_amin_empty(x: Tensor, dims: List[int], keep: bool) -> Tensor:
    if torch.numel(x) > 0:
        return torch.amin(x, dims, keep)
    shape = torch.sum(torch.to(x, 6), dims, keep)
    return torch.clone(torch.expand(__torch__.operators.onnx_signals._onnx_end(x, False), shape.size()))
