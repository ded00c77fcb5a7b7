# SPDX-License-Identifier: Apache-2.0
# Derivatives of convolutions, pooling, padding and folding. runtime/autograd/grad_rules.h
# explains the names of functions and parameters.


# ---- convolution -----------------------------------------------------------------------------------


def convolution__d_input__weight__bias(grad: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    grad_input, grad_weight, grad_bias = torch.convolution_backward(grad, input, weight, None, stride, padding, dilation, transposed, output_padding, groups, wanted)
    return grad_input, grad_weight, grad_bias


# It is linear in each of grad_output, input and weight, and its parts are convolutions themselves.
def convolution_backward__d_grad_output__input__weight(grad0: Optional[Tensor], grad1: Optional[Tensor], grad2: Optional[Tensor], grad_output: Tensor, input: Tensor, weight: Tensor, stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    of_grad: Optional[Tensor] = None
    of_input: Optional[Tensor] = None
    of_weight: Optional[Tensor] = None
    if grad0 is not None:
        if wanted[0]:
            of_grad = torch.convolution(grad0, weight, None, stride, padding, dilation, transposed, output_padding, groups)
        if wanted[2]:
            a, of_weight, b = torch.convolution_backward(grad_output, grad0, weight, None, stride, padding, dilation, transposed, output_padding, groups, [False, True, False])
    if grad1 is not None:
        if wanted[0]:
            part = torch.convolution(input, grad1, None, stride, padding, dilation, transposed, output_padding, groups)
            of_grad = part if of_grad is None else of_grad + part
        if wanted[1]:
            of_input, c, d = torch.convolution_backward(grad_output, input, grad1, None, stride, padding, dilation, transposed, output_padding, groups, [True, False, False])
    if grad2 is not None:
        if wanted[0]:
            part = torch.expand(__torch__.operators.layers._by_channel(grad2, grad_output), grad_output.size())
            of_grad = part if of_grad is None else of_grad + part
    return of_grad, of_input, of_weight


# Images may come without a batch: n dims of places
def _conv(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> Tensor:
    n = weight.dim() - 2
    single = input.dim() == n + 1
    x = input
    if single:
        x = torch.unsqueeze(input, 0)
    stride = __torch__.operators.layers._filled(stride, n)
    padding = __torch__.operators.layers._filled(padding, n)
    dilation = __torch__.operators.layers._filled(dilation, n)
    output_padding = __torch__.operators.layers._filled(output_padding, n)
    if torch.is_complex(x):
        # three convolutions of real numbers, as the operator itself does it
        real = torch.convolution(torch.real(x), torch.real(weight), None, stride, padding, dilation, transposed, output_padding, groups)
        imag = torch.convolution(torch.imag(x), torch.imag(weight), None, stride, padding, dilation, transposed, output_padding, groups)
        both = torch.convolution(torch.real(x) + torch.imag(x), torch.real(weight) + torch.imag(weight), None, stride, padding, dilation, transposed, output_padding, groups)
        y = torch.complex(real - imag, both - real - imag)
        if bias is not None:
            y = y + torch.reshape(bias, [-1] + [1] * (weight.dim() - 2))
    else:
        y = torch.convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if single:
        y = torch.squeeze(y, 0)
    return y


# padding: "valid", or "same" for as many results as there are places; the extra one of an odd number comes at the end
def _conv_mode(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    n = weight.dim() - 2
    before: List[int] = []
    behind: List[int] = []
    uneven = False
    if padding != "same" and padding != "valid":
        torch.ops.ctsc.fail("Invalid padding string: '{}'".format(padding))
    for i in range(n):
        before.append(0)
        if padding == "same":
            if __torch__.operators.layers._filled(stride, n)[i] != 1:
                torch.ops.ctsc.fail("padding='same' is not supported for strided convolutions")
            total = __torch__.operators.layers._filled(dilation, n)[i] * (weight.size(i + 2) - 1)
            before[i] = total // 2
            behind = [0, total % 2] + behind
            uneven = uneven or total % 2 == 1
    x = input
    if uneven:
        x = torch.constant_pad_nd(input, behind, 0)
    return __torch__.derivatives.windows._conv(x, weight, bias, stride, before, dilation, False, [0], groups)


def conv1d__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, False, [0], groups)


def conv2d__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, False, [0], groups)


def conv3d__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, False, [0], groups)


def conv1d__padding__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv_mode(input, weight, bias, stride, padding, dilation, groups)


def conv2d__padding__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv_mode(input, weight, bias, stride, padding, dilation, groups)


def conv3d__padding__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv_mode(input, weight, bias, stride, padding, dilation, groups)


def _convolution_mode__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: str, dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv_mode(input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose2d__input__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose3d__input__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _convolution__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool, allow_tf32: bool) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _convolution__deprecated__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int, benchmark: bool, deterministic: bool, cudnn_enabled: bool) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def convolution_overrideable__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, output_padding: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def mkldnn_convolution__as(self: Tensor, weight: Tensor, bias: Optional[Tensor], padding: List[int], stride: List[int], dilation: List[int], groups: int) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, False, [0], groups)


def miopen_convolution__as(self: Tensor, weight: Tensor, bias: Optional[Tensor], padding: List[int], stride: List[int], dilation: List[int], groups: int, benchmark: bool, deterministic: bool) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, False, [0], groups)


def _nnpack_spatial_convolution__as(input: Tensor, weight: Tensor, bias: Optional[Tensor], padding: List[int], stride: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(input, weight, bias, stride, padding, [1], False, [0], 1)


def thnn_conv2d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, [1], False, [0], 1)


def _slow_conv2d_forward__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, [1], False, [0], 1)


def slow_conv3d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, [1], False, [0], 1)


def slow_conv3d_forward__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, [1], False, [0], 1)


def slow_conv_dilated2d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, False, [0], 1)


def slow_conv_dilated3d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, False, [0], 1)


def slow_conv_transpose2d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, True, output_padding, 1)


def slow_conv_transpose3d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, True, output_padding, 1)


def _conv_depthwise2d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, False, [0], self.size(1))


def conv_depthwise3d__as(self: Tensor, weight: Tensor, kernel_size: List[int], bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int]) -> Tensor:
    return __torch__.derivatives.windows._conv(self, weight, bias, stride, padding, dilation, False, [0], self.size(-4))


# [time, batch, channels], weight: [kernel, in, out]
def conv_tbc__as(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor:
    y = torch.convolution(torch.permute(self, [1, 2, 0]), torch.permute(weight, [2, 1, 0]), bias, [1], [pad], [1], False, [0], 1)
    return torch.permute(y, [2, 0, 1])


# ---- pooling ---------------------------------------------------------------------------------------


# a window of one dim, as one of two
def _flat(first: int, values: List[int]) -> List[int]:
    if len(values) == 0:
        return values
    return [first, values[0]]


def max_pool1d_with_indices__as(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tuple[Tensor, Tensor]:
    y, at = torch.max_pool2d_with_indices(torch.unsqueeze(self, -2), __torch__.derivatives.windows._flat(1, kernel_size), __torch__.derivatives.windows._flat(1, stride), __torch__.derivatives.windows._flat(0, padding), __torch__.derivatives.windows._flat(1, dilation), ceil_mode)
    return torch.squeeze(y, -2), torch.squeeze(at, -2)


def max_pool1d__as(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    y, at = torch.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    return y


def max_pool2d__as(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    y, at = torch.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    return y


def max_pool3d__as(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool) -> Tensor:
    y, at = torch.max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)
    return y


def max_pool2d_with_indices__d_self(grad0: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool, result1: Tensor) -> Tensor:
    return torch.max_pool2d_with_indices_backward(grad0, self, kernel_size, stride, padding, dilation, ceil_mode, result1)


def max_pool3d_with_indices__d_self(grad0: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool, result1: Tensor) -> Tensor:
    return torch.max_pool3d_with_indices_backward(grad0, self, kernel_size, stride, padding, dilation, ceil_mode, result1)


def avg_pool1d__as(self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool) -> Tensor:
    y = torch.avg_pool2d(torch.unsqueeze(self, -2), __torch__.derivatives.windows._flat(1, kernel_size), __torch__.derivatives.windows._flat(1, stride), __torch__.derivatives.windows._flat(0, padding), ceil_mode, count_include_pad, None)
    return torch.squeeze(y, -2)


def avg_pool2d__d_self(grad: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return torch.avg_pool2d_backward(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d__d_self(grad: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return torch.avg_pool3d_backward(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool1d__as(self: Tensor, output_size: List[int]) -> Tensor:
    return torch.squeeze(torch.adaptive_avg_pool2d(torch.unsqueeze(self, -2), [1, output_size[0]]), -2)


def adaptive_avg_pool2d__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch._adaptive_avg_pool2d_backward(grad, self)


def adaptive_avg_pool3d__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch._adaptive_avg_pool3d_backward(grad, self)


def _adaptive_avg_pool2d__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch._adaptive_avg_pool2d_backward(grad, self)


def _adaptive_avg_pool3d__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return torch._adaptive_avg_pool3d_backward(grad, self)


def adaptive_max_pool1d__as(self: Tensor, output_size: List[int]) -> Tuple[Tensor, Tensor]:
    y, at = torch.adaptive_max_pool2d(torch.unsqueeze(self, -2), [1, output_size[0]])
    return torch.squeeze(y, -2), torch.squeeze(at, -2)


def adaptive_max_pool2d__d_self(grad0: Tensor, self: Tensor, result1: Tensor) -> Tensor:
    return torch.adaptive_max_pool2d_backward(grad0, self, result1)


def adaptive_max_pool3d__d_self(grad0: Tensor, self: Tensor, result1: Tensor) -> Tensor:
    return torch.adaptive_max_pool3d_backward(grad0, self, result1)


def fractional_max_pool2d__d_self(grad0: Tensor, self: Tensor, kernel_size: List[int], output_size: List[int], result1: Tensor) -> Tensor:
    return torch.fractional_max_pool2d_backward(grad0, self, kernel_size, output_size, result1)


def fractional_max_pool3d__d_self(grad0: Tensor, self: Tensor, kernel_size: List[int], output_size: List[int], result1: Tensor) -> Tensor:
    return torch.fractional_max_pool3d_backward(grad0, self, kernel_size, output_size, result1)


def max_unpool2d__d_self(grad: Tensor, indices: Tensor) -> Tensor:
    return torch.reshape(torch.gather(torch.flatten(grad, -2, -1), -1, torch.flatten(indices, -2, -1)), indices.size())


def max_unpool3d__d_self(grad: Tensor, indices: Tensor) -> Tensor:
    return torch.reshape(torch.gather(torch.flatten(grad, -3, -1), -1, torch.flatten(indices, -3, -1)), indices.size())


# ---- padding ---------------------------------------------------------------------------------------


def constant_pad_nd__d_self(grad: Tensor, pad: List[int]) -> Tensor:
    cut: List[int] = []
    for i in range(len(pad)):
        cut.append(-pad[i])
    return torch.constant_pad_nd(grad, cut, 0)


def reflection_pad1d__d_self(grad: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return torch.reflection_pad1d_backward(grad, self, padding)


def reflection_pad2d__d_self(grad: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return torch.reflection_pad2d_backward(grad, self, padding)


def reflection_pad3d__d_self(grad: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return torch.reflection_pad3d_backward(grad, self, padding)


def replication_pad1d__d_self(grad: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return torch.replication_pad1d_backward(grad, self, padding)


def replication_pad2d__d_self(grad: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return torch.replication_pad2d_backward(grad, self, padding)


def replication_pad3d__d_self(grad: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return torch.replication_pad3d_backward(grad, self, padding)


def _pad_circular__d_self(grad: Tensor, self_sizes: List[int], pad: List[int]) -> Tensor:
    result = grad
    for k in range(len(pad) // 2):
        dim = len(self_sizes) - 1 - k
        n = self_sizes[dim]
        # negative padding cuts before the rest is repeated
        first = max(0, -pad[2 * k])
        kept = n - first - max(0, -pad[2 * k + 1])
        places = torch.arange(-max(pad[2 * k], 0), kept + max(pad[2 * k + 1], 0), 1, dtype=4, layout=None, device=grad.device, pin_memory=None)
        sizes = result.size()
        sizes[dim] = n
        zeros = torch.zeros(sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
        result = torch.index_add(zeros, dim, torch.remainder(places, kept) + first, result)
    return result


def pad__as(self: Tensor, pad: List[int], mode: str, value: Optional[float]) -> Tensor:
    if mode == "constant":
        return torch.constant_pad_nd(self, pad, 0. if value is None else value)
    n = len(pad) // 2
    if mode == "circular":
        return torch._pad_circular(self, pad)
    elif mode == "reflect":
        if n == 1:
            return torch.reflection_pad1d(self, pad)
        elif n == 2:
            return torch.reflection_pad2d(self, pad)
        elif n == 3:
            return torch.reflection_pad3d(self, pad)
    elif mode == "replicate":
        if n == 1:
            return torch.replication_pad1d(self, pad)
        elif n == 2:
            return torch.replication_pad2d(self, pad)
        elif n == 3:
            return torch.replication_pad3d(self, pad)
    else:
        torch.ops.ctsc.fail("Unrecognised padding mode {}".format(mode))
    torch.ops.ctsc.fail("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    return self


def _pad_enum__as(self: Tensor, pad: List[int], mode: int, value: Optional[float]) -> Tensor:
    names = ["constant", "reflect", "replicate", "circular"]
    if mode < 0 or mode > 3:
        torch.ops.ctsc.fail("Unrecognised padding mode {}".format(mode))
    return torch.pad(self, pad, names[mode], value)


def pad_sequence__as(sequences: List[Tensor], batch_first: bool, padding_value: float, padding_side: str) -> Tensor:
    longest = 0
    if len(sequences) == 0:
        torch.ops.ctsc.fail("received an empty list of sequences")
    if padding_side != "left" and padding_side != "right":
        torch.ops.ctsc.fail("Expected padding_side to be one of left or right, but got {}.".format(padding_side))
    for t in sequences:
        longest = max(longest, t.size(0))
    padded: List[Tensor] = []
    for t in sequences:
        pads = [0, 0] * (t.dim() - 1)
        missing = longest - t.size(0)
        pads = pads + ([missing, 0] if padding_side == "left" else [0, missing])
        padded.append(torch.constant_pad_nd(t, pads, padding_value))
    return torch.stack(padded, 0 if batch_first else 1)


# ---- folding, shuffles -----------------------------------------------------------------------------


def im2col__d_self(grad: Tensor, self_sizes: List[int], kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    return torch.col2im(grad, [self_sizes[-2], self_sizes[-1]], kernel_size, dilation, padding, stride)


def col2im__d_self(grad: Tensor, kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]) -> Tensor:
    return torch.im2col(grad, kernel_size, dilation, padding, stride)


def pixel_shuffle__d_self(grad: Tensor, upscale_factor: int) -> Tensor:
    return torch.pixel_unshuffle(grad, upscale_factor)


def pixel_unshuffle__d_self(grad: Tensor, downscale_factor: int) -> Tensor:
    return torch.pixel_shuffle(grad, downscale_factor)


def channel_shuffle__d_self(grad: Tensor, groups: int) -> Tensor:
    return torch.channel_shuffle(grad, max(grad.size(1) // groups, 1))


def native_channel_shuffle__d_self(grad: Tensor, groups: int) -> Tensor:
    return torch.channel_shuffle(grad, max(grad.size(1) // groups, 1))
