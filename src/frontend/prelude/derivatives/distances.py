# SPDX-License-Identifier: Apache-2.0
# Derivatives of norms and distances. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- norms of vectors ------------------------------------------------------------------------------


# The dims in ascending order, none negative; no dims are all of them.
def _dims(dim: List[int], n: int) -> List[int]:
    dims: List[int] = []
    for i in range(n):
        if len(dim) == 0 or torch.__contains__(dim, i) or torch.__contains__(dim, i - n):
            dims.append(i)
    return dims


def _kept(t: Tensor, dims: List[int]) -> Tensor:
    for i in range(len(dims)):
        t = torch.unsqueeze(t, dims[i])
    return t


# Where the norm is zero so is its gradient; maxima share it. The norm of order 0 has none.
def _norm(grad: Tensor, self: Tensor, p: float, norm: Tensor, dim: List[int], keepdim: bool) -> Optional[Tensor]:
    dims = __torch__.derivatives.distances._dims(dim, self.dim())
    g = grad
    if not keepdim:
        g = __torch__.derivatives.distances._kept(grad, dims)
        norm = __torch__.derivatives.distances._kept(norm, dims)
    if p == 0.:
        return None
    if p == 1.:
        return torch.sgn(self) * g
    if p == 2.:
        return g * torch.masked_fill(self / norm, torch.eq(norm, 0), 0)
    if p == inf or p == -inf:
        is_extreme = torch.logical_or(torch.eq(torch.abs(self), norm), torch.logical_and(torch.isnan(self), torch.isnan(norm)))
        count = torch.sum(is_extreme, dims, True, dtype=None)
        return torch.sgn(self) * torch.to(is_extreme, norm.dtype) * (g / torch.to(count, norm.dtype))
    if p < 1.:
        slope = torch.sgn(self) * torch.masked_fill(torch.pow(torch.abs(self), p - 1.), torch.eq(self, 0), 0)
        return slope * g * torch.pow(norm, 1. - p)
    if p < 2.:
        slope = torch.sgn(self) * torch.pow(torch.abs(self), p - 1.)
        return slope * torch.masked_fill(g / torch.pow(norm, p - 1.), torch.eq(norm, 0), 0)
    slope = self * torch.pow(torch.abs(self), p - 2.)
    return slope * torch.masked_fill(g / torch.pow(norm, p - 1.), torch.eq(norm, 0), 0)


def _order(p: Optional[number]) -> float:
    if p is None:
        return 2.
    return float(p)


# self as the norm was computed of it.
def _computed(self: Tensor, norm: Tensor) -> Tensor:
    if torch.is_complex(self) or self.dtype == norm.dtype:
        return self
    return torch.to(self, norm.dtype)


def norm__Scalar__d_self(grad: Tensor, self: Tensor, p: number, result: Tensor) -> Optional[Tensor]:
    return __torch__.derivatives.distances._norm(grad, self, float(p), result, [], False)


def norm__ScalarOpt_dim__d_self(grad: Tensor, self: Tensor, p: Optional[number], dim: List[int], keepdim: bool, result: Tensor) -> Optional[Tensor]:
    return __torch__.derivatives.distances._norm(grad, self, __torch__.derivatives.distances._order(p), result, dim, keepdim)


def norm__ScalarOpt_dtype__d_self(grad: Tensor, self: Tensor, p: Optional[number], result: Tensor) -> Optional[Tensor]:
    x = __torch__.derivatives.distances._computed(self, result)
    return __torch__.derivatives.distances._norm(grad, x, __torch__.derivatives.distances._order(p), result, [], False)


def norm__ScalarOpt_dim_dtype__d_self(grad: Tensor, self: Tensor, p: Optional[number], dim: List[int], keepdim: bool, result: Tensor) -> Optional[Tensor]:
    x = __torch__.derivatives.distances._computed(self, result)
    return __torch__.derivatives.distances._norm(grad, x, __torch__.derivatives.distances._order(p), result, dim, keepdim)


def linalg_vector_norm__d_self(grad: Tensor, self: Tensor, ord: number, dim: Optional[List[int]], keepdim: bool, result: Tensor) -> Optional[Tensor]:
    dims: List[int] = []
    if dim is not None:
        dims = dim
    x = __torch__.derivatives.distances._computed(self, result)
    return __torch__.derivatives.distances._norm(grad, x, float(ord), result, dims, keepdim)


def frobenius_norm__as(self: Tensor) -> Tensor:
    return torch.norm(self, 2)


def frobenius_norm__dim__as(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    if len(dim) != 2:
        return torch.norm(self, 2, dim, keepdim)
    return torch.sqrt(torch.sum(torch.real(torch.conj(self) * self), dim, keepdim, dtype=None))


def norm_except_dim__as(v: Tensor, pow: int, dim: int) -> Tensor:
    if dim == -1:
        return torch.norm(v, pow)
    dims: List[int] = []
    for i in range(v.dim()):
        if i != dim:
            dims.append(i)
    if len(dims) == 0:
        return torch.abs(v)
    return torch.norm(v, pow, dims, True)


def _weight_norm__as(v: Tensor, g: Tensor, dim: int) -> Tensor:
    return v * (g / torch.norm_except_dim(v, 2, dim))


def _weight_norm_interface__d_v__g(grad: Tensor, v: Tensor, g: Tensor, dim: int, result1: Tensor) -> Tuple[Tensor, Tensor]:
    return torch._weight_norm_differentiable_backward(grad, v, g, result1, dim)


# ---- norms of matrices -----------------------------------------------------------------------------


# The matrices' dims last.
def _matrices(self: Tensor, dim: List[int]) -> Tensor:
    return torch.movedim(self, dim, [-2, -1])


def _values_norm(self: Tensor, ord: float, dim: List[int], keepdim: bool) -> Tensor:
    values = torch.linalg_svdvals(__torch__.derivatives.distances._matrices(self, dim), driver=None)
    if ord == 2.:
        result = torch.amax(values, [-1], False)
    elif ord == -2.:
        result = torch.amin(values, [-1], False)
    else:
        result = torch.sum(values, [-1], False, dtype=None)
    if keepdim:
        result = __torch__.derivatives.distances._kept(result, __torch__.derivatives.distances._dims(dim, self.dim()))
    return result


def nuclear_norm__as(self: Tensor, keepdim: bool) -> Tensor:
    if self.dim() != 2:
        return torch.nuclear_norm(torch.detach(self), keepdim)  # refuses
    return __torch__.derivatives.distances._values_norm(self, 1., [0, 1], keepdim)


def nuclear_norm__dim__as(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
    if len(dim) != 2:
        return torch.nuclear_norm(torch.detach(self), dim, keepdim)  # refuses
    return __torch__.derivatives.distances._values_norm(self, 1., dim, keepdim)


def _as_dtype(self: Tensor, dtype: Optional[int]) -> Tensor:
    if dtype is None:
        return self
    return torch.to(self, dtype)


def linalg_matrix_norm__as(self: Tensor, ord: number, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    order = float(ord)
    size = abs(order)
    if len(dim) != 2 or self.dim() < 2 or size != 1. and size != 2. and size != inf:
        return torch.linalg_matrix_norm(torch.detach(self), ord, dim, keepdim, dtype=dtype)  # refuses
    x = __torch__.derivatives.distances._as_dtype(self, dtype)
    if size == 2.:
        return __torch__.derivatives.distances._values_norm(x, order, dim, keepdim)
    summed = dim[0]
    rest = dim[1]
    if size == inf:
        summed = dim[1]
        rest = dim[0]
    if summed < 0:
        summed = summed + self.dim()
    if rest < 0:
        rest = rest + self.dim()
    if not keepdim and rest > summed:
        rest = rest - 1
    sums = torch.linalg_vector_norm(x, 1., [summed], keepdim, dtype=None)
    if order > 0.:
        return torch.amax(sums, [rest], keepdim)
    return torch.amin(sums, [rest], keepdim)


def linalg_matrix_norm__str_ord__as(self: Tensor, ord: str, dim: List[int], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if len(dim) != 2 or self.dim() < 2 or ord != "fro" and ord != "nuc":
        return torch.linalg_matrix_norm(torch.detach(self), ord, dim, keepdim, dtype=dtype)  # refuses
    if ord == "fro":
        return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    return __torch__.derivatives.distances._values_norm(__torch__.derivatives.distances._as_dtype(self, dtype), 1., dim, keepdim)


def _is_of_matrix(self: Tensor, dim: Optional[List[int]]) -> bool:
    if dim is None:
        return self.dim() == 2
    return len(dim) == 2


def _matrix_dims(dim: Optional[List[int]]) -> List[int]:
    if dim is None:
        return [0, 1]
    return dim


def linalg_norm__as(self: Tensor, ord: Optional[number], dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if ord is None:
        return torch.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    if __torch__.derivatives.distances._is_of_matrix(self, dim):
        return torch.linalg_matrix_norm(self, ord, __torch__.derivatives.distances._matrix_dims(dim), keepdim, dtype=dtype)
    if dim is None and self.dim() != 1:
        return torch.linalg_norm(torch.detach(self), ord, dim, keepdim, dtype=dtype)  # refuses
    return torch.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)


def linalg_norm__ord_str__as(self: Tensor, ord: str, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]) -> Tensor:
    if not __torch__.derivatives.distances._is_of_matrix(self, dim):
        return torch.linalg_norm(torch.detach(self), ord, dim, keepdim, dtype=dtype)  # refuses
    return torch.linalg_matrix_norm(self, ord, __torch__.derivatives.distances._matrix_dims(dim), keepdim, dtype=dtype)


# ---- tensors scaled by their norms -----------------------------------------------------------------


def renorm__d_self(grad: Tensor, self: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    dims: List[int] = []
    for i in range(self.dim()):
        if i != dim and i != dim + self.dim():
            dims.append(i)
    norm = torch.linalg_vector_norm(self, p, dims, True, dtype=None)
    along = torch.sum(torch.real(torch.conj(self) * grad), dims, True, dtype=None)
    factor = torch.reciprocal(norm + 1e-7)
    inner = __torch__.derivatives.distances._norm(along, self, float(p), norm, dims, True)
    scaled = grad
    if inner is not None:
        scaled = grad - factor * inner
    return torch.where(torch.gt(norm, maxnorm), factor * maxnorm * scaled, grad)


# A norm of at least eps. PyTorch writes eps over smaller ones where the gradient of the norm x, x / norm, will look for them: it is x / eps then.
def _at_least(norm: Tensor, eps: float) -> Tensor:
    if eps <= 0.:
        return norm
    low = torch.detach(norm)
    slope = norm * torch.clamp_max(low / eps, 1.)
    return slope + (torch.clamp_min(low, eps) - torch.detach(slope))


def cosine_similarity__as(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    dtype = torch.result_type(x1, x2)
    pair = torch.broadcast_tensors([torch.to(x1, dtype), torch.to(x2, dtype)])
    norm1 = torch.linalg_vector_norm(pair[0], 2, [dim], True, dtype=None)
    norm2 = torch.linalg_vector_norm(pair[1], 2, [dim], True, dtype=None)
    left = pair[0] / __torch__.derivatives.distances._at_least(norm1, eps)
    right = pair[1] / __torch__.derivatives.distances._at_least(norm2, eps)
    return torch.sum(left * right, [dim], False, dtype=None)


# ---- distances -------------------------------------------------------------------------------------


def dist__d_self(grad: Tensor, self: Tensor, other: Tensor, p: number, result: Tensor) -> Optional[Tensor]:
    return __torch__.derivatives.distances._norm(grad, self - other, float(p), result, [], False)


def dist__d_other(grad: Tensor, self: Tensor, other: Tensor, p: number, result: Tensor) -> Optional[Tensor]:
    return __torch__.derivatives.distances._norm(grad, other - self, float(p), result, [], False)


def pairwise_distance__as(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    difference = x1 - x2 + eps
    return torch.norm(difference, p, [-1], keepdim)


# grad times the slope of a p-norm `dist` along `difference`: 0 where the distance is; maxima do not share it.
def _slope(difference: Tensor, grad: Tensor, dist: Tensor, p: float) -> Tensor:
    if p == 0.:
        return torch.zeros_like(difference)
    if p == 1.:
        return grad * torch.sgn(difference)
    if p == inf:
        return grad * torch.sgn(difference) * torch.to(torch.eq(torch.abs(difference), dist), grad.dtype)
    none = torch.eq(dist, 0)
    weight = torch.masked_fill(grad / torch.pow(torch.masked_fill(dist, none, 1), p - 1.), none, 0)
    if p == 2.:
        return weight * difference
    zero = torch.eq(difference, 0)
    size = torch.masked_fill(torch.abs(difference), zero, 1)
    return weight * torch.masked_fill(torch.sgn(difference) * torch.pow(size, p - 1.), zero, 0)


# Of many points the sums over pairs are products of matrices.
def cdist__d_x1__x2(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    g1: Optional[Tensor] = None
    g2: Optional[Tensor] = None
    if p == 2. and (x1.size(-2) > 25 or x2.size(-2) > 25):
        none = torch.eq(result, 0)
        weight = torch.masked_fill(grad / torch.masked_fill(result, none, 1), none, 0)
        if wanted[0]:
            g1 = x1 * torch.sum(weight, [-1], True, dtype=None) - torch.matmul(weight, x2)
        if wanted[1]:
            back = torch.transpose(weight, -2, -1)
            g2 = x2 * torch.sum(back, [-1], True, dtype=None) - torch.matmul(back, x1)
        return g1, g2
    difference = torch.unsqueeze(x1, -2) - torch.unsqueeze(x2, -3)
    slope = __torch__.derivatives.distances._slope(difference, torch.unsqueeze(grad, -1), torch.unsqueeze(result, -1), p)
    if wanted[0]:
        g1 = torch.sum(slope, [-2], False, dtype=None)
    if wanted[1]:
        g2 = torch.neg(torch.sum(slope, [-3], False, dtype=None))
    return g1, g2


def _cdist_forward__d_x1__x2(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    return __torch__.derivatives.distances.cdist__d_x1__x2(grad, x1, x2, p, result, wanted)


def _euclidean_dist__d_x1__x2(grad: Tensor, x1: Tensor, x2: Tensor, result: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    return __torch__.derivatives.distances.cdist__d_x1__x2(grad, x1, x2, 2., result, wanted)


def pdist__d_self(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    pairs = torch.triu_indices(self.size(0), self.size(0), 1, dtype=4, layout=None, device=self.device, pin_memory=None)
    first = torch.select(pairs, 0, 0)
    second = torch.select(pairs, 0, 1)
    difference = torch.index_select(self, 0, first) - torch.index_select(self, 0, second)
    slope = __torch__.derivatives.distances._slope(difference, torch.unsqueeze(grad, 1), torch.unsqueeze(result, 1), p)
    zeros = torch.zeros_like(self, memory_format=0)
    return torch.index_add(torch.index_add(zeros, 0, first, slope), 0, second, slope, alpha=-1)


def _pdist_forward__d_self(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    return __torch__.derivatives.distances.pdist__d_self(grad, self, p, result)
