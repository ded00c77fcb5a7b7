# SPDX-License-Identifier: Apache-2.0
"""weight_norm.py - torch.nn.utils.weight_norm: a weight as magnitude times direction, computed before each call. The prelude's, which is compiled, computes it
when it is applied and loaded: it trains nothing."""
import ctsc as torch

from ..parameter import Parameter
from . import weight_hook


class WeightNorm:
    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        return torch._weight_norm(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        weight_hook.check_alone(module, WeightNorm, name, "weight_norm")
        norm = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(torch.norm_except_dim(weight, 2, norm.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, norm.compute_weight(module))
        module.register_forward_pre_hook(norm)
        return norm

    def remove(self, module):
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    return weight_hook.remove(module, WeightNorm, name, "weight_norm")
