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


def _onnx_window_type(w: Tensor, datatype: int) -> Tensor:
    if datatype == 11:
        return torch.to(w, 7)
    if datatype == 10:
        return torch.to(w, 5)
    if datatype == 16:
        return torch.to(w, 15)
    if datatype != 1:
        torch.ops.ctsc.fail("output_datatype is {}, which is no type of real numbers".format(datatype))
    return torch.to(w, 6)


def onnx_hann_window(size: Tensor, periodic: bool, datatype: int) -> Tensor:
    return __torch__.operators.onnx_signals._onnx_window_type(torch.hann_window(int(size), periodic, dtype=7), datatype)


def onnx_hamming_window(size: Tensor, periodic: bool, datatype: int) -> Tensor:
    return __torch__.operators.onnx_signals._onnx_window_type(torch.hamming_window(int(size), periodic, 25. / 46., 21. / 46., dtype=7), datatype)


def onnx_blackman_window(size: Tensor, periodic: bool, datatype: int) -> Tensor:
    return __torch__.operators.onnx_signals._onnx_window_type(torch.blackman_window(int(size), periodic, dtype=7), datatype)


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


def onnx_col2im(x: Tensor, image: Tensor, block: Tensor, apart: List[int], edges: List[int], hops: List[int]) -> Tensor:
    size = __torch__.operators.onnx_shapes.onnx_ints(image)
    kernel = __torch__.operators.onnx_shapes.onnx_ints(block)
    if len(size) != 2 or len(kernel) != 2:
        torch.ops.ctsc.fail("Col2Im is of images with two dims only")
    whole = [size[0] + edges[0] + edges[2], size[1] + edges[1] + edges[3]]
    y = torch.col2im(x, whole, kernel, apart, [0, 0], hops)
    y = torch.slice(y, 2, edges[0], edges[0] + size[0], 1)
    return torch.clone(torch.slice(y, 3, edges[1], edges[1] + size[1], 1))


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
