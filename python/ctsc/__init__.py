# SPDX-License-Identifier: Apache-2.0
"""ctsc - TorchScript without PyTorch: tensors, operators and programs of PyTorch's, by a C library of a few megabytes.

    import ctsc
    m = ctsc.load("model.pt")
    y = m(ctsc.randn(1, 3, 224, 224))

Names are PyTorch's: ctsc.add, ctsc.Tensor, ctsc.float32, ctsc.nn. docs/python.md compares the two.
"""
from . import _C, _hooks, _tensor, autograd
from ._C import (Error, EnvironmentLacks, FileError, LimitError, ScriptError, ScriptMethod, ScriptModule, ScriptObject, Tensor, UnsupportedError, dtype,
                 load_library, set_num_threads, set_quantized_engine, wait_for_kernels)
from ._functions import *
from ._functions import (asarray, as_tensor, tensor)
from ._hooks import TracerWarning
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from ._module import limits, mapped, profiler
from ._types import (Size, channels_last, channels_last_3d, contiguous_format, device, layout, memory_format, preserve_format, strided)

__version__ = _C.__version__

uint8, int8, int16, int32, int64 = _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64
float16, float32, float64, bfloat16 = _C.float16, _C.float32, _C.float64, _C.bfloat16
complex64, complex128 = _C.complex64, _C.complex128
short, long, half, double, cfloat, cdouble = int16, int64, float16, float64, complex64, complex128
pi, inf, nan, e, newaxis = 3.141592653589793, float("inf"), float("nan"), 2.718281828459045, None

# What takes time to import comes when it is asked for.
_LAZY = {"trace": "_trace", "explain": "_trace", "from_torch": "_trace", "script": "_script", "compile": "_script", "register_op": "_register",
         "ops": "_register", "InferenceSession": "_session", "serve": "_serve", "Server": "_serve"}
_MODULES = ("nn", "linalg", "special", "fft", "jit", "optim", "data", "utils", "cuda", "array_api", "_jit_internal", "_VF")
_BUILTIN_NAMES = {"bool": _C.bool, "int": _C.int32, "float": _C.float32}


def __getattr__(name):
    import importlib
    if name in _BUILTIN_NAMES:
        value = _BUILTIN_NAMES[name]
    elif name in _LAZY:
        value = getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    elif name in _MODULES:
        value = importlib.import_module("." + name, __name__)
    else:
        value = None if name.startswith("__") else _C._operator(name)
        if value is None:
            raise AttributeError("module 'ctsc' has no attribute '%s'" % name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_LAZY) | set(_MODULES) | set(_BUILTIN_NAMES) | {n for n in _C._operator_names() if not n.startswith("_")})
