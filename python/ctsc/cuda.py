# SPDX-License-Identifier: Apache-2.0
"""cuda.py - ctsc.cuda: what programs ask before they use a device, and say while they do. Calls are in order: there is one stream, and nothing to wait for."""
import contextlib
import sys
import types

from . import _C
from ._refused import named as _named
from .random import fork_rng


class OutOfMemoryError(RuntimeError):
    """Named by programs that catch it; memory that there is not is a ctsc.Error here."""


def device_count():
    return _C.cuda_device_count()


def is_available():
    return device_count() > 0


def is_bf16_supported(including_emulation=True):
    return is_available()


def is_initialized():
    return is_available()


def init():
    pass


def current_device():
    if not is_available():
        raise RuntimeError("no CUDA device is available")
    return 0


def set_device(device):
    if _index(device) != 0 and is_available():
        raise NotImplementedError("give device= where another GPU than the first one is meant")


def _index(device):
    if device is None or isinstance(device, int):
        return device or 0
    from ._types import device as device_type
    return device_type(device).index or 0


def synchronize(device=None):
    if is_available():
        _C._value_to(_C._operator("zeros")([1]), "cuda").cpu()


def empty_cache():
    pass


ipc_collect = reset_peak_memory_stats = reset_max_memory_allocated = empty_cache


def memory_allocated(device=None):
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def manual_seed(seed):
    from ._functions import manual_seed
    manual_seed(seed)


def manual_seed_all(seed):
    if is_available():
        manual_seed(seed)


def get_rng_state(device="cuda"):
    from ._functions import get_rng_state
    return get_rng_state()


def set_rng_state(new_state, device="cuda"):
    from ._functions import set_rng_state
    set_rng_state(new_state)


def initial_seed():
    from ._functions import initial_seed
    return initial_seed()


def seed():
    from ._functions import seed
    seed()


seed_all = seed


def get_rng_state_all():
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states):
    for state in new_states:
        set_rng_state(state)


class Stream:
    """The one there is."""

    def __init__(self, device=None, priority=0, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    def synchronize(self):
        synchronize()

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def query(self):
        return True


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._at = None

    def record(self, stream=None):
        import time
        synchronize()
        self._at = time.perf_counter()

    def elapsed_time(self, end_event):
        return (end_event._at - self._at) * 1e3

    def synchronize(self):
        synchronize()

    def wait(self, stream=None):
        pass

    def query(self):
        return True


def current_stream(device=None):
    return Stream()


default_stream = current_stream


@contextlib.contextmanager
def stream(stream):
    yield


@contextlib.contextmanager
def device(device):
    set_device(device)
    yield


class _Amp:
    @staticmethod
    def autocast(enabled=True, dtype=None, cache_enabled=True):
        from .amp import autocast
        return autocast("cuda", dtype=dtype, enabled=enabled and is_available())


def _amp():
    from .amp import GradScaler, custom_bwd, custom_fwd
    made = types.ModuleType(__name__ + ".amp")
    made.autocast, made.GradScaler, made.custom_fwd, made.custom_bwd = _Amp.autocast, GradScaler, custom_fwd, custom_bwd
    sys.modules[made.__name__] = made
    return made


amp = _amp()


def _untold(name):
    """What the driver knows of a device, and ctsc does not ask."""
    def function(*args, **kwargs):
        if not is_available():
            raise RuntimeError("torch.cuda.%s: no CUDA device is available" % name)
        raise NotImplementedError("torch.cuda.%s: ctsc does not ask the driver for that; nvidia-smi tells" % name)
    function.__name__ = name
    function.__doc__ = "Refused: ctsc does not ask the driver for that."
    return function


for _name in ("get_device_name", "get_device_properties", "get_device_capability", "mem_get_info", "memory_summary", "memory_stats", "memory_snapshot", "utilization", "temperature",
              "power_draw", "clock_rate", "list_gpu_processes", "make_graphed_callables", "graph", "set_per_process_memory_fraction", "get_per_process_memory_fraction",
              "memory_usage", "device_memory_used", "can_device_access_peer", "cudart", "get_arch_list", "memory_stats_as_nested_dict", "host_memory_stats", "current_blas_handle",
              "caching_allocator_alloc", "set_stream", "set_sync_debug_mode", "get_sync_debug_mode"):
    globals().setdefault(_name, _untold(_name))

for _name in ("CUDAGraph", "MemPool", "ExternalStream", "StreamContext"): # classes: annotations mention them
    globals()[_name] = _named("torch.cuda." + _name, "streams of a device are the library's own")


def __getattr__(name):
    if name.endswith(("Tensor", "Storage")):
        raise AttributeError("torch.cuda.%s: tensors on a device are made with device=\"cuda\"" % name)
    raise AttributeError("module 'ctsc.cuda' has no attribute '%s'" % name)
