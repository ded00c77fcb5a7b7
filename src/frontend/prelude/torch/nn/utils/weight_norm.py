# SPDX-License-Identifier: Apache-2.0
# weight_norm.py - a weight as magnitude times direction.
#
# PyTorch recomputes the weight before each call, in a hook that it cannot compile. Here it is computed when the norm is
# applied and when weights are loaded: the same numbers, as long as nobody trains.
import torch

from ..parameter import Parameter


class WeightNorm:
    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        with torch.no_grad():
            return torch._weight_norm(getattr(module, self.name + '_v'), getattr(module, self.name + '_g'), self.dim)

    def __call__(self, module, loaded):
        setattr(module, self.name, self.compute_weight(module))


def _applied(module, name):
    for key, hook in module._load_state_dict_post_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            return key
    return None


def weight_norm(module, name='weight', dim=0):
    if _applied(module, name) is not None:
        raise RuntimeError('Cannot register two weight_norm hooks on the same parameter {}'.format(name))
    norm = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    with torch.no_grad():
        magnitude = torch.norm_except_dim(weight, 2, norm.dim)
    module.register_parameter(name + '_g', Parameter(magnitude))
    module.register_parameter(name + '_v', Parameter(weight.detach()))
    setattr(module, name, norm.compute_weight(module))
    module.register_load_state_dict_post_hook(norm)
    return module


def remove_weight_norm(module, name='weight'):
    key = _applied(module, name)
    if key is None:
        raise ValueError("weight_norm of '{}' not found in {}".format(name, module))
    weight = module._load_state_dict_post_hooks[key].compute_weight(module)
    delattr(module, name)
    del module._parameters[name + '_g']
    del module._parameters[name + '_v']
    del module._load_state_dict_post_hooks[key]
    setattr(module, name, Parameter(weight))
    return module
