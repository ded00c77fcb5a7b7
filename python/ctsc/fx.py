# SPDX-License-Identifier: Apache-2.0
"""fx.py - torch.fx: what programs name of it. Graphs of Python calls are made by ctsc.trace, script and jit; fx's own are refused."""
import sys


def wrap(fn_or_name):
    """Functions that fx would not look into: there is nothing that looks."""
    return fn_or_name


class _Refused:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch.fx.%s: ctsc has no graphs of fx; ctsc.trace, script and jit make programs of functions and modules" % type(self).__name__)


class Tracer(_Refused):
    pass


class Graph(_Refused):
    pass


class GraphModule(_Refused):
    pass


class Node(_Refused):
    pass


class Proxy(_Refused):
    """No value is one: isinstance(x, Proxy) tells that nothing is traced."""


class Interpreter(_Refused):
    pass


class Transformer(_Refused):
    pass


class _CodeOnlyModule(_Refused):
    pass


def symbolic_trace(root, concrete_args=None):
    Tracer()


def _copy_attr(from_module, to_module, target):
    *path, name = target.split(".")
    for part in path:
        from_module = getattr(from_module, part)
        if not hasattr(to_module, part):
            from .nn import Module
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    setattr(to_module, name, getattr(from_module, name))


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"

for _name in ("graph_module", "graph", "node", "proxy", "_symbolic_trace", "interpreter"):
    sys.modules[__name__ + "." + _name] = sys.modules[__name__]
    globals().setdefault(_name, sys.modules[__name__])


def __getattr__(name):
    """Types that annotations mention."""
    if not name[:1].isupper():
        raise AttributeError("module 'ctsc.fx' has no attribute '%s'" % name)
    globals()[name] = type(name, (_Refused,), {"__module__": __name__})
    return globals()[name]
