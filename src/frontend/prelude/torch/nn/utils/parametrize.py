# SPDX-License-Identifier: Apache-2.0
# parametrize.py - tensors of a module that are computed from others.
#
# PyTorch computes such a tensor at each access, and does not compile modules that have one. Here it is computed when the
# parametrization is registered and when weights are loaded, as in evaluation: the same numbers, as long as nobody trains.
# Compiled modules have the tensor, and not what it is computed from. Names in state_dicts are PyTorch's.
# In Python proper the tensor is a property (python/ctsc/nn/utils/parametrize_more.py takes the place of the functions _begun to _removed).
import torch
from torch import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError('ParametrizationList requires one or more modules.')
        super().__init__(modules)
        self.unsafe = unsafe
        with torch.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, 'right_inverse'):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, (list, tuple)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {}".format(
                type(new).__name__))
        self.ntensors = 1 if self.is_tensor else len(new)
        is_parameter = isinstance(original, Parameter)
        if self.is_tensor and is_parameter: # the object stays, which optimisers may hold
            with torch.no_grad():
                original.data = new.detach()
            self.register_parameter('original', original)
        else:
            for i, tensor in enumerate([new] if self.is_tensor else new):
                _register(self, 'original' if self.is_tensor else 'original{}'.format(i),
                          Parameter(tensor.detach(), original.requires_grad) if is_parameter else tensor)
        if not unsafe:
            _check(self(), original, 'unparametrized', 'parametrized')

    def originals(self):
        return [getattr(self, 'original' if self.is_tensor else 'original{}'.format(i)) for i in range(self.ntensors)]

    def right_inverse(self, value):
        with torch.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, 'right_inverse'):
                    raise RuntimeError('parametrization {} does not implement right_inverse.'.format(type(module).__name__))
                value = module.right_inverse(value)
            for original, new in zip(self.originals(), [value] if self.is_tensor else value):
                original.data = new

    def forward(self):
        parts = list(self)
        x = parts[0](*self.originals())
        for part in parts[1:]:
            x = part(x)
        return x


def _check(tensor, before, name_before, name_after):
    if not isinstance(tensor, Tensor):
        raise ValueError('A parametrization must return a tensor. Got {}.'.format(type(tensor).__name__))
    for what in ('dtype', 'shape'):
        if getattr(tensor, what) != getattr(before, what):
            raise ValueError('Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled.\n'
                             '{} {}: {}\n{} {}: {}'.format(what, name_before, what, getattr(before, what), name_after, what,
                                                           getattr(tensor, what)))


class _Recompute:
    # A hook of the module: sets its tensor to what it is in evaluation.
    def __init__(self, name):
        self.name = name

    def __call__(self, module, loaded):
        parametrization = module.parametrizations[self.name]
        modes = [(part, part.training) for part in parametrization.modules()]
        parametrization.eval()
        with torch.no_grad():
            module._buffers[self.name] = parametrization().detach()
        for part, mode in modes:
            part.training = mode


def _hook_of(module, name):
    for key, hook in module._load_state_dict_post_hooks.items():
        if isinstance(hook, _Recompute) and hook.name == name:
            return key
    return None


# Before the first parametrization of a module; after the first of one of its tensors; after each; after the last of a tensor.
def _begun(module):
    module.__dict__['__jit_ignored_attributes__'] = list(getattr(module, '__jit_ignored_attributes__', [])) + ['parametrizations']


def _installed(module, name):
    module.register_buffer(name, None, persistent=False)
    module.register_load_state_dict_post_hook(_Recompute(name))


def _changed(module, name):
    _Recompute(name)(module, None)


def _removed(module, name):
    delattr(module, name)
    del module._load_state_dict_post_hooks[_hook_of(module, name)]
    if len(module.parametrizations) == 0:
        delattr(module, 'parametrizations')
        module.__dict__['__jit_ignored_attributes__'].remove('parametrizations')


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = module.parametrizations[tensor_name]()
            _check(parametrization(before), before, 'module.' + tensor_name + '.', 'parametrization(module.' + tensor_name + ').')
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
            _begun(module)
        module.parametrizations[tensor_name] = made
        _installed(module, tensor_name)
    else:
        raise ValueError("Module '{}' does not have a parameter, a buffer, or a parametrized element with name '{}'".format(
            module, tensor_name))
    _changed(module, tensor_name)
    return module


def is_parametrized(module, tensor_name=None):
    parametrizations = getattr(module, 'parametrizations', None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    if not is_parametrized(module, tensor_name):
        raise ValueError('Module {} does not have a parametrization on {}'.format(module, tensor_name))
    parametrization = module.parametrizations[tensor_name]
    if not leave_parametrized and not parametrization.is_tensor:
        raise ValueError('Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of '
                         'a sequence of tensors.')
    tensor = parametrization.originals()[0]
    if leave_parametrized:
        with torch.no_grad():
            value = getattr(module, tensor_name).detach()
        if parametrization.is_tensor: # the object stays here, too
            tensor.data = value
        else:
            tensor = Parameter(value, tensor.requires_grad) if isinstance(tensor, Parameter) else value
    del module.parametrizations[tensor_name]
    _removed(module, tensor_name)
    _register(module, tensor_name, tensor)
    return module


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    # The parametrizations of one module, or of one of its tensors, in another one.
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for part in from_module.parametrizations[name]:
            register_parametrization(to_module, name, part, unsafe=True)
        for original, to in zip(from_module.parametrizations[name].originals(), to_module.parametrizations[name].originals()):
            to.data = original.detach().clone()
    return to_module


def type_before_parametrizations(module):
    return type(module)


class cached:
    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None
