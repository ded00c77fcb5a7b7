# SPDX-License-Identifier: Apache-2.0
"""forward_ad.py - torch.autograd.forward_ad: derivatives in a direction.

Method: a dual tensor is a leaf of its own (or, of a tensor with gradients, a view), remembered with its tangent. unpack_dual(y) takes the gradient of y for
a vector v that is itself differentiated: v -> J^T v is linear, and its gradient for the tangents is J times these. So no operator needs a rule of its own
beside its gradient, twice, and what is computed between the two must be recorded: not under no_grad. Tangents have gradients of their own where a dual's
tensor, or its tangent, requires gradients.
"""
import collections

from .. import _C
from . import enable_grad, grad

_zeros_like = _C._operator("zeros_like")
UnpackedDualTensor = collections.namedtuple("UnpackedDualTensor", "primal tangent")
_level = [] # of the level that is entered: (dual, tangent, whether its gradient is wanted by others)
_entered = [False]


def enter_dual_level():
    if _entered[0]:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _entered[0] = True
    return 0


def exit_dual_level(*, level=None):
    if not _entered[0]:
        raise RuntimeError("Trying to exit a forward AD level but no level has been entered")
    if level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    _entered[0] = False
    _level.clear()


class dual_level:
    """with dual_level(): dual tensors live in it."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exception):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    if not _entered[0]:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError("Expected primal to be floating point or complex, but got: %s" % tensor.dtype)
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError("Expected tangent to be floating point or complex, but got: %s" % tangent.dtype)
    if tangent.shape != tensor.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is of size %s "
                           "while the given forward gradient is of size %s." % (list(tensor.shape), list(tangent.shape)))
    wanted = tensor.requires_grad
    with enable_grad():
        dual = tensor.view_as(tensor) if wanted else tensor.detach().requires_grad_()
    _level.append((dual, tangent, wanted or tangent.requires_grad))
    return dual


def unpack_dual(tensor, *, level=None):
    if not _entered[0]:
        return UnpackedDualTensor(tensor, None)
    wanted = any(w for _, _, w in _level)
    primal = tensor if wanted else tensor.detach()
    for dual, tangent, _ in _level:
        if dual is tensor:
            return UnpackedDualTensor(primal, tangent)
    if not tensor.requires_grad or not _level:
        return UnpackedDualTensor(primal, None)
    with enable_grad():
        v = _zeros_like(tensor).requires_grad_()
        found = grad(tensor, [d for d, _, _ in _level], v, retain_graph=True, create_graph=True, allow_unused=True)
        some = [(g, t) for g, (_, t, _) in zip(found, _level) if g is not None]
        if not some:
            return UnpackedDualTensor(primal, None)
        some = [(g, t) for g, t in some if g.requires_grad] # the others are zero whatever v is
        product = grad([g for g, _ in some], v, [t for _, t in some], retain_graph=True, create_graph=wanted, allow_unused=True)[0] if some else None
    product = _zeros_like(tensor) if product is None else product
    return UnpackedDualTensor(primal, product if wanted else product.detach())
