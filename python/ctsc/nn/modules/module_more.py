# SPDX-License-Identifier: Apache-2.0
# module_more.py - what Python's modules do that compiled ones do not: tensors stay the objects that they are, state_dict has versions, hooks, programs as parts.
def _zero_grad(self, set_to_none=True):
    for p in self.parameters():
        if set_to_none:
            p.grad = None
        elif p.grad is not None:
            p.grad = p.grad.detach()
            p.grad.zero_()


def _apply_in_place(self, fn, recurse=True):
    # parameters stay the objects that they are, which optimisers hold
    if recurse:
        for module in self.children():
            module._apply(fn)
    for name, param in self._parameters.items():
        if param is not None:
            grad = param.grad
            with torch.no_grad():
                data = fn(param.data)
                if data.is_meta or param.is_meta:
                    self._parameters[name] = Parameter(data, requires_grad=param.requires_grad)
                    continue
                param.data = data
                param.grad = None if grad is None else fn(grad)
    for name, buf in list(self._buffers.items()):
        if buf is not None:
            self._buffers[name] = fn(buf)
    return self


def _to(self, *args, **kwargs):
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError('nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}'.format(dtype))

    def convert(t):
        kind = dtype if t.is_floating_point() or t.is_complex() else None
        return t.to(device, kind, non_blocking, memory_format=memory_format if t.dim() in (4, 5) else None)

    return self._apply(convert)


def _type(self, dst_type):
    return self._apply(lambda t: t.type(dst_type))


def _cpu(self):
    return self._apply(lambda t: t.cpu())


def _cuda(self, device=None):
    return self._apply(lambda t: t.cuda(device))


def _to_empty(self, *, device, recurse=True):
    return self._apply(lambda t: torch.empty_like(t, device=device), recurse)


from collections.abc import Mapping


def _load_state_dict(self, state_dict, strict=True, assign=False):
    # assign: the tensors of state_dict become the module's parameters and buffers
    if not isinstance(state_dict, Mapping):
        raise TypeError('Expected state_dict to be dict-like, got {}.'.format(type(state_dict)))
    _metadata.append(getattr(state_dict, '_metadata', None))
    try:
        return _load_assigned(self, state_dict, strict, assign)
    finally:
        _metadata.pop()


_metadata = [] # of the state_dicts that are being loaded


def _metadata_of(self, prefix):
    return {} if not _metadata or _metadata[-1] is None else _metadata[-1].get(prefix[:-1], {})


def _state_dict(self, *args, destination=None, prefix='', keep_vars=False):
    # beside the tensors the versions of what they are of, as _metadata
    if args:
        destination, prefix, keep_vars = (list(args) + [destination, prefix, keep_vars][len(args):])[:3]
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    if hasattr(destination, '_metadata'):
        destination._metadata[prefix[:-1]] = {'version': self._version}
    for hook in list(self.__dict__.get('_state_dict_pre_hooks', {}).values()):
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, module in self._modules.items():
        if module is not None:
            module.state_dict(destination=destination, prefix=prefix + name + '.', keep_vars=keep_vars)
    metadata = destination._metadata[prefix[:-1]] if hasattr(destination, '_metadata') else {}
    for hook in list(self._state_dict_hooks.values()):
        changed = hook(self, destination, prefix, metadata)
        if changed is not None:
            if getattr(hook, '_from_public_api', False):
                raise RuntimeError('state_dict post-hook must return None')
            destination = changed
    return destination


_init_registries = Module.__init__


def _init(self) -> None:
    _init_registries(self)
    self.__dict__['_state_dict_pre_hooks'] = OrderedDict()


def _set_state(self, state):
    # of pickles that older versions wrote, which lack registries
    self.__dict__.update(state)
    for name in ('_forward_pre_hooks', '_forward_hooks', '_backward_hooks', '_state_dict_hooks', '_state_dict_pre_hooks', '_load_state_dict_pre_hooks',
                 '_load_state_dict_post_hooks'):
        self.__dict__.setdefault(name, OrderedDict())
    self.__dict__.setdefault('_non_persistent_buffers_set', set())
    self.__dict__.setdefault('_is_full_backward_hook', None)


def _register_private_state_dict_hook(self, hook):
    if getattr(hook, '_from_public_api', False):
        raise RuntimeError('Cannot register the same function as the state dict post hook that was previously registered via register_state_dict_post_hook')
    return _register_hook(self._state_dict_hooks, hook)


def _register_state_dict_post_hook(self, hook):
    """Calls hook(module, state_dict, prefix, local_metadata) after state_dict; it may change the state_dict, and returns None."""
    hook._from_public_api = True
    return _register_hook(self._state_dict_hooks, hook)


Module.__init__, Module.__setstate__ = _init, _set_state
Module._register_state_dict_hook, Module.register_state_dict_post_hook = _register_private_state_dict_hook, _register_state_dict_post_hook
Module.state_dict, Module._metadata_of = _state_dict, _metadata_of


def _register_state_dict_pre_hook(self, hook):
    return _register_hook(self.__dict__.setdefault('_state_dict_pre_hooks', OrderedDict()), hook)


# ---- state that is not a tensor: get_extra_state, set_extra_state of classes that have them

def _no_extra_state(self, *args):
    raise RuntimeError('Reached a code path in Module.get_extra_state() or set_extra_state() that should never be called: the class has only one of them.')


def _save_with_extra(self, destination, prefix, keep_vars):
    _save_tensors(self, destination, prefix, keep_vars)
    if type(self).get_extra_state is not _no_extra_state:
        destination[prefix + '_extra_state'] = self.get_extra_state()


def _load_with_extra(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
    _load_tensors(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    if type(self).set_extra_state is _no_extra_state:
        return
    key = prefix + '_extra_state'
    if key in state_dict:
        unexpected_keys[:] = [k for k in unexpected_keys if k != key]
        self.set_extra_state(state_dict[key])
    elif strict:
        missing_keys.append(key)


_save_tensors, _load_tensors = Module._save_to_state_dict, Module._load_from_state_dict
Module._save_to_state_dict, Module._load_from_state_dict = _save_with_extra, _load_with_extra
Module.get_extra_state = Module.set_extra_state = _no_extra_state
Module.register_state_dict_pre_hook = _register_state_dict_pre_hook


def _load_assigned(self, state_dict, strict, assign):
    if not assign:
        return _copy_state_dict(self, state_dict, strict)
    before = {}
    for name, module in self.named_modules():
        for own in (module._parameters, module._buffers):
            for key, value in own.items():
                given = state_dict.get(name + ('.' if name else '') + key)
                if value is not None and isinstance(given, torch.Tensor) and given.shape == value.shape:
                    before[(name, key)] = own, value
                    if own is module._parameters:
                        given = given if isinstance(given, Parameter) else Parameter(given.detach(), requires_grad=value.requires_grad)
                    own[key] = given
    try:
        return _copy_state_dict(self, {k: v for k, v in state_dict.items()}, strict)
    except Exception:
        for (name, key), (own, value) in before.items():
            own[key] = value
        raise


def _get_parameter(self, target):
    owner, name = self._owner_of(target)
    if name not in owner._parameters:
        raise AttributeError('`' + name + '` is not an nn.Parameter')
    return owner._parameters[name]


Module.get_parameter = _get_parameter


def _share_memory(self):
    return self._apply(lambda t: t.share_memory_())


Module.share_memory = _share_memory
_copy_state_dict = Module.load_state_dict
Module.zero_grad, Module._apply, Module.load_state_dict = _zero_grad, _apply_in_place, _load_state_dict
Module.to, Module.cpu, Module.cuda, Module.to_empty, Module.type = _to, _cpu, _cuda, _to_empty, _type
from ctsc._module_hooks import install as _install_hooks
_install_hooks(globals())
from ctsc._module_part import install as _install_parts
_install_parts(Module)

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
