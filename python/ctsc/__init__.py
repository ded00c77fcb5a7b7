# SPDX-License-Identifier: Apache-2.0
"""ctsc - TorchScript without PyTorch: tensors, operators and programs of PyTorch's, by a C library of a few megabytes.

    import ctsc
    m = ctsc.load("model.pt")
    y = m(ctsc.randn(1, 3, 224, 224))

Names are PyTorch's: ctsc.add, ctsc.Tensor, ctsc.float32, ctsc.nn. docs/python.md compares the two.
"""
import sys as _sys

from . import _C, _hooks, _tensor, autograd
from ._C import (Error, EnvironmentLacks, FileError, LimitError, ScriptError, ScriptMethod, ScriptModule, ScriptObject, Tensor, UnsupportedError, dtype,
                 load_library, set_quantized_engine, wait_for_kernels)
from ._functions import *
from ._functions import (asarray, as_tensor, tensor)
from ._hooks import TracerWarning
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from ._module import limits, mapped
from ._types import (Size, channels_last, channels_last_3d, contiguous_format, device, layout, memory_format, per_channel_affine, per_channel_affine_float_qparams, per_channel_symmetric,
                     per_tensor_affine, per_tensor_symmetric, preserve_format, qscheme, sparse_bsc, sparse_bsr, sparse_coo,
                     sparse_csc, sparse_csr, strided)

__version__ = _C.__version__

uint8, int8, int16, int32, int64 = _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64
float16, float32, float64, bfloat16 = _C.float16, _C.float32, _C.float64, _C.bfloat16
complex64, complex128 = _C.complex64, _C.complex128
qint8, quint8, qint32, quint4x2, quint2x4 = _C.qint8, _C.quint8, _C.qint32, _C.quint4x2, _C.quint2x4
# Stored and converted, not computed with; complex32, and floats of four bits, are named only.
complex32, chalf, uint16, uint32, uint64 = _C.complex32, _C.complex32, _C.uint16, _C.uint32, _C.uint64
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz = _C.float8_e4m3fn, _C.float8_e5m2, _C.float8_e4m3fnuz, _C.float8_e5m2fnuz
float8_e8m0fnu, float4_e2m1fn_x2 = _C.float8_e8m0fnu, _C.float4_e2m1fn_x2
short, long, half, double, cfloat, cdouble = int16, int64, float16, float64, complex64, complex128
legacy_contiguous_format = contiguous_format
pi, inf, nan, e, newaxis = 3.141592653589793, float("inf"), float("nan"), 2.718281828459045, None

# Modules that take time to import are imported on first use.
_LAZY = {"trace": "_trace", "explain": "_explain", "from_torch": "_trace", "script": "_script", "compile": "_script", "register_op": "_register",
         "ops": "_register", "OutOfMemoryError": "cuda", "UntypedStorage": "storage", "TypedStorage": "storage", "InferenceSession": "_session", "serve": "_serve", "Server": "_serve", "autocast": "amp", "GradScaler": "amp", "vmap": "func", "fork": "jit", "wait": "jit", "Future": "futures", "Event": "cuda", "Stream": "cuda", "DisableTorchFunctionSubclass": "_subclass",
         "load": "_files", "save": "_files", "fork_rng": "random"}
_LAZY.update(dict.fromkeys(
    "set_num_threads get_num_threads set_num_interop_threads get_num_interop_threads set_default_dtype get_default_dtype set_default_tensor_type "
    "set_default_device get_default_device use_deterministic_algorithms are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled "
    "set_deterministic_debug_mode get_deterministic_debug_mode set_float32_matmul_precision get_float32_matmul_precision set_flush_denormal set_warn_always "
    "is_warn_always_enabled set_anomaly_enabled is_anomaly_enabled is_autocast_enabled is_autocast_cpu_enabled get_autocast_dtype get_autocast_cpu_dtype "
    "get_autocast_gpu_dtype is_autocast_cache_enabled clear_autocast_cache set_autocast_enabled set_autocast_dtype set_autocast_cpu_enabled "
    "set_autocast_cpu_dtype set_autocast_gpu_dtype set_autocast_cache_enabled autocast_increment_nesting autocast_decrement_nesting get_device_module compiled_with_cxx11_abi "
    "is_vulkan_available has_lapack has_mkl has_openmp has_spectral init_num_threads".split(), "_settings"))
_LAZY.update(dict.fromkeys(
    "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor LongTensor BoolTensor SymInt SymFloat SymBool sym_int "
    "sym_float sym_not sym_max sym_min sym_sqrt sym_sum sym_ite _assert _check _check_with _check_tensor_all _check_tensor_all_with _check_value _check_is_size cond while_loop typename is_storage real imag "
    "to_dlpack unravel_index svd_lowrank pca_lowrank lu eig lstsq solve matrix_rank lobpcg "
    "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor spmm dsmm hsmm".split(), "_legacy"))
_LAZY.update(dict.fromkeys(
    "FloatStorage DoubleStorage HalfStorage BFloat16Storage ByteStorage CharStorage ShortStorage IntStorage LongStorage BoolStorage ComplexFloatStorage "
    "ComplexDoubleStorage".split(), "storage"))
_MODULES = ("nn", "linalg", "special", "fft", "jit", "optim", "data", "utils", "cuda", "array_api", "safetensors", "_jit_internal", "_VF", "distributions", "func",
            "random", "amp", "backends", "compiler", "distributed", "testing", "overrides", "types", "multiprocessing", "functional", "mps", "xpu", "cpu",
            "accelerator", "sparse", "nested", "export", "masked", "_subclasses", "package", "monitor", "quasirandom", "mtia", "_inductor", "signal", "futures", "torch_version", "__config__", "onnx", "hub", "fx", "ao", "quantization", "version", "__future__", "_dynamo", "_custom_ops", "_utils", "library", "return_types", "serialization", "profiler", "storage")
_here = __name__ # which is torch for programs that import that


def _of_c(name):
    from ._dispatch import of_c
    return of_c(name, _sys.modules[_here])


_C.__getattr__ = _of_c
_BUILTIN_NAMES = {"bool": _C.bool, "int": _C.int32, "float": _C.float32}


def __getattr__(name):
    import importlib
    if name in _BUILTIN_NAMES:
        value = _BUILTIN_NAMES[name]
    elif name in _LAZY:
        value = getattr(importlib.import_module("." + _LAZY[name], _here), name)
    elif name in _MODULES:
        value = importlib.import_module("." + name, _here)
    elif name.startswith("_foreach_"):
        from ._foreach import function
        value = function(name)
        if value is None:
            raise AttributeError("module 'torch' has no attribute '%s'" % name)
    else:
        value = None if name.startswith("__") else _C._operator(name)
        if value is None and name.startswith("PyTorchFile"):
            value = _of_c(name)
        if value is None and name.startswith("_"):
            from ._refused import tree
            value = tree("torch." + name)
        if value is None and name == "classes":
            from ._register import ops
            value = ops.classes
        if value is None:
            raise AttributeError("module 'ctsc' has no attribute '%s'" % name)
    globals()[name] = value
    return value


def __dir__():
    # not sorted() and set(): operators of these names would be called once somebody has asked for them
    names = {*globals(), *_LAZY, *_MODULES, *_BUILTIN_NAMES, *(n for n in _C._operator_names() if not n.startswith("_"))}
    return [*names] # which dir() sorts
