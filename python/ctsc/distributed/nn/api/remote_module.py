# SPDX-License-Identifier: Apache-2.0
"""remote_module.py - RemoteModule: a module that another process has made and keeps, whose forward is called there."""
from ctsc.nn import Module

from ... import rpc
from ...rpc.api import _need

_REFUSED = ("register_buffer", "register_parameter", "add_module", "apply", "cuda", "ipu", "xpu", "cpu", "type", "float", "double", "half", "bfloat16", "to", "register_backward_hook",
            "register_forward_pre_hook", "register_forward_hook", "state_dict", "load_state_dict", "named_parameters", "buffers", "named_buffers", "children", "named_children",
            "modules", "named_modules", "requires_grad_", "zero_grad", "share_memory", "extra_repr")


def _made(module_cls, args, kwargs, device):
    module = module_cls(*args, **kwargs)
    if not isinstance(module, Module):
        raise ValueError("Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but it returns an instance of %s." % type(module))
    return module.to(device)


def _forward(module_rref, args, kwargs):
    return module_rref.local_value()(*args, **kwargs)


def _parameters(module_rref, recurse):
    return [rpc.RRef(p) for p in module_rref.local_value().parameters(recurse)]


def _arrived(on, device, module_rref):
    return RemoteModule._of(on, device, module_rref)


class RemoteModule(Module):
    """A module of the process that remote_device names ("worker1/cpu", "rank:1/cpu"). Its methods run there; gradients flow through them in contexts of distributed autograd."""

    def __init__(self, remote_device, module_cls, args=None, kwargs=None, _module_interface_cls=None):
        if _module_interface_cls is not None:
            raise NotImplementedError("RemoteModule with a scripted interface is not supported")
        super().__init__()
        self._place(remote_device)
        self.module_rref = rpc.remote(self.on, _made, (module_cls, tuple(args or ()), dict(kwargs or {}), self.device))

    @classmethod
    def _of(cls, on, device, module_rref):
        made = cls.__new__(cls)
        Module.__init__(made)
        made.on, made.device, made.module_rref = on, device, module_rref
        return made

    @staticmethod
    def init_from_module_rref(remote_device, module_rref, _module_interface_cls=None):
        """Of a module that is in another process already."""
        made = RemoteModule._of(None, None, module_rref)
        made._place(remote_device)
        return made

    def _place(self, remote_device):
        _need()
        on, _, device = str(remote_device).partition("/")
        if not on:
            raise ValueError("Could not parse remote_device: %s. The valid format is '<workername>/<device>' or 'rank:<rank>/<device>'" % remote_device)
        self.on = int(on[len("rank:"):]) if on.startswith("rank:") else on
        self.device = device or "cpu"

    def forward(self, *args, **kwargs):
        return self.forward_async(*args, **kwargs).wait()

    def forward_async(self, *args, **kwargs):
        """A future of what the module gives."""
        return rpc.rpc_async(self.module_rref.owner(), _forward, (self.module_rref, args, kwargs))

    def remote_parameters(self, recurse=True):
        """References to the parameters, for DistributedOptimizer."""
        return rpc.rpc_sync(self.on, _parameters, (self.module_rref, recurse))

    def get_module_rref(self):
        """The reference to the module."""
        return self.module_rref

    def parameters(self, recurse=True):
        raise ValueError("Method ``parameters`` not supported for RemoteModule. Please use ``remote_parameters`` instead.")

    def __reduce__(self):
        return _arrived, (self.on, self.device, self.module_rref)


def _refused(name):
    def method(self, *args, **kwargs):
        raise ValueError("Method ``%s`` not supported for RemoteModule" % name)
    method.__name__ = name
    method.__doc__ = "Refused: what the module has is in another process."
    return method


for _name in _REFUSED:
    setattr(RemoteModule, _name, _refused(_name))
