# SPDX-License-Identifier: Apache-2.0
"""jit.py - @ctsc.jit, which traces once per kind of arguments; and torch.jit's names."""
import builtins
import contextlib
import sys
import types
from typing import Final

from . import _C
from .futures import Future
from ._C import ScriptMethod, Trace
from ._files import save as _save
from ._module import extra_records, load as _load, save_with


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """A program: f is a path, the archive's bytes, or an open file. The values of _extra_files' names become what was saved with it under these."""
    if hasattr(f, "read"):
        f = f.read()
    if map_location is not None and not builtins.isinstance(map_location, str):
        map_location = str(map_location)
    module = _load(f, map_location)
    if _extra_files:
        import io
        found = extra_records(f if not builtins.isinstance(f, (bytes, bytearray, memoryview)) else io.BytesIO(f))
        for name in _extra_files:
            if name in found:
                _extra_files[name] = found[name]
    return module


def save(m, f, _extra_files=None):
    from ._script import ScriptFunction
    m = m._module if isinstance(m, ScriptFunction) else m
    return save_with(lambda to: _save(m, to), f, _extra_files) if _extra_files else _save(m, f)


class optimized_execution(contextlib.nullcontext):
    """Programs are optimised; there is no other way."""


class strict_fusion(contextlib.nullcontext):
    """What has not been fused is told by graph_for."""


class ScriptWarning(Warning):
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


_script_if_tracing = script_if_tracing


def script(obj, *args, **kwargs):
    from ._script import script
    return script(obj, *args, **kwargs)


def trace(func, example_inputs=None, **kwargs):
    from ._trace import trace
    return trace(func, example_inputs, **kwargs)


def trace_module(mod, inputs, **kwargs):
    if set(inputs) != {"forward"}:
        raise NotImplementedError("trace_module: only forward can be traced")
    return trace(mod, inputs["forward"], **kwargs)


def optimize_for_inference(mod, other_methods=None):
    """Programs are optimised when they are called."""
    return freeze(mod) if mod.training else mod


def fork(func, *args, **kwargs):
    """Called at once."""
    made = Future()
    try:
        made.set_result(func(*args, **kwargs))
    except Exception as e:
        made.set_exception(e)
    return made


def wait(future):
    return future.wait()


def isinstance(obj, target_type):
    """Also of List[int], Optional[Tensor] and the like: of all that obj holds."""
    import types
    import typing
    kinds, origin = typing.get_args(target_type), typing.get_origin(target_type)
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    if target_type is None:
        return obj is None
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        return any(isinstance(obj, t) for t in kinds)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, kinds[0]) and isinstance(v, kinds[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(kinds) and all(isinstance(v, t) for v, t in zip(obj, kinds))
    return all(isinstance(v, kinds[0]) for v in obj)


def set_fusion_strategy(strategy):
    """What is fused is decided by sizes."""
    return []


def enable_onednn_fusion(enabled):
    pass


def onednn_fusion_enabled():
    return False


Error = _C.ScriptError


def freeze(module, fold_weights=False):
    return module.__copy__().eval().freeze(fold_weights)


class _Programs(type):
    def __instancecheck__(cls, x):
        return type.__instancecheck__(cls, x) or (cls.__module__ == __name__ and builtins.isinstance(x, _C.ScriptModule))


def _script_module():
    """torch.jit.ScriptModule: what programs are instances of, and the base of modules with script_method, which are compiled by script(module)."""
    from .nn import Module
    return _Programs("ScriptModule", (Module,), {"__module__": __name__})


class _Callable(types.ModuleType):
    def __call__(self, fn):
        from ._trace import jit
        return jit(fn)

    def __getattr__(self, name):
        if name in ("ScriptModule", "RecursiveScriptModule"):
            self.ScriptModule = self.RecursiveScriptModule = _script_module()
        elif name in ("ScriptFunction", "CompilationUnit"):
            from . import _script
            setattr(self, name, getattr(_script, name))
        elif name in ("TracerWarning", "TracingCheckError"):
            from . import _trace
            setattr(self, name, getattr(_trace, name))
        else:
            raise AttributeError("module 'ctsc.jit' has no attribute '%s'" % name)
        return self.__dict__[name]


class _Inside(types.ModuleType):
    """Modules of torch.jit whose names programs import: BroadcastingList2, RecursiveScriptModule and their like."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from . import _jit_internal
        return getattr(_jit_internal if hasattr(_jit_internal, name) else sys.modules[__name__], name)


sys.modules[__name__].__class__ = _Callable
for _name in ("annotations", "frontend", "_script", "_trace"):
    globals()[_name] = sys.modules["%s.%s" % (__name__, _name)] = _Inside("%s.%s" % (__name__, _name))
