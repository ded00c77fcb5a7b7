# SPDX-License-Identifier: Apache-2.0
# func.py - calls of modules with other parameters. What transforms functions (vmap, grad, ...) is refused when it is called.
import torch
from torch.nn.parameter import Parameter


def _owner(module, name):
    path = name.split('.')
    return module.get_submodule('.'.join(path[:-1])), path[-1]


def _put(owner, name, tensor):
    for registry in (owner._parameters, owner._buffers):
        if name in registry:
            before = registry[name]
            registry[name] = tensor
            return before
    raise AttributeError('{} has no parameter or buffer {}'.format(owner._get_name(), name))


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    dicts = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (list, tuple)) else [parameter_and_buffer_dicts]
    replaced = []
    try:
        for names in dicts:
            for name, tensor in names.items():
                owner, last = _owner(module, name)
                replaced.append((owner, last, _put(owner, last, tensor)))
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **({} if kwargs is None else kwargs))
    finally:
        for owner, last, before in reversed(replaced):
            _put(owner, last, before)


def _refused(name):
    def called(*args, **kwargs):
        raise NotImplementedError('torch.func.{} is not supported'.format(name))

    return lambda *args, **kwargs: called


vmap = _refused('vmap')
grad = _refused('grad')
grad_and_value = _refused('grad_and_value')
vjp = _refused('vjp')
jvp = _refused('jvp')
jacrev = _refused('jacrev')
jacfwd = _refused('jacfwd')
hessian = _refused('hessian')
functionalize = _refused('functionalize')
linearize = _refused('linearize')
stack_module_state = _refused('stack_module_state')
