# SPDX-License-Identifier: Apache-2.0
# init.py - torch.nn.init: fills tensors in place, drawing random numbers in PyTorch's order.
#
# The distributions: Glorot & Bengio (2010) for xavier, He et al. (2015) for kaiming, Saxe et al. (2013) for orthogonal.
# Tests: tests/prelude/compare.py
import math
import warnings

import torch
from torch import Tensor


def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ('linear', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d',
                        'sigmoid'):
        return 1
    if nonlinearity == 'tanh':
        return 5.0 / 3
    if nonlinearity == 'relu':
        return math.sqrt(2.0)
    if nonlinearity == 'leaky_relu':
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError('negative_slope {} not a valid number'.format(param))
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == 'selu':
        return 3.0 / 4
    raise ValueError('Unsupported nonlinearity {}'.format(nonlinearity))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _normal_below(x):
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _draw_within(tensor, mean, std, a, b, generator):
    # PyTorch 2's numbers: whole tensors are drawn until each element has been accepted once. Where enough of the normal distribution is between the bounds
    # numbers of it are, if they do; else uniform ones, with the probability that the density has there compared with its largest between the bounds.
    if _normal_below((b - mean) / std) - _normal_below((a - mean) / std) > 0.3:
        low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
        drawn = tensor.normal_(mean, std, generator=generator)
        missing = (drawn < low) | (drawn > high)
        while missing.any():
            drawn = torch.where(missing, torch.empty_like(drawn).normal_(mean, std, generator=generator), drawn)
            missing = (drawn < low) | (drawn > high)
        return tensor.copy_(drawn)
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    drawn, missing = tensor, None
    while missing is None or missing.any():
        fresh = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        drawn = fresh if missing is None else torch.where(missing, fresh, drawn)
        density = fresh.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        refused = torch.empty_like(tensor).uniform_(generator=generator).log_().gt(density)
        missing = refused if missing is None else missing & refused
    return tensor.copy_(drawn)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator=None) -> Tensor:
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn('mean is more than 2 std from [a, b] in nn.init.trunc_normal_. '
                      'The distribution of values may be incorrect.', stacklevel=2)
    with torch.no_grad():
        if torch._C._draws_anew():
            return tensor if torch._C._skips_init() else _draw_within(tensor, mean, std, a, b, generator)
        # the normal distribution's inverse of a uniform draw between its values at a and b
        low = _normal_below((a - mean) / std)
        high = _normal_below((b - mean) / std)
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        tensor.erfinv_()
        tensor.mul_(std * math.sqrt(2.0))
        tensor.add_(mean)
        tensor.clamp_(min=a, max=b)
        return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor):
    if tensor.dim() != 2:
        raise ValueError('Only tensors with 2 dimensions are supported')
    with torch.no_grad():
        tensor.copy_(torch.eye(tensor.size(0), tensor.size(1)))
    return tensor


def dirac_(tensor, groups=1):
    dimensions = tensor.dim()
    if dimensions not in [3, 4, 5]:
        raise ValueError('Only tensors with 3, 4, or 5 dimensions are supported')
    if tensor.size(0) % groups != 0:
        raise ValueError('dim 0 must be divisible by groups')
    per_group = tensor.size(0) // groups
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                centre = tensor[group * per_group + channel][channel]
                for size in tensor.shape[2:]:
                    centre = centre[size // 2]
                centre.fill_(1)
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError('Fan in and fan out can not be computed for tensor with fewer than 2 dimensions')
    receptive_field_size = 1
    for size in tensor.shape[2:]:
        receptive_field_size *= size
    return tensor.size(1) * receptive_field_size, tensor.size(0) * receptive_field_size


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return normal_(tensor, 0.0, std, generator)


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    valid_modes = ['fan_in', 'fan_out']
    if mode not in valid_modes:
        raise ValueError('Mode {} not supported, please use one of {}'.format(mode, valid_modes))
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == 'fan_in' else fan_out


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu', generator=None):
    if tensor.numel() == 0:
        warnings.warn('Initializing zero-element tensors is a no-op')
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu', generator=None):
    if tensor.numel() == 0:
        warnings.warn('Initializing zero-element tensors is a no-op')
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    if tensor.dim() < 2:
        raise ValueError('Only tensors with 2 or more dimensions are supported')
    if tensor.numel() == 0 or torch._C._skips_init():
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    with torch.no_grad():
        flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
        if rows < cols:
            flat.t_()
        q, r = torch.linalg.qr(flat)
        # signs of the diagonal make the distribution uniform over the orthogonal matrices
        q *= torch.diag(r, 0).sign()
        if rows < cols:
            q.t_()
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    if tensor.dim() != 2:
        raise ValueError('Only tensors with 2 dimensions are supported')
    if torch._C._skips_init():
        return tensor
    rows = tensor.size(0)
    num_zeros = int(math.ceil(sparsity * rows))
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(tensor.size(1)):
            chosen = torch.randperm(rows)[:num_zeros]
            tensor[chosen, column] = 0
    return tensor


def _deprecated(name, fill):
    def old(*args, **kwargs):
        warnings.warn('nn.init.{} is now deprecated in favor of nn.init.{}_.'.format(name, name), stacklevel=2)
        return fill(*args, **kwargs)

    return old


uniform = _deprecated('uniform', uniform_)
normal = _deprecated('normal', normal_)
constant = _deprecated('constant', constant_)
eye = _deprecated('eye', eye_)
dirac = _deprecated('dirac', dirac_)
xavier_uniform = _deprecated('xavier_uniform', xavier_uniform_)
xavier_normal = _deprecated('xavier_normal', xavier_normal_)
kaiming_uniform = _deprecated('kaiming_uniform', kaiming_uniform_)
kaiming_normal = _deprecated('kaiming_normal', kaiming_normal_)
orthogonal = _deprecated('orthogonal', orthogonal_)
sparse = _deprecated('sparse', sparse_)
