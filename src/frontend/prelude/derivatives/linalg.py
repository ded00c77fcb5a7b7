# SPDX-License-Identifier: Apache-2.0
# Derivatives of linear algebra: solving, factoring, eigenvalues. runtime/autograd/grad_rules.h explains the names of functions and parameters.


def _mh(t: Tensor) -> Tensor:
    return torch.conj(torch.transpose(t, -2, -1))


# The product of matrices, or of conjugate transposes of those that are named: t' is said by _mh.
def _left_solved(A: Tensor, B: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    return torch.linalg_solve_triangular(A, B, upper=upper, left=True, unitriangular=unitriangular)


def _right_solved(A: Tensor, B: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    return torch.linalg_solve_triangular(A, B, upper=upper, left=False, unitriangular=unitriangular)


def _eye(n: int, like: Tensor) -> Tensor:
    return torch.eye(n, dtype=like.dtype, layout=None, device=like.device, pin_memory=None)


# t with ones on its diagonal, which is zero.
def _with_ones(t: Tensor) -> Tensor:
    return t + __torch__.derivatives.linalg._eye(t.size(-1), t)


def _diagonal(t: Tensor) -> Tensor:
    return torch.diagonal(t, 0, -2, -1)


# t with other elements on its diagonal.
def _with_diagonal(t: Tensor, diagonal: Tensor) -> Tensor:
    on = torch.eye(t.size(-1), dtype=11, layout=None, device=t.device, pin_memory=None)
    return torch.masked_fill(t, on, 0) + torch.diag_embed(diagonal, 0, -2, -1)


def _is_near_zero(t: Tensor) -> bool:
    return torch.allclose(t, torch.zeros_like(t), 0.01, 0.01, False)


# ---- inverses --------------------------------------------------------------------------------------


def _inverse_grad(grad: Tensor, inverse: Tensor) -> Tensor:
    turned = __torch__.derivatives.linalg._mh(inverse)
    return torch.neg(torch.matmul(turned, torch.matmul(grad, turned)))


def linalg_inv__d_A(grad: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._inverse_grad(grad, result)


def linalg_inv_ex__d_A(grad0: Tensor, result0: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._inverse_grad(grad0, result0)


# Golub and Pereyra's three terms.
def _pinv_grad(grad: Tensor, self: Tensor, pinv: Tensor) -> Tensor:
    turned = __torch__.derivatives.linalg._mh(pinv)
    g = __torch__.derivatives.linalg._mh(grad)
    if self.size(-2) <= self.size(-1):
        k = torch.matmul(g, pinv)
        kp = torch.matmul(k, turned)
        first = kp - __torch__.derivatives.linalg._mh(torch.matmul(pinv, k)) - torch.matmul(torch.matmul(self, pinv), kp)
        return first + torch.matmul(torch.matmul(turned, pinv), g - torch.matmul(k, self))
    k = torch.matmul(pinv, g)
    kp = torch.matmul(turned, k)
    first = torch.matmul(torch.matmul(g - torch.matmul(self, k), pinv), turned) - __torch__.derivatives.linalg._mh(torch.matmul(k, pinv))
    return first + kp - torch.matmul(torch.matmul(kp, pinv), self)


def linalg_pinv__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._pinv_grad(grad, self, result)


def linalg_pinv__rcond_tensor__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._pinv_grad(grad, self, result)


def linalg_pinv__atol_rtol_float__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._pinv_grad(grad, self, result)


def linalg_pinv__atol_rtol_tensor__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._pinv_grad(grad, self, result)


def pinverse__d_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._pinv_grad(grad, self, result)


def linalg_tensorinv__as(self: Tensor, ind: int) -> Tensor:
    if ind <= 0 or ind >= self.dim():
        return torch.linalg_tensorinv(torch.detach(self), ind)  # refuses
    front: List[int] = []
    back: List[int] = []
    rows = 1
    columns = 1
    for i in range(self.dim()):
        if i < ind:
            front.append(self.size(i))
            rows = rows * self.size(i)
        else:
            back.append(self.size(i))
            columns = columns * self.size(i)
    if rows != columns:
        return torch.linalg_tensorinv(torch.detach(self), ind)  # refuses
    inverse = torch.linalg_inv(torch.reshape(self, [rows, columns]))
    for i in range(len(front)):
        back.append(front[i])
    return torch.reshape(inverse, back)


def linalg_tensorsolve__as(self: Tensor, other: Tensor, dims: Optional[List[int]]) -> Tensor:
    x = self
    if dims is not None:
        behind: List[int] = []
        for i in range(len(dims)):
            behind.append(i - len(dims))
        x = torch.movedim(self, dims, behind)
    sizes: List[int] = []
    n = other.numel()
    for i in range(x.dim()):
        if i >= other.dim():
            sizes.append(x.size(i))
    if x.numel() != n * n:
        return torch.linalg_tensorsolve(torch.detach(self), torch.detach(other), dims)  # refuses
    return torch.reshape(torch.linalg_solve(torch.reshape(x, [n, n]), torch.reshape(other, [n]), left=True), sizes)


# ---- determinants ----------------------------------------------------------------------------------


def linalg_det__as(A: Tensor) -> Tensor:
    det, LU, pivots = torch._linalg_det(A)
    return det


# The products of all singular values but one.
def _others_product(values: Tensor) -> Tensor:
    on = torch.eye(values.size(-1), dtype=11, layout=None, device=values.device, pin_memory=None)
    sizes = values.size()
    sizes.append(values.size(-1))
    return torch.prod(torch.masked_fill(torch.expand(torch.unsqueeze(values, -2), sizes), on, 1), -1, False, dtype=None)


# A singular matrix has the cofactors as its gradient where this will be differentiated again; else zeros, as from a solver.
def _linalg_det__d_A(grad0: Tensor, result0: Tensor, A: Tensor, result1: Tensor, result2: Tensor) -> Optional[Tensor]:
    if A.numel() == 0:
        return None
    scaled = torch.unsqueeze(grad0 * torch.conj(result0), -1)
    target = torch.diag_embed(torch.expand(scaled, torch.diagonal(A, 0, -2, -1).size()), 0, -2, -1)
    if not torch.is_grad_enabled():
        nearly = torch.masked_fill(torch.zeros_like(result1), torch.diag_embed(torch.eq(torch.diagonal(result1, 0, -2, -1), 0), 0, -2, -1), 1e-7)
        return torch.linalg_lu_solve(result1 + nearly, result2, target, left=True, adjoint=True)
    bound = 2.220446049250313e-14
    if A.dtype == 6 or A.dtype == 9:
        bound = 1.1920928955078125e-05
    singular = torch.lt(torch.abs(result0), bound)
    if not torch.Bool(torch.any(singular)):
        return torch.linalg_solve(__torch__.derivatives.linalg._mh(A), target, left=True)
    U, S, Vh = torch.linalg_svd(A, False, driver=None)
    alpha = torch.conj(torch.linalg_det(U) * torch.linalg_det(Vh)) * grad0
    middle = torch.unsqueeze(alpha, -1) * __torch__.derivatives.linalg._others_product(S)
    return torch.matmul(U * torch.unsqueeze(middle, -2), Vh)


def linalg_slogdet__as(A: Tensor) -> Tuple[Tensor, Tensor]:
    sign, logabsdet, LU, pivots = torch._linalg_slogdet(A)
    return sign, logabsdet


def slogdet__as(self: Tensor) -> Tuple[Tensor, Tensor]:
    sign, logabsdet, LU, pivots = torch._linalg_slogdet(self)
    return sign, logabsdet


# The sign of a real determinant is constant, that of a complex one turns with the determinant's angle.
def _linalg_slogdet__d_A(grad0: Optional[Tensor], grad1: Optional[Tensor], A: Tensor, result0: Tensor, result2: Tensor, result3: Tensor) -> Optional[Tensor]:
    g = grad1
    if torch.is_complex(A):
        if grad0 is not None:
            turned = torch.neg(torch.imag(torch.conj(grad0) * result0))
            real = torch.zeros_like(turned)
            if grad1 is not None:
                real = grad1
            g = torch.complex(real, turned)
    if g is None:
        return None
    target = torch.diag_embed(torch.expand(torch.unsqueeze(g, -1), torch.diagonal(A, 0, -2, -1).size()), 0, -2, -1)
    target = torch.to(target, A.dtype)
    if not torch.is_grad_enabled():
        return torch.linalg_lu_solve(result2, result3, target, left=True, adjoint=True)
    return torch.linalg_solve(__torch__.derivatives.linalg._mh(A), target, left=True)


def logdet__as(self: Tensor) -> Tensor:
    sign, logabsdet = torch.linalg_slogdet(self)
    if torch.is_complex(self):
        return torch.log(sign) + logabsdet
    return torch.masked_fill(logabsdet, torch.eq(sign, -1.), nan)


# ---- systems of equations --------------------------------------------------------------------------


def linalg_solve__as(A: Tensor, B: Tensor, left: bool) -> Tensor:
    result, LU, pivots, info = torch._linalg_solve_ex(A, B, left=left, check_errors=False)
    if torch.Bool(torch.any(info)):
        return torch.linalg_solve(torch.detach(A), torch.detach(B), left=left)  # refuses
    return result


def linalg_solve_ex__as(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Tuple[Tensor, Tensor]:
    result, LU, pivots, info = torch._linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return result, info


def _is_vector(A: Tensor, X: Tensor) -> bool:
    if X.dim() == 1:
        return True
    if A.dim() - 1 != X.dim():
        return False
    for i in range(X.dim()):
        if A.size(i) != X.size(i):
            return False
    return True


# A X = B: B's gradient solves the transposed system, A's is -that X'. Without further derivatives the forward pass's factors do.
def _linalg_solve_ex__d_A__B(grad0: Tensor, A: Tensor, left: bool, result0: Tensor, result1: Tensor, result2: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Tensor]:
    vector = __torch__.derivatives.linalg._is_vector(result1, result0)
    g = grad0
    x = result0
    if vector:
        g = torch.unsqueeze(grad0, -1)
        x = torch.unsqueeze(result0, -1)
    if torch.is_grad_enabled():
        b = torch.linalg_solve(__torch__.derivatives.linalg._mh(A), g, left=left)
    else:
        b = torch.linalg_lu_solve(result1, result2, g, left=left, adjoint=True)
    a: Optional[Tensor] = None
    if wanted[0]:
        if left:
            a = torch.neg(torch.matmul(b, __torch__.derivatives.linalg._mh(x)))
        else:
            a = torch.neg(torch.matmul(__torch__.derivatives.linalg._mh(x), b))
    if vector:
        b = torch.squeeze(b, -1)
    return a, b


def linalg_solve_triangular__d_self__B(grad: Tensor, self: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool, wanted: List[bool]) -> Tuple[Optional[Tensor], Tensor]:
    b = torch.linalg_solve_triangular(__torch__.derivatives.linalg._mh(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    a: Optional[Tensor] = None
    if wanted[0]:
        x = __torch__.derivatives.linalg._mh(result)
        if left:
            product = torch.neg(torch.matmul(b, x))
        else:
            product = torch.neg(torch.matmul(x, b))
        if upper:
            a = torch.triu(product, int(unitriangular))
        else:
            a = torch.tril(product, -int(unitriangular))
    return a, b


def triangular_solve__as(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Tuple[Tensor, Tensor]:
    shown = torch.triangular_solve(torch.detach(self), torch.detach(A), upper, transpose, unitriangular)[1]
    matrix = A
    if transpose:
        matrix = torch.transpose(A, -2, -1)
    x = torch.linalg_solve_triangular(matrix, self, upper=upper != transpose, left=True, unitriangular=unitriangular)
    return x, torch.clone(torch.expand(A, shown.size()), memory_format=0)


def cholesky_inverse__d_self(grad: Tensor, self: Tensor, upper: bool, result: Tensor) -> Tensor:
    common = grad + __torch__.derivatives.linalg._mh(grad)
    common = torch.matmul(result, torch.matmul(common, result))
    if upper:
        return torch.neg(torch.matmul(self, common))
    return torch.neg(torch.matmul(common, self))


def cholesky_solve__d_self__input2(grad: Tensor, input2: Tensor, upper: bool, result: Tensor, wanted: List[bool]) -> Tuple[Tensor, Optional[Tensor]]:
    b = torch.cholesky_solve(grad, input2, upper)
    factor: Optional[Tensor] = None
    if wanted[1]:
        common = torch.matmul(b, __torch__.derivatives.linalg._mh(result))
        common = common + __torch__.derivatives.linalg._mh(common)
        if upper:
            factor = torch.neg(torch.matmul(input2, common))
        else:
            factor = torch.neg(torch.matmul(common, input2))
    return b, factor


# The solution is the pseudoinverse times b; what is left over is orthogonal to the columns.
def linalg_lstsq__d_self__b(grad0: Optional[Tensor], grad1: Optional[Tensor], self: Tensor, b: Tensor, result0: Tensor, wanted: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    vector = __torch__.derivatives.linalg._is_vector(self, b)
    rhs = b
    x = result0
    if vector:
        rhs = torch.unsqueeze(b, -1)
        x = torch.unsqueeze(result0, -1)
    a: Optional[Tensor] = None
    c: Optional[Tensor] = None
    if grad0 is not None:
        g = grad0
        if vector:
            g = torch.unsqueeze(grad0, -1)
        pinv = torch.linalg_pinv(self, atol=None, rtol=None, hermitian=False)
        if wanted[0]:
            a = __torch__.derivatives.linalg._pinv_grad(torch.matmul(g, __torch__.derivatives.linalg._mh(rhs)), self, pinv)
        c = torch.matmul(__torch__.derivatives.linalg._mh(pinv), g)
    if grad1 is not None:
        if grad1.numel() != 0:
            left = (rhs - torch.matmul(self, x)) * torch.unsqueeze(grad1 * 2, -2)
            from_left = torch.neg(torch.matmul(left, __torch__.derivatives.linalg._mh(x)))
            if a is not None:
                from_left = from_left + a
            a = from_left
            if c is not None:
                left = left + c
            c = left
    if vector and c is not None:
        c = torch.squeeze(c, -1)
    return a, c


# ---- Cholesky and QR -------------------------------------------------------------------------------


def _cholesky_grad(grad: Tensor, L: Tensor, upper: bool) -> Tensor:
    g = grad
    if upper:
        L = __torch__.derivatives.linalg._mh(L)
        g = __torch__.derivatives.linalg._mh(grad)
    turned = __torch__.derivatives.linalg._mh(L)
    inner = torch.tril(torch.matmul(turned, g))
    inner = (inner + __torch__.derivatives.linalg._mh(torch.tril(inner, -1))) * 0.5
    return __torch__.derivatives.linalg._right_solved(L, __torch__.derivatives.linalg._left_solved(turned, inner, True, False), False, False)


def cholesky__d_self(grad: Tensor, upper: bool, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._cholesky_grad(grad, result, upper)


def linalg_cholesky__d_self(grad: Tensor, upper: bool, result: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._cholesky_grad(grad, result, upper)


def linalg_cholesky_ex__d_self(grad0: Tensor, upper: bool, result0: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._cholesky_grad(grad0, result0, upper)


# Half of the diagonal's real part, or of the whole diagonal.
def _half_diagonal(t: Tensor) -> Tensor:
    return t - torch.diag_embed(torch.to(torch.real(torch.diagonal(t, 0, -2, -1)), t.dtype) * 0.5, 0, -2, -1)


def _half_whole_diagonal(t: Tensor) -> Tensor:
    return t - torch.diag_embed(torch.diagonal(t, 0, -2, -1) * 0.5, 0, -2, -1)


def _difference(a: Optional[Tensor], b: Optional[Tensor]) -> Tensor:
    if a is not None:
        if b is not None:
            return a - b
        return a
    if b is not None:
        return torch.neg(b)
    torch.ops.ctsc.fail("no gradient")
    return torch.zeros([0], dtype=6, layout=None, device=None, pin_memory=None)


def _qr_grad(gQ: Optional[Tensor], gR: Optional[Tensor], Q: Tensor, R: Tensor) -> Tensor:
    from_q: Optional[Tensor] = None
    from_r: Optional[Tensor] = None
    if gQ is not None:
        from_q = torch.matmul(__torch__.derivatives.linalg._mh(Q), gQ)
    if gR is not None:
        from_r = torch.matmul(gR, __torch__.derivatives.linalg._mh(R))
    m = Q.size(-2)
    n = R.size(-1)
    if m >= n:
        inner = torch.triu(__torch__.derivatives.linalg._difference(from_r, from_q))
        inner = __torch__.derivatives.linalg._half_diagonal(inner + __torch__.derivatives.linalg._mh(inner))
        a = torch.matmul(Q, inner)
        if gQ is not None:
            a = a + gQ
        return __torch__.derivatives.linalg._right_solved(__torch__.derivatives.linalg._mh(R), a, False, False)
    inner = __torch__.derivatives.linalg._difference(from_q, from_r)
    inner = __torch__.derivatives.linalg._half_whole_diagonal(torch.tril(inner - __torch__.derivatives.linalg._mh(inner)))
    square = __torch__.derivatives.linalg._mh(torch.narrow(R, -1, 0, m))
    a = __torch__.derivatives.linalg._right_solved(square, inner, False, False)
    a = torch.cat([a, torch.zeros_like(torch.narrow(R, -1, m, n - m))], -1)
    if gR is not None:
        a = a + gR
    return torch.matmul(Q, a)


def linalg_qr__d_A(grad0: Optional[Tensor], grad1: Optional[Tensor], mode: str, result0: Tensor, result1: Tensor) -> Tensor:
    if mode == "r":
        torch.ops.ctsc.fail("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
    if mode == "complete" and result0.size(-2) > result1.size(-1):
        torch.ops.ctsc.fail("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    return __torch__.derivatives.linalg._qr_grad(grad0, grad1, result0, result1)


def qr__as(self: Tensor, some: bool) -> Tuple[Tensor, Tensor]:
    if some:
        return torch.linalg_qr(self, "reduced")
    return torch.linalg_qr(self, "complete")


# ---- reflectors ------------------------------------------------------------------------------------


# Column i of the reflectors' vectors: zeros, a one, what the input has below its diagonal.
def _reflector(input: Tensor, i: int) -> Tensor:
    column = torch.narrow(input, -1, i, 1)
    below = torch.narrow(column, -2, i + 1, input.size(-2) - i - 1)
    ones = torch.ones_like(torch.narrow(column, -2, i, 1))
    return torch.cat([torch.zeros_like(torch.narrow(column, -2, 0, i)), ones, below], -2)


# t - scale v (v' t)
def _reflected(t: Tensor, v: Tensor, scale: Tensor) -> Tensor:
    along = torch.matmul(__torch__.derivatives.linalg._mh(v), t)
    return t - torch.matmul(torch.unsqueeze(torch.unsqueeze(scale, -1), -1) * v, along)


def linalg_householder_product__as(input: Tensor, tau: Tensor) -> Tensor:
    checked = torch.linalg_householder_product(torch.detach(input), torch.detach(tau))
    m = input.size(-2)
    result = torch.expand(torch.narrow(__torch__.derivatives.linalg._eye(m, input), 1, 0, input.size(-1)), checked.size())
    for j in range(tau.size(-1)):
        i = tau.size(-1) - 1 - j
        result = __torch__.derivatives.linalg._reflected(result, __torch__.derivatives.linalg._reflector(input, i), torch.select(tau, -1, i))
    if tau.size(-1) == 0:
        result = result + input * 0.  # of no reflectors; a gradient has it all the same
    return result


# Q = H1 ... Hk: from the left Q C applies the last reflector first, Q' C the first one with conjugate factors. From the right it is the
# same with everything transposed.
def ormqr__as(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    torch.ormqr(torch.detach(self), torch.detach(input2), torch.detach(input3), left, transpose)  # may refuse
    result = input3
    if not left:
        result = __torch__.derivatives.linalg._mh(input3)
    back = transpose != left
    back = not back
    k = input2.size(-1)
    for j in range(k):
        i = j
        if not back:
            i = k - 1 - j
        scale = torch.select(input2, -1, i)
        if back:
            scale = torch.conj(scale)
        result = __torch__.derivatives.linalg._reflected(result, __torch__.derivatives.linalg._reflector(self, i), scale)
    if not left:
        result = torch.resolve_conj(__torch__.derivatives.linalg._mh(result))
    return result


# ---- LU --------------------------------------------------------------------------------------------


# The gradient of A = P L U, of whichever shape.
def _lu_grad(gL: Tensor, gU: Tensor, P: Tensor, L: Tensor, U: Tensor, pivot: bool) -> Tensor:
    m = L.size(-2)
    n = U.size(-1)
    left = __torch__.derivatives.linalg._mh(L)
    right = __torch__.derivatives.linalg._mh(U)
    if m == n:
        a = torch.tril(torch.matmul(left, gL), -1) + torch.triu(torch.matmul(gU, right))
        a = __torch__.derivatives.linalg._right_solved(right, a, False, False)
        a = __torch__.derivatives.linalg._left_solved(left, a, True, True)
    elif m < n:
        a = torch.matmul(left, gL) - torch.matmul(torch.triu(gU), right)
        square = __torch__.derivatives.linalg._mh(torch.narrow(U, -1, 0, m))
        a = __torch__.derivatives.linalg._right_solved(square, torch.tril(a, -1), False, False)
        a = torch.cat([a + torch.triu(torch.narrow(gU, -1, 0, m)), torch.narrow(gU, -1, m, n - m)], -1)
        a = __torch__.derivatives.linalg._left_solved(left, a, True, True)
    else:
        a = torch.matmul(gU, right) - torch.matmul(left, torch.tril(gL, -1))
        square = __torch__.derivatives.linalg._mh(torch.narrow(L, -2, 0, n))
        a = __torch__.derivatives.linalg._left_solved(square, torch.triu(a), True, True)
        a = torch.cat([a + torch.tril(torch.narrow(gL, -2, 0, n), -1), torch.narrow(gL, -2, n, m - n)], -2)
        a = __torch__.derivatives.linalg._right_solved(right, a, False, False)
    if pivot:
        a = torch.matmul(P, a)
    return a


def linalg_lu__d_A(grad1: Tensor, grad2: Tensor, pivot: bool, result0: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._lu_grad(grad1, grad2, result0, result1, result2, pivot)


# L and U in one matrix.
def _lu_factor_grad(grad: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Tensor:
    P, L, U = torch.lu_unpack(LU, pivots, True, pivot)
    k = min(LU.size(-2), LU.size(-1))
    return __torch__.derivatives.linalg._lu_grad(torch.narrow(grad, -1, 0, k), torch.narrow(grad, -2, 0, k), P, L, U, pivot)


def linalg_lu_factor__d_A(grad0: Tensor, pivot: bool, result0: Tensor, result1: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._lu_factor_grad(grad0, result0, result1, pivot)


def linalg_lu_factor_ex__d_A(grad0: Tensor, pivot: bool, result0: Tensor, result1: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._lu_factor_grad(grad0, result0, result1, pivot)


def _lu_with_info__d_self(grad0: Tensor, pivot: bool, result0: Tensor, result1: Tensor) -> Tensor:
    return __torch__.derivatives.linalg._lu_factor_grad(grad0, result0, result1, pivot)


def lu_unpack__d_LU_data(grad1: Tensor, grad2: Tensor, LU_data_sizes: List[int]) -> Tensor:
    m = LU_data_sizes[-2]
    n = LU_data_sizes[-1]
    if grad1.numel() == 0 or grad2.numel() == 0:
        return torch.zeros(LU_data_sizes, dtype=grad1.dtype, layout=None, device=grad1.device, pin_memory=None)
    lower = torch.tril(grad1, -1)
    upper = torch.triu(grad2)
    if m < n:
        lower = torch.cat([lower, torch.zeros_like(torch.narrow(upper, -1, m, n - m))], -1)
    elif m > n:
        upper = torch.cat([upper, torch.zeros_like(torch.narrow(lower, -2, n, m - n))], -2)
    return lower + upper


# A = P L U by triangular systems.
def linalg_lu_solve__as(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    P, L, U = torch.lu_unpack(LU, pivots, True, True)
    x = B
    if not left:
        x = __torch__.derivatives.linalg._mh(B)
    if left != adjoint:
        x = torch.matmul(torch.transpose(P, -2, -1), x)
        x = __torch__.derivatives.linalg._left_solved(U, __torch__.derivatives.linalg._left_solved(L, x, False, True), True, False)
    else:
        x = __torch__.derivatives.linalg._left_solved(__torch__.derivatives.linalg._mh(U), x, False, False)
        x = torch.matmul(P, __torch__.derivatives.linalg._left_solved(__torch__.derivatives.linalg._mh(L), x, True, True))
    if not left:
        x = torch.resolve_conj(__torch__.derivatives.linalg._mh(x))
    return x


def lu_solve__as(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return torch.linalg_lu_solve(LU_data, LU_pivots, self, left=True, adjoint=False)
