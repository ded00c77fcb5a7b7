# SPDX-License-Identifier: Apache-2.0
"""sparse.py - torch.sparse: functions of sparse tensors. _coo.py and _compressed.py have the tensors."""
from . import _C, _compressed
from ._coo import SparseTensor, _made, log_softmax, softmax, sparse_coo_tensor, sum # noqa: A004
from ._compressed import compressed, convert, product, sampled_addmm, to_sparse
from ._refused import refuse
from ._types import sparse_coo

_op = _C._operator
__getattr__ = refuse("torch.sparse", "sparse tensors have few functions; index_add, scatter and dense matrices do the same sums")


def mm(sparse, dense, reduce="sum"):
    """The product of a sparse matrix with a matrix, or of two sparse ones; reduce: of CSR, what becomes of a row's products."""
    return product(sparse, dense) if reduce == "sum" else _compressed.reduced(sparse, dense, reduce)


def addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    """beta mat + alpha (mat1 @ mat2)"""
    return beta * mat + alpha * mm(mat1, mat2)


def spdiags(diagonals, offsets, shape, layout=None):
    """A matrix that has the rows of `diagonals` on the diagonals `offsets`."""
    from ._functions import as_tensor
    diagonals, parts = diagonals if diagonals.ndim == 2 else diagonals.reshape(1, -1), []
    numbers = [int(k) for k in as_tensor(offsets).reshape(-1).tolist()]
    if len(numbers) != diagonals.shape[0]:
        raise RuntimeError("Number of diagonals (%d) does not match the number of offsets (%d)" % (diagonals.shape[0], len(numbers)))
    if len(set(numbers)) != len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    for row, k in enumerate(numbers):
        first, last = max(k, 0), min(int(shape[1]), int(shape[0]) + k, int(diagonals.shape[1]))
        columns = _op("arange")(first, max(first, last))
        parts.append((_op("stack")([columns - k, columns]), diagonals[row, first:max(first, last)]))
    made = _made(_op("cat")([p[0] for p in parts], 1), _op("cat")([p[1] for p in parts]), shape, False)
    return made if layout in (None, sparse_coo) else made.coalesce().to_sparse(layout=layout)


class check_sparse_tensor_invariants: # noqa: N801
    """Whether indices of new sparse tensors are checked, which they always are; as a block, or by enable() and disable()."""

    _told = [False]

    def __init__(self, enable=True):
        self.enabled = enable

    @staticmethod
    def is_enabled():
        """What was told last; nothing was: False."""
        return check_sparse_tensor_invariants._told[0]

    @staticmethod
    def enable():
        """Indices are to be checked."""
        check_sparse_tensor_invariants._told[0] = True

    @staticmethod
    def disable():
        """Indices need not be checked."""
        check_sparse_tensor_invariants._told[0] = False

    def __enter__(self):
        self.before, self._told[0] = self._told[0], self.enabled

    def __exit__(self, *exc):
        self._told[0] = self.before


class _Typed(type):
    """sparse.FloatTensor(indices, values, sizes)"""

    def __call__(cls, *args, device=None):
        if len(args) == 1:
            return sparse_coo_tensor(size=args[0], indices=args[0], dtype=cls._dtype_)
        return sparse_coo_tensor(*args, dtype=cls._dtype_, device=device)

    def __instancecheck__(cls, x):
        return isinstance(x, SparseTensor) and x.dtype is cls._dtype_


for _dtype in (_C.float32, _C.float64, _C.float16, _C.bfloat16, _C.int64, _C.int32, _C.bool):
    _name = _dtype._type_name + "Tensor"
    globals()[_name] = _Typed(_name, (), {"_dtype_": _dtype, "__module__": "ctsc.sparse", "__doc__": "The type of sparse tensors of %s: makes them of indices, values and a size." % _dtype.name})
