# SPDX-License-Identifier: Apache-2.0
# Derivatives of what makes a grid of points from another one: interpolation, padding, pooling (see ../operators.py). Along each dim the operator
# is a matrix, found by giving the operator itself the unit vectors; its transpose is applied tap by tap, so that what a row does not
# touch stays untouched, infinities and NaN too.


# grad: [.., outputs, ..] -> [.., inputs, ..] along dim; matrix: [inputs, outputs]; count: it only says which inputs count
def _transposed(grad: Tensor, matrix: Tensor, dim: int) -> Tensor:
    inputs = matrix.size(0)
    sizes = grad.size()
    shape: List[int] = []
    for i in range(grad.dim()):
        shape.append(1)
    shape[dim] = matrix.size(1)
    sizes[dim] = inputs
    result = torch.zeros(sizes, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None)
    if grad.numel() == 0 or inputs == 0:
        return result
    touched = torch.to(torch.ne(matrix, 0), 4)
    first = torch.argmax(touched, 0)
    last = inputs - 1 - torch.argmax(torch.flip(touched, [0]), 0)
    for k in range(int(torch.item(torch.max(last - first))) + 1):
        at = torch.clamp_max(first + k, inputs - 1)
        weight = torch.reshape(torch.gather(matrix, 0, torch.unsqueeze(at, 0)), shape)
        used = torch.logical_and(torch.ne(weight, 0), torch.reshape(torch.le(first + k, last), shape))
        part = torch.where(used, grad * weight, torch.zeros_like(grad))
        result = torch.index_add(result, dim, at, part)
    return result


def _unit_vectors(grad: Tensor, n: int) -> Tensor:
    return torch.unsqueeze(torch.eye(n, dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None), 0)


# ---- interpolation ---------------------------------------------------------------------------------


# kind: nearest, nearest_exact, linear, cubic, linear_aa, cubic_aa, lanczos_aa. [1, inputs, outputs]
def _interpolation(kind: str, x: Tensor, n: int, align_corners: bool, scale: Optional[float]) -> Tensor:
    if kind == "nearest":
        y = torch.upsample_nearest1d(x, [n], scale)
    elif kind == "nearest_exact":
        y = torch._upsample_nearest_exact1d(x, [n], scale)
    elif kind == "linear":
        y = torch.upsample_linear1d(x, [n], align_corners, scale)
    else:
        x = torch.unsqueeze(x, 3)
        if kind == "cubic":
            y = torch.upsample_bicubic2d(x, [n, 1], align_corners, scale, None)
        elif kind == "linear_aa":
            y = torch._upsample_bilinear2d_aa(x, [n, 1], align_corners, scale, None)
        elif kind == "lanczos_aa":
            y = torch._upsample_lanczos2d_aa(x, [n, 1], align_corners, scale, None)
        else:
            y = torch._upsample_bicubic2d_aa(x, [n, 1], align_corners, scale, None)
        y = torch.squeeze(y, 3)
    return y


def _interpolated(kind: str, grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales: List[Optional[float]]) -> Tensor:
    n = len(input_size) - 2
    if len(output_size) != n:
        torch.ops.ctsc.fail("It is expected output_size equals to {}, but got size {}".format(n, len(output_size)))
    full = [input_size[0], input_size[1]] + output_size
    if grad_output.dim() != n + 2:
        torch.ops.ctsc.fail("Expected grad_output to be a tensor of dimension {} but got: dimension {}".format(n + 2, grad_output.dim()))
    for i in range(n + 2):
        if grad_output.size(i) != full[i]:
            torch.ops.ctsc.fail("Expected grad_output to have the same shape as output; output.size({}) = {} but got grad_output.size({}) = {}".format(i, full[i], i, grad_output.size(i)))
    for i in range(n):
        if input_size[i + 2] <= 0 or output_size[i] <= 0:
            torch.ops.ctsc.fail("Input and output sizes should be greater than 0, but got input (H: {}) output (H: {})".format(input_size[i + 2], output_size[i]))
    __torch__.operators.backward._check_real("upsample_backward", grad_output, grad_output)
    result = __torch__.operators.backward._wide(grad_output)
    for i in range(n):
        x = __torch__.operators.resample._unit_vectors(result, input_size[i + 2])
        y = __torch__.operators.resample._interpolation(kind, x, output_size[i], align_corners, scales[i])
        result = __torch__.operators.resample._transposed(result, torch.squeeze(y, 0), i + 2)
    return torch.to(result, grad_output.dtype)


# of the overloads with sizes or factors
def _output_size(output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> List[int]:
    sizes: List[int] = []
    if output_size is not None:
        if scale_factors is not None:
            torch.ops.ctsc.fail("Must specify exactly one of output_size and scale_factors")
        sizes = output_size
    elif scale_factors is not None:
        if len(scale_factors) != len(input_size) - 2:
            torch.ops.ctsc.fail("Must specify exactly one of output_size and scale_factors")
        for i in range(len(scale_factors)):
            sizes.append(int(float(input_size[i + 2]) * scale_factors[i]))
    else:
        torch.ops.ctsc.fail("Must specify exactly one of output_size and scale_factors")
    return sizes


def _scales(n: int, scale_factors: Optional[List[float]]) -> List[Optional[float]]:
    scales: List[Optional[float]] = []
    for i in range(n):
        if scale_factors is not None:
            scales.append(scale_factors[i])
        else:
            scales.append(None)
    return scales


def upsample_nearest1d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], scales: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales])
    return __torch__.operators.resample._interpolated("nearest", grad_output, output_size, input_size, False, scales)


def upsample_nearest1d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("nearest", grad_output, size, input_size, False, __torch__.operators.resample._scales(1, scale_factors))


def _upsample_nearest_exact1d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], scales: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales])
    return __torch__.operators.resample._interpolated("nearest_exact", grad_output, output_size, input_size, False, scales)


def _upsample_nearest_exact1d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("nearest_exact", grad_output, size, input_size, False, __torch__.operators.resample._scales(1, scale_factors))


def upsample_nearest2d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("nearest", grad_output, output_size, input_size, False, scales)


def upsample_nearest2d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("nearest", grad_output, size, input_size, False, __torch__.operators.resample._scales(2, scale_factors))


def _upsample_nearest_exact2d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("nearest_exact", grad_output, output_size, input_size, False, scales)


def _upsample_nearest_exact2d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("nearest_exact", grad_output, size, input_size, False, __torch__.operators.resample._scales(2, scale_factors))


def upsample_nearest3d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_d, scales_h, scales_w])
    return __torch__.operators.resample._interpolated("nearest", grad_output, output_size, input_size, False, scales)


def upsample_nearest3d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("nearest", grad_output, size, input_size, False, __torch__.operators.resample._scales(3, scale_factors))


def _upsample_nearest_exact3d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_d, scales_h, scales_w])
    return __torch__.operators.resample._interpolated("nearest_exact", grad_output, output_size, input_size, False, scales)


def _upsample_nearest_exact3d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("nearest_exact", grad_output, size, input_size, False, __torch__.operators.resample._scales(3, scale_factors))


def upsample_linear1d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales])
    return __torch__.operators.resample._interpolated("linear", grad_output, output_size, input_size, align_corners, scales)


def upsample_linear1d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("linear", grad_output, size, input_size, align_corners, __torch__.operators.resample._scales(1, scale_factors))


def upsample_bilinear2d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("linear", grad_output, output_size, input_size, align_corners, scales)


def upsample_bilinear2d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("linear", grad_output, size, input_size, align_corners, __torch__.operators.resample._scales(2, scale_factors))


def upsample_trilinear3d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_d, scales_h, scales_w])
    return __torch__.operators.resample._interpolated("linear", grad_output, output_size, input_size, align_corners, scales)


def upsample_trilinear3d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("linear", grad_output, size, input_size, align_corners, __torch__.operators.resample._scales(3, scale_factors))


def upsample_bicubic2d_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("cubic", grad_output, output_size, input_size, align_corners, scales)


def upsample_bicubic2d_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("cubic", grad_output, size, input_size, align_corners, __torch__.operators.resample._scales(2, scale_factors))


def _upsample_bilinear2d_aa_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("linear_aa", grad_output, output_size, input_size, align_corners, scales)


def _upsample_bilinear2d_aa_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("linear_aa", grad_output, size, input_size, align_corners, __torch__.operators.resample._scales(2, scale_factors))


def _upsample_bicubic2d_aa_backward(grad_output: Tensor, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("cubic_aa", grad_output, output_size, input_size, align_corners, scales)


def _upsample_bicubic2d_aa_backward__vec(grad_output: Tensor, output_size: Optional[List[int]], input_size: List[int], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input_size, scale_factors)
    return __torch__.operators.resample._interpolated("cubic_aa", grad_output, size, input_size, align_corners, __torch__.operators.resample._scales(2, scale_factors))


# ---- padding ---------------------------------------------------------------------------------------


def _padding(grad_output: Tensor, self: Tensor, padding: List[int], n: int, reflect: bool) -> Tensor:
    if len(padding) != 2 * n:
        torch.ops.ctsc.fail("padding size is expected to be {}, but got: {}".format(2 * n, len(padding)))
    if grad_output.dim() != self.dim():
        torch.ops.ctsc.fail("gradOutput has {} dims, not {}".format(grad_output.dim(), self.dim()))
    for i in range(self.dim()):
        want = self.size(i)
        k = self.dim() - 1 - i
        if k < n:
            want = want + padding[2 * k] + padding[2 * k + 1]
        if grad_output.size(i) != want:
            names = ["grad_output width unexpected. Expected: {}, Got: {}", "grad_output height unexpected. Expected: {}, Got: {}", "grad_output depth unexpected. Expected: {}, Got: {}"]
            torch.ops.ctsc.fail(names[min(k, 2)].format(want, grad_output.size(i)))
    dtype = grad_output.dtype
    if dtype < 6 or dtype == 11:
        name = "replication_pad{}d_backward_cpu".format(n)
        if reflect:
            name = "reflection_pad{}d_backward_cpu".format(n)
        __torch__.operators.backward._check_real(name, grad_output, grad_output)
    result = grad_output
    for k in range(n):
        dim = self.dim() - 1 - k
        places = torch.arange(0, self.size(dim), 1, dtype=7, layout=None, device=self.device, pin_memory=None)
        places = torch.reshape(places, [1, -1])
        if reflect:
            places = torch.reflection_pad1d(places, [padding[2 * k], padding[2 * k + 1]])
        else:
            places = torch.replication_pad1d(places, [padding[2 * k], padding[2 * k + 1]])
        sizes = result.size()
        sizes[dim] = self.size(dim)
        zeros = torch.zeros(sizes, dtype=dtype, layout=None, device=grad_output.device, pin_memory=None)
        result = torch.index_add(zeros, dim, torch.to(torch.reshape(places, [-1]), 4), result)
    return result


def reflection_pad1d_backward(grad_output: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return __torch__.operators.resample._padding(grad_output, self, padding, 1, True)


def reflection_pad2d_backward(grad_output: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return __torch__.operators.resample._padding(grad_output, self, padding, 2, True)


def reflection_pad3d_backward(grad_output: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return __torch__.operators.resample._padding(grad_output, self, padding, 3, True)


def replication_pad1d_backward(grad_output: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return __torch__.operators.resample._padding(grad_output, self, padding, 1, False)


def replication_pad2d_backward(grad_output: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return __torch__.operators.resample._padding(grad_output, self, padding, 2, False)


def replication_pad3d_backward(grad_output: Tensor, self: Tensor, padding: List[int]) -> Tensor:
    return __torch__.operators.resample._padding(grad_output, self, padding, 3, False)


# ---- pooling ---------------------------------------------------------------------------------------


def _check_grad_sizes(grad_output: Tensor, sizes: List[int]):
    if grad_output.dim() != len(sizes):
        torch.ops.ctsc.fail("Expected a tensor of dimension {} but got: dimension {}".format(len(sizes), grad_output.dim()))
    for i in range(len(sizes)):
        if grad_output.size(i) != sizes[i]:
            torch.ops.ctsc.fail("Expected a tensor of dimension {} and tensor.size[{}] == {} but got: dimension {} and tensor.size[{}] = {}".format(len(sizes), i, sizes[i], grad_output.dim(), i, grad_output.size(i)))


# an argument that one number may stand for
def _of_dim(values: List[int], i: int) -> int:
    at = 0
    if len(values) > 1:
        at = i
    return values[at]


# The windows' sizes go in separately: with a divisor, and where padding counts, they are not products.
def _average_pool(grad_output: Tensor, self: Tensor, n: int, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    matrices: List[Tensor] = []
    sizes = self.size()
    divisor = 1
    if divisor_override is not None:
        divisor = divisor_override
        if divisor == 0:
            torch.ops.ctsc.fail("divisor must be not zero")
    g = __torch__.operators.backward._wide(grad_output)
    for i in range(n):
        dim = self.dim() - n + i
        kernel = __torch__.operators.resample._of_dim(kernel_size, i)
        step = kernel
        if len(stride) > 0:
            step = __torch__.operators.resample._of_dim(stride, i)
        x = torch.unsqueeze(__torch__.operators.resample._unit_vectors(g, self.size(dim)), 3)
        pad = __torch__.operators.resample._of_dim(padding, i)
        override: Optional[int] = None
        if divisor_override is not None:
            override = 1
        y = torch.avg_pool2d(x, [kernel, 1], [step, 1], [pad, 0], ceil_mode, count_include_pad, override)
        matrix = torch.reshape(y, [self.size(dim), -1])
        sizes[dim] = matrix.size(1)
        matrices.append(matrix)
    __torch__.operators.resample._check_grad_sizes(grad_output, sizes)
    __torch__.operators.backward._check_real("avg_pool{}d_backward_out_frame".format(n), grad_output, grad_output)
    result = g / divisor
    for i in range(n):
        result = __torch__.operators.resample._transposed(result, matrices[i], self.dim() - n + i)
    return torch.to(result, grad_output.dtype)


def avg_pool2d_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return __torch__.operators.resample._average_pool(grad_output, self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool, divisor_override: Optional[int]) -> Tensor:
    return __torch__.operators.resample._average_pool(grad_output, self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_average(grad_output: Tensor, self: Tensor, n: int) -> Tensor:
    if grad_output.dim() != self.dim():
        torch.ops.ctsc.fail("expected dimension {} for `grad_output` but got dimension {}".format(self.dim(), grad_output.dim()))
    for i in range(grad_output.dim()):
        if grad_output.size(i) == 0 and i > 0:
            torch.ops.ctsc.fail("adaptive_avg_pool{}d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes {} with dimension {} being empty".format(n, grad_output.size(), i))
    if self.dtype != grad_output.dtype:
        torch.ops.ctsc.fail("expected dtype {} for `grad_output` but got dtype {}".format(torch.ops.ctsc.type_name(self), torch.ops.ctsc.type_name(grad_output)))
    __torch__.operators.backward._check_real("adaptive_avg_pool{}d_backward_cpu".format(n), grad_output, grad_output)
    result = __torch__.operators.backward._wide(grad_output)
    for i in range(n):
        dim = self.dim() - n + i
        x = __torch__.operators.resample._unit_vectors(result, self.size(dim))
        y = torch.adaptive_avg_pool1d(x, [grad_output.size(dim)])
        result = __torch__.operators.resample._transposed(result, torch.squeeze(y, 0), dim)
    return torch.to(result, grad_output.dtype)


def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return __torch__.operators.resample._adaptive_average(grad_output, self, 2)


def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return __torch__.operators.resample._adaptive_average(grad_output, self, 3)


# indices: places in the last n dims
def _max_pool(name: str, grad_output: Tensor, self: Tensor, n: int, indices: Tensor) -> Tensor:
    if indices.size() != grad_output.size():
        torch.ops.ctsc.fail("{}: expected grad_output and indices of the same sizes, but got {} and {}".format(name, grad_output.size(), indices.size()))
    if grad_output.dim() != self.dim():
        torch.ops.ctsc.fail("{}: expected grad_output of {} dims, but got {}".format(name, self.dim(), grad_output.dim()))
    if self.dtype != grad_output.dtype:
        torch.ops.ctsc.fail("expected dtype {} for `grad_output` but got dtype {}".format(torch.ops.ctsc.type_name(self), torch.ops.ctsc.type_name(grad_output)))
    __torch__.operators.backward._check_real(name, grad_output, grad_output)
    lead = self.size()
    places = 1
    for i in range(n):
        places = places * lead.pop(-1)
    zeros = torch.zeros(lead + [places], dtype=self.dtype, layout=None, device=grad_output.device, pin_memory=None)
    if grad_output.numel() != 0:
        flat = torch.flatten(grad_output, grad_output.dim() - n, -1)
        zeros = torch.scatter_add(zeros, -1, torch.flatten(indices, grad_output.dim() - n, -1), flat)
    return torch.reshape(zeros, self.size())


def max_pool2d_with_indices_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool, indices: Tensor) -> Tensor:
    return __torch__.operators.resample._max_pool("max_pool2d", grad_output, self, 2, indices)


def max_pool3d_with_indices_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int], ceil_mode: bool, indices: Tensor) -> Tensor:
    return __torch__.operators.resample._max_pool("max_pool3d_with_indices_backward", grad_output, self, 3, indices)


def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return __torch__.operators.resample._max_pool("adaptive_max_pool2d_backward", grad_output, self, 2, indices)


def adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return __torch__.operators.resample._max_pool("adaptive_max_pool3d_backward", grad_output, self, 3, indices)


def fractional_max_pool2d_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], output_size: List[int], indices: Tensor) -> Tensor:
    return __torch__.operators.resample._max_pool("fractional_max_pool2d_backward_out_frame", grad_output, self, 2, indices)


def fractional_max_pool3d_backward(grad_output: Tensor, self: Tensor, kernel_size: List[int], output_size: List[int], indices: Tensor) -> Tensor:
    return __torch__.operators.resample._max_pool("fractional_max_pool3d_backward_out_frame", grad_output, self, 3, indices)
