# SPDX-License-Identifier: Apache-2.0
"""_settings.py - functions of torch that set or tell how PyTorch runs: what they ask for is obeyed, holds anyway, or is refused."""
import os

from . import _C, _intercept, autograd
from ._intercept import autocast_state, get_default_dtype, set_default_dtype

_chosen = {} # dtypes of autocast by set_autocast_dtype
_threads, _flags = [None], {"deterministic": 0, "warn_only": False, "precision": "highest", "warn_always": False}


def set_num_threads(n):
    """How many threads operators and programs may use; 0: as many as there are processors."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError("set_num_threads expects an int, but got %s" % type(n).__name__)
    if n < 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _C.set_num_threads(n)
    _threads[0] = n or None


def get_num_threads():
    return _threads[0] or len(os.sched_getaffinity(0))


def set_num_interop_threads(n):
    pass


def get_num_interop_threads():
    return get_num_threads()


def set_default_tensor_type(t):
    dtype = getattr(t, "_dtype_", None)
    if isinstance(t, str):
        from ._legacy import dtype_of
        dtype = dtype_of(t)
    if dtype is None:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    set_default_dtype(dtype)


def set_default_device(device):
    """Where functions that make tensors make them, where no device is given."""
    from ._types import device as device_type
    _intercept.set_default_device(None if device is None else device_type(device))


def get_default_device():
    from ._types import device
    return _intercept.default_device() or device("cpu")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """All algorithms are deterministic."""
    _flags["deterministic"], _flags["warn_only"] = (1 if warn_only else 2) if mode else 0, bool(warn_only and mode)


def are_deterministic_algorithms_enabled():
    return _flags["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled():
    return _flags["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    level = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    return _flags["deterministic"]


def set_float32_matmul_precision(precision):
    """Products of float32 are of full precision, which all settings allow."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError("%s is not one of 'highest', 'high' or 'medium'" % precision)
    _flags["precision"] = precision


def get_float32_matmul_precision():
    return _flags["precision"]


def set_flush_denormal(mode):
    """Whether denormal numbers count as zero: in this thread, and in calls of the library from all threads, whose
    own arithmetic stays as it is. Returns False where the processor cannot do it."""
    if not isinstance(mode, bool):
        raise RuntimeError("flush_denormal expects a bool, but got %s" % type(mode).__name__)
    return _C.set_flush_denormals(mode)


def set_warn_always(b):
    _flags["warn_always"] = bool(b)


def is_warn_always_enabled():
    return _flags["warn_always"]


def set_anomaly_enabled(enabled, check_nan=True):
    autograd.set_anomaly(bool(enabled), bool(enabled and check_nan))


def is_anomaly_enabled():
    return autograd.anomaly()[0]


def is_autocast_enabled(device_type="cuda"):
    return getattr(autocast_state(), device_type, None) is not None


def is_autocast_cpu_enabled():
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type):
    return getattr(autocast_state(), device_type, None) or _chosen.get(device_type) or (_C.bfloat16 if device_type == "cpu" else _C.float16)


def get_autocast_cpu_dtype():
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled():
    return True


def clear_autocast_cache():
    pass


def set_autocast_enabled(device_type, enabled=None):
    """For a kind of device; with one argument for CUDA, as in older programs."""
    device_type, enabled = ("cuda", device_type) if enabled is None else (device_type, enabled)
    from ._intercept import changed
    state, before = autocast_state(), getattr(autocast_state(), device_type, None)
    if bool(enabled) != (before is not None):
        setattr(state, device_type, get_autocast_dtype(device_type) if enabled else None)
        changed(1 if enabled else -1)


def set_autocast_dtype(device_type, dtype):
    _chosen[device_type] = dtype
    if getattr(autocast_state(), device_type, None) is not None:
        setattr(autocast_state(), device_type, dtype)


def set_autocast_cpu_enabled(enabled):
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype):
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype):
    set_autocast_dtype("cuda", dtype)


def set_autocast_cache_enabled(enabled):
    pass


_nesting = [0]


def autocast_increment_nesting():
    _nesting[0] += 1
    return _nesting[0]


def autocast_decrement_nesting():
    _nesting[0] -= 1
    return _nesting[0]


def get_device_module(device=None):
    import importlib
    from ._types import device as device_type
    return importlib.import_module("ctsc." + ("cpu" if device is None else device_type(device).type))


def compiled_with_cxx11_abi():
    return False


def is_vulkan_available():
    return False


def init_num_threads():
    pass


has_lapack, has_openmp, has_mkl, has_spectral = True, False, False, True
