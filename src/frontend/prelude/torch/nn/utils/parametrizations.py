# SPDX-License-Identifier: Apache-2.0
# parametrizations.py - weights as magnitude times direction, divided by their largest singular value, or orthogonal.
#
# Orthogonal matrices: exp(A) or the Cayley transform of a skew-symmetric A, or a product of Householder reflectors; with
# use_trivialization times a fixed orthogonal matrix (Lezcano-Casado, 2019).
import torch

from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight


class _OldWeightNorm:
    # A hook that renames what the older torch.nn.utils.weight_norm has saved.
    def __init__(self, name):
        self.name = name

    def __call__(self, state_dict, prefix, *unused):
        old = [prefix + self.name + '_g', prefix + self.name + '_v']
        if old[0] in state_dict and old[1] in state_dict:
            for i in range(2):
                state_dict['{}parametrizations.{}.original{}'.format(prefix, self.name, i)] = state_dict.pop(old[i])


def _tensor_of(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError("Module '{}' has no parameter or buffer with name '{}'".format(module, name))
    return weight


def weight_norm(module, name='weight', dim=0):
    _tensor_of(module, name)
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldWeightNorm(name))
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError('Dimension out of range (expected to be in range of [-{}, {}] but got {})'.format(ndim, ndim - 1, dim))
        if n_power_iterations <= 0:
            raise ValueError('Expected n_power_iterations to be positive, but got n_power_iterations={}'.format(n_power_iterations))
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight.detach())
            u = matrix.new_empty(matrix.size(0)).normal_(0, 1)
            v = matrix.new_empty(matrix.size(1)).normal_(0, 1)
            self.register_buffer('_u', F.normalize(u, dim=0, eps=eps))
            self.register_buffer('_v', F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _as_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute([self.dim] + [d for d in range(weight.dim()) if d != self.dim])
        return weight.flatten(1)

    def _power_method(self, matrix, n):
        with torch.no_grad():
            for _ in range(n):
                self._u = F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps)
                self._v = F.normalize(torch.mv(matrix.t().conj(), self._u), dim=0, eps=self.eps)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        return weight / torch.vdot(self._u, torch.mv(matrix, self._v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if type(module).__name__ in ('ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d') else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def _orthogonalized(a):
    # Q of A = QR, with a diagonal of R that is not negative
    x, tau = torch.geqrf(a)
    return torch.linalg.householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == 'householder':
            raise ValueError('The householder parametrization does not support complex tensors.')
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer('base', None)

    def _of_skew(self, x, n, k):
        x = x.tril()
        if n != k:
            x = torch.cat([x, x.new_zeros(list(x.shape[:-1]) + [n - k])], dim=-1)
        a = x - x.transpose(-2, -1).conj()
        if self.orthogonal_map == 'matrix_exp':
            q = torch.matrix_exp(a)
        else:
            one = torch.eye(n, dtype=a.dtype, device=a.device)
            q = torch.linalg.solve(torch.add(one, a, alpha=-0.5), torch.add(one, a, alpha=0.5))
        return q[..., :k] if n != k else q

    def forward(self, x):
        n, k = x.size(-2), x.size(-1)
        transposed = n < k
        if transposed:
            x = x.transpose(-2, -1)
            n, k = k, n
        if self.orthogonal_map == 'householder':
            a = x.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = torch.linalg.householder_product(a, tau) * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            q = self._of_skew(x, n, k)
        if self.use_trivialization:
            q = self.base @ q
        return q.transpose(-2, -1) if transposed else q

    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError('Expected a matrix or batch of matrices of shape {}. Got a tensor of shape {}.'.format(self.shape, q.shape))
        with torch.no_grad():
            given = q
            n, k = q.size(-2), q.size(-1)
            transposed = n < k
            if transposed:
                q = q.transpose(-2, -1)
                n, k = k, n
            if not self.use_trivialization:
                if self.orthogonal_map != 'householder':
                    raise NotImplementedError('It is not possible to assign to the matrix exponential '
                                              'or the Cayley parametrizations when use_trivialization=False.')
                return self._reflectors(q, transposed)
            if n == k:
                one = torch.eye(k, dtype=q.dtype, device=q.device)
                is_orthogonal = torch.allclose(q.transpose(-2, -1).conj() @ q, one, atol=10.0 * n * torch.finfo(q.dtype).eps)
                q = q.clone() if is_orthogonal else _orthogonalized(q)
            else:
                more = torch.randn(list(q.shape[:-2]) + [n, n - k], dtype=q.dtype, device=q.device)
                q = _orthogonalized(torch.cat([q, more], dim=-1))
            self.base = q
            minus_one = torch.zeros_like(given)
            minus_one.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return minus_one

    def _reflectors(self, q, transposed):
        a, tau = torch.geqrf(q)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal.mul_(torch.where(tau == 0.0, -1.0, 1.0).to(tau.dtype))
        return a.transpose(-2, -1) if transposed else a


def orthogonal(module, name='weight', orthogonal_map=None, *, use_trivialization=True):
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError('Expected a matrix or batch of matrices. Got a tensor of {} dimensions.'.format(weight.ndim))
    if orthogonal_map is None:
        orthogonal_map = 'matrix_exp' if weight.size(-2) == weight.size(-1) or weight.is_complex() else 'householder'
    if orthogonal_map not in ('matrix_exp', 'cayley', 'householder'):
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {}'.format(orthogonal_map))
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
