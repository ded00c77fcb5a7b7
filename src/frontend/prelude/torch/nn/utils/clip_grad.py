# SPDX-License-Identifier: Apache-2.0
# clip_grad.py - gradients held within bounds, for module-level code.
import torch


def _with_gradients(parameters):
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    return [p for p in parameters if p.grad is not None]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    parameters, max_norm, norm_type = _with_gradients(parameters), float(max_norm), float(norm_type)
    if len(parameters) == 0:
        return torch.tensor(0.)
    with torch.no_grad():
        norms = [torch.norm(p.grad.detach(), norm_type) for p in parameters]
        if norm_type == float('inf'):
            total = norms[0] if len(norms) == 1 else torch.max(torch.stack(norms))
        else:
            total = torch.norm(torch.stack(norms), norm_type)
        if error_if_nonfinite and not torch.isfinite(total):
            raise RuntimeError('The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and '
                               'scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`'.format(norm_type))
        factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
        for p in parameters:
            p.grad.detach().mul_(factor)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    clip_value = float(clip_value)
    with torch.no_grad():
        for p in _with_gradients(parameters):
            p.grad.clamp_(-clip_value, clip_value)
