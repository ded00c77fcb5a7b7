# SPDX-License-Identifier: Apache-2.0
# Derivatives of singular values, eigenvalues and functions of matrices. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- singular values -------------------------------------------------------------------------------


def _skew(t: Tensor) -> Tensor:
    return t - __torch__.derivatives.linalg._mh(t)


# What the core of a gradient is between U and Vh: of the vectors' turning off the diagonal, of the values on it.
def _svd_core(gU: Optional[Tensor], gS: Optional[Tensor], gVh: Optional[Tensor], U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    squares = S * S
    gaps = __torch__.derivatives.linalg._with_ones(torch.unsqueeze(squares, -2) - torch.unsqueeze(squares, -1))
    core = torch.zeros_like(torch.matmul(torch.transpose(U, -2, -1), U))
    turned_u = core
    if gU is not None:
        turned_u = __torch__.derivatives.spectral._skew(torch.matmul(__torch__.derivatives.linalg._mh(U), gU))
        core = turned_u * torch.unsqueeze(S, -2)
    turned_v = torch.zeros_like(core)
    if gVh is not None:
        turned_v = __torch__.derivatives.spectral._skew(torch.matmul(Vh, __torch__.derivatives.linalg._mh(gVh)))
        core = core + torch.unsqueeze(S, -1) * turned_v
    core = core / gaps
    if torch.is_complex(U):
        phase = torch.imag(torch.diagonal(turned_u, 0, -2, -1)) + torch.imag(torch.diagonal(turned_v, 0, -2, -1))
        if not __torch__.derivatives.linalg._is_near_zero(phase):
            torch.ops.ctsc.fail("svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. The specified loss function depends on this phase term, making it ill-defined.")
        if gU is not None:
            if gVh is not None:
                along = torch.diagonal(turned_u, 0, -2, -1) / (S * 2.)
                core = __torch__.derivatives.linalg._with_diagonal(core, along)
    if gS is not None:
        core = core + torch.diag_embed(gS, 0, -2, -1)
    return core


def _svd_grad(gU: Optional[Tensor], gS: Optional[Tensor], gVh: Optional[Tensor], U: Tensor, S: Tensor, Vh: Tensor) -> Optional[Tensor]:
    m = U.size(-2)
    n = Vh.size(-1)
    k = S.size(-1)
    if gU is None and gVh is None:
        if gS is None:
            return None
        if m >= n:
            return torch.matmul(U, torch.unsqueeze(gS, -1) * Vh)
        return torch.matmul(U * torch.unsqueeze(gS, -2), Vh)
    core = __torch__.derivatives.spectral._svd_core(gU, gS, gVh, U, S, Vh)
    if m > k:
        if gU is not None:
            scaled = gU / torch.unsqueeze(S, -2)
            outside = scaled - torch.matmul(U, torch.matmul(__torch__.derivatives.linalg._mh(U), scaled))
            return torch.matmul(torch.matmul(U, core) + outside, Vh)
    if n > k:
        if gVh is not None:
            scaled = gVh / torch.unsqueeze(S, -1)
            outside = scaled - torch.matmul(torch.matmul(scaled, __torch__.derivatives.linalg._mh(Vh)), Vh)
            return torch.matmul(U, torch.matmul(core, Vh) + outside)
    return torch.matmul(torch.matmul(U, core), Vh)


# The first k columns, or rows, of what may be square.
def _first(t: Optional[Tensor], dim: int, k: int) -> Optional[Tensor]:
    if t is None:
        return None
    return torch.narrow(t, dim, 0, k)


def linalg_svd__d_A(grad0: Optional[Tensor], grad1: Optional[Tensor], grad2: Optional[Tensor], result0: Tensor, result1: Tensor, result2: Tensor) -> Optional[Tensor]:
    k = result1.size(-1)
    U = torch.narrow(result0, -1, 0, k)
    Vh = torch.narrow(result2, -2, 0, k)
    gU = __torch__.derivatives.spectral._first(grad0, -1, k)
    return __torch__.derivatives.spectral._svd_grad(gU, grad1, __torch__.derivatives.spectral._first(grad2, -2, k), U, result1, Vh)


def linalg_svdvals__as(A: Tensor, driver: Optional[str]) -> Tensor:
    U, S, Vh = torch.linalg_svd(A, False, driver=driver)
    return S


def svd__as(self: Tensor, some: bool, compute_uv: bool) -> Tuple[Tensor, Tensor, Tensor]:
    if compute_uv:
        U, S, Vh = torch.linalg_svd(self, not some, driver=None)
        return U, S, torch.resolve_conj(__torch__.derivatives.linalg._mh(Vh))
    shown = torch.svd(torch.detach(self), some, compute_uv)
    return shown[0], torch.linalg_svdvals(self, driver=None), shown[2]


# As PyTorch has it: the largest singular value over the smallest, or norms of the matrix and its inverse.
def linalg_cond__as(self: Tensor, p: Optional[number]) -> Tensor:
    order = 2.
    if p is not None:
        order = float(p)
    if self.numel() == 0 or self.dim() < 2:
        return torch.linalg_cond(torch.detach(self), p)
    if abs(order) == 2.:
        values = torch.linalg_svdvals(self, driver=None)
        largest = torch.select(values, -1, 0)
        smallest = torch.select(values, -1, -1)
        if order < 0.:
            return smallest / largest
        return largest / smallest
    inverse, info = torch.linalg_inv_ex(self, check_errors=False)
    inverse = torch.masked_fill(inverse, torch.gt(torch.unsqueeze(torch.unsqueeze(info, -1), -1), 0), inf)
    dims = [-2, -1]
    return torch.linalg_matrix_norm(self, order, dims, False, dtype=None) * torch.linalg_matrix_norm(inverse, order, dims, False, dtype=None)


def linalg_cond__p_str__as(self: Tensor, p: str) -> Tensor:
    if self.numel() == 0 or self.dim() < 2:
        return torch.linalg_cond(torch.detach(self), p)
    if p == "nuc":
        values = torch.linalg_svdvals(self, driver=None)
        return torch.sum(values, [-1], False, dtype=None) * torch.sum(torch.reciprocal(values), [-1], False, dtype=None)
    inverse, info = torch.linalg_inv_ex(self, check_errors=False)
    inverse = torch.masked_fill(inverse, torch.gt(torch.unsqueeze(torch.unsqueeze(info, -1), -1), 0), inf)
    dims = [-2, -1]
    return torch.linalg_matrix_norm(self, p, dims, False, dtype=None) * torch.linalg_matrix_norm(inverse, p, dims, False, dtype=None)


# ---- eigenvalues -----------------------------------------------------------------------------------


def _check_phase(name: str, along: Tensor):
    if torch.is_complex(along):
        if not __torch__.derivatives.linalg._is_near_zero(torch.imag(along)):
            torch.ops.ctsc.fail(name + ": The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined.")


# The gradient in the eigenvectors' basis: what turns a vector into another is divided by their values' distance.
def _eig_core(turned: Tensor, gL: Optional[Tensor], L: Tensor) -> Tensor:
    values = torch.conj(L)
    gaps = __torch__.derivatives.linalg._with_ones(torch.unsqueeze(values, -2) - torch.unsqueeze(values, -1))
    core = turned / gaps
    if gL is not None:
        return __torch__.derivatives.linalg._with_diagonal(core, gL)
    return __torch__.derivatives.linalg._with_diagonal(core, torch.zeros_like(L))


def _eigh_grad(gL: Optional[Tensor], gV: Optional[Tensor], L: Tensor, V: Tensor) -> Optional[Tensor]:
    if gV is None:
        if gL is None:
            return None
        return torch.matmul(V * torch.unsqueeze(gL, -2), __torch__.derivatives.linalg._mh(V))
    turned = torch.matmul(__torch__.derivatives.linalg._mh(V), gV)
    __torch__.derivatives.spectral._check_phase("linalg_eigh_backward", torch.diagonal(turned, 0, -2, -1))
    turned = __torch__.derivatives.spectral._skew(turned) * 0.5
    core = __torch__.derivatives.spectral._eig_core(turned, gL, L)
    return torch.matmul(V, torch.matmul(core, __torch__.derivatives.linalg._mh(V)))


def linalg_eigh__d_self(grad0: Optional[Tensor], grad1: Optional[Tensor], result0: Tensor, result1: Tensor) -> Optional[Tensor]:
    return __torch__.derivatives.spectral._eigh_grad(grad0, grad1, result0, result1)


def linalg_eigvalsh__as(self: Tensor, UPLO: str) -> Tensor:
    L, V = torch.linalg_eigh(self, UPLO)
    return L


def symeig__as(self: Tensor, eigenvectors: bool, upper: bool) -> Tuple[Tensor, Tensor]:
    half = "L"
    if upper:
        half = "U"
    L, V = torch.linalg_eigh(self, half)
    if eigenvectors:
        return L, V
    return L, torch.symeig(torch.detach(self), eigenvectors, upper)[1]


# A X = B of complex numbers as a system of real ones twice as large.
def _complex_solved(A: Tensor, B: Tensor) -> Tensor:
    n = A.size(-1)
    above = torch.cat([torch.real(A), torch.neg(torch.imag(A))], -1)
    below = torch.cat([torch.imag(A), torch.real(A)], -1)
    x = torch.linalg_solve(torch.cat([above, below], -2), torch.cat([torch.real(B), torch.imag(B)], -2), left=True)
    return torch.complex(torch.narrow(x, -2, 0, n), torch.narrow(x, -2, n, n))


def linalg_eig__d_self(grad0: Optional[Tensor], grad1: Optional[Tensor], result0: Tensor, result1: Tensor) -> Optional[Tensor]:
    turned_v = __torch__.derivatives.linalg._mh(result1)
    if grad1 is None:
        if grad0 is None:
            return None
        return __torch__.derivatives.spectral._complex_solved(turned_v, torch.unsqueeze(grad0, -1) * turned_v)
    turned = torch.matmul(turned_v, grad1)
    along = torch.diagonal(turned, 0, -2, -1)
    __torch__.derivatives.spectral._check_phase("linalg_eig_backward", along)
    lengths = torch.unsqueeze(torch.to(torch.real(along), result1.dtype), -2)
    turned = turned - torch.matmul(turned_v, result1 * lengths)
    core = __torch__.derivatives.spectral._eig_core(turned, grad0, result0)
    return __torch__.derivatives.spectral._complex_solved(turned_v, torch.matmul(core, turned_v))


def linalg_eigvals__as(self: Tensor) -> Tensor:
    L, V = torch.linalg_eig(self)
    return L


# ---- exponentials ----------------------------------------------------------------------------------


# The upper right block of the exponential of [[A', g], [0, A']].
def _exp_grad(grad: Tensor, self: Tensor) -> Tensor:
    n = self.size(-1)
    if self.numel() == 0:
        return torch.zeros_like(self)
    turned = __torch__.derivatives.linalg._mh(self)
    above = torch.cat([turned, grad], -1)
    below = torch.cat([torch.zeros_like(turned), turned], -1)
    whole = torch.linalg_matrix_exp(torch.cat([above, below], -2))
    return torch.narrow(torch.narrow(whole, -2, 0, n), -1, n, n)


def linalg_matrix_exp__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return __torch__.derivatives.spectral._exp_grad(grad, self)


def matrix_exp__d_self(grad: Tensor, self: Tensor) -> Tensor:
    return __torch__.derivatives.spectral._exp_grad(grad, self)
