# SPDX-License-Identifier: Apache-2.0
"""clip_grad.py - clipping of gradients: clip_grad_norm_, clip_grad_value_."""
from ... import _C
from ..._functions import tensor


def _with_gradients(parameters):
    parameters = [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)
    return [p for p in parameters if p.grad is not None]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients so that their norm is at most max_norm; returns what it was."""
    found = _with_gradients(parameters)
    if not found:
        return tensor(0.)
    if any(hasattr(p, "_part_of_same") for p in found): # parts of tensors whose norms are wanted
        total = get_total_norm([p.grad for p in found], norm_type, error_if_nonfinite)
        clip_grads_with_norm_(found, max_norm, total)
        return total
    if error_if_nonfinite:
        norm = _C._clip_grad_norm(found, float("inf"), float(norm_type))
        if norm != norm or norm in (float("inf"), -float("inf")):
            raise RuntimeError("The total norm of order %s for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and "
                               "scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`" % float(norm_type))
    return tensor(_C._clip_grad_norm(found, float(max_norm), float(norm_type)), dtype=found[0].grad.dtype)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors as one."""
    tensors = [tensors] if isinstance(tensors, _C.Tensor) else list(tensors)
    if not tensors:
        return tensor(0.)
    norm, stack = _C._operator("linalg_vector_norm"), _C._operator("stack")
    total = norm(stack([norm(t.detach(), norm_type).to(tensors[0].device) for t in tensors]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError("The total norm of order %s for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and "
                           "scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`" % norm_type)
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients by max_norm over total_norm, where that is below 1."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for p in _with_gradients(parameters):
        p.grad.detach().mul_(factor.to(p.grad.device))


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps gradients to -clip_value .. clip_value."""
    found = _with_gradients(parameters)
    if found:
        _C._clip_grad_value(found, float(clip_value))
