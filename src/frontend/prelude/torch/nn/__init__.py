# SPDX-License-Identifier: Apache-2.0
# __init__.py - torch.nn: what torch.nn.modules offers, and the modules beside it, each read when first asked for.
import importlib

from . import modules

_submodules = ('functional', 'init', 'parameter', 'quantized', 'utils', 'common_types')

__all__ = modules.__all__ + ['Buffer', 'Parameter', 'functional', 'init', 'parameter', 'utils', 'modules']


def __getattr__(name):
    if name in _submodules:
        return importlib.import_module(__name__ + '.' + name)
    if name == 'Buffer':
        return importlib.import_module(__name__ + '.modules.module').Buffer
    if name == 'Parameter':
        return importlib.import_module(__name__ + '.parameter').Parameter
    if name not in modules._places:
        raise AttributeError("module '{}' has no attribute '{}'".format(__name__, name))
    return getattr(modules, name)


def factory_kwargs(kwargs):
    if kwargs is None:
        return {}
    names = ['device', 'dtype', 'memory_format']
    unexpected = [name for name in kwargs if name not in names and name != 'factory_kwargs']
    if unexpected:
        raise TypeError('unexpected kwargs {}'.format(unexpected))
    result = dict(kwargs.get('factory_kwargs', {}))
    for name in names:
        if name in kwargs:
            if name in result:
                raise TypeError('{} specified twice, in **kwargs and in factory_kwargs'.format(name))
            result[name] = kwargs[name]
    return result
