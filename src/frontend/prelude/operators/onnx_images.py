# SPDX-License-Identifier: Apache-2.0
# onnx_images.py - operators of ONNX that aten has no counterpart of (frontend/onnx/onnx_rows.def): images and boxes.


# ---- images ----------------------------------------------------------------------------------------------------------


def onnx_coordinates(n: int, out: int, scale: float, place: str) -> Tensor:
    at = torch.arange(out, dtype=6)
    if place == "asymmetric":
        return at / scale
    if place == "align_corners":
        if out == 1:
            return torch.zeros_like(at)
        return at * (float(n - 1) / float(out - 1))
    if place == "pytorch_half_pixel" and out == 1:
        return torch.zeros_like(at)
    if place == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    return (at + 0.5) / scale - 0.5


def onnx_nearest(at: Tensor, mode: str, scale: float) -> Tensor:
    if mode == "simple":
        return torch.ceil(at) if scale < 1.0 else torch.floor(at)
    if mode == "floor":
        return torch.floor(at)
    if mode == "ceil":
        return torch.ceil(at)
    if mode == "round_prefer_ceil":
        return torch.floor(at + 0.5)
    return torch.ceil(at - 0.5)


def onnx_resize(self: Tensor, sizes: Optional[List[int]], scales: Optional[List[float]], mode: str, place: str, nearest: str) -> Tensor:
    x = self
    for i in range(self.dim()):
        n = self.size(i)
        out = n
        scale = 1.0
        if scales is not None:
            scale = scales[i]
            out = int(torch.floor(float(n) * scale))
        if sizes is not None:
            out = sizes[i]
            scale = float(out) / float(n)
        if out != n or scale != 1.0:
            at = __torch__.operators.onnx_images.onnx_coordinates(n, out, scale, place)
            if mode == "nearest":
                low = torch.clamp(__torch__.operators.onnx_images.onnx_nearest(at, nearest, scale), 0, n - 1)
                x = torch.index_select(x, i, torch.to(low, 4))
            else:
                at = torch.clamp(at, 0, n - 1)
                low = torch.floor(at)
                shape = annotate(List[int], [])
                for k in range(self.dim()):
                    shape.append(-1 if k == i else 1)
                kind = self.dtype if torch.is_floating_point(self) else 6
                part = torch.to(torch.reshape(at - low, shape), kind)
                a = torch.to(torch.index_select(x, i, torch.to(low, 4)), kind)
                b = torch.to(torch.index_select(x, i, torch.to(torch.clamp(low + 1, 0, n - 1), 4)), kind)
                x = a + (b - a) * part
    return torch.to(x, self.dtype)


# What is resized to one element is the first one.
def onnx_resize_first(self: Tensor, sizes: List[int]) -> Tensor:
    x = self
    for i in range(len(sizes)):
        if sizes[i] == 1:
            x = torch.narrow(x, i + 2, 0, 1)
    return x


# ---- boxes -----------------------------------------------------------------------------------------------------------


def onnx_nms(boxes: Tensor, scores: Tensor, most: int, overlap: float, least: Optional[Tensor], centred: bool) -> Tensor:
    if centred:
        half = boxes[:, :, 2:] / 2
        corners = torch.cat([boxes[:, :, :2] - half, boxes[:, :, :2] + half], 2)
    else:
        corners = torch.cat([torch.minimum(boxes[:, :, :2], boxes[:, :, 2:]), torch.maximum(boxes[:, :, :2], boxes[:, :, 2:])], 2)
    found = annotate(List[Tensor], [])
    for b in range(scores.size(0)):
        for c in range(scores.size(1)):
            of = scores[b][c]
            at = torch.arange(of.size(0))
            if least is not None:
                at = torch.reshape(torch.nonzero(of > least), [-1])
            kept = torch.ops.torchvision.nms(torch.to(torch.index_select(corners[b], 0, at), 6), torch.to(torch.index_select(of, 0, at), 6), overlap)
            at = torch.index_select(at, 0, kept[:most])
            found.append(torch.stack([torch.full_like(at, b), torch.full_like(at, c), at], 1))
    if len(found) == 0:
        return torch.zeros([0, 3], dtype=4)
    return torch.cat(found, 0)


def onnx_roi_align(self: Tensor, rois: Tensor, batch: Tensor, height: int, width: int, ratio: int, scale: float, aligned: bool) -> Tensor:
    at = torch.cat([torch.unsqueeze(torch.to(batch, rois.dtype), 1), rois], 1)
    return torch.ops.torchvision.roi_align(self, at, scale, height, width, ratio, aligned)


# Low and high neighbours of places along a dim, how much the high one counts, and which places are inside.
def _onnx_neighbours(at: Tensor, n: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    inside = torch.logical_and(at >= -1, at <= n)
    x = torch.clamp(at, 0)
    low = torch.clamp(torch.to(torch.floor(x), 4), 0, n - 1)
    high = torch.clamp(low + 1, 0, n - 1)
    part = torch.where(low >= n - 1, torch.zeros_like(x), x - low)
    return low, high, part, inside


# Where samples lie: `count` in each of `bins`.
def _onnx_samples(begin: float, size: float, bins: int, count: int, x: Tensor) -> Tensor:
    each = size / float(bins)
    bin = torch.reshape(torch.arange(bins, dtype=6), [-1, 1]) * each
    inner = torch.reshape((torch.arange(count, dtype=6) + 0.5) * (each / float(count)), [1, -1])
    return torch.to(torch.reshape(bin + inner, [-1]) + begin, x.dtype)


# The maximum is one of the four products at each sample, as ONNX Runtime and ONNX's tests have it.
def onnx_roi_align_max(self: Tensor, rois: Tensor, batch: Tensor, height: int, width: int, ratio: int, scale: float, aligned: bool) -> Tensor:
    offset = 0.5 if aligned else 0.0
    out = torch.zeros([rois.size(0), self.size(1), height, width], dtype=self.dtype)
    for r in range(rois.size(0)):
        x0 = float(rois[r][0]) * scale - offset
        y0 = float(rois[r][1]) * scale - offset
        w = float(rois[r][2]) * scale - offset - x0
        h = float(rois[r][3]) * scale - offset - y0
        if not aligned:
            w = max(w, 1.0)
            h = max(h, 1.0)
        ny = ratio if ratio > 0 else int(torch.ceil(h / float(height)))
        nx = ratio if ratio > 0 else int(torch.ceil(w / float(width)))
        if ny > 0 and nx > 0:
            image = self[int(batch[r])]
            low_y, high_y, part_y, in_y = __torch__.operators.onnx_images._onnx_neighbours(__torch__.operators.onnx_images._onnx_samples(y0, h, height, ny, self), self.size(2))
            low_x, high_x, part_x, in_x = __torch__.operators.onnx_images._onnx_neighbours(__torch__.operators.onnx_images._onnx_samples(x0, w, width, nx, self), self.size(3))
            top = torch.index_select(image, 1, low_y) * torch.reshape(torch.rsub(part_y, 1), [-1, 1])
            bottom = torch.index_select(image, 1, high_y) * torch.reshape(part_y, [-1, 1])
            left = torch.rsub(part_x, 1)
            most = torch.maximum(torch.index_select(top, 2, low_x) * left, torch.index_select(top, 2, high_x) * part_x)
            most = torch.maximum(most, torch.maximum(torch.index_select(bottom, 2, low_x) * left, torch.index_select(bottom, 2, high_x) * part_x))
            inside = torch.logical_and(torch.reshape(in_y, [-1, 1]), torch.reshape(in_x, [1, -1]))
            most = torch.where(inside, most, torch.zeros_like(most))
            torch.copy_(out[r], torch.amax(torch.reshape(most, [self.size(1), height, ny, width, nx]), [2, 4], False))
    return out


# ---- Resize in all its forms -----------------------------------------------------------------------------------------


def _onnx_cubic(distance: Tensor, a: float) -> Tensor:
    x = torch.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, torch.zeros_like(x)))


# Where the elements of the result lie in the source.
def _onnx_places(n: int, out: int, scale: float, place: str, begin: float, end: float) -> Tensor:
    at = torch.arange(out, dtype=7)
    width = scale * float(n)
    if place == "asymmetric":
        return at / scale
    if place == "align_corners":
        return torch.zeros_like(at) if width == 1.0 else at * float(n - 1) / (width - 1.0)
    if place == "tf_crop_and_resize":
        if width == 1.0:
            return torch.zeros_like(at) + (end - begin) * float(n - 1) / 2.0 + begin * float(n - 1)
        return at * (end - begin) * float(n - 1) / (width - 1.0) + begin * float(n - 1)
    if place == "pytorch_half_pixel" and out == 1:
        return torch.zeros_like(at)
    if place == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if place == "half_pixel_symmetric":
        return float(n) / 2.0 * (1.0 - float(out) / width) + (at + 0.5) / scale - 0.5
    return (at + 0.5) / scale - 0.5


def _onnx_resize_axis(x: Tensor, axis: int, out: int, scale: float, mode: str, place: str, nearest: str, antialias: bool, exclude: bool, a: float, begin: float, end: float, fill: float) -> Tensor:
    n = x.size(axis)
    at = __torch__.operators.onnx_images._onnx_places(n, out, scale, place, begin, end)
    if mode == "nearest":
        low = torch.clamp(__torch__.operators.onnx_images.onnx_nearest(at, nearest, scale), 0, n - 1)
        y = torch.index_select(x, axis, torch.to(low, 4))
    else:
        narrow = scale if antialias and scale < 1.0 else 1.0
        reach = 1.0 if mode == "linear" else 2.0
        first = int(torch.floor(-reach / narrow)) + 1
        base = torch.ceil(at) - 1
        taps = torch.arange(first, 2 - first, dtype=7)
        distance = (torch.unsqueeze(taps, 0) - torch.unsqueeze(at - base, 1)) * narrow
        if mode == "linear":
            part = torch.clamp(1.0 - torch.abs(distance), 0.0, 1.0)
        else:
            part = __torch__.operators.onnx_images._onnx_cubic(distance, a)
        index = torch.to(torch.unsqueeze(base, 1) + torch.unsqueeze(taps, 0), 4)
        if exclude:
            part = torch.masked_fill(part, torch.logical_or(index < 0, index >= n), 0.0)
        if exclude or narrow != 1.0:
            part = part / torch.sum(part, [1], True)
        weights = torch.scatter_add(torch.zeros([out, n], dtype=7), 1, torch.clamp(index, 0, n - 1), part)
        moved = torch.matmul(torch.transpose(x, axis, -1), torch.to(torch.t(weights), x.dtype))
        y = torch.transpose(moved, axis, -1)
    if place == "tf_crop_and_resize":
        shape = annotate(List[int], [])
        for k in range(x.dim()):
            shape.append(-1 if k == axis else 1)
        y = torch.masked_fill(y, torch.reshape(torch.logical_or(at < 0, at > n - 1), shape), fill)
    return y


def onnx_resize_any(self: Tensor, roi: Optional[Tensor], scales: Optional[Tensor], sizes: Optional[Tensor], axes: List[int], mode: str, place: str, nearest: str, antialias: bool, exclude: bool, a: float, fill: float, policy: str) -> Tensor:
    which = axes
    if len(which) == 0:
        which = annotate(List[int], [])
        for i in range(self.dim()):
            which.append(i)
    count = len(which)
    factors = annotate(List[float], [])
    outs = annotate(List[int], [])
    if sizes is not None:
        best = 0.0
        for i in range(count):
            want = int(sizes[i])
            n = self.size(which[i])
            factor = float(want) / float(n)
            factors.append(factor)
            outs.append(want)
            if i == 0 or (policy == "not_larger" and factor < best) or (policy == "not_smaller" and factor > best):
                best = factor
        if policy != "stretch":
            for i in range(count):
                factors[i] = best
                outs[i] = int(torch.floor(best * float(self.size(which[i])) + 0.5))
    elif scales is not None:
        for i in range(count):
            factor = float(scales[i])
            factors.append(factor)
            outs.append(int(torch.floor(factor * float(self.size(which[i])))))
    # integers are numbers until the last axis
    x = self if mode == "nearest" or torch.is_floating_point(self) else torch.to(self, 7)
    for i in range(count):
        begin = 0.0
        end = 1.0
        if roi is not None and torch.numel(roi) == 2 * count:
            begin = float(roi[i])
            end = float(roi[count + i])
        axis = which[i]
        if axis < 0:
            axis = axis + self.dim()
        if outs[i] != self.size(axis) or factors[i] != 1.0 or place == "tf_crop_and_resize":
            x = __torch__.operators.onnx_images._onnx_resize_axis(x, axis, outs[i], factors[i], mode, place, nearest, antialias, exclude, a, begin, end, fill)
    # with antialias ONNX Runtime rounds
    if antialias and not torch.is_floating_point(self):
        x = torch.round(x)
        if self.dtype == 0:
            x = torch.clamp(x, 0, 255)
    return torch.to(x, self.dtype)
