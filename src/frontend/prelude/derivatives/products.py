# SPDX-License-Identifier: Apache-2.0
# Derivatives of products of vectors, matrices and tensors. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# The conjugate transpose.
def _mh(t: Tensor) -> Tensor:
    return torch.conj(torch.transpose(t, -2, -1))


# t times the conjugate of a number.
def _by(t: Tensor, a: number) -> Tensor:
    if a == 1:
        return t
    return torch.conj(torch.conj(t) * a)


# The number of elements in all dims but the last n.
def _rows(sizes: List[int], n: int) -> int:
    rows = 1
    for i in range(len(sizes) - n):
        rows = rows * sizes[i]
    return rows


# t as a matrix whose rows are dim `dim`, and whose columns are all others.
def _unrolled(t: Tensor, dim: int) -> Tensor:
    sizes = t.size()
    rows = t.size(dim)
    columns = 1
    for i in range(len(sizes)):
        if i != dim and i != dim + len(sizes):
            columns = columns * sizes[i]
    return torch.reshape(torch.movedim(t, dim, 0), [rows, columns])


# t with dims of one element made as long as they are in sizes.
def _stretched(t: Tensor, sizes: List[int]) -> Tensor:
    target = t.size()
    for i in range(len(target)):
        if target[i] == 1:
            target[i] = sizes[i]
    return torch.expand(t, target)


# ---- vectors and matrices --------------------------------------------------------------------------


def mm__d_self(grad: Tensor, mat2: Tensor) -> Tensor:
    return torch.mm(grad, __torch__.derivatives.products._mh(mat2))


def mm__d_mat2(grad: Tensor, self: Tensor) -> Tensor:
    return torch.mm(__torch__.derivatives.products._mh(self), grad)


def bmm__d_self(grad: Tensor, mat2: Tensor) -> Tensor:
    return torch.bmm(grad, __torch__.derivatives.products._mh(mat2))


def bmm__d_mat2(grad: Tensor, self: Tensor) -> Tensor:
    return torch.bmm(__torch__.derivatives.products._mh(self), grad)


def mv__d_self(grad: Tensor, vec: Tensor) -> Tensor:
    return torch.outer(grad, torch.conj(vec))


def mv__d_vec(grad: Tensor, self: Tensor) -> Tensor:
    return torch.mv(__torch__.derivatives.products._mh(self), grad)


def dot__d_self(grad: Tensor, tensor: Tensor) -> Tensor:
    return grad * torch.conj(tensor)


def dot__d_tensor(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.conj(self)


def vdot__d_self(grad: Tensor, other: Tensor) -> Tensor:
    return torch.conj(grad) * other


def vdot__d_other(grad: Tensor, self: Tensor) -> Tensor:
    return grad * self


def outer__as(self: Tensor, vec2: Tensor) -> Tensor:
    if self.dim() != 1 or vec2.dim() != 1:
        return torch.outer(torch.detach(self), torch.detach(vec2))  # refuses
    return torch.reshape(self, [self.size(0), 1]) * vec2


def addmm__d_self(grad: Tensor, beta: number) -> Tensor:
    return __torch__.derivatives.products._by(grad, beta)


def addmm__d_mat1(grad: Tensor, mat2: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.mm(grad, __torch__.derivatives.products._mh(mat2)), alpha)


def addmm__d_mat2(grad: Tensor, mat1: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.mm(__torch__.derivatives.products._mh(mat1), grad), alpha)


def addmv__d_self(grad: Tensor, beta: number) -> Tensor:
    return __torch__.derivatives.products._by(grad, beta)


def addmv__d_mat(grad: Tensor, vec: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.outer(grad, torch.conj(vec)), alpha)


def addmv__d_vec(grad: Tensor, mat: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.mv(__torch__.derivatives.products._mh(mat), grad), alpha)


def addr__d_self(grad: Tensor, beta: number) -> Tensor:
    return __torch__.derivatives.products._by(grad, beta)


def addr__d_vec1(grad: Tensor, vec2: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.mv(grad, torch.to(torch.conj(vec2), grad.dtype)), alpha)


def addr__d_vec2(grad: Tensor, vec1: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.mv(torch.transpose(grad, 0, 1), torch.to(torch.conj(vec1), grad.dtype)), alpha)


def addbmm__d_self(grad: Tensor, beta: number) -> Tensor:
    return __torch__.derivatives.products._by(grad, beta)


def addbmm__d_batch1(grad: Tensor, batch2: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.matmul(grad, __torch__.derivatives.products._mh(batch2)), alpha)


def addbmm__d_batch2(grad: Tensor, batch1: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.matmul(__torch__.derivatives.products._mh(batch1), grad), alpha)


def baddbmm__d_self(grad: Tensor, beta: number) -> Tensor:
    return __torch__.derivatives.products._by(grad, beta)


def baddbmm__d_batch1(grad: Tensor, batch2: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.bmm(grad, __torch__.derivatives.products._mh(batch2)), alpha)


def baddbmm__d_batch2(grad: Tensor, batch1: Tensor, alpha: number) -> Tensor:
    return __torch__.derivatives.products._by(torch.bmm(__torch__.derivatives.products._mh(batch1), grad), alpha)


# ---- products of any dims --------------------------------------------------------------------------


# Batches that only the other factor has are summed by the product itself where it is one of matrices, else by the engine.
def matmul__d_self(grad: Tensor, other: Tensor, self_sizes: List[int]) -> Tensor:
    n = len(self_sizes)
    if other.dim() == 1:
        if n == 1:
            return grad * torch.conj(other)
        return torch.unsqueeze(grad, -1) * torch.conj(other)
    if n == 1:
        return torch.squeeze(torch.matmul(torch.conj(other), torch.unsqueeze(grad, -1)), -1)
    if n == 2 and other.dim() > 2:
        rows = __torch__.derivatives.products._unrolled(grad, -2)
        return torch.mm(rows, __torch__.derivatives.products._mh(__torch__.derivatives.products._unrolled(other, -2)))
    return torch.matmul(grad, __torch__.derivatives.products._mh(other))


def matmul__d_other(grad: Tensor, self: Tensor, other_sizes: List[int]) -> Tensor:
    n = len(other_sizes)
    if self.dim() == 1:
        if n == 1:
            return grad * torch.conj(self)
        return torch.unsqueeze(torch.conj(self), -1) * torch.unsqueeze(grad, -2)
    rows = __torch__.derivatives.products._rows(self.size(), 1)
    if n == 1:
        flat = torch.reshape(self, [rows, self.size(-1)])
        return torch.mv(__torch__.derivatives.products._mh(flat), torch.reshape(grad, [rows]))
    if n == 2 and self.dim() > 2:
        flat = torch.reshape(self, [rows, self.size(-1)])
        return torch.mm(__torch__.derivatives.products._mh(flat), torch.reshape(grad, [rows, grad.size(-1)]))
    return torch.matmul(__torch__.derivatives.products._mh(self), grad)


def linear__d_input(grad: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() == 1:
        return torch.unsqueeze(grad, -1) * torch.conj(weight)
    return torch.matmul(grad, torch.conj(weight))


def linear__d_weight(grad: Tensor, input: Tensor, weight_sizes: List[int]) -> Tensor:
    rows = __torch__.derivatives.products._rows(input.size(), 1)
    flat = torch.conj(torch.reshape(input, [rows, input.size(-1)]))
    if len(weight_sizes) == 1:
        return torch.mv(torch.transpose(flat, 0, 1), torch.reshape(grad, [rows]))
    return torch.mm(torch.transpose(torch.reshape(grad, [rows, grad.size(-1)]), 0, 1), flat)


def linear__d_bias(grad: Tensor) -> Tensor:
    return grad


def inner__as(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    if self.size(-1) != other.size(-1):
        return torch.inner(torch.detach(self), torch.detach(other))  # refuses
    return torch.tensordot(self, other, [-1], [-1])


def linalg_vecdot__as(x: Tensor, y: Tensor, dim: int) -> Tensor:
    return torch.sum(torch.conj(x) * y, [dim], False, dtype=None)


# ---- tensordot -------------------------------------------------------------------------------------


# The dims that are not in `dims`.
def _free(n: int, dims: List[int]) -> List[int]:
    free: List[int] = []
    for i in range(n):
        if not torch.__contains__(dims, i) and not torch.__contains__(dims, i - n):
            free.append(i)
    return free


# Where each of n dims is in a tensor that has the free ones at `at` and those in dims, whose partners are ordered, at `summed`.
def _places(n: int, free: List[int], at: int, dims: List[int], partners: List[int], partner_dims: int, summed: int) -> List[int]:
    places: List[int] = []
    for i in range(n):
        places.append(0)
    for i in range(len(free)):
        places[free[i]] = at + i
    for i in range(len(dims)):
        mine = dims[i]
        if mine < 0:
            mine = mine + n
        rank = 0
        for j in range(len(partners)):
            if (partners[j] + partner_dims) % partner_dims < (partners[i] + partner_dims) % partner_dims:
                rank = rank + 1
        places[mine] = summed + rank
    return places


def tensordot__d_self(grad: Tensor, other: Tensor, self_sizes: List[int], dims_self: List[int], dims_other: List[int]) -> Tensor:
    n = len(self_sizes)
    free = __torch__.derivatives.products._free(n, dims_self)
    rest = __torch__.derivatives.products._free(other.dim(), dims_other)
    behind: List[int] = []
    for i in range(len(rest)):
        behind.append(len(free) + i)
    product = torch.tensordot(grad, torch.conj(other), behind, rest)
    places = __torch__.derivatives.products._places(n, free, 0, dims_self, dims_other, other.dim(), len(free))
    return __torch__.derivatives.products._stretched(torch.permute(product, places), self_sizes)


def tensordot__d_other(grad: Tensor, self: Tensor, other_sizes: List[int], dims_self: List[int], dims_other: List[int]) -> Tensor:
    n = len(other_sizes)
    free = __torch__.derivatives.products._free(self.dim(), dims_self)
    rest = __torch__.derivatives.products._free(n, dims_other)
    first: List[int] = []
    for i in range(len(free)):
        first.append(i)
    product = torch.tensordot(torch.conj(self), grad, free, first)
    places = __torch__.derivatives.products._places(n, rest, len(dims_self), dims_other, dims_self, self.dim(), 0)
    return __torch__.derivatives.products._stretched(torch.permute(product, places), other_sizes)


# ---- einsum ----------------------------------------------------------------------------------------


# A letter that text does not have.
def _unused(text: str) -> str:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for i in range(52):
        if text.find(letters[i]) < 0:
            return letters[i]
    torch.ops.ctsc.fail("einsum(): the gradient needs more than 52 letters")
    return "a"


# The letters that occur once, in their order, as the result has them where the equation does not say.
def _implied(terms: List[str]) -> str:
    text = "".join(terms)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    out = ""
    for i in range(52):
        if text.count(letters[i]) == 1:
            out = out + letters[i]
    return out


# A letter for each dim of each operand, then of the result: ellipses are written out.
def _spelled(equation: str, tensors: List[Tensor]) -> List[str]:
    text = equation.replace(" ", "")
    arrow = text.find("->")
    left = text
    if arrow >= 0:
        left = text[:arrow]
    terms = left.split(",")
    longest = 0
    for i in range(len(terms)):
        if terms[i].find("...") >= 0:
            longest = max(longest, tensors[i].dim() - len(terms[i]) + 3)
    more = ""
    for i in range(longest):
        more = more + __torch__.derivatives.products._unused(text + more)
    out = "..." + __torch__.derivatives.products._implied(terms)
    if arrow >= 0:
        out = text[arrow + 2:]
    spelled: List[str] = []
    for i in range(len(terms)):
        mine = more
        if terms[i].find("...") >= 0:
            mine = more[longest - (tensors[i].dim() - len(terms[i]) + 3):]
        spelled.append(terms[i].replace("...", mine))
    spelled.append(out.replace("...", more))
    return spelled


# The same product with the gradient in place of operand k. A letter that occurs twice in its term is a diagonal, one that
# occurs nowhere else was summed there alone.
def _einsum_grad(grad: Tensor, terms: List[str], tensors: List[Tensor], k: int) -> Tensor:
    text = "".join(terms)
    known = terms[len(terms) - 1]
    left = known
    operands = [grad]
    for i in range(len(tensors)):
        if i != k:
            left = left + "," + terms[i]
            known = known + terms[i]
            operands.append(torch.conj(tensors[i]))
    mine = ""
    for i in range(len(terms[k])):
        letter = terms[k][i]
        if mine.find(letter) >= 0:
            second = __torch__.derivatives.products._unused(text)
            text = text + second
            left = left + "," + letter + second
            known = known + second
            operands.append(torch.eye(tensors[k].size(i), dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None))
            letter = second
        elif known.find(letter) < 0:
            left = left + "," + letter
            operands.append(torch.ones([1], dtype=grad.dtype, layout=None, device=grad.device, pin_memory=None))
        mine = mine + letter
    product = torch.einsum(left + "->" + mine, operands, path=None)
    return __torch__.derivatives.products._stretched(product, tensors[k].size())


def einsum__d_tensors(grad: Tensor, equation: str, tensors: List[Tensor], wanted: List[bool]) -> List[Optional[Tensor]]:
    terms = __torch__.derivatives.products._spelled(equation, tensors)
    result: List[Optional[Tensor]] = []
    for i in range(len(tensors)):
        one: Optional[Tensor] = None
        if wanted[i]:
            one = __torch__.derivatives.products._einsum_grad(grad, terms, tensors, i)
        result.append(one)
    return result


# ---- chains ----------------------------------------------------------------------------------------


# A B C: the gradient of B is A' grad C', and of factors at the ends the same without what is not there.
def linalg_multi_dot__d_tensors(grad: Tensor, tensors: List[Tensor], wanted: List[bool]) -> List[Optional[Tensor]]:
    n = len(tensors)
    factors: List[Tensor] = []
    for i in range(n):
        t = tensors[i]
        if t.dim() == 1:
            if i == 0:
                t = torch.unsqueeze(t, 0)
            else:
                t = torch.unsqueeze(t, 1)
        factors.append(__torch__.derivatives.products._mh(t))
    g = torch.reshape(grad, [factors[0].size(1), factors[n - 1].size(0)])
    result: List[Optional[Tensor]] = []
    for i in range(n):
        one: Optional[Tensor] = None
        if wanted[i]:
            chain: List[Tensor] = []
            for j in range(i):
                chain.append(factors[i - 1 - j])
            chain.append(g)
            for j in range(n - 1 - i):
                chain.append(factors[n - 1 - j])
            if len(chain) == 1:
                one = torch.reshape(g, tensors[i].size())
            else:
                one = torch.reshape(torch.linalg_multi_dot(chain), tensors[i].size())
        result.append(one)
    return result


def chain_matmul__d_matrices(grad: Tensor, matrices: List[Tensor], wanted: List[bool]) -> List[Optional[Tensor]]:
    return __torch__.derivatives.products.linalg_multi_dot__d_tensors(grad, matrices, wanted)


def linalg_matrix_power__as(self: Tensor, n: int) -> Tensor:
    if self.dim() < 2 or self.size(-1) != self.size(-2):
        return torch.linalg_matrix_power(torch.detach(self), n)  # refuses
    if n == 0:
        eye = torch.eye(self.size(-1), dtype=self.dtype, layout=None, device=self.device, pin_memory=None)
        return torch.fill(self, 0.) + eye
    power = self
    if n < 0:
        power = torch.linalg_inv(self)
    rest = abs(n)
    result: Optional[Tensor] = None
    while rest > 0:
        if rest % 2 == 1:
            if result is None:
                result = power
            else:
                result = torch.matmul(result, power)
        rest = rest // 2
        if rest > 0:
            power = torch.matmul(power, power)
    if result is None:
        return self
    return torch.clone(result, memory_format=None)


# ---- products of three -----------------------------------------------------------------------------


def bilinear__as(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    sizes = input1.size()
    rows = __torch__.derivatives.products._rows(sizes, 1)
    left = torch.reshape(input1, [rows, input1.size(-1)])
    out = torch.einsum("ni,oij,nj->no", [left, weight, torch.reshape(input2, [rows, input2.size(-1)])], path=None)
    if bias is not None:
        out = out + bias
    sizes[-1] = weight.size(0)
    return torch.reshape(out, sizes)


# Each operand's place in the product is taken by the gradient, its summed dims change roles.
def _trilinear__d_i1__i2__i3(grad: Tensor, i1: Tensor, i2: Tensor, i3: Tensor, expand1: List[int], expand2: List[int], expand3: List[int], sumdim: List[int], wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    g1: Optional[Tensor] = None
    g2: Optional[Tensor] = None
    g3: Optional[Tensor] = None
    if wanted[0]:
        g1 = torch._trilinear(grad, torch.conj(i2), torch.conj(i3), sumdim, expand2, expand3, expand1)
    if wanted[1]:
        g2 = torch._trilinear(torch.conj(i1), grad, torch.conj(i3), expand1, sumdim, expand3, expand2)
    if wanted[2]:
        g3 = torch._trilinear(torch.conj(i1), torch.conj(i2), grad, expand1, expand2, sumdim, expand3)
    return g1, g2, g3


def linalg_cross__d_self(grad: Tensor, other: Tensor, dim: int) -> Tensor:
    return torch.linalg_cross(torch.conj(other), grad, dim=dim)


def linalg_cross__d_other(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    return torch.linalg_cross(grad, torch.conj(self), dim=dim)


def cross__as(self: Tensor, other: Tensor, dim: Optional[int]) -> Tensor:
    at = -1
    if dim is not None:
        at = dim
    else:
        found = False
        for i in range(self.dim()):
            if not found and self.size(i) == 3:
                at = i
                found = True
        if not found:
            return torch.cross(torch.detach(self), torch.detach(other), None)  # refuses
    return torch.linalg_cross(self, other, dim=at)


def linalg_vander__as(x: Tensor, N: Optional[int]) -> Tensor:
    if x.dim() == 0:
        x = torch.unsqueeze(x, -1)
    n = x.size(-1)
    if N is not None:
        n = N
    if n <= 1:
        return torch.linalg_vander(torch.detach(x), N=N)
    sizes = x.size()
    sizes.append(n - 1)
    powers = torch.cumprod(torch.expand(torch.unsqueeze(x, -1), sizes), -1, dtype=None)
    ones = torch.ones_like(torch.narrow(powers, -1, 0, 1))
    return torch.cat([ones, powers], -1)


# ---- sparse matrices: starts of rows, columns, values ------------------------------------------------


def _transposed_mm(crow: Tensor, columns: Tensor, values: Tensor, dense: Tensor, size: int) -> Tensor:
    start, rows, order = torch.ops.ctsc.sparse_transposed(crow, columns, size)
    return torch.ops.ctsc.sparse_mm(start, rows, torch.index_select(values, 0, order), dense)


def sparse_mm__d_values(grad: Tensor, crow: Tensor, columns: Tensor, dense: Tensor) -> Tensor:
    if dense.dim() == 1:
        return torch.ops.ctsc.sparse_sampled(crow, columns, torch.unsqueeze(grad, 1), torch.unsqueeze(dense, 1))
    return torch.ops.ctsc.sparse_sampled(crow, columns, grad, dense)


def sparse_mm__d_dense(grad: Tensor, crow: Tensor, columns: Tensor, values: Tensor, dense_sizes: List[int]) -> Tensor:
    return __torch__.derivatives.products._transposed_mm(crow, columns, values, grad, dense_sizes[0])


def sparse_sampled__d_a(grad: Tensor, crow: Tensor, columns: Tensor, b: Tensor) -> Tensor:
    return torch.ops.ctsc.sparse_mm(crow, columns, grad, b)


def sparse_sampled__d_b(grad: Tensor, crow: Tensor, columns: Tensor, a: Tensor, b_sizes: List[int]) -> Tensor:
    return __torch__.derivatives.products._transposed_mm(crow, columns, grad, a, b_sizes[0])
