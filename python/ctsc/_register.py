# SPDX-License-Identifier: Apache-2.0
"""_register.py - operators of a program's own, and ctsc.ops."""
import os

from . import _C

EFFECTS, RANDOM = 1, 2
gradients = {} # operators with gradients of their own, by name (library.register_autograd)


def register_op(schema, function=None, *, scalar=None, effects=False, random=False):
    """Adds an operator, "my::clip(Tensor x, float limit) -> Tensor": a function of Python, or the C text of what it does to one element (scalar=), which
    becomes part of native kernels. Scripts call it as torch.ops.my.clip, Python as ctsc.ops.my.clip. Without a function: a decorator."""
    returns = schema.rpartition("->")[2].strip()
    inner = returns[1:-1].strip() if returns.startswith("(") else returns
    count = 0 if not inner else inner.count(",") + 1

    def put(f):
        _C._register(schema, f, count, (EFFECTS if effects else 0) | (RANDOM if random else 0), scalar)
        return f
    if function is None and scalar is None:
        return put
    put(function)
    return _C._operator(schema.partition("(")[0].strip().partition(".")[0])


class _Namespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = "%s::%s" % (self._name, name)
        if not any(key.partition(".")[0] == full for key, *_ in _C._operator_schemas()):
            from ._extensions import without
            raise AttributeError("'_OpNamespace' '%s' object has no attribute '%s'%s" % (self._name, name, without()))
        value = gradients.get(full) or _C._operator(full)
        setattr(self, name, value)
        return value


class _Ops:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Namespace(name)
        setattr(self, name, value)
        return value

    @staticmethod
    def load_library(path):
        try:
            _C.load_library(os.fspath(path))
            return
        except _C.EnvironmentLacks as e: # what programs expect of PyTorch
            from ._extensions import leave_out, links_to_pytorch
            if not links_to_pytorch(path):
                raise OSError(str(e)) from e
        leave_out(os.fspath(path))


ops = _Ops()
