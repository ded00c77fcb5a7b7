# SPDX-License-Identifier: Apache-2.0
# __init__.py - torch.nn.utils: names imported when they are first asked for.
# Functions of the same names as their modules come at once, or the modules would be found first.
from .weight_norm import weight_norm, remove_weight_norm
from .spectral_norm import spectral_norm, remove_spectral_norm

_places = {
    'fuse_conv_bn_eval': 'torch.nn.utils.fusion', 'fuse_conv_bn_weights': 'torch.nn.utils.fusion',
    'fuse_linear_bn_eval': 'torch.nn.utils.fusion', 'fuse_linear_bn_weights': 'torch.nn.utils.fusion',
    'parameters_to_vector': 'torch.nn.utils.convert_parameters',
    'vector_to_parameters': 'torch.nn.utils.convert_parameters',
    'skip_init': 'torch.nn.utils.init',
    'clip_grad_norm_': 'torch.nn.utils.clip_grad', 'clip_grad_value_': 'torch.nn.utils.clip_grad',
}


def __getattr__(name):
    import importlib
    if name in ('rnn', 'parametrize', 'parametrizations'):
        return importlib.import_module('torch.nn.utils.' + name)
    if name not in _places:
        raise AttributeError("module 'torch.nn.utils' has no attribute '{}'".format(name))
    return getattr(importlib.import_module(_places[name]), name)
