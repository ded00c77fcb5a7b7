# SPDX-License-Identifier: Apache-2.0
# module.py - nn.Module: the registries of parameters, buffers and submodules, and what walks over them.
#
# Method. Iterators are lists made at once (the evaluator has no generators). Identity, which keeps shared parameters and
# modules from being listed twice, is tracked by id().
# Tests: tests/prelude/compare.py
from collections import OrderedDict, namedtuple
from typing import Any, Callable, Dict, Optional, Set

import torch
from torch import Tensor

from ..parameter import Parameter

_TENSOR_TYPES = {
    'torch.float32': 'torch.FloatTensor', 'torch.float64': 'torch.DoubleTensor', 'torch.float16': 'torch.HalfTensor',
    'torch.bfloat16': 'torch.BFloat16Tensor', 'torch.uint8': 'torch.ByteTensor', 'torch.int8': 'torch.CharTensor',
    'torch.int16': 'torch.ShortTensor', 'torch.int32': 'torch.IntTensor', 'torch.int64': 'torch.LongTensor',
    'torch.bool': 'torch.BoolTensor', 'torch.complex64': 'torch.ComplexFloatTensor',
    'torch.complex128': 'torch.ComplexDoubleTensor',
}


class _IncompatibleKeys(namedtuple('IncompatibleKeys', ['missing_keys', 'unexpected_keys'])):
    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return '<All keys matched successfully>'
        return super().__repr__()

    __str__ = __repr__


def _typename(o):
    if isinstance(o, Tensor):
        return _TENSOR_TYPES['torch.' + str(o.dtype).rpartition('.')[2]]
    module = getattr(o, '__module__', None)
    name = getattr(o, '__qualname__', None)
    if name is None:
        name = type(o).__name__
    if module is None or module == 'builtins':
        return name
    return module + '.' + name


def _addindent(text, spaces):
    lines = text.split('\n')
    return '\n'.join(lines[:1] + [' ' * spaces + line for line in lines[1:]])


def _forward_unimplemented(self, *input: Any) -> None:
    raise NotImplementedError('Module [{}] is missing the required "forward" function'.format(type(self).__name__))


class RemovableHandle:
    next_id = 0

    def __init__(self, hooks):
        self.hooks = hooks
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self):
        if self.id in self.hooks:
            del self.hooks[self.id]


def _register_hook(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class _HookWithKwargs:
    def __init__(self, hook):
        self.hook = hook


def _register_forward_hook(hooks, hook, prepend, with_kwargs):
    handle = _register_hook(hooks, _HookWithKwargs(hook) if with_kwargs else hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Buffer:
    """torch.nn.Buffer: a tensor that becomes a buffer of the module it is assigned to."""

    def __init__(self, data=None, *, persistent=True):
        self.data = torch.empty(0) if data is None else data
        self.persistent = persistent

    def __getattr__(self, name):
        return getattr(self.data, name)


_applied = [] # what the conversion that goes on has converted


class Module:
    # These annotations type the attributes of a scripted module whose own class and bases annotate nothing.
    dump_patches: bool = False
    _version: int = 1
    training: bool
    _parameters: Dict[str, Optional[Parameter]]
    _buffers: Dict[str, Optional[Tensor]]
    _non_persistent_buffers_set: Set[str]
    _backward_hooks: Dict[int, Callable]
    _is_full_backward_hook: Optional[bool]
    _forward_hooks: Dict[int, Callable]
    _forward_pre_hooks: Dict[int, Callable]
    _state_dict_hooks: Dict[int, Callable]
    _load_state_dict_pre_hooks: Dict[int, Callable]
    _load_state_dict_post_hooks: Dict[int, Callable]
    _modules: Dict[str, Optional['Module']]

    def __init__(self) -> None:
        # The order is that of the attributes of a saved module.
        fields = self.__dict__
        fields['training'] = True
        fields['_parameters'] = OrderedDict()
        fields['_buffers'] = OrderedDict()
        fields['_non_persistent_buffers_set'] = set()
        fields['_backward_hooks'] = OrderedDict()
        fields['_is_full_backward_hook'] = None
        fields['_forward_hooks'] = OrderedDict()
        fields['_forward_pre_hooks'] = OrderedDict()
        fields['_state_dict_hooks'] = OrderedDict()
        fields['_load_state_dict_pre_hooks'] = OrderedDict()
        fields['_load_state_dict_post_hooks'] = OrderedDict()
        fields['_modules'] = OrderedDict()

    forward: Callable[..., Any] = _forward_unimplemented

    # ---- attributes

    def __getattr__(self, name):
        fields = self.__dict__
        for registry in ('_parameters', '_buffers', '_modules'):
            if registry in fields and name in fields[registry]:
                return fields[registry][name]
        raise AttributeError("'{}' object has no attribute '{}'".format(type(self).__name__, name))

    def _forget(self, name, keep):
        # A name lives in one registry only.
        fields = self.__dict__
        if name in fields:
            del fields[name]
        for registry in ('_parameters', '_buffers', '_modules'):
            if registry != keep and name in fields[registry]:
                del fields[registry][name]
        if keep != '_buffers':
            fields['_non_persistent_buffers_set'].discard(name)

    def __setattr__(self, name, value):
        fields = self.__dict__
        if '_modules' not in fields:
            if isinstance(value, Parameter):
                raise AttributeError('cannot assign parameters before Module.__init__() call')
            if isinstance(value, Module):
                raise AttributeError('cannot assign module before Module.__init__() call')
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._forget(name, '_parameters')
            self.register_parameter(name, value)
        elif name in fields['_parameters']:
            if value is not None:
                raise TypeError("cannot assign '{}' as parameter '{}' (torch.nn.Parameter or None expected)".format(
                    _typename(value), name))
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, '_modules')
            fields['_modules'][name] = value
        elif name in fields['_modules']:
            if value is not None:
                raise TypeError("cannot assign '{}' as child module '{}' (torch.nn.Module or None expected)".format(
                    _typename(value), name))
            fields['_modules'][name] = value
        elif isinstance(value, Buffer):
            self._forget(name, '_buffers')
            self.register_buffer(name, value.data, value.persistent)
        elif name in fields['_buffers']:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError("cannot assign '{}' as buffer '{}' (torch.Tensor or None expected)".format(
                    _typename(value), name))
            fields['_buffers'][name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def _check_new_name(self, kind, name, registry):
        if registry not in self.__dict__:
            raise AttributeError('cannot assign {} before Module.__init__() call'.format(kind))
        if not isinstance(name, str):
            raise TypeError('{} name should be a string. Got {}'.format(kind, _typename(name)))
        if '.' in name:
            raise KeyError('{} name can\'t contain "."'.format(kind))
        if name == '':
            raise KeyError('{} name can\'t be empty string ""'.format(kind))
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyError("attribute '{}' already exists".format(name))

    def register_buffer(self, name: str, tensor: Optional[Tensor], persistent: bool = True) -> None:
        self._check_new_name('buffer', name, '_buffers')
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError("cannot assign '{}' object to buffer '{}' (torch Tensor or None required)".format(
                _typename(tensor), name))
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Optional[Parameter]) -> None:
        self._check_new_name('parameter', name, '_parameters')
        if param is not None and not isinstance(param, Parameter):
            raise TypeError("cannot assign '{}' object to parameter '{}' (torch.nn.Parameter or None required)".format(
                _typename(param), name))
        self._parameters[name] = param

    def add_module(self, name: str, module: Optional['Module']) -> None:
        if module is not None and not isinstance(module, Module):
            raise TypeError('{} is not a Module subclass'.format(_typename(module)))
        if not isinstance(name, str):
            raise TypeError('module name should be a string. Got {}'.format(_typename(name)))
        if name not in self._modules and hasattr(self, name):
            raise KeyError("attribute '{}' already exists".format(name))
        if '.' in name:
            raise KeyError('module name can\'t contain ".", got: {}'.format(name))
        if name == '':
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = module

    def register_module(self, name: str, module: Optional['Module']) -> None:
        self.add_module(name, module)

    # ---- parts by path

    def get_submodule(self, target: str) -> 'Module':
        found = self
        if target == '':
            return found
        for item in target.split('.'):
            if not hasattr(found, item):
                raise AttributeError(found._get_name() + ' has no attribute `' + item + '`')
            found = getattr(found, item)
            if not isinstance(found, Module):
                raise AttributeError('`' + item + '` is not an nn.Module')
        return found

    def _owner_of(self, target):
        path = target.split('.')
        owner = self.get_submodule('.'.join(path[:-1]))
        if not hasattr(owner, path[-1]):
            raise AttributeError(owner._get_name() + ' has no attribute `' + path[-1] + '`')
        return owner, path[-1]

    def set_submodule(self, target: str, module: 'Module', strict: bool = False) -> None:
        path = target.split('.')
        owner = self.get_submodule('.'.join(path[:-1]))
        if strict and not hasattr(owner, path[-1]):
            raise AttributeError(owner._get_name() + ' has no attribute `' + path[-1] + '`')
        if not isinstance(module, Module):
            raise ValueError('`module` is not an nn.Module, found {}'.format(type(module)))
        setattr(owner, path[-1], module)

    def get_parameter(self, target: str) -> 'Parameter':
        owner, name = self._owner_of(target)
        param = getattr(owner, name)
        if not isinstance(param, Parameter):
            raise AttributeError('`' + name + '` is not an nn.Parameter')
        return param

    def get_buffer(self, target: str) -> 'Tensor':
        owner, name = self._owner_of(target)
        if name not in owner._buffers:
            raise AttributeError('`' + name + '` is not a buffer')
        return owner._buffers[name]

    # ---- walking

    def _members(self, registry, prefix, recurse, once=True):
        owners = [(prefix, self)]
        if recurse:
            owners = self._named_modules(prefix) if once else self.named_modules(None, prefix, False)
        seen = set()
        found = []
        for path, module in owners:
            for name, value in getattr(module, registry).items():
                if value is None or once and id(value) in seen:
                    continue
                seen.add(id(value))
                found.append((path + '.' + name if path else name, value))
        return found

    def _named_modules(self, prefix='', seen=None):
        if seen is None:
            seen = set()
        if id(self) in seen:
            return []
        seen.add(id(self))
        found = [(prefix, self)]
        for name, module in self._modules.items():
            if module is not None:
                found += module._named_modules(prefix + '.' + name if prefix else name, seen)
        return found

    def parameters(self, recurse: bool = True):
        return iter([param for _, param in self._members('_parameters', '', recurse)])

    def named_parameters(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True):
        return iter(self._members('_parameters', prefix, recurse, remove_duplicate))

    def buffers(self, recurse: bool = True):
        return iter([buf for _, buf in self._members('_buffers', '', recurse)])

    def named_buffers(self, prefix: str = '', recurse: bool = True, remove_duplicate: bool = True):
        return iter(self._members('_buffers', prefix, recurse, remove_duplicate))

    def named_children(self):
        seen = set()
        found = []
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                found.append((name, module))
        return iter(found)

    def children(self):
        return iter([module for _, module in self.named_children()])

    def named_modules(self, memo=None, prefix: str = '', remove_duplicate: bool = True):
        if remove_duplicate:
            return iter(self._named_modules(prefix))
        found = [(prefix, self)]
        for name, module in self._modules.items():
            if module is not None:
                found += list(module.named_modules(None, prefix + '.' + name if prefix else name, False))
        return iter(found)

    def modules(self):
        return iter([module for _, module in self._named_modules()])

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True):
        if not isinstance(mode, bool):
            raise ValueError('training mode is expected to be boolean')
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = False) -> None:
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach()
                    p.grad.zero_()

    def compile(self, *args, **kwargs) -> None:
        pass

    def share_memory(self):
        return self

    # ---- conversion

    def _apply(self, fn, recurse=True):
        # _applied: id of a converted tensor -> (the tensor, which keeps the id its own; its replacement), so that what was
        # shared stays shared. Modules that programs write have _apply(self, fn), hence no argument.
        outermost = len(_applied) == 0
        if outermost:
            _applied.append({})
        done = _applied[0]
        try:
            if recurse:
                for module in self.children():
                    module._apply(fn)
            for name, param in list(self._parameters.items()):
                if param is not None:
                    if id(param) not in done:
                        with torch.no_grad():
                            applied = fn(param)
                        done[id(param)] = (param, param if applied is param else Parameter(applied, param.requires_grad))
                    self._parameters[name] = done[id(param)][1]
            for name, buf in list(self._buffers.items()):
                if buf is not None:
                    if id(buf) not in done:
                        done[id(buf)] = (buf, fn(buf))
                    self._buffers[name] = done[id(buf)][1]
        finally:
            if outermost:
                _applied.pop()
        return self

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        return self._cast(torch.float32)

    def double(self):
        return self._cast(torch.float64)

    def half(self):
        return self._cast(torch.float16)

    def bfloat16(self):
        return self._cast(torch.bfloat16)

    def type(self, dst_type):
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self):
        return self

    def cuda(self, device=None):
        return self

    def to(self, *args, **kwargs):
        # Where weights live is decided when the program runs: devices are accepted and change nothing.
        dtype = kwargs.get('dtype', None)
        memory_format = kwargs.get('memory_format', None)
        for arg in args:
            if isinstance(arg, Tensor):
                dtype = arg.dtype
            elif isinstance(arg, torch.dtype):
                dtype = arg
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError('nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}'.format(
                dtype))

        def convert(t):
            if dtype is not None and (t.is_floating_point() or t.is_complex()):
                t = t.to(dtype)
            if memory_format is not None and t.dim() in (4, 5):
                t = t.contiguous(memory_format=memory_format)
            return t

        return self._apply(convert)

    def to_empty(self, *, device):
        return self._apply(lambda t: torch.empty_like(t))

    # ---- hooks

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return _register_forward_hook(self._forward_pre_hooks, hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return _register_forward_hook(self._forward_hooks, hook, prepend, with_kwargs)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        return RemovableHandle({})

    def register_backward_hook(self, hook):
        self._is_full_backward_hook = False
        return _register_hook(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        self._is_full_backward_hook = True
        return _register_hook(self._backward_hooks, hook)

    def _register_state_dict_hook(self, hook):
        return _register_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        return _register_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        if with_module:
            return _register_hook(self._load_state_dict_pre_hooks, lambda *args: hook(self, *args))
        return _register_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook):
        return _register_hook(self._load_state_dict_post_hooks, hook)

    def __call__(self, *input, **kwargs):
        for hook in list(self._forward_pre_hooks.values()):
            if isinstance(hook, _HookWithKwargs):
                changed = hook.hook(self, input, kwargs)
                if changed is not None:
                    input, kwargs = changed
                continue
            changed = hook(self, input)
            if changed is not None:
                input = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*input, **kwargs)
        for hook in list(self._forward_hooks.values()):
            keyed = isinstance(hook, _HookWithKwargs)
            changed = hook.hook(self, input, kwargs, result) if keyed else hook(self, input, result)
            if changed is not None:
                result = changed
        return result

    # ---- state

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buf in self._buffers.items():
            if buf is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buf if keep_vars else buf.detach()

    def state_dict(self, destination=None, prefix='', keep_vars=False):
        if destination is None:
            destination = OrderedDict()
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + '.', keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            changed = hook(self, destination, prefix, {})
            if changed is not None:
                destination = changed
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {}
        for name, value in self._parameters.items():
            if value is not None:
                own[name] = value
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                own[name] = value
        for name, value in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, Tensor):
                error_msgs.append('While copying the parameter named "{}", expected torch.Tensor or Tensor-like object from '
                                  'checkpoint but received {}'.format(key, type(given)))
                continue
            if value.dim() == 0 and given.dim() == 1:
                given = given[0]
            if list(given.shape) != list(value.shape):
                error_msgs.append('size mismatch for {}: copying a param with shape {} from checkpoint, the shape in '
                                  'current model is {}.'.format(key, given.shape, value.shape))
                continue
            with torch.no_grad():
                torch._C._load_data(value, given)
        if strict:
            for key in state_dict.keys():
                if key.startswith(prefix):
                    name = key[len(prefix):].split('.')[0]
                    if name not in self._modules and name not in own:
                        unexpected_keys.append(key)

    def _metadata_of(self, prefix):
        return {'version': self._version}

    def _load_all(self, state_dict, prefix, missing_keys, unexpected_keys, error_msgs):
        metadata = self._metadata_of(prefix)
        self._load_from_state_dict(state_dict, prefix, metadata, True, missing_keys, unexpected_keys, error_msgs)
        for name, child in self._modules.items():
            if child is not None:
                inner = prefix + name + '.'
                part = OrderedDict()
                for key, value in state_dict.items():
                    if key.startswith(inner):
                        part[key] = value
                child._load_all(part, inner, missing_keys, unexpected_keys, error_msgs)
        for hook in list(self._load_state_dict_post_hooks.values()):
            hook(self, _IncompatibleKeys(missing_keys, unexpected_keys))

    def load_state_dict(self, state_dict, strict: bool = True):
        missing_keys = []
        unexpected_keys = []
        error_msgs = []
        own_dict = OrderedDict()
        for key, value in state_dict.items():
            own_dict[key] = value
        self._load_all(own_dict, '', missing_keys, unexpected_keys, error_msgs)
        if strict:
            if len(unexpected_keys) > 0:
                error_msgs.insert(0, 'Unexpected key(s) in state_dict: {}. '.format(
                    ', '.join(['"{}"'.format(k) for k in unexpected_keys])))
            if len(missing_keys) > 0:
                error_msgs.insert(0, 'Missing key(s) in state_dict: {}. '.format(
                    ', '.join(['"{}"'.format(k) for k in missing_keys])))
        if len(error_msgs) > 0:
            raise RuntimeError('Error(s) in loading state_dict for {}:\n\t{}'.format(
                type(self).__name__, '\n\t'.join(error_msgs)))
        return _IncompatibleKeys(missing_keys, unexpected_keys)

    def save(self, f, **kwargs):
        # Of modules that torch.jit.script has made, which are the same modules here.
        torch.jit.save(self, f)

    # ---- text

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        return ''

    def __repr__(self):
        extra = self.extra_repr()
        extra_lines = extra.split('\n') if extra else []
        child_lines = ['(' + name + '): ' + _addindent(repr(module), 2) for name, module in self._modules.items()]
        if len(extra_lines) == 1 and not child_lines:
            return self._get_name() + '(' + extra_lines[0] + ')'
        if extra_lines or child_lines:
            return self._get_name() + '(\n  ' + '\n  '.join(extra_lines + child_lines) + '\n)'
        return self._get_name() + '()'
