# SPDX-License-Identifier: Apache-2.0
# Operators that are made of others, in TorchScript: aten::NAME is NAME here, aten::NAME.OVERLOAD is NAME__OVERLOAD. The parameters are the
# schema's, in its order; a row COMPOSITE(...) in src/ir/ops names each. Passes put the bodies in the place of the operators, so keep to
# operators that fuse, and look at sizes rather than at elements. torch.ops.ctsc.fail(message) ends the operator with an error;
# torch.ops.ctsc.type_name(t) is a dtype as messages name it: Float.


def _reduce(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        loss = torch.mean(loss)
    elif reduction == 2:
        loss = torch.sum(loss)
    return loss


# ---- losses ----------------------------------------------------------------------------------------


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    loss = torch.clamp_min(torch.neg(target) * (input1 - input2) + margin, 0)
    return __torch__.operators._reduce(loss, reduction)


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    zeros = torch.zeros_like(self)
    apart = torch.where(target == 1, zeros, torch.clamp_min(torch.rsub(self, margin), 0))
    near = torch.where(target == -1, zeros, self)
    return __torch__.operators._reduce(apart + near, reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: int) -> Tensor:
    if anchor.dim() != positive.dim() or positive.dim() != negative.dim():
        torch.ops.ctsc.fail("All inputs should have same dimension but got {}D, {}D and {}D inputs.".format(anchor.dim(), positive.dim(), negative.dim()))
    near = torch.pairwise_distance(anchor, positive, p, eps)
    far = torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.min(far, torch.pairwise_distance(positive, negative, p, eps))
    return __torch__.operators._reduce(torch.clamp_min(near + margin - far, 0), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    dim = target.dim()
    if dim > 1:
        torch.ops.ctsc.fail("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        torch.ops.ctsc.fail("{}D target tensor expects {}D input tensors, but found inputs with sizes {} and {}.".format(dim, dim + 1, input1.size(), input2.size()))
    # the epsilon keeps vectors of zeros apart from a division by zero
    dots = torch.sum(input1 * input2, [dim])
    squares1 = torch.sum(input1 * input1, [dim]) + 1e-12
    squares2 = torch.sum(input2 * input2, [dim]) + 1e-12
    cosines = dots / torch.sqrt(squares1 * squares2)
    zeros = torch.zeros_like(cosines)
    alike = torch.where(target == 1, torch.rsub(cosines, 1), zeros)
    unlike = torch.where(target == -1, torch.clamp_min(cosines - margin, 0), zeros)
    return __torch__.operators._reduce(alike + unlike, reduction)


# ---- neighbours along a dim -----------------------------------------------------------------------


# dim, counted from the front
def _wrap(dim: int, ndim: int) -> int:
    if dim < -ndim or dim >= ndim:
        torch.ops.ctsc.fail("Dimension out of range (expected to be in range of [{}, {}], but got {})".format(-ndim, ndim - 1, dim))
    if dim < 0:
        dim = dim + ndim
    return dim


# all but the last, all but the first
def _left(t: Tensor, dim: int) -> Tensor:
    return torch.narrow(t, dim, 0, max(t.size(dim) - 1, 0))


def _right(t: Tensor, dim: int) -> Tensor:
    n = t.size(dim)
    return torch.narrow(t, dim, min(n, 1), max(n - 1, 0))


def _check_joined(self: Tensor, other: Tensor, dim: int):
    if other.dim() != self.dim():
        torch.ops.ctsc.fail("diff expects prepend or append to be the same dimension as input")
    for i in range(self.dim()):
        if i != dim and other.size(i) != self.size(i):
            torch.ops.ctsc.fail("diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; input.size({}) = {}, but got tensor.size({}) = {}".format(i, self.size(i), i, other.size(i)))


def diff(self: Tensor, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]) -> Tensor:
    if self.dim() == 0:
        torch.ops.ctsc.fail("diff expects input to be at least one-dimensional")
    along = 0
    if n != 0 or prepend is not None or append is not None:
        along = __torch__.operators._wrap(dim, self.dim())
    if n < 0:
        torch.ops.ctsc.fail("order must be non-negative but got {}".format(n))
    parts: List[Tensor] = []
    if prepend is not None:
        __torch__.operators._check_joined(self, prepend, along)
        parts.append(prepend)
    parts.append(self)
    if append is not None:
        __torch__.operators._check_joined(self, append, along)
        parts.append(append)
    if n == 0:
        result = torch.clone(self)
    else:
        result = self
        if len(parts) > 1:
            result = torch.cat(parts, along)
        for i in range(min(n, result.size(along))):
            left = __torch__.operators._left(result, along)
            right = __torch__.operators._right(result, along)
            if result.dtype == 11:
                result = torch.logical_xor(right, left)
            else:
                result = right - left
        if result.dim() != 0 and result.size(along) == 0 and len(parts) == 1:
            result = torch.clone(result)
    return result


# ---- gradient -------------------------------------------------------------------------------------


def _check_gradient(self: Tensor, spacings: int, dims: List[int], named: bool, edge_order: int):
    if self.dtype == 0:
        torch.ops.ctsc.fail("torch.gradient does not support uint8 input.")
    if spacings >= 0 and not named and spacings != 1 and spacings != self.dim():
        torch.ops.ctsc.fail("torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = {}', since dim argument was not given, but got a list of length {}".format(self.dim(), spacings))
    if spacings >= 0 and named and spacings != len(dims):
        torch.ops.ctsc.fail("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but got a spacing argument of length {} and a dim argument of length {}.".format(spacings, len(dims)))
    if edge_order != 1 and edge_order != 2:
        torch.ops.ctsc.fail("torch.gradient only supports edge_order=1 and edge_order=2.")
    seen: List[int] = []
    for dim in dims:
        if self.size(dim) < edge_order + 1:
            torch.ops.ctsc.fail("torch.gradient expected each dimension size to be at least edge_order+1")
        if seen.count(dim % self.dim()) > 0:
            torch.ops.ctsc.fail("dim {} appears multiple times in the list of dims".format(dim % self.dim()))
        seen.append(dim % self.dim())


def _all_dims(self: Tensor, dim: Optional[int]) -> List[int]:
    dims: List[int] = []
    if dim is not None:
        dims.append(dim)
    else:
        for i in range(self.dim()):
            dims.append(i)
    return dims


# count elements along dim from the given one, which may count from the end
def _part(t: Tensor, dim: int, first: int, count: int) -> Tensor:
    if first < 0:
        first = first + t.size(dim)
    return torch.narrow(t, dim, first, count)


def _gradient_even(self: Tensor, dim: int, width: number, edge_order: int) -> Tensor:
    n = self.size(dim)
    center = (__torch__.operators._part(self, dim, 2, n - 2) - __torch__.operators._part(self, dim, 0, n - 2)) / width / 2
    if edge_order == 1:
        first = (__torch__.operators._part(self, dim, 1, 1) - __torch__.operators._part(self, dim, 0, 1)) / width
        last = (__torch__.operators._part(self, dim, -1, 1) - __torch__.operators._part(self, dim, -2, 1)) / width
    else:
        first = (__torch__.operators._part(self, dim, 0, 1) * -1.5 + __torch__.operators._part(self, dim, 1, 1) * 2 - __torch__.operators._part(self, dim, 2, 1) * 0.5) / width
        last = (__torch__.operators._part(self, dim, -3, 1) * 0.5 - __torch__.operators._part(self, dim, -2, 1) * 2 + __torch__.operators._part(self, dim, -1, 1) * 1.5) / width
    return torch.cat([first, center, last], dim)


def _gradient_at(self: Tensor, dim: int, coordinates: Tensor, edge_order: int) -> Tensor:
    if coordinates.dim() != 1:
        torch.ops.ctsc.fail("torch.gradient expected each element of spacing to have one dimension, but got an element with {} dimensions!".format(coordinates.dim()))
    n = self.size(dim)
    shape: List[int] = []
    for i in range(self.dim()):
        shape.append(1)
    shape[dim] = -1
    dx = torch.diff(coordinates, 1, 0)
    left = __torch__.operators._left(dx, 0)
    right = __torch__.operators._right(dx, 0)
    a = torch.reshape(torch.neg(right) / (left * (left + right)), shape)
    b = torch.reshape((right - left) / (left * right), shape)
    c = torch.reshape(left / (right * (left + right)), shape)
    center = a * __torch__.operators._part(self, dim, 0, n - 2) + b * __torch__.operators._part(self, dim, 1, n - 2) + c * __torch__.operators._part(self, dim, 2, n - 2)
    p = torch.select(dx, 0, 0)
    q = torch.select(dx, 0, -1)
    if edge_order == 1:
        first = (__torch__.operators._part(self, dim, 1, 1) - __torch__.operators._part(self, dim, 0, 1)) / p
        last = (__torch__.operators._part(self, dim, -1, 1) - __torch__.operators._part(self, dim, -2, 1)) / q
    else:
        p1 = torch.select(dx, 0, 1)
        q1 = torch.select(dx, 0, -2)
        a = torch.neg(p * 2. + p1) / (p * (p + p1))
        b = (p + p1) / (p * p1)
        c = torch.neg(p) / (p1 * (p + p1))
        first = a * __torch__.operators._part(self, dim, 0, 1) + b * __torch__.operators._part(self, dim, 1, 1) + c * __torch__.operators._part(self, dim, 2, 1)
        a = q / (q1 * (q + q1))
        b = (torch.neg(q) - q1) / (q * q1)
        c = (q * 2 + q1) / (q * (q + q1))
        last = a * __torch__.operators._part(self, dim, -3, 1) + b * __torch__.operators._part(self, dim, -2, 1) + c * __torch__.operators._part(self, dim, -1, 1)
    return torch.cat([first, center, last], dim)


def _gradient_widths(self: Tensor, widths: List[number], dims: List[int], edge_order: int) -> List[Tensor]:
    result: List[Tensor] = []
    for i in range(len(dims)):
        result.append(__torch__.operators._gradient_even(self, dims[i] % self.dim(), widths[i % len(widths)], edge_order))
    return result


def _gradient_places(self: Tensor, places: List[Tensor], dims: List[int], edge_order: int) -> List[Tensor]:
    result: List[Tensor] = []
    for i in range(len(dims)):
        result.append(__torch__.operators._gradient_at(self, dims[i] % self.dim(), places[i], edge_order))
    return result


def gradient__scalarint(self: Tensor, spacing: Optional[number], dim: Optional[int], edge_order: int) -> List[Tensor]:
    dims = __torch__.operators._all_dims(self, dim)
    __torch__.operators._check_gradient(self, -1, dims, dim is not None, edge_order)
    result: List[Tensor] = []
    for i in range(len(dims)):
        if spacing is not None:
            result.append(__torch__.operators._gradient_even(self, dims[i] % self.dim(), spacing, edge_order))
        else:
            result.append(__torch__.operators._gradient_even(self, dims[i] % self.dim(), 1, edge_order))
    return result


def gradient__scalararray(self: Tensor, spacing: number, dim: List[int], edge_order: int) -> List[Tensor]:
    __torch__.operators._check_gradient(self, -1, dim, True, edge_order)
    return __torch__.operators._gradient_widths(self, [spacing], dim, edge_order)


def gradient__array(self: Tensor, dim: List[int], edge_order: int) -> List[Tensor]:
    __torch__.operators._check_gradient(self, -1, dim, True, edge_order)
    result: List[Tensor] = []
    for i in range(len(dim)):
        result.append(__torch__.operators._gradient_even(self, dim[i] % self.dim(), 1, edge_order))
    return result


def gradient__scalarrayint(self: Tensor, spacing: List[number], dim: Optional[int], edge_order: int) -> List[Tensor]:
    dims = __torch__.operators._all_dims(self, dim)
    __torch__.operators._check_gradient(self, len(spacing), dims, dim is not None, edge_order)
    return __torch__.operators._gradient_widths(self, spacing, dims, edge_order)


def gradient__scalarrayarray(self: Tensor, spacing: List[number], dim: List[int], edge_order: int) -> List[Tensor]:
    __torch__.operators._check_gradient(self, len(spacing), dim, True, edge_order)
    return __torch__.operators._gradient_widths(self, spacing, dim, edge_order)


def gradient__tensorarrayint(self: Tensor, spacing: List[Tensor], dim: Optional[int], edge_order: int) -> List[Tensor]:
    dims = __torch__.operators._all_dims(self, dim)
    __torch__.operators._check_gradient(self, len(spacing), dims, dim is not None, edge_order)
    return __torch__.operators._gradient_places(self, spacing, dims, edge_order)


def gradient__tensorarray(self: Tensor, spacing: List[Tensor], dim: List[int], edge_order: int) -> List[Tensor]:
    __torch__.operators._check_gradient(self, len(spacing), dim, True, edge_order)
    return __torch__.operators._gradient_places(self, spacing, dim, edge_order)


# ---- the trapezoidal rule -------------------------------------------------------------------------


# x as it broadcasts against y
def _abscissae(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    if y.dtype == 11 or x.dtype == 11:
        torch.ops.ctsc.fail("{}: received a bool input for `x` or `y`, but bool is not supported".format(name))
    sizes: List[int] = []
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            torch.ops.ctsc.fail("{}: There must be one `x` value for each sample point".format(name))
        for i in range(y.dim()):
            if i == dim or i == dim + y.dim():
                sizes.append(x.size(0))
            else:
                sizes.append(1)
        x = torch.reshape(x, sizes)
    elif x.dim() < y.dim():
        for i in range(y.dim() - x.dim()):
            sizes.append(1)
        x = torch.reshape(x, sizes + x.size())
    return x


def _without(t: Tensor, dim: int) -> Tensor:
    sizes = t.size()
    sizes.pop(dim)
    return torch.zeros(sizes, dtype=t.dtype, layout=None, device=t.device, pin_memory=None)


def trapezoid__x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    if y.size(dim) == 0:
        result = __torch__.operators._without(y, dim)
    else:
        at = __torch__.operators._abscissae("trapezoid", y, x, dim)
        widths = __torch__.operators._right(at, dim) - __torch__.operators._left(at, dim)
        sums = __torch__.operators._left(y, dim) + __torch__.operators._right(y, dim)
        result = torch.sum(sums * widths, [dim]) / 2.
    return result


def trapezoid__dx(y: Tensor, dx: number, dim: int) -> Tensor:
    if y.size(dim) == 0:
        result = __torch__.operators._without(y, dim)
    else:
        if y.dtype == 11:
            torch.ops.ctsc.fail("trapezoid: received a bool input for `y`, but bool is not supported")
        ends = torch.select(y, dim, 0) + torch.select(y, dim, -1)
        result = (torch.sum(y, [dim]) - ends * 0.5) * float(dx)
    return result


def trapz__dx(y: Tensor, dx: float, dim: int) -> Tensor:
    return torch.trapezoid(y, dx=dx, dim=dim)


def cumulative_trapezoid__x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    at = __torch__.operators._abscissae("cumulative_trapezoid", y, x, dim)
    widths = __torch__.operators._right(at, dim) - __torch__.operators._left(at, dim)
    sums = __torch__.operators._left(y, dim) + __torch__.operators._right(y, dim)
    return torch.cumsum(sums * widths, dim) / 2.


def cumulative_trapezoid__dx(y: Tensor, dx: number, dim: int) -> Tensor:
    if y.dtype == 11:
        torch.ops.ctsc.fail("cumulative_trapezoid: received a bool input for `y`, but bool is not supported")
    sums = __torch__.operators._left(y, dim) + __torch__.operators._right(y, dim)
    return torch.cumsum(sums * (float(dx) / 2.), dim)


# ---- covariance -----------------------------------------------------------------------------------


def _check_weights(name: str, kind: str, w: Tensor, fits: bool, n: int):
    if w.dim() > 1:
        torch.ops.ctsc.fail("cov(): expected {} to have one or fewer dimensions but got {} with {} dimensions".format(name, name, w.dim()))
    if not fits:
        torch.ops.ctsc.fail("cov(): expected {} to have {} dtype but got {} with {} dtype".format(name, kind, name, torch.ops.ctsc.type_name(w)))
    if w.numel() != n:
        torch.ops.ctsc.fail("cov(): expected {} to have the same numel as there are observations in the input but got {} != {}".format(name, w.numel(), n))
    if n != 0 and bool(torch.lt(torch.min(w), 0)):
        torch.ops.ctsc.fail("cov(): {} cannot be negative".format(name))


def cov(self: Tensor, correction: int, fweights: Optional[Tensor], aweights: Optional[Tensor]) -> Tensor:
    if self.dim() > 2:
        torch.ops.ctsc.fail("cov(): expected input to have two or fewer dimensions but got an input with {} dimensions".format(self.dim()))
    if self.dtype == 11:
        torch.ops.ctsc.fail("cov(): bool dtype is not supported for input")
    x = self
    if self.dim() < 2:
        x = torch.reshape(self, [1, -1])
    n = x.size(1)
    w: Optional[Tensor] = None
    if fweights is not None:
        whole = not torch.is_floating_point(fweights) and not torch.is_complex(fweights) and fweights.dtype != 11
        __torch__.operators._check_weights("fweights", "integral", fweights, whole, n)
        w = fweights
    if aweights is not None:
        __torch__.operators._check_weights("aweights", "floating point", aweights, torch.is_floating_point(aweights), n)
        if w is not None:
            w = w * aweights
        else:
            w = aweights
    if w is not None:
        total = torch.sum(w)
        if bool(torch.eq(total, 0)):
            torch.ops.ctsc.fail("cov(): weights sum to zero, can't be normalized")
        mean = torch.sum(x * w, [1]) / total
        norm = total - correction
        if aweights is not None and correction != 0:
            norm = total - torch.sum(w * aweights) * correction / total
        norm = torch.clamp_min(norm, 0)
        x = x - torch.unsqueeze(mean, 1)
        product = torch.mm(x, torch.conj(torch.t(x * w)))
        result = torch.div(product, norm)
    else:
        mean = torch.sum(x, [1]) / n
        x = x - torch.unsqueeze(mean, 1)
        result = torch.mm(x, torch.conj(torch.t(x))) / max(n - correction, 0)
    return torch.squeeze(result)


def corrcoef(self: Tensor) -> Tensor:
    if self.dim() > 2:
        torch.ops.ctsc.fail("corrcoef(): expected input to have two or fewer dimensions but got an input with {} dimensions".format(self.dim()))
    c = torch.cov(self)
    if c.dim() == 0:
        result = c / c
    else:
        spread = torch.sqrt(torch.diag(c))
        result = c / torch.unsqueeze(spread, 1) / torch.unsqueeze(spread, 0)
        if not torch.is_complex(result):
            result = torch.clamp(result, -1, 1)
    return result
