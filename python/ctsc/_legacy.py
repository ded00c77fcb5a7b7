# SPDX-License-Identifier: Apache-2.0
"""_legacy.py - names of torch that programs still use: typed constructors, symbolic numbers, checks, control flow as functions."""
import enum
import math

from . import _C
from ._functions import Tensor, tensor
from ._types import KINDS

_NAMES = {kind: getattr(_C, name) for name, kind in KINDS.items() if not name.startswith("complex")}


def dtype_of(name):
    """Of "torch.FloatTensor"."""
    kind = name.rpartition(".")[2]
    if not kind.endswith("Tensor") or kind[:-len("Tensor")] not in _NAMES | {"": None}:
        raise ValueError("invalid type: '%s'" % name)
    return _NAMES.get(kind[:-len("Tensor")]) or _default()


def _default():
    from ._intercept import get_default_dtype
    return get_default_dtype()


class _Typed(type):
    """FloatTensor(2, 3), FloatTensor([1, 2]), isinstance(x, FloatTensor)."""

    def __call__(cls, *args, device=None):
        if len(args) == 1 and not isinstance(args[0], int):
            data = args[0]
            if isinstance(data, Tensor):
                if data.dtype is not cls._dtype_:
                    raise TypeError("expected %s (got %s)" % (cls.__name__, data.type()))
                return data.detach()
            from ._types import Size
            if not isinstance(data, Size):
                return tensor(data, dtype=cls._dtype_, device=device)
            args = tuple(data)
        return _C._operator("empty")(list(args) or [0], dtype=cls._dtype_, device=device)

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype is cls._dtype_


for _name, _dtype in _NAMES.items():
    globals()[_name + "Tensor"] = _Typed(_name + "Tensor", (), {"_dtype_": _dtype, "dtype": _dtype, "__module__": "ctsc", "__doc__": "The type of tensors of %s: makes them of sizes or data, and is asked by isinstance." % _dtype.name})


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, as DLPack numbers them."""
    kDLCPU = 1
    kDLCUDA = 2


# Sizes are numbers.
class SymInt:
    pass


class SymFloat:
    pass


class SymBool:
    pass


def sym_int(a):
    return int(a)


def sym_float(a):
    return float(a)


def sym_not(a):
    return not a


sym_max, sym_min, sym_sqrt = max, min, math.sqrt


def sym_sum(args):
    return sum(args)


def sym_ite(b, t, f):
    return t if b else f


def _assert(condition, message=""):
    assert condition, message


def _check(cond, message=None):
    if not cond:
        raise RuntimeError(message() if callable(message) else message or "Expected cond to be True")


def _check_with(error_type, cond, message=None):
    if not cond:
        raise error_type(message() if callable(message) else message or "Expected cond to be True")


def _check_tensor_all_with(error_type, cond, message=None):
    if not isinstance(cond, Tensor) or cond.dtype is not _C.bool:
        raise TypeError("cond must be a tensor of bools, but got %s" % (cond.dtype if isinstance(cond, Tensor) else type(cond).__name__))
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond, message=None):
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_value(cond, message=None):
    if not cond:
        raise ValueError(message() if callable(message) else message or "Expected cond to be True")


def _check_is_size(i, message=None, *, max=None):
    _check(i >= 0 and (max is None or i <= max), message)


def cond(pred, true_fn, false_fn, operands=()):
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    values = tuple(carried_inputs)
    while cond_fn(*values):
        values = tuple(body_fn(*values))
    return values


def typename(obj):
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("builtins", "", None) else "%s.%s" % (kind.__module__, kind.__qualname__)


def is_storage(obj):
    from .storage import TypedStorage, UntypedStorage
    return isinstance(obj, (UntypedStorage, TypedStorage))


def real(input):
    return input.real


def imag(input):
    return input.imag


def to_dlpack(tensor):
    return tensor.__dlpack__()


def unravel_index(indices, shape):
    """A tuple of the coordinates of flat indices."""
    shape, steps = (shape,) if isinstance(shape, int) else tuple(shape), [1]
    if indices.dtype.is_floating_point or indices.dtype is _C.bool:
        raise ValueError("expected 'indices' to be integer dtype, but got %s" % indices.dtype)
    for n in reversed(shape[1:]):
        steps.insert(0, steps[0] * n)
    # views of one tensor, as PyTorch's: the coordinates of an index lie side by side
    every = indices.unsqueeze(-1) // _C._tensor(steps, _C.int64._ctsc_value_) % _C._tensor(shape, _C.int64._ctsc_value_)
    return every.unbind(-1)


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V): the largest q singular values, by Halko's subspace iteration."""
    A = A if M is None else A - M
    flip = A.shape[-2] < A.shape[-1]
    X = A.mH if flip else A
    Q, _ = _C._operator("linalg_qr")(X @ _C._operator("randn")(tuple(X.shape[:-2]) + (X.shape[-1], q), dtype=X.dtype))
    for _ in range(niter):
        Q, _ = _C._operator("linalg_qr")(X.mH @ Q)
        Q, _ = _C._operator("linalg_qr")(X @ Q)
    U, S, Vh = _C._operator("linalg_svd")(Q.mH @ X, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if flip else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lu(A, pivot=True, get_infos=False, out=None):
    """(LU, pivots), with get_infos also what failed, for each matrix."""
    LU, pivots, info = _C._operator("linalg_lu_factor_ex")(A, pivot=pivot)
    if out is not None:
        LU, pivots, info = (o.resize_(v.shape).copy_(v) for o, v in zip(tuple(out) + (info,) * (3 - len(out)), (LU, pivots, info)))
    return (LU, pivots, info) if get_infos else (LU, pivots)


def _gone(name, instead):
    def function(*args, **kwargs):
        raise RuntimeError("This function was deprecated since version 1.9 and is now removed. `torch.%s` is deprecated in favor of `torch.linalg.%s`." % (name, instead))
    function.__name__ = name
    return function


eig, lstsq, solve, matrix_rank = _gone("eig", "eig"), _gone("lstsq", "lstsq"), _gone("solve", "solve"), _gone("matrix_rank", "matrix_rank")


def lobpcg(*args, **kwargs):
    raise NotImplementedError("torch.lobpcg: ctsc has linalg.eigh, of all eigenvalues")


def spmm(input, mat2):
    from .sparse import mm
    return mm(input, mat2)


dsmm = hsmm = spmm


def sparse_coo_tensor(*args, **kwargs):
    from . import _compressed # noqa: F401 (COO tensors become its own)
    from ._coo import sparse_coo_tensor
    return sparse_coo_tensor(*args, **kwargs)


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None):
    from ._compressed import compressed
    return compressed("sparse_compressed_tensor", compressed_indices, plain_indices, values, size, dtype, device, layout, requires_grad)


def _of_layout(name, first, second):
    def function(*args, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, **kwargs):
        from . import _types
        from ._compressed import compressed
        for key, value in zip((first, second, "values", "size"), args):
            kwargs[key] = value
        if len(args) > 4 or not {first, second, "values"} <= set(kwargs) <= {first, second, "values", "size"}:
            raise TypeError("%s() takes %s, %s, values and size" % (name, first, second))
        return compressed(name, kwargs[first], kwargs[second], kwargs["values"], kwargs.get("size"), dtype, device, getattr(_types, name[:-len("_tensor")]), requires_grad)
    function.__name__ = name
    return function


for _name in ("sparse_csr_tensor", "sparse_bsr_tensor"):
    globals()[_name] = _of_layout(_name, "crow_indices", "col_indices")
for _name in ("sparse_csc_tensor", "sparse_bsc_tensor"):
    globals()[_name] = _of_layout(_name, "ccol_indices", "row_indices")
