# SPDX-License-Identifier: Apache-2.0
"""_dispatch.py - names of torch._C that libraries mention: keys of PyTorch's dispatcher, which ctsc lacks, and what torch has under its own name too."""
import contextlib
import sys


class _Key(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        key = object.__new__(cls)
        key.name = name
        setattr(cls, name, key)
        return key


class DispatchKey(metaclass=_Key):
    """DispatchKey.CPU: a name."""

    def __repr__(self):
        return "DispatchKey." + self.name


class DispatchKeySet:
    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def __or__(self, other):
        return DispatchKeySet(*(self._keys | other._keys))

    def has(self, key):
        return key in self._keys

    def __contains__(self, key):
        return key in self._keys


class _Guard(contextlib.nullcontext):
    """What calls shall leave out: they have none of it."""

    def __init__(self, *args):
        super().__init__()


_ExcludeDispatchKeyGuard = _IncludeDispatchKeyGuard = _AutoDispatchBelowAutograd = _ForceDispatchKeyGuard = DisableTorchFunction = _Guard


_TensorMeta = type # of Tensor
_NAMED = ("Graph", "Value", "Node", "_distributed_c10d", "PyTorchFileReader", "PyTorchFileWriter", "ScriptModuleSerializer", "StorageBase") # annotations mention them


def _get_tracing_state():
    from ._C import Trace
    return True if Trace.is_tracing() else None


def _are_functorch_transforms_active():
    func = sys.modules.get(__package__ + ".func")
    return func is not None and func._depth[0] > 0


def _log_api_usage_once(event):
    pass


def _nothing(*args):
    """Switches of PyTorch's executors."""
    return True


def _no(*args):
    return False


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_texpr_fuser_enabled = _nothing
_jit_set_nvfuser_enabled = _jit_set_nvfuser_guard_mode = _jit_set_nvfuser_horizontal_mode = _nothing
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _cuda_isInBadFork = _no
_get_privateuse1_backend_name = lambda: "privateuseone"


def _get_accelerator(check=None):
    from . import _types, cuda
    return _types.device("cuda" if cuda.is_available() else "cpu")


def of_c(name, package):
    """torch._C.name, where the extension has none. package: ctsc."""
    if not name.startswith("__"):
        if name in globals() and name not in ("contextlib", "of_c"):
            return globals()[name]
        if name == "DisableTorchFunctionSubclass":
            from ._subclass import DisableTorchFunctionSubclass
            return DisableTorchFunctionSubclass
        if name == "_disabled_torch_function_impl":
            from ._intercept import disabled_torch_function
            return disabled_torch_function
        if name in _NAMED:
            from ._refused import named
            return named("torch._C." + name, "a part of PyTorch in C++ that ctsc has none of")
        if not name.startswith("_") and name not in ("ops", "nn"):
            try:
                return getattr(package, name)
            except AttributeError:
                pass
    raise AttributeError("module 'ctsc._C' has no attribute '%s'" % name)
