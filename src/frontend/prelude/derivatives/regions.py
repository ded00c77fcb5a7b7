# SPDX-License-Identifier: Apache-2.0
# Derivatives of what reads pictures between their elements: grids, torchvision's regions and deformable convolutions. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- grids -----------------------------------------------------------------------------------------


# from [-1, 1] to elements of a dim
def _grid_source(v: Tensor, size: int, align_corners: bool) -> Tensor:
    if align_corners:
        return (v + 1) / 2 * (size - 1)
    return ((v + 1) * size - 1) / 2


# padding: 0 zeros, 1 border, 2 reflection. The place that is read, and how it moves with v: not at all where it is clipped.
def _grid_pad(v: Tensor, size: int, padding: int, align_corners: bool) -> Tuple[Tensor, Tensor]:
    slope = torch.ones_like(v)
    zeros = torch.zeros_like(v)
    if padding == 2:
        low = -1
        span = float(size)
        if align_corners:
            low = 0
            span = float(size - 1)
        if span == 0.:
            v = zeros
            slope = zeros
        else:
            shifted = v - low / 2
            slope = torch.where(torch.lt(shifted, 0), torch.neg(slope), slope)
            shifted = torch.where(torch.lt(shifted, 0), torch.neg(shifted), shifted)
            flips = torch.floor(torch.detach(shifted) / span)
            extra = shifted - flips * span
            even = torch.eq(torch.fmod(flips, 2), 0)
            v = torch.where(even, extra + low / 2, torch.neg(extra) + (span + low / 2))
            slope = torch.where(even, slope, torch.neg(slope))
    if padding != 0:
        inside = torch.logical_and(torch.gt(v, 0), torch.lt(v, size - 1))
        slope = torch.where(inside, slope, zeros)
        edge = torch.where(torch.ge(v, size - 1), torch.full_like(v, size - 1), zeros)
        v = torch.where(inside, v, edge)
    # what no index can hold is outside all the same
    v = torch.where(torch.lt(torch.abs(v), 2147483647.), v, torch.full_like(v, -100))
    return v, slope


def _cubic_weight(x: Tensor, inner: bool) -> Tensor:
    if inner:
        return (x * 1.25 - 2.25) * x * x + 1
    return ((x * -0.75 + 3.75) * x - 6.) * x + 3.


def _cubic_slope(x: Tensor, inner: bool) -> Tensor:
    if inner:
        return (x * 3.75 - 4.5) * x
    return (x * -2.25 + 7.5) * x - 6.


# Of one dim: the elements that are read, what they weigh, and what that changes by with the coordinate.
def _grid_taps(v: Tensor, size: int, mode: int, padding: int, align_corners: bool) -> Tuple[List[Tensor], List[Tensor], List[Tensor]]:
    at: List[Tensor] = []
    weights: List[Tensor] = []
    slopes: List[Tensor] = []
    unit = size / 2
    if align_corners:
        unit = (size - 1) / 2
    source = __torch__.derivatives.regions._grid_source(v, size, align_corners)
    if mode == 2:
        low = torch.floor(torch.detach(source))
        part = source - low
        for i in range(4):
            place, still = __torch__.derivatives.regions._grid_pad(low + (i - 1), size, padding, align_corners)
            at.append(torch.to(place, 4))
            inner = i == 1 or i == 2
            x = part + (1 - i) if i < 2 else torch.rsub(part, i - 1)
            weights.append(__torch__.derivatives.regions._cubic_weight(x, inner))
            slope = __torch__.derivatives.regions._cubic_slope(x, inner) * unit
            slopes.append(slope if i < 2 else torch.neg(slope))
        return at, weights, slopes
    place, moves = __torch__.derivatives.regions._grid_pad(source, size, padding, align_corners)
    moves = moves * unit
    if mode == 1:
        at.append(torch.to(torch.round(torch.detach(place)), 4))
        weights.append(torch.ones_like(place))
        slopes.append(torch.zeros_like(place))
        return at, weights, slopes
    low = torch.floor(torch.detach(place))
    part = place - low
    at.append(torch.to(low, 4))
    at.append(torch.to(low, 4) + 1)
    weights.append(torch.rsub(part, 1))
    weights.append(part)
    slopes.append(torch.neg(moves))
    slopes.append(moves)
    return at, weights, slopes


def _grid_grads(grad: Tensor, input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    n = input.dim() - 2
    batch = input.size(0)
    channels = input.size(1)
    places = 1
    plane = 1
    for i in range(n):
        places = places * grid.size(i + 1)
        plane = plane * input.size(i + 2)
    positions = torch.reshape(__torch__.operators.backward._wide(grid), [batch, places, n])
    planes = torch.reshape(__torch__.operators.backward._wide(input), [batch, channels, plane])
    g = torch.reshape(__torch__.operators.backward._wide(grad), [batch, channels, places])
    at: List[List[Tensor]] = []
    weights: List[List[Tensor]] = []
    slopes: List[List[Tensor]] = []
    by_dim: List[Tensor] = []
    for i in range(n):
        a, w, s = __torch__.derivatives.regions._grid_taps(torch.select(positions, 2, n - 1 - i), input.size(i + 2), mode, padding, align_corners)
        at.append(a)
        weights.append(w)
        slopes.append(s)
        by_dim.append(torch.zeros_like(w[0]))
    taps = len(at[0])
    count = 1
    for i in range(n):
        count = count * taps
    grad_planes = torch.zeros_like(planes)
    for k in range(count):
        rest = k
        chosen: List[int] = []
        index = torch.zeros_like(at[0][0])
        inside = torch.ones_like(index, dtype=11)
        weight = torch.ones_like(g) if n == 0 else torch.ones_like(weights[0][0])
        for i in range(n):
            tap = rest % taps
            rest = rest // taps
            chosen.append(tap)
            place = at[i][tap]
            inside = torch.logical_and(inside, torch.logical_and(torch.ge(place, 0), torch.lt(place, input.size(i + 2))))
            index = index * input.size(i + 2) + place
            weight = weight * weights[i][tap]
        index = torch.expand(torch.unsqueeze(torch.where(inside, index, torch.zeros_like(index)), 1), g.size())
        if wanted[0]:
            kept = torch.where(inside, weight, torch.zeros_like(weight))
            grad_planes = torch.scatter_add(grad_planes, 2, index, g * torch.unsqueeze(kept, 1))
        if wanted[1]:
            dots = torch.sum(torch.gather(planes, 2, index) * g, [1])
            dots = torch.where(inside, dots, torch.zeros_like(dots))
            for i in range(n):
                change = slopes[i][chosen[i]]
                for j in range(n):
                    if j != i:
                        change = change * weights[j][chosen[j]]
                by_dim[i] = by_dim[i] + dots * change
    grad_input: Optional[Tensor] = None
    grad_grid: Optional[Tensor] = None
    if wanted[0]:
        grad_input = torch.reshape(grad_planes, input.size())
    if wanted[1]:
        ordered: List[Tensor] = []
        for i in range(n):
            ordered.append(by_dim[n - 1 - i])
        grad_grid = torch.reshape(torch.stack(ordered, -1), grid.size())
    return grad_input, grad_grid


def grid_sampler__d_input__grid(grad: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    grad_input, grad_grid = __torch__.derivatives.regions._grid_grads(grad, input, grid, interpolation_mode, padding_mode, align_corners, wanted)
    return grad_input, grad_grid


def grid_sampler_2d__d_input__grid(grad: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    grad_input, grad_grid = __torch__.derivatives.regions._grid_grads(grad, input, grid, interpolation_mode, padding_mode, align_corners, wanted)
    return grad_input, grad_grid


def grid_sampler_3d__d_input__grid(grad: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    grad_input, grad_grid = __torch__.derivatives.regions._grid_grads(grad, input, grid, interpolation_mode, padding_mode, align_corners, wanted)
    return grad_input, grad_grid


def affine_grid_generator__d_theta(grad: Tensor, size: List[int], align_corners: bool) -> Tensor:
    return torch.affine_grid_generator_backward(grad, size, align_corners)


# ---- regions ---------------------------------------------------------------------------------------
# Means over samples of bins are products of what happens in rows and in columns: bins x elements, a matrix for each.


# begin, bin: of one dim; each bin has `count` samples, read between two elements
def _aligned_bins(begin: Tensor, bin: Tensor, count: int, bins: int, size: int) -> Tensor:
    rows = torch.unsqueeze(torch.arange(bins, dtype=begin.dtype, layout=None, device=begin.device, pin_memory=None), 1)
    samples = torch.unsqueeze(torch.arange(count, dtype=begin.dtype, layout=None, device=begin.device, pin_memory=None), 0)
    y = begin + rows * bin + (samples + 0.5) * bin / max(count, 1)
    matrix = torch.zeros([bins, size], dtype=begin.dtype, layout=None, device=begin.device, pin_memory=None)
    if count == 0:
        return matrix
    inside = torch.to(torch.logical_and(torch.ge(y, -1), torch.le(y, size)), begin.dtype)
    y = torch.clamp(torch.nan_to_num(y, 0.), 0, size - 1)
    low = torch.floor(y)
    part = y - low
    first = torch.to(low, 4)
    matrix = torch.scatter_add(matrix, 1, first, torch.rsub(part, 1) * inside)
    matrix = torch.scatter_add(matrix, 1, torch.clamp_max(first + 1, size - 1), part * inside)
    return matrix / count


def _samples(size: Tensor, bins: int, sampling_ratio: int) -> int:
    if sampling_ratio > 0:
        return sampling_ratio
    return max(int(torch.item(torch.ceil(size / bins))), 0)


# the matrices of region r, of rows and of columns
def _aligned_region(roi: Tensor, spatial_scale: float, bins: List[int], sampling_ratio: int, shift: float, least: float, sizes: List[int]) -> List[Tensor]:
    matrices: List[Tensor] = []
    for i in range(2):
        begin = torch.select(roi, 0, 2 - i) * spatial_scale - shift
        size = torch.select(roi, 0, 4 - i) * spatial_scale - shift - begin
        if least > 0.:
            size = torch.clamp_min(size, least)
        count = __torch__.derivatives.regions._samples(size, bins[i], sampling_ratio)
        matrices.append(__torch__.derivatives.regions._aligned_bins(begin, size / bins[i], count, bins[i], sizes[i]))
    return matrices


# half away from 0
def _nearest(v: Tensor) -> Tensor:
    return torch.sign(v) * torch.floor(torch.abs(v) + 0.5)


# Whole elements. The last row and column count here, unlike in the operator: so it is in torchvision.
def _whole_region(roi: Tensor, spatial_scale: float, bins: List[int], sizes: List[int]) -> List[Tensor]:
    matrices: List[Tensor] = []
    for i in range(2):
        first = __torch__.derivatives.regions._nearest(torch.select(roi, 0, 2 - i) * spatial_scale)
        size = __torch__.derivatives.regions._nearest(torch.select(roi, 0, 4 - i) * spatial_scale) - first
        bin = torch.clamp_min(size, 1) / bins[i]
        rows = torch.unsqueeze(torch.arange(bins[i], dtype=roi.dtype, layout=None, device=roi.device, pin_memory=None), 1)
        begin = torch.clamp(torch.floor(rows * bin + first), 0, sizes[i])
        end = torch.clamp(torch.ceil((rows + 1) * bin + first), 0, sizes[i])
        places = torch.unsqueeze(torch.arange(sizes[i], dtype=roi.dtype, layout=None, device=roi.device, pin_memory=None), 0)
        inside = torch.logical_and(torch.ge(places, begin), torch.lt(places, end))
        matrices.append(torch.to(inside, roi.dtype) / torch.clamp_min(end - begin, 1))
    return matrices


def roi_align__d_input(grad: Tensor, input_sizes: List[int], rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool) -> Tensor:
    g = __torch__.operators.backward._wide(grad)
    regions = torch.to(rois, g.dtype)
    result = torch.zeros(input_sizes, dtype=g.dtype, layout=None, device=g.device, pin_memory=None)
    for r in range(rois.size(0)):
        roi = torch.select(regions, 0, r)
        m = __torch__.derivatives.regions._aligned_region(roi, spatial_scale, [pooled_height, pooled_width], sampling_ratio, 0.5 if aligned else 0., 0. if aligned else 1., [input_sizes[2], input_sizes[3]])
        part = torch.matmul(torch.transpose(m[0], 0, 1), torch.matmul(torch.select(g, 0, r), m[1]))
        torch.add_(torch.select(result, 0, int(torch.item(torch.select(roi, 0, 0)))), part)
    return result


# Each bin has a channel of its own.
def _add_own_channels(result: Tensor, image: int, g: Tensor, matrices: List[Tensor]):
    rows = torch.unsqueeze(torch.unsqueeze(matrices[0], 1), 3)
    columns = torch.unsqueeze(torch.unsqueeze(matrices[1], 0), 2)
    part = torch.unsqueeze(torch.unsqueeze(g, -1), -1) * (rows * columns)
    into = torch.select(result, 0, image)
    torch.add_(into, torch.reshape(part, into.size()))


def ps_roi_align__d_input(grad0: Tensor, input_sizes: List[int], rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int) -> Tensor:
    g = __torch__.operators.backward._wide(grad0)
    regions = torch.to(rois, g.dtype)
    result = torch.zeros(input_sizes, dtype=g.dtype, layout=None, device=g.device, pin_memory=None)
    for r in range(rois.size(0)):
        roi = torch.select(regions, 0, r)
        m = __torch__.derivatives.regions._aligned_region(roi, spatial_scale, [pooled_height, pooled_width], sampling_ratio, 0.5, 0., [input_sizes[2], input_sizes[3]])
        __torch__.derivatives.regions._add_own_channels(result, int(torch.item(torch.select(roi, 0, 0))), torch.select(g, 0, r), m)
    return result


def ps_roi_pool__d_input(grad0: Tensor, input_sizes: List[int], rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> Tensor:
    g = __torch__.operators.backward._wide(grad0)
    regions = torch.to(rois, g.dtype)
    result = torch.zeros(input_sizes, dtype=g.dtype, layout=None, device=g.device, pin_memory=None)
    for r in range(rois.size(0)):
        roi = torch.select(regions, 0, r)
        m = __torch__.derivatives.regions._whole_region(roi, spatial_scale, [pooled_height, pooled_width], [input_sizes[2], input_sizes[3]])
        __torch__.derivatives.regions._add_own_channels(result, int(torch.item(torch.select(roi, 0, 0))), torch.select(g, 0, r), m)
    return result


# result1: the places of the maxima in their planes, -1 of empty bins
def roi_pool__d_input(grad0: Tensor, input_sizes: List[int], rois: Tensor, result1: Tensor) -> Tensor:
    g = __torch__.operators.backward._wide(grad0)
    plane = input_sizes[2] * input_sizes[3]
    images = torch.reshape(torch.to(torch.select(rois, 1, 0), 4), [-1, 1, 1, 1])
    channels = torch.reshape(torch.arange(input_sizes[1], dtype=4, layout=None, device=g.device, pin_memory=None), [1, -1, 1, 1])
    found = torch.ge(result1, 0)
    at = (images * input_sizes[1] + channels) * plane + torch.to(torch.clamp_min(result1, 0), 4)
    kept = torch.where(found, g, torch.zeros_like(g))
    zeros = torch.zeros([input_sizes[0] * input_sizes[1] * plane], dtype=g.dtype, layout=None, device=g.device, pin_memory=None)
    return torch.reshape(torch.index_add(zeros, 0, torch.reshape(at, [-1]), torch.reshape(kept, [-1])), input_sizes)


# ---- deformable convolutions -----------------------------------------------------------------------


# planes: [N, G, c, H * W]; h, w: [N, G, places]. What is outside is 0.
def _between_elements(planes: Tensor, h: Tensor, w: Tensor, height: int, width: int) -> Tensor:
    near = torch.logical_and(torch.logical_and(torch.gt(h, -1), torch.lt(h, height)), torch.logical_and(torch.gt(w, -1), torch.lt(w, width)))
    zeros = torch.zeros_like(h)
    h = torch.where(near, h, zeros)
    w = torch.where(near, w, zeros)
    top = torch.floor(torch.detach(h))
    left = torch.floor(torch.detach(w))
    result = torch.zeros([planes.size(0), planes.size(1), planes.size(2), h.size(2)], dtype=planes.dtype, layout=None, device=planes.device, pin_memory=None)
    for i in range(4):
        row = top + i // 2
        column = left + i % 2
        down = h - top if i // 2 == 1 else torch.rsub(h - top, 1)
        across = w - left if i % 2 == 1 else torch.rsub(w - left, 1)
        inside = torch.logical_and(torch.logical_and(torch.ge(row, 0), torch.lt(row, height)), torch.logical_and(torch.ge(column, 0), torch.lt(column, width)))
        weight = torch.where(torch.logical_and(inside, near), down * across, zeros)
        at = torch.to(torch.clamp(row, 0, height - 1) * width + torch.clamp(column, 0, width - 1), 4)
        found = torch.gather(planes, 3, torch.expand(torch.unsqueeze(at, 2), result.size()))
        result = result + found * torch.unsqueeze(weight, 2)
    return result


# where tap and output position lie in the padded input, of one dim: [taps of the dim, outputs of the dim]
def _deform_base(kernel: int, outputs: int, stride: int, pad: int, dilation: int, like: Tensor) -> Tensor:
    taps = torch.unsqueeze(torch.arange(kernel, dtype=like.dtype, layout=None, device=like.device, pin_memory=None) * dilation, 1)
    return taps + torch.arange(outputs, dtype=like.dtype, layout=None, device=like.device, pin_memory=None) * stride - pad


def deform_conv2d__as(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool) -> Tensor:
    batch = input.size(0)
    channels = input.size(1)
    high = weight.size(2)
    wide = weight.size(3)
    taps = high * wide
    rows = offset.size(2)
    columns = offset.size(3)
    places = rows * columns
    y = torch.reshape(torch.unsqueeze(torch.unsqueeze(__torch__.derivatives.regions._deform_base(high, rows, stride_h, pad_h, dilation_h, input), 1), 3), [high, 1, rows, 1])
    x = torch.reshape(__torch__.derivatives.regions._deform_base(wide, columns, stride_w, pad_w, dilation_w, input), [1, wide, 1, columns])
    moved = torch.reshape(offset, [batch, offset_groups, high, wide, 2, rows, columns])
    h = torch.reshape(torch.select(moved, 4, 0) + y, [batch, offset_groups, taps * places])
    w = torch.reshape(torch.select(moved, 4, 1) + x, [batch, offset_groups, taps * places])
    planes = torch.reshape(input, [batch, offset_groups, channels // offset_groups, input.size(2) * input.size(3)])
    read = __torch__.derivatives.regions._between_elements(planes, h, w, input.size(2), input.size(3))
    if use_mask:
        read = read * torch.reshape(mask, [batch, offset_groups, 1, taps * places])
    read = torch.reshape(read, [batch, groups, channels // groups * taps, places])
    filters = torch.reshape(weight, [1, groups, weight.size(0) // groups, channels // groups * taps])
    result = torch.reshape(torch.matmul(filters, read), [batch, weight.size(0), rows, columns])
    return result + torch.reshape(bias, [1, -1, 1, 1])
