# SPDX-License-Identifier: Apache-2.0
# container.py - modules and parameters in sequences and dictionaries.
from collections import OrderedDict
from typing import Any, Dict

import torch

from ..parameter import Parameter
from .module import Module, _typename


def _position(idx, size):
    # The place of the element idx, negative ones counted from the end.
    if not -size <= idx < size:
        raise IndexError('index {} is out of range'.format(idx))
    return idx + size if idx < 0 else idx


def _renumber(modules):
    numbered = OrderedDict()
    for module in modules:
        numbered[str(len(numbered))] = module
    return numbered


def _pairs(given, name):
    # Keys and values of a dictionary, of a container of ours, or of a sequence of pairs.
    if isinstance(given, (dict, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = list(given)
    for j, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError('{} update sequence element #{} has length {}; 2 is required'.format(name, j, len(pair)))
    return pairs


def _parameter_lines(pairs, of_type):
    lines = []
    for key, p in pairs:
        if isinstance(p, torch.Tensor):
            lines.append('  ({}): {} containing: [{} of size {}]'.format(
                key, 'Parameter' if isinstance(p, Parameter) else 'Tensor', of_type(p),
                'x'.join([str(size) for size in p.shape])))
        else:
            lines.append('  ({}): Object of type: {}'.format(key, type(p).__name__))
    return '\n'.join(lines)


class Container(Module):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


class Sequential(Module):
    _modules: Dict[str, Module]

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for idx, module in enumerate(args):
                self.add_module(str(idx), module)

    def _key_at(self, idx):
        return list(self._modules.keys())[_position(idx, len(self._modules))]

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key_at(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key_at(idx), module)

    def __delitem__(self, idx) -> None:
        keys = list(self._modules.keys())[idx] if isinstance(idx, slice) else [self._key_at(idx)]
        for key in keys:
            del self._modules[key]
        self._modules = _renumber(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __add__(self, other) -> 'Sequential':
        if not isinstance(other, Sequential):
            raise ValueError('add operator supports only objects of Sequential class, but {} is given.'.format(
                str(type(other))))
        return Sequential(*(list(self) + list(other)))

    def __iadd__(self, other) -> 'Sequential':
        if not isinstance(other, Sequential):
            raise ValueError('add operator supports only objects of Sequential class, but {} is given.'.format(
                str(type(other))))
        return self.extend(list(other))

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError('unsupported operand type(s) for *: {} and {}'.format(type(self), type(other)))
        if other <= 0:
            raise ValueError('Non-positive multiplication factor {} for {}'.format(other, type(self)))

    def __mul__(self, other: int) -> 'Sequential':
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    def __rmul__(self, other: int) -> 'Sequential':
        return self.__mul__(other)

    def __imul__(self, other: int) -> 'Sequential':
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def append(self, module: Module) -> 'Sequential':
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> 'Sequential':
        if not isinstance(module, Module):
            raise AssertionError('module should be of type: {}'.format(Module))
        size = len(self._modules)
        if not -size <= index <= size:
            raise IndexError('Index out of range: {}'.format(index))
        modules = list(self._modules.values())
        modules.insert(index + size if index < 0 else index, module)
        self._modules = _renumber(modules)
        return self

    def extend(self, sequential) -> 'Sequential':
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module


class ModuleList(Module):
    _modules: Dict[str, Module]

    def __init__(self, modules=None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, idx):
        return str(_position(idx, len(self)))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx) -> None:
        keys = list(self._modules.keys())[idx] if isinstance(idx, slice) else [self._get_abs_string_index(idx)]
        for key in keys:
            del self._modules[key]
        self._modules = _renumber(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __iadd__(self, modules) -> 'ModuleList':
        return self.extend(modules)

    def __add__(self, other) -> 'ModuleList':
        return ModuleList(list(self) + list(other))

    def insert(self, index: int, module: Module) -> None:
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules = _renumber(modules)

    def append(self, module: Module) -> 'ModuleList':
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules) -> 'ModuleList':
        if isinstance(modules, (int, float, str)) or modules is None:
            raise TypeError('ModuleList.extend should be called with an iterable, but got ' + type(modules).__name__)
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module


class ModuleDict(Module):
    _modules: Dict[str, Module]

    def __init__(self, modules=None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.keys()))

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules = OrderedDict()

    def pop(self, key: str) -> Module:
        module = self[key]
        del self[key]
        return module

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules) -> None:
        if isinstance(modules, (int, float, str)):
            raise TypeError('ModuleDict.update should be called with an iterable of key/value pairs, but got '
                            + type(modules).__name__)
        for key, module in _pairs(modules, 'ModuleDict'):
            self[key] = module


class ParameterList(Module):
    def __init__(self, values=None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _get_abs_string_index(self, idx):
        return str(_position(idx, len(self)))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(list(self)[idx])
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        if isinstance(param, torch.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, self._get_abs_string_index(idx), param)

    def __len__(self) -> int:
        return self._size

    def __iter__(self):
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def __iadd__(self, parameters) -> 'ParameterList':
        return self.extend(parameters)

    def append(self, value: Any) -> 'ParameterList':
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values) -> 'ParameterList':
        if isinstance(values, (int, float, str, torch.Tensor)):
            raise TypeError('ParameterList.extend should be called with an iterable, but got ' + type(values).__name__)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return _parameter_lines(enumerate(self), lambda p: p.dtype)

    def __call__(self, *args, **kwargs):
        raise RuntimeError('ParameterList should not be called.')


class ParameterDict(Module):
    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: Dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is '{}').".format(
                    type(key).__name__))
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is '{}').".format(
                    type(key).__name__))
        self._keys[key] = None
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self):
        return iter(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> 'ParameterDict':
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default=None) -> Any:
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def get(self, key: str, default=None) -> Any:
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None) -> 'ParameterDict':
        return ParameterDict([(key, default) for key in keys])

    def keys(self):
        return self._keys.keys()

    def items(self):
        return [(key, self[key]) for key in self._keys]

    def values(self):
        return [self[key] for key in self._keys]

    def update(self, parameters) -> None:
        if isinstance(parameters, (int, float, str)):
            raise TypeError('ParametersDict.update should be called with an iterable of key/value pairs, but got '
                            + type(parameters).__name__)
        pairs = _pairs(parameters, 'ParameterDict')
        # plain dictionaries are sorted; the evaluator, whose dictionaries are all ordered, takes each for a plain one
        if isinstance(parameters, dict) and (OrderedDict is dict or not isinstance(parameters, OrderedDict)):
            pairs = [(key, parameters[key]) for key in sorted(parameters)]
        for key, parameter in pairs:
            self[key] = parameter

    def extra_repr(self) -> str:
        return _parameter_lines(self.items(), _typename)

    def __call__(self, input):
        raise RuntimeError('ParameterDict should not be called.')

    def __or__(self, other: 'ParameterDict') -> 'ParameterDict':
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other: 'ParameterDict') -> 'ParameterDict':
        self.update(other)
        return self
