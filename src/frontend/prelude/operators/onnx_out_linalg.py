# SPDX-License-Identifier: Apache-2.0
# What the writer of ONNX walks in the place of linear algebra and special functions (onnx_out.py says how). A model can raise nothing: what is singular, or
# not positive-definite, gives infinities or nan.


# a matrix and what is to its right; column k becomes that of the identity. Also the pivot, and whether rows were exchanged
def _pivot(m: Tensor, k: int, rows: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    size = torch.where(rows < k, -1.0, torch.abs(torch.slice(m, -1, k, k + 1)))
    p = torch.argmax(size, -2, True)
    chosen = torch.sum(torch.where(rows == p, m, 0.0), [-2], True)
    m = torch.where(rows == p, torch.slice(m, -2, k, k + 1), m)
    pivot = torch.slice(chosen, -1, k, k + 1)
    line = chosen / pivot
    m = torch.where(rows == k, line, m - torch.slice(m, -1, k, k + 1) * line)
    return (m, pivot, p)


# x of a x = b, by Gauss and Jordan
def _eliminate(a: Tensor, b: Tensor) -> Tensor:
    n = a.size(-1)
    if a.dim() < b.dim():
        a = torch.expand(a, b.size()[:-2] + [n, n])
    elif b.dim() < a.dim():
        b = torch.expand(b, a.size()[:-2] + [n, b.size(-1)])
    m = torch.cat([a, b], -1)
    rows = torch.unsqueeze(torch.arange(n, dtype=4), -1)
    for k in range(n):
        m, pivot, p = __torch__.operators.onnx_out_linalg._pivot(m, k, rows)
    return torch.slice(m, -1, n, 9223372036854775807)


def _eye(n: int, dtype: int) -> Tensor:
    at = torch.arange(n, dtype=4)
    return torch.to(torch.unsqueeze(at, -1) == at, dtype)


def onnx_out_linalg_inv(A: Tensor) -> Tensor:
    return __torch__.operators.onnx_out_linalg._eliminate(A, __torch__.operators.onnx_out_linalg._eye(A.size(-1), A.dtype))


def onnx_out_linalg_inv_ex(A: Tensor, check_errors: bool) -> Tuple[Tensor, Tensor]:
    return (torch.linalg_inv(A), torch.zeros(A.size()[:-2], dtype=3))


def onnx_out_linalg_solve(A: Tensor, B: Tensor, left: bool) -> Tensor:
    if B.dim() == 1 or (A.dim() - 1 == B.dim() and A.size()[:-1] == B.size()):
        return torch.squeeze(__torch__.operators.onnx_out_linalg._eliminate(A, torch.unsqueeze(B, -1)), -1)
    if left:
        return __torch__.operators.onnx_out_linalg._eliminate(A, B)
    return torch.transpose(__torch__.operators.onnx_out_linalg._eliminate(torch.transpose(A, -1, -2), torch.transpose(B, -1, -2)), -1, -2)


def onnx_out_linalg_solve_triangular(self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    a = torch.triu(self) if upper else torch.tril(self)
    if unitriangular:
        one = __torch__.operators.onnx_out_linalg._eye(self.size(-1), self.dtype)
        a = a * (1 - one) + one
    return torch.linalg_solve(a, B, left=left)


def onnx_out_cholesky_solve(self: Tensor, input2: Tensor, upper: bool) -> Tensor:
    turned = torch.transpose(input2, -1, -2)
    return __torch__.operators.onnx_out_linalg._eliminate(torch.matmul(turned, input2) if upper else torch.matmul(input2, turned), self)


def onnx_out_cholesky_inverse(self: Tensor, upper: bool) -> Tensor:
    return torch.cholesky_solve(__torch__.operators.onnx_out_linalg._eye(self.size(-1), self.dtype), self, upper)


def onnx_out_linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    return torch.linalg_matrix_power(torch.linalg_inv(self), -n) if n < 0 else torch.linalg_matrix_power(self, n)


def onnx_out_linalg_slogdet(A: Tensor) -> Tuple[Tensor, Tensor]:
    m = A
    rows = torch.unsqueeze(torch.arange(A.size(-1), dtype=4), -1)
    sign = torch.ones(A.size()[:-2] + [1, 1], dtype=A.dtype)
    size = torch.zeros_like(sign)
    for k in range(A.size(-1)):
        m, pivot, p = __torch__.operators.onnx_out_linalg._pivot(m, k, rows)
        sign = sign * torch.sign(pivot) * torch.where(p == k, 1.0, -1.0)
        size = size + torch.log(torch.abs(pivot))
    return (torch.reshape(sign, A.size()[:-2]), torch.reshape(size, A.size()[:-2]))


def onnx_out_slogdet(self: Tensor) -> Tuple[Tensor, Tensor]:
    sign, size = torch.linalg_slogdet(self)
    return (sign, size)


def onnx_out_linalg_cholesky(self: Tensor, upper: bool) -> Tensor:
    n = self.size(-1)
    m = torch.transpose(self, -1, -2) if upper else self
    rows = torch.unsqueeze(torch.arange(n, dtype=4), -1)
    columns: List[Tensor] = []
    for k in range(n):
        column = torch.slice(m, -1, k, k + 1)
        column = torch.where(rows < k, 0.0, column / torch.sqrt(torch.slice(column, -2, k, k + 1)))
        m = m - column * torch.transpose(column, -1, -2)
        columns.append(column)
    factor = torch.cat(columns, -1)
    return torch.transpose(factor, -1, -2) if upper else factor


def onnx_out_linalg_cholesky_ex(self: Tensor, upper: bool, check_errors: bool) -> Tuple[Tensor, Tensor]:
    return (torch.linalg_cholesky(self, upper=upper), torch.zeros(self.size()[:-2], dtype=3))


# by Householder's reflections, with LAPACK's signs
def onnx_out_linalg_qr(A: Tensor, mode: str) -> Tuple[Tensor, Tensor]:
    rows, columns = A.size(-2), A.size(-1)
    least = min(rows, columns)
    at = torch.unsqueeze(torch.arange(rows, dtype=4), -1)
    r = A
    q = torch.expand(__torch__.operators.onnx_out_linalg._eye(rows, A.dtype), A.size()[:-2] + [rows, rows])
    for k in range(least):
        x = torch.where(at < k, 0.0, torch.slice(r, -1, k, k + 1))
        head = torch.slice(x, -2, k, k + 1)
        rest = torch.linalg_vector_norm(torch.where(at == k, 0.0, x), 2, [-2], True)
        length = torch.where(head < 0, -1.0, 1.0) * torch.linalg_vector_norm(x, 2, [-2], True)
        v = torch.where(rest == 0, 0.0, torch.where(at == k, x + length, x))
        by = torch.sum(v * v, [-2], True)
        v = v / torch.sqrt(torch.where(by == 0, 1.0, by * 0.5))
        r = r - v * torch.matmul(torch.transpose(v, -1, -2), r)
        q = q - torch.matmul(q, v) * torch.transpose(v, -1, -2)
    if mode == "complete":
        return (q, torch.triu(r))
    q = torch.zeros([0], dtype=A.dtype) if mode == "r" else torch.slice(q, -1, 0, least)
    return (q, torch.triu(torch.slice(r, -2, 0, least)))


# Jacobi's rotations, of as many pairs at a time as there are, in double: the diagonal, and the vectors in columns
def _jacobi(self: Tensor) -> Tuple[Tensor, Tensor]:
    n = self.size(-1)
    if n > 64:
        raise RuntimeError("of more than 64 rows")
    at = torch.arange(n, dtype=4)
    one = __torch__.operators.onnx_out_linalg._eye(n, 7)
    a = torch.to(self, 7)
    v = torch.expand(one, a.size())
    for sweep in range(8):
        for k in range(n):
            other = torch.remainder(k - at, n)  # row i meets row j where i + j = k
            mask = torch.to(torch.logical_and(torch.unsqueeze(other, -1) == at, torch.unsqueeze(at, -1) != at), 7)
            d = torch.sum(a * one, [-1])
            beside = torch.sum(a * mask, [-1])
            tau = (torch.index_select(d, -1, other) - d) / torch.where(beside == 0, 1.0, beside * 2)
            sign = torch.where(tau == 0, torch.to(torch.where(at < other, 1, -1), 7), torch.sign(tau))
            t = torch.where(beside == 0, 0.0, sign / (torch.abs(tau) + torch.sqrt(tau * tau + 1)))
            c = torch.reciprocal(torch.sqrt(t * t + 1))
            turn = torch.unsqueeze(c, -1) * one + torch.unsqueeze(t * c, -1) * mask
            a = torch.matmul(torch.matmul(torch.transpose(turn, -1, -2), a), turn)
            v = torch.matmul(v, turn)
    return (torch.sum(a * one, [-1]), v)


def onnx_out_linalg_eigvalsh(self: Tensor, UPLO: str) -> Tensor:
    half = torch.triu(self) if UPLO == "U" else torch.tril(self)
    whole = half + torch.transpose(half, -1, -2) - half * __torch__.operators.onnx_out_linalg._eye(self.size(-1), self.dtype)
    values, vectors = __torch__.operators.onnx_out_linalg._jacobi(whole)
    order, places = torch.sort(values, -1)
    return torch.to(order, self.dtype)


# squares of singular values and their vectors, of the narrower side
def _squares(A: Tensor) -> Tuple[Tensor, Tensor]:
    if A.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    x = torch.to(A, 7)
    t = torch.transpose(x, -1, -2)
    s, v = __torch__.operators.onnx_out_linalg._jacobi(torch.matmul(t, x) if A.size(-1) <= A.size(-2) else torch.matmul(x, t))
    return (torch.clamp_min(s, 0.0), v)


def onnx_out_linalg_svdvals(A: Tensor, driver: Optional[str]) -> Tensor:
    s, v = __torch__.operators.onnx_out_linalg._squares(A)
    order, places = torch.sort(torch.sqrt(s), -1, True)
    return torch.to(order, A.dtype)


def _pinv(self: Tensor, atol: Optional[Tensor], rtol: Tensor) -> Tensor:
    s, v = __torch__.operators.onnx_out_linalg._squares(self)
    least = torch.amax(torch.constant_pad_nd(s, [0, 1]), [-1], True) * torch.unsqueeze(torch.square(torch.to(rtol, 7)), -1)
    if atol is not None:
        least = torch.maximum(least, torch.unsqueeze(torch.square(torch.to(atol, 7)), -1))
    weight = torch.where(s > least, torch.reciprocal(torch.where(s > least, s, 1.0)), 0.0)
    inner = torch.matmul(v * torch.unsqueeze(weight, -2), torch.transpose(v, -1, -2))
    t = torch.transpose(torch.to(self, 7), -1, -2)
    return torch.to(torch.matmul(inner, t) if self.size(-1) <= self.size(-2) else torch.matmul(t, inner), self.dtype)


def _rtol(self: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor]) -> Tensor:
    if rtol is not None:
        return rtol
    eps = torch.full([], 1.1920928955078125e-7 * max(self.size(-1), self.size(-2)), dtype=7)
    return eps if atol is None else torch.where(atol > 0, 0.0, eps)


def onnx_out_linalg_pinv(self: Tensor, rcond: float, hermitian: bool) -> Tensor:
    return __torch__.operators.onnx_out_linalg._pinv(self, None, torch.full([], rcond, dtype=7))


def onnx_out_linalg_pinv__rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool) -> Tensor:
    return __torch__.operators.onnx_out_linalg._pinv(self, None, rcond)


def onnx_out_linalg_pinv__atol_rtol_float(self: Tensor, atol: Optional[float], rtol: Optional[float], hermitian: bool) -> Tensor:
    a = None if atol is None else torch.full([], atol, dtype=7)
    r = None if rtol is None else torch.full([], rtol, dtype=7)
    return __torch__.operators.onnx_out_linalg._pinv(self, a, __torch__.operators.onnx_out_linalg._rtol(self, a, r))


def onnx_out_linalg_pinv__atol_rtol_tensor(self: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool) -> Tensor:
    return __torch__.operators.onnx_out_linalg._pinv(self, atol, __torch__.operators.onnx_out_linalg._rtol(self, atol, rtol))


def onnx_out_pinverse(self: Tensor, rcond: float) -> Tensor:
    return torch.linalg_pinv(self, rcond)


# Taylor's series of a 256th, in double
def onnx_out_linalg_matrix_exp(self: Tensor) -> Tensor:
    x = torch.to(self, 7) / 256
    one = __torch__.operators.onnx_out_linalg._eye(self.size(-1), 7)
    y = one
    for k in range(16, 0, -1):
        y = one + torch.matmul(x, y) / k
    for k in range(8):
        y = torch.matmul(y, y)
    return torch.to(y, self.dtype)


def onnx_out_matrix_exp(self: Tensor) -> Tensor:
    return torch.linalg_matrix_exp(self)


def onnx_out_eye(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    return __torch__.operators.onnx_out_linalg._eye(n, 6 if dtype is None else dtype)


def onnx_out_tril_indices(row: int, col: int, offset: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    y = torch.t(torch.nonzero(torch.arange(col, dtype=4) <= torch.unsqueeze(torch.arange(row, dtype=4), -1) + offset))
    return y if dtype is None else torch.to(y, dtype)


def onnx_out_triu_indices(row: int, col: int, offset: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
    y = torch.t(torch.nonzero(torch.arange(col, dtype=4) >= torch.unsqueeze(torch.arange(row, dtype=4), -1) + offset))
    return y if dtype is None else torch.to(y, dtype)


# ---- factors of rows that are exchanged -------------------------------------------------------------------------------


# L below the diagonal, U on and above it; the exchanges of rows, counted from 1; the first pivot of 0
def _lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    least = min(A.size(-2), A.size(-1))
    rows = torch.unsqueeze(torch.arange(A.size(-2), dtype=4), -1)
    columns = torch.arange(A.size(-1), dtype=4)
    m = A
    exchanges = torch.zeros(A.size()[:-2] + [1, 0], dtype=4)
    info = torch.zeros(A.size()[:-2] + [1, 1], dtype=4)
    for k in range(least):
        size = torch.where(rows < k, -1.0, torch.abs(torch.slice(m, -1, k, k + 1)))
        p = torch.argmax(size, -2, True) if pivot else torch.full(A.size()[:-2] + [1, 1], k, dtype=4)
        line = torch.sum(torch.where(rows == p, m, 0.0), [-2], True)
        m = torch.where(rows == p, torch.slice(m, -2, k, k + 1), m)
        head = torch.slice(line, -1, k, k + 1)
        factor = torch.slice(m, -1, k, k + 1) / torch.where(head == 0, 1.0, head)
        below = torch.where(columns < k, m, torch.where(columns == k, factor, m - factor * line))
        m = torch.where(rows == k, line, torch.where(rows < k, m, below))
        exchanges = torch.cat([exchanges, p + 1], -1)
        info = torch.where(torch.logical_and(info == 0, head == 0), k + 1, info)
    return (m, torch.to(torch.squeeze(exchanges, -2), 3), torch.to(torch.reshape(info, A.size()[:-2]), 3))


# P of P L U, by the exchanges
def _permutation(pivots: Tensor, n: int, dtype: int) -> Tensor:
    at = torch.arange(n, dtype=4)
    order = torch.expand(torch.unsqueeze(at, -2), pivots.size()[:-1] + [1, n])
    for k in range(pivots.size(-1)):
        p = torch.unsqueeze(torch.to(torch.slice(pivots, -1, k, k + 1), 4), -2) - 1
        other = torch.sum(torch.where(at == p, order, 0), [-1], True)
        order = torch.where(at == k, other, torch.where(at == p, torch.slice(order, -1, k, k + 1), order))
    return torch.to(torch.unsqueeze(at, -1) == order, dtype)


def _unpack(LU: Tensor) -> Tuple[Tensor, Tensor]:
    m, n = LU.size(-2), LU.size(-1)
    least = min(m, n)
    one = __torch__.operators.onnx_out_linalg._eye(least, LU.dtype)
    one = torch.constant_pad_nd(one, [0, 0, 0, m - least], 0)
    return (torch.tril(torch.slice(LU, -1, 0, least), -1) + one, torch.triu(torch.slice(LU, -2, 0, least)))


def onnx_out_linalg_lu_factor_ex(A: Tensor, pivot: bool, check_errors: bool) -> Tuple[Tensor, Tensor, Tensor]:
    return __torch__.operators.onnx_out_linalg._lu(A, pivot)


def onnx_out_linalg_lu_factor(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor]:
    m, pivots, info = __torch__.operators.onnx_out_linalg._lu(A, pivot)
    return (m, pivots)


def onnx_out_lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> Tuple[Tensor, Tensor, Tensor]:
    none = torch.zeros([0], dtype=LU_data.dtype)
    l, u, p = none, none, none
    if unpack_data:
        l, u = __torch__.operators.onnx_out_linalg._unpack(LU_data)
    if unpack_pivots:
        p = __torch__.operators.onnx_out_linalg._permutation(LU_pivots, LU_data.size(-2), LU_data.dtype)
    return (p, l, u)


def onnx_out_linalg_lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    m, pivots, info = __torch__.operators.onnx_out_linalg._lu(A, pivot)
    l, u = __torch__.operators.onnx_out_linalg._unpack(m)
    if not pivot:
        return (torch.zeros([0], dtype=A.dtype), l, u)
    return (__torch__.operators.onnx_out_linalg._permutation(pivots, A.size(-2), A.dtype), l, u)


def onnx_out_linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    l, u = __torch__.operators.onnx_out_linalg._unpack(LU)
    a = torch.matmul(__torch__.operators.onnx_out_linalg._permutation(pivots, LU.size(-2), LU.dtype), torch.matmul(l, u))
    if adjoint:
        a = torch.transpose(a, -1, -2)
    if not left:
        return torch.transpose(__torch__.operators.onnx_out_linalg._eliminate(torch.transpose(a, -1, -2), torch.transpose(B, -1, -2)), -1, -2)
    return __torch__.operators.onnx_out_linalg._eliminate(a, B)


def onnx_out_lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return torch.linalg_lu_solve(LU_data, LU_pivots, self)


def onnx_out_linalg_solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Tuple[Tensor, Tensor]:
    return (torch.linalg_solve(A, B, left=left), torch.zeros(A.size()[:-2], dtype=3))


def onnx_out_triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Tuple[Tensor, Tensor]:
    a = torch.transpose(A, -1, -2) if transpose else A
    copy = torch.expand(A, torch.broadcast_to(torch.slice(A, -1, 0, 1), self.size()[:-2] + [A.size(-2), 1]).size()[:-1] + [A.size(-1)]) if A.dim() < self.dim() else A
    return (torch.linalg_solve_triangular(a, self, upper=upper != transpose, unitriangular=unitriangular), torch.clone(copy))


def onnx_out_linalg_lstsq(self: Tensor, b: Tensor, rcond: Optional[float], driver: Optional[str]) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    m, n = self.size(-2), self.size(-1)
    vector = b.dim() == 1 or (self.dim() - 1 == b.dim() and self.size()[:-1] == b.size())
    right = torch.unsqueeze(b, -1) if vector else b
    x = torch.matmul(torch.linalg_pinv(self), right)
    way = "gelsy" if driver is None else driver
    rest, rank, s = torch.zeros([0], dtype=self.dtype), torch.zeros([0], dtype=4), torch.zeros([0], dtype=self.dtype)
    if way != "gelsy" and m > n:
        rest = torch.sum(torch.square(torch.matmul(self, x) - right), [-2])
    if way != "gels":
        s = torch.linalg_svdvals(self)
        least = torch.amax(torch.constant_pad_nd(s, [0, 1]), [-1], True) * (1.1920928955078125e-7 * max(m, n) if rcond is None else rcond)
        rank = torch.sum(s > least, [-1])
    if way == "gels" or way == "gelsy":
        s = torch.zeros([0], dtype=self.dtype)
    return (torch.squeeze(x, -1) if vector else x, rest, rank, s)


def onnx_out_linalg_tensorsolve(self: Tensor, other: Tensor, dims: Optional[List[int]]) -> Tensor:
    a = self
    if dims is not None:
        ends: List[int] = []
        for i in range(len(dims)):
            ends.append(i - len(dims))
        a = torch.movedim(self, dims, ends)
    sizes = a.size()[other.dim():]
    x = torch.linalg_solve(torch.reshape(a, [other.numel(), -1]), torch.reshape(other, [-1]))
    return torch.reshape(x, sizes)


def onnx_out_linalg_tensorinv(self: Tensor, ind: int) -> Tensor:
    n = 1
    for size in self.size()[ind:]:
        n = n * size
    return torch.reshape(torch.linalg_inv(torch.reshape(self, [-1, n])), self.size()[ind:] + self.size()[:ind])


# all columns of the product of reflections
def _reflected(input: Tensor, tau: Tensor) -> Tensor:
    rows = torch.unsqueeze(torch.arange(input.size(-2), dtype=4), -1)
    q = torch.expand(__torch__.operators.onnx_out_linalg._eye(input.size(-2), input.dtype), input.size()[:-2] + [input.size(-2), input.size(-2)])
    for k in range(tau.size(-1)):
        v = torch.where(rows < k, 0.0, torch.where(rows == k, 1.0, torch.slice(input, -1, k, k + 1)))
        q = q - torch.matmul(q, v) * torch.transpose(v, -1, -2) * torch.unsqueeze(torch.slice(tau, -1, k, k + 1), -1)
    return q


def onnx_out_linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    return torch.slice(__torch__.operators.onnx_out_linalg._reflected(input, tau), -1, 0, input.size(-1))


def onnx_out_ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    q = __torch__.operators.onnx_out_linalg._reflected(self, input2)
    if transpose:
        q = torch.transpose(q, -1, -2)
    return torch.matmul(q, input3) if left else torch.matmul(input3, q)


def onnx_out_geqrf(self: Tensor) -> Tuple[Tensor, Tensor]:
    rows = torch.unsqueeze(torch.arange(self.size(-2), dtype=4), -1)
    columns = torch.arange(self.size(-1), dtype=4)
    m = self
    taus = torch.zeros(self.size()[:-2] + [1, 0], dtype=self.dtype)
    for k in range(min(self.size(-2), self.size(-1))):
        x = torch.slice(m, -1, k, k + 1)
        head = torch.slice(x, -2, k, k + 1)
        rest = torch.linalg_vector_norm(torch.where(rows > k, x, 0.0), 2, [-2], True)
        plain = rest == 0
        length = torch.where(head < 0, 1.0, -1.0) * torch.sqrt(head * head + rest * rest)
        tau = torch.where(plain, 0.0, (length - head) / torch.where(plain, 1.0, length))
        v = torch.where(rows > k, x / torch.where(plain, 1.0, head - length), torch.where(rows == k, 1.0, 0.0))
        turned = m - v * torch.matmul(torch.transpose(v, -1, -2), m) * tau
        m = torch.where(columns < k, m, torch.where(torch.logical_and(columns == k, rows > k), v, turned))
        taus = torch.cat([taus, tau], -1)
    return (m, torch.squeeze(taus, -2))


def onnx_out_linalg_cond(self: Tensor, p: Optional[number]) -> Tensor:
    if p is None or abs(float(p)) == 2:
        s = torch.linalg_svdvals(self)
        least, most = torch.amin(s, [-1]), torch.amax(s, [-1])
        return least / most if p is not None and float(p) < 0 else most / least
    return torch.linalg_matrix_norm(self, p) * torch.linalg_matrix_norm(torch.linalg_inv(self), p)


def onnx_out_linalg_cond__p_str(self: Tensor, p: str) -> Tensor:
    return torch.linalg_matrix_norm(self, p) * torch.linalg_matrix_norm(torch.linalg_inv(self), p)


def _rank(self: Tensor, hermitian: bool, atol: Optional[Tensor], rtol: Optional[Tensor]) -> Tensor:
    s = torch.to(torch.abs(torch.linalg_eigvalsh(self)) if hermitian else torch.linalg_svdvals(self), 7)
    least = torch.amax(torch.constant_pad_nd(s, [0, 1]), [-1]) * torch.to(__torch__.operators.onnx_out_linalg._rtol(self, atol, rtol), 7)
    if atol is not None:
        least = torch.maximum(least, torch.to(atol, 7))
    return torch.sum(s > torch.unsqueeze(least, -1), [-1])


def onnx_out_linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool) -> Tensor:
    return __torch__.operators.onnx_out_linalg._rank(self, hermitian, torch.full([], tol, dtype=7), torch.zeros([], dtype=7))


def onnx_out_linalg_matrix_rank__tol_tensor(input: Tensor, tol: Tensor, hermitian: bool) -> Tensor:
    return __torch__.operators.onnx_out_linalg._rank(input, hermitian, tol, torch.zeros([], dtype=7))


def onnx_out_linalg_matrix_rank__atol_rtol_tensor(input: Tensor, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool) -> Tensor:
    return __torch__.operators.onnx_out_linalg._rank(input, hermitian, atol, rtol)


def onnx_out_linalg_matrix_rank__atol_rtol_float(self: Tensor, atol: Optional[float], rtol: Optional[float], hermitian: bool) -> Tensor:
    a = None if atol is None else torch.full([], atol, dtype=7)
    r = None if rtol is None else torch.full([], rtol, dtype=7)
    return __torch__.operators.onnx_out_linalg._rank(self, hermitian, a, r)


# ---- special functions ------------------------------------------------------------------------------------------------


def _poly(x: Tensor, c: List[float]) -> Tensor:
    y = torch.full_like(x, c[0])
    for i in range(1, len(c)):
        y = y * x + c[i]
    return y


def _single(self: Tensor) -> Tensor:
    if self.dtype == 7:
        raise RuntimeError("of floats of 64 bits")
    return __torch__.operators.onnx_out._wide(self)


# Numerical Recipes, bessi1: times e^-|x|
def _i1e(x: Tensor) -> Tensor:
    z = torch.abs(x)
    t = torch.square(z / 3.75)
    near = z * torch.exp(torch.neg(z)) * __torch__.operators.onnx_out_linalg._poly(t, [0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5])
    s = 3.75 / torch.clamp_min(z, 1.0)
    far = __torch__.operators.onnx_out_linalg._poly(s, [-0.00420059, 0.01787654, -0.02895312, 0.02282967, -0.01031555, 0.00163801, -0.00362018, -0.03988024, 0.39894228])
    y = torch.where(z < 3.75, near, far / torch.sqrt(torch.clamp_min(z, 1.0)))
    return torch.where(x < 0, torch.neg(y), y)


def onnx_out_special_i1e(self: Tensor) -> Tensor:
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out_linalg._i1e(__torch__.operators.onnx_out_linalg._single(self)), self.dtype)


def onnx_out_special_i1(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out_linalg._single(self)
    return __torch__.operators.onnx_out._narrow(__torch__.operators.onnx_out_linalg._i1e(x) * torch.exp(torch.abs(x)), self.dtype)


def onnx_out_special_i0e(self: Tensor) -> Tensor:
    z = torch.abs(__torch__.operators.onnx_out_linalg._single(self))
    s = 3.75 / torch.clamp_min(z, 1.0)
    far = __torch__.operators.onnx_out_linalg._poly(s, [0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592, 0.39894228])
    y = torch.where(z < 3.75, torch.i0(torch.clamp_max(z, 3.75)) * torch.exp(torch.neg(z)), far / torch.sqrt(torch.clamp_min(z, 1.0)))
    return __torch__.operators.onnx_out._narrow(y, self.dtype)


def onnx_out_special_modified_bessel_i0(self: Tensor) -> Tensor:
    return torch.i0(self)


def onnx_out_special_modified_bessel_i1(self: Tensor) -> Tensor:
    return torch.special_i1(self)


# Numerical Recipes, bessj0 and bessj1, in double
def _bessel(z: Tensor, turn: float, c: List[float], s: List[float]) -> Tensor:
    w = 8 / torch.clamp_min(z, 1.0)
    y = w * w
    wave = torch.cos(z - turn) * __torch__.operators.onnx_out_linalg._poly(y, c) - w * torch.sin(z - turn) * __torch__.operators.onnx_out_linalg._poly(y, s)
    return torch.sqrt(w * 0.079577471545947668) * wave


def onnx_out_special_bessel_j0(self: Tensor) -> Tensor:
    z = torch.abs(torch.to(__torch__.operators.onnx_out_linalg._single(self), 7))
    y = z * z
    near = __torch__.operators.onnx_out_linalg._poly(y, [-184.9052456, 77392.33017, -11214424.18, 651619640.7, -13362590354.0, 57568490574.0])
    near = near / __torch__.operators.onnx_out_linalg._poly(y, [1.0, 267.8532712, 59272.64853, 9494680.718, 1029532985.0, 57568490411.0])
    far = __torch__.operators.onnx_out_linalg._bessel(z, 0.78539816339744831, [2.093887211e-7, -2.073370639e-6, 2.734510407e-5, -1.098628627e-3, 1.0], [-9.34935152e-8, 7.621095161e-7, -6.911147651e-6, 1.430488765e-4, -1.562499995e-2])
    return torch.to(torch.where(z < 8, near, far), 6)


def onnx_out_special_bessel_j1(self: Tensor) -> Tensor:
    x = torch.to(__torch__.operators.onnx_out_linalg._single(self), 7)
    z = torch.abs(x)
    y = z * z
    near = z * __torch__.operators.onnx_out_linalg._poly(y, [-30.16036606, 15704.4826, -2972611.439, 242396853.1, -7895059235.0, 72362614232.0])
    near = near / __torch__.operators.onnx_out_linalg._poly(y, [1.0, 376.9991397, 99447.43394, 18583304.74, 2300535178.0, 144725228442.0])
    far = __torch__.operators.onnx_out_linalg._bessel(z, 2.3561944901923449, [-2.40337019e-7, 2.457520174e-6, -3.516396496e-5, 1.83105e-3, 1.0], [1.05787412e-7, -8.8228987e-7, 8.449199096e-6, -2.002690873e-4, 4.687499995e-2])
    near = torch.where(z < 8, near, far)
    return torch.to(torch.where(x < 0, torch.neg(near), near), 6)


# Euler and Maclaurin
def onnx_out_special_zeta(self: Tensor, other: Tensor) -> Tensor:
    dtype = torch.result_type(self, other)
    s, q = torch.to(self, 7), torch.to(other, 7)
    a = q + 10
    y = torch.pow(a, 1 - s) / (s - 1) + torch.pow(a, torch.neg(s)) * (0.5 + s / (a * 12) - s * (s + 1) * (s + 2) / (a * a * a * 720) + s * (s + 1) * (s + 2) * (s + 3) * (s + 4) / (torch.pow(a, 5.0) * 30240))
    for k in range(10):
        y = y + torch.pow(q + k, torch.neg(s))
    return torch.to(torch.where(s < 1, nan, y), __torch__.operators.onnx_out._result(dtype))


def onnx_out_special_ndtri(self: Tensor) -> Tensor:
    x = __torch__.operators.onnx_out_linalg._single(self)
    y = torch.erfinv(x * 2 - 1) * 1.4142135623730951
    low = torch.sqrt(torch.log(torch.clamp(torch.minimum(x, 1 - x), 1e-38, 0.5)) * -2)
    if not torch.is_floating_point(self):
        return y
    # Newton's steps where 2 x - 1 has lost digits
    z = torch.neg(low - (low * 0.27061 + 2.30753) / ((low * 0.04481 + 0.99229) * low + 1))
    for k in range(3):
        e = torch.special_ndtr(z) - x
        z = z - e * torch.exp(z * z * 0.5) * 2.5066282746310002
    return __torch__.operators.onnx_out._narrow(torch.where(torch.logical_and(x > 1e-30, x < 0.01), z, y), self.dtype)


# p[k + 1] = (a x + b) p[k] - c p[k - 1], a b c of k
def _recur(x: Tensor, n: number, first: Tensor, kind: int) -> Tensor:
    before, now = torch.ones_like(x), first
    if n < 0:
        return torch.zeros_like(x)
    if n < 1:
        return before
    for k in range(1, int(n)):
        if kind == 0:  # Chebyshev
            next = x * now * 2 - before
        elif kind == 1:  # Hermite, the physicists'
            next = x * now * 2 - before * (2 * k)
        elif kind == 2:  # Hermite, the probabilists'
            next = x * now - before * k
        elif kind == 3:  # Laguerre
            next = ((2 * k + 1 - x) * now - before * k) / (k + 1)
        else:  # Legendre
            next = (x * now * (2 * k + 1) - before * k) / (k + 1)
        before = now
        now = next
    return now


def onnx_out_special_chebyshev_polynomial_t__n_scalar(x: Tensor, n: number) -> Tensor:
    return __torch__.operators.onnx_out_linalg._recur(x, n, x, 0)


def onnx_out_special_chebyshev_polynomial_u__n_scalar(x: Tensor, n: number) -> Tensor:
    return __torch__.operators.onnx_out_linalg._recur(x, n, x * 2, 0)


def onnx_out_special_hermite_polynomial_h__n_scalar(x: Tensor, n: number) -> Tensor:
    return __torch__.operators.onnx_out_linalg._recur(x, n, x * 2, 1)


def onnx_out_special_hermite_polynomial_he__n_scalar(x: Tensor, n: number) -> Tensor:
    return __torch__.operators.onnx_out_linalg._recur(x, n, x, 2)


def onnx_out_special_laguerre_polynomial_l__n_scalar(x: Tensor, n: number) -> Tensor:
    return __torch__.operators.onnx_out_linalg._recur(x, n, 1 - x, 3)


def onnx_out_special_legendre_polynomial_p__n_scalar(x: Tensor, n: number) -> Tensor:
    return __torch__.operators.onnx_out_linalg._recur(x, n, x, 4)


# ---- connectionist temporal classification ----------------------------------------------------------------------------


def _log_add(a: Tensor, b: Tensor) -> Tensor:
    most = torch.maximum(a, b)
    return most + torch.log(torch.exp(a - most) + torch.exp(b - most))


# the loss of each item. targets: in rows, or one after the other
def _ctc(log_probs: Tensor, targets: Tensor, times: Tensor, lengths: Tensor, longest: int, blank: int) -> Tensor:
    items = log_probs.size(1)
    at = torch.arange(longest, dtype=4)
    words = targets
    if targets.dim() == 1:
        starts = torch.unsqueeze(torch.cumsum(lengths, 0) - lengths, 1)
        words = torch.index_select(targets, 0, torch.reshape(torch.clamp_max(starts + at, targets.size(0) - 1), [-1]))
        words = torch.reshape(words, [items, longest])
    words = torch.where(at < torch.unsqueeze(lengths, 1), torch.slice(words, 1, 0, longest), blank)
    path = torch.constant_pad_nd(torch.reshape(torch.stack([torch.full_like(words, blank), words], -1), [items, 2 * longest]), [0, 1], blank)
    none = -1e30
    place = torch.arange(2 * longest + 1, dtype=4)
    # a word may follow another one at once
    skips = torch.logical_and(path != blank, path != torch.constant_pad_nd(torch.slice(path, 1, 0, -2), [2, 0], blank))
    states = torch.gather(torch.select(log_probs, 0, 0), 1, path)
    states = torch.where(place < 2, states, none)
    for i in range(log_probs.size(0) - 1):
        t = i + 1
        one = torch.slice(torch.constant_pad_nd(states, [1, 0], none), 1, 0, -1)
        two = torch.where(skips, torch.slice(torch.constant_pad_nd(states, [2, 0], none), 1, 0, -2), none)
        both = __torch__.operators.onnx_out_linalg._log_add(__torch__.operators.onnx_out_linalg._log_add(states, one), two)
        next = torch.clamp_min(both + torch.gather(torch.select(log_probs, 0, t), 1, path), none)
        states = torch.where(torch.unsqueeze(times, 1) > t, next, states)
    end = torch.unsqueeze(lengths * 2, 1)
    last = torch.gather(states, 1, end)
    word = torch.where(end > 0, torch.gather(states, 1, torch.clamp_min(end - 1, 0)), none)
    y = torch.neg(torch.squeeze(__torch__.operators.onnx_out_linalg._log_add(last, word), 1))
    return torch.where(y > 1e29, inf, y)


def _ctc_loss(log_probs: Tensor, targets: Tensor, times: Tensor, lengths: Tensor, longest: int, blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    alone = log_probs.dim() == 2
    x = torch.unsqueeze(log_probs, 1) if alone else log_probs
    n = torch.to(torch.reshape(lengths, [-1]), 4)
    words = torch.unsqueeze(targets, 0) if alone and targets.dim() == 1 else targets
    y = __torch__.operators.onnx_out_linalg._ctc(x, torch.to(words, 4), torch.to(torch.reshape(times, [-1]), 4), n, longest, blank)
    if zero_infinity:
        y = torch.where(y == inf, 0.0, y)
    if reduction == 1:
        return torch.mean(y / torch.to(torch.clamp_min(n, 1), y.dtype))
    if reduction == 2:
        return torch.sum(y)
    return torch.select(y, 0, 0) if alone else y


def onnx_out_ctc_loss__IntList(log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    longest = 0
    for n in target_lengths:
        longest = max(longest, n)
    return __torch__.operators.onnx_out_linalg._ctc_loss(log_probs, targets, torch.tensor(input_lengths), torch.tensor(target_lengths), longest, blank, reduction, zero_infinity)


def onnx_out_ctc_loss__Tensor(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    longest = targets.size(-1) if targets.dim() == 2 or log_probs.dim() == 2 else int(torch.max(target_lengths))
    return __torch__.operators.onnx_out_linalg._ctc_loss(log_probs, targets, input_lengths, target_lengths, longest, blank, reduction, zero_infinity)
