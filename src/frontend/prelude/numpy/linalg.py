# SPDX-License-Identifier: Apache-2.0
# numpy.linalg - as far as modules use it while they are built.
import torch

from numpy import _common, _floating, _tensor, _wrap, ndarray

LinAlgError = RuntimeError


def inv(a):
    return ndarray(torch.linalg.inv(_floating(a)))


def pinv(a):
    return ndarray(torch.linalg.pinv(_floating(a)))


def det(a):
    return _wrap(torch.linalg.det(_floating(a)))


def slogdet(a):
    sign, value = torch.linalg.slogdet(_floating(a))
    return _wrap(sign), _wrap(value)


def solve(a, b):
    return ndarray(torch.linalg.solve(*_common([_floating(a), _floating(b)], [False, False])))


def lstsq(a, b, rcond=None):
    r = torch.linalg.lstsq(*_common([_floating(a), _floating(b)], [False, False]))
    return ndarray(r[0]), ndarray(r[1]), int(torch.linalg.matrix_rank(_floating(a))), ndarray(torch.linalg.svdvals(_floating(a)))


def qr(a, mode='reduced'):
    q, r = torch.linalg.qr(_floating(a), mode)
    return ndarray(q), ndarray(r)


def svd(a, full_matrices=True, compute_uv=True):
    if not compute_uv:
        return ndarray(torch.linalg.svdvals(_floating(a)))
    u, s, v = torch.linalg.svd(_floating(a), full_matrices)
    return ndarray(u), ndarray(s), ndarray(v)


def eigh(a, UPLO='L'):
    w, v = torch.linalg.eigh(_floating(a), UPLO)
    return ndarray(w), ndarray(v)


def eigvalsh(a, UPLO='L'):
    return ndarray(torch.linalg.eigvalsh(_floating(a), UPLO))


def cholesky(a):
    return ndarray(torch.linalg.cholesky(_floating(a)))


def matrix_power(a, n):
    return ndarray(torch.linalg.matrix_power(_tensor(a), n))


def matrix_rank(a):
    return _wrap(torch.linalg.matrix_rank(_floating(a)))


def multi_dot(arrays):
    return ndarray(torch.linalg.multi_dot(_common([_tensor(a) for a in arrays], [False] * len(arrays))))


def norm(x, ord=None, axis=None, keepdims=False):
    t = _floating(x)
    if ord is None:
        return _wrap(torch.linalg.vector_norm(t, 2, dim=axis, keepdim=keepdims))
    if axis is None and t.dim() == 2 or isinstance(axis, tuple):
        return _wrap(torch.linalg.matrix_norm(t, ord, dim=(-2, -1) if axis is None else axis, keepdim=keepdims))
    return _wrap(torch.linalg.vector_norm(t, ord, dim=axis, keepdim=keepdims))


def eig(a):
    w, v = torch.linalg.eig(_floating(a))
    real = bool((w.imag == 0).all())
    return ndarray(w.real if real else w), ndarray(v.real if real else v)


def eigvals(a):
    return eig(a)[0]


def cond(a, p=None):
    return _wrap(torch.linalg.cond(_floating(a), p))


def tensorinv(a, ind=2):
    return ndarray(torch.linalg.tensorinv(_floating(a), ind))
