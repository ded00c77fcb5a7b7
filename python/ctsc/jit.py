# SPDX-License-Identifier: Apache-2.0
"""jit.py - @ctsc.jit, which traces once per kind of arguments; and torch.jit's names."""
import sys
import types
from typing import Final

from ._C import ScriptMethod, ScriptModule, Trace
from ._module import load
from ._functions import save


class Future:
    pass


class Attribute:
    def __init__(self, value, type):
        self.value, self.type = value, type


def annotate(the_type, the_value):
    return the_value


def export(fn):
    fn._torchscript_modifier = "export"
    return fn


def ignore(drop=False, **kwargs):
    return drop if callable(drop) else (lambda fn: fn)


def unused(fn):
    return fn


def interface(cls):
    return cls


def is_scripting():
    return False


def is_tracing():
    return Trace.is_tracing()


def script_method(fn):
    return fn


def _overload(fn):
    return fn


def _overload_method(fn):
    return fn


def _unwrap_optional(x):
    assert x is not None, "Unwrapping null optional"
    return x


def script_if_tracing(fn):
    return fn


def script(obj, *args, **kwargs):
    from ._script import script
    return script(obj, *args, **kwargs)


def trace(func, example_inputs=None, **kwargs):
    from ._trace import trace
    return trace(func, example_inputs, **kwargs)


def freeze(module, fold_weights=False):
    return module.__copy__().eval().freeze(fold_weights)


class _Callable(types.ModuleType):
    def __call__(self, fn):
        from ._trace import jit
        return jit(fn)


sys.modules[__name__].__class__ = _Callable
