# SPDX-License-Identifier: Apache-2.0
# spectral_norm.py - a weight divided by its largest singular value.
#
# The singular value comes from power iteration, whose two vectors are buffers. As with weight_norm, the weight is computed
# when the norm is applied and when weights are loaded, where PyTorch does so before each call.
import torch

from .. import functional as F
from ..parameter import Parameter


class SpectralNorm:
    def __init__(self, name, n_power_iterations, dim, eps):
        if n_power_iterations <= 0:
            raise ValueError('Expected n_power_iterations to be positive, but got n_power_iterations={}'.format(
                n_power_iterations))
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def as_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute([self.dim] + [d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module):
        weight = getattr(module, self.name + '_orig')
        with torch.no_grad():
            u = getattr(module, self.name + '_u')
            v = getattr(module, self.name + '_v')
            return weight / torch.dot(u, torch.mv(self.as_matrix(weight), v))

    def __call__(self, module, loaded):
        setattr(module, self.name, self.compute_weight(module))


def _applied(module, name):
    for key, hook in module._load_state_dict_post_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            return key
    return None


def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    if dim is None:
        transposed = ('ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d')
        dim = 1 if type(module).__name__ in transposed else 0
    if _applied(module, name) is not None:
        raise RuntimeError('Cannot register two spectral_norm hooks on the same parameter {}'.format(name))
    norm = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError('`SpectralNorm` cannot be applied as parameter `{}` is None'.format(name))
    with torch.no_grad():
        matrix = norm.as_matrix(weight)
        u = F.normalize(weight.new_empty(matrix.size(0)).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(weight.new_empty(matrix.size(1)).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + '_orig', weight)
    setattr(module, name, weight.detach())
    module.register_buffer(name + '_u', u)
    module.register_buffer(name + '_v', v)
    norm(module, None)
    module.register_load_state_dict_post_hook(norm)
    return module


def remove_spectral_norm(module, name='weight'):
    key = _applied(module, name)
    if key is None:
        raise ValueError("spectral_norm of '{}' not found in {}".format(name, module))
    weight = module._load_state_dict_post_hooks[key].compute_weight(module)
    for suffix in ('', '_u', '_v', '_orig'):
        delattr(module, name + suffix)
    del module._load_state_dict_post_hooks[key]
    module.register_parameter(name, Parameter(weight))
    return module
