# SPDX-License-Identifier: Apache-2.0
"""_coo.py - tensors that store only some elements, by their coordinates (COO); _compressed.py has the other layouts, sparse.py what programs see.

A sparse tensor is a view of one element, which has the sizes, with coordinates and values beside it; its class's __torch_function__ does what is done to sparse tensors, by
operators on the values, through which gradients flow: ctsc::sparse_mm of compressed rows, gathers and index_add. What gives dense what PyTorch gives sparse is refused.
"""
from . import _C, _subclass
from ._register import ops
from ._tensor_str import sparse_str
from ._types import Size, parse_to, sparse_coo

Tensor, _op = _C.Tensor, _C._operator


class Stored(Tensor):
    """What tensors of all sparse layouts have in common: their elements self._v, to which gradients go, and self._with(elements), the same with others."""

    requires_grad = property(lambda self: self._v.requires_grad, lambda self, on: setattr(self._v, "requires_grad", on))
    grad_fn, is_leaf = property(lambda self: self._v.grad_fn), property(lambda self: self._v.is_leaf)
    grad = property(lambda self: None if self._v.grad is None else self._with(self._v.grad), lambda self, g: setattr(self._v, "grad", None if g is None else g._v))
    device, is_cuda = property(lambda self: self._v.device), property(lambda self: self._v.is_cuda)

    def cpu(self, *args, **kwargs):
        return self.to("cpu")

    def cuda(self, device=None, **kwargs):
        return self.to("cuda" if device is None else device)

    def detach(self):
        return self._with(self._v.detach())

    def requires_grad_(self, requires_grad=True):
        self._v.requires_grad_(requires_grad)
        return self

    def __deepcopy__(self, memo):
        memo[id(self)] = made = self._with(self._v.detach().clone().requires_grad_(self.requires_grad))
        return made


class SparseTensor(Stored):
    """Tensor.layout is sparse_coo: _indices() has a column of coordinates for each row of _values()."""

    layout, is_sparse = sparse_coo, True

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        known = _FUNCTIONS.get(name)
        if known is None:
            raise NotImplementedError("%s of sparse tensors; to_dense() gives what it takes" % name)
        return known(*args, **(kwargs or {}))

    def _indices(self):
        return self._i

    def _values(self):
        return self._v

    def indices(self):
        return self._coalesced("indices")._i

    def values(self):
        return self._coalesced("values")._v

    def _coalesced(self, what):
        if not self._is:
            raise RuntimeError("Cannot get %s on an uncoalesced tensor, please call .coalesce() first" % what)
        return self

    def is_coalesced(self):
        return self._is

    def _nnz(self):
        return self._i.shape[1]

    def sparse_dim(self):
        return self._i.shape[0]

    def dense_dim(self):
        return self.ndim - self._i.shape[0]

    def _with(self, values):
        return _made(self._i, values, self.shape, self._is)

    def _flat(self):
        """Coordinates as numbers of a dense tensor's rows."""
        at = _op("zeros")([self._nnz()], dtype=_C.int64, device=self._i.device)
        for d in range(self.sparse_dim()):
            at = at * int(self.shape[d]) + self._i[d]
        return at

    def coalesce(self):
        if self._is:
            return self
        from ._functions import unique
        rows, n = unique(self._flat(), return_inverse=True), self.sparse_dim()
        values = _op("zeros")([len(rows[0])] + [int(k) for k in self._v.shape[1:]], dtype=self._v.dtype, device=self._v.device).index_add(0, rows[1], self._v)
        left, indices = rows[0], []
        for k in reversed(tuple(self.shape[:n])):
            indices.insert(0, left % int(k))
            left = left // int(k)
        return _made(_op("stack")(indices) if n else self._i[:, :1], values, self.shape, True)

    def to_dense(self, dtype=None, *, masked_grad=None):
        n, rows = self.sparse_dim(), 1
        for k in self.shape[:n]:
            rows *= int(k)
        dense = _op("zeros")([rows] + [int(k) for k in self.shape[n:]], dtype=self._v.dtype, device=self._v.device).index_add(0, self._flat(), self._v)
        dense = dense.reshape(tuple(int(k) for k in self.shape))
        return dense if dtype is None else dense.to(dtype)

    def _csr(self):
        """(crow, columns, values) of a matrix's elements; equal coordinates may be there twice. Indices do not change, so what is found of them is kept."""
        kept = self.__dict__.get("_rows")
        if kept is None:
            rows, columns, order = self._i[0], self._i[1], None
            if not self._is:
                order = rows.argsort(stable=True)
                rows, columns = rows[order], columns[order]
            self._rows = kept = _op("_convert_indices_from_coo_to_csr")(rows, int(self.shape[0])), columns, order
        return kept[0], kept[1], self._v if kept[2] is None else self._v.index_select(0, kept[2])

    def to(self, *args, **kwargs):
        place = parse_to(args, **kwargs)[0]
        return _made(self._i if place is None else self._i.to(place), self._v.to(*args, **kwargs), self.shape, self._is)

    def __repr__(self):
        return sparse_str(self, [("indices", self._i), ("values", self._v)], True)

    def __reduce_ex__(self, protocol):
        return _made, (self._i, self._v, tuple(int(k) for k in self.shape), self._is)

    def _refused(self, *args, **kwargs):
        raise RuntimeError("sparse tensors have no strides and no memory of their own; to_dense() gives a tensor that has")

    stride = data_ptr = untyped_storage = storage = __dlpack__ = item = _refused

    def numpy(self, *, force=False):
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    __array__ = numpy

    def tolist(self):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def _become(self, other):
        """In place: other's coordinates and values."""
        if tuple(other.shape) != tuple(self.shape):
            raise RuntimeError("a sparse tensor of sizes %s cannot become one of %s in place" % (tuple(self.shape), tuple(other.shape)))
        self.__dict__.pop("_rows", None)
        self._i, self._v, self._is = other._i, other._v, other._is
        return self


_subclass.register(SparseTensor)


def _made(indices, values, sizes, coalesced):
    with _subclass.DisableTorchFunctionSubclass():
        made = _op("empty")([], dtype=values.dtype, device="cpu").expand(tuple(int(k) for k in sizes)).as_subclass(SparseTensor)
    made._i, made._v, made._is = indices, values, coalesced
    return made


def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, is_coalesced=None):
    """Equal coordinates are added."""
    from ._functions import as_tensor
    if values is None: # sparse_coo_tensor(size)
        size, indices = tuple(indices if size is None else size), _op("empty")([len(indices if size is None else size), 0], dtype=_C.int64)
        values = _op("empty")([0], dtype=dtype or _C.float32)
    indices, values = as_tensor(indices).to(_C.int64), as_tensor(values)
    indices, values = indices.reshape(1, -1) if indices.ndim == 1 else indices, values.to(device, dtype) if dtype is not None or device is not None else values
    if values.ndim == 0:
        values = values.expand(indices.shape[1])
    if values.shape[0] != indices.shape[1]:
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: %d, nnz from values: %d" % (indices.shape[1], values.shape[0]))
    if size is None:
        size = tuple(int(k) + 1 for k in indices.amax(1)) + tuple(values.shape[1:])
    size = Size(int(k) for k in size)
    if indices.shape[1]:
        low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
        for d, k in enumerate(size[:indices.shape[0]]):
            if low[d] < 0:
                raise RuntimeError("found negative index %d for dim %d" % (low[d], d))
            if high[d] >= k:
                raise RuntimeError("size is inconsistent with indices: for dim %d, size is %d but found index %d" % (d, k, high[d]))
    if requires_grad:
        values = values.detach().requires_grad_()
    return _made(indices, values, size, bool(is_coalesced))


def from_dense(dense, sparse_dim=None):
    n = dense.ndim if sparse_dim is None else sparse_dim
    kept = dense.detach() != 0
    kept = kept if n == dense.ndim else kept.flatten(n).any(-1)
    at = kept.nonzero().t()
    return _made(at, dense[tuple(at)], dense.shape, True)


# ---- functions


def _multiply(crow, columns, values, dense):
    """A matrix of compressed rows times a dense one, or a vector."""
    if values.dtype in (_C.float32, _C.float64) and dense.dtype is values.dtype and not values.is_cuda:
        return ops.ctsc.sparse_mm(crow, columns, values, dense)
    rows = _op("_convert_indices_from_csr_to_coo")(crow.cpu(), columns.cpu())[0].to(_C.int64).to(values.device)
    parts = dense.index_select(0, columns) * (values if dense.ndim == 1 else values.unsqueeze(1))
    return _op("zeros")([len(crow) - 1] + [int(k) for k in dense.shape[1:]], dtype=parts.dtype, device=parts.device).index_add(0, rows, parts)


def _matrix_product(left, right, m, n):
    """Of two matrices of compressed rows, as coordinates: each element of the left one times the row of the right one that it meets."""
    (crow, columns, values), (other, there, factors) = left, right
    begins = other.index_select(0, columns).to(_C.int64)
    counts = other.index_select(0, columns.to(_C.int64) + 1).to(_C.int64) - begins
    which = _op("repeat_interleave")(counts)
    at = _op("arange")(len(which)) - (counts.cumsum(0) - counts).index_select(0, which) + begins.index_select(0, which)
    rows = _op("_convert_indices_from_csr_to_coo")(crow, columns)[0].to(_C.int64).index_select(0, which)
    made = values.index_select(0, which) * factors.index_select(0, at)
    return _made(_op("stack")([rows, there.index_select(0, at).to(_C.int64)]), made, (m, n), False).coalesce()


def _product(a, b):
    """Of a sparse matrix with a dense one, or a vector; of two dense ones as ever."""
    if not isinstance(a, SparseTensor):
        if isinstance(b, SparseTensor):
            return _product(_transposed(b), a.t() if a.ndim == 2 else a).t() if a.ndim == 2 else _product(_transposed(b), a)
        return a @ b
    if a.ndim != 2 or a.dense_dim() or b.ndim not in (1, 2):
        raise NotImplementedError("products of sparse tensors are those of matrices with matrices or vectors")
    if int(a.shape[1]) != int(b.shape[0]):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (%s and %s)" % ("x".join(str(int(k)) for k in a.shape), "x".join(str(int(k)) for k in b.shape)))
    if isinstance(b, SparseTensor):
        return _matrix_product(a._csr(), b._csr(), int(a.shape[0]), int(b.shape[1]))
    return _multiply(*a._csr(), b)


def _addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    return beta * mat + alpha * _product(mat1, mat2)


def _transposed(x, dim0=0, dim1=1):
    if max(dim0 % x.ndim, dim1 % x.ndim) >= x.sparse_dim():
        raise NotImplementedError("transpose of sparse tensors is that of dims with coordinates")
    order, sizes = list(range(x.sparse_dim())), [int(k) for k in x.shape]
    order[dim0], order[dim1] = order[dim1], order[dim0]
    sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    return _made(_op("stack")([x._i[d] for d in order]), x._v, sizes, False)


def _add(a, b, *, alpha=1):
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        dense = [x.to_dense() if isinstance(x, SparseTensor) else x for x in (a, b)]
        return dense[0] + alpha * dense[1]
    if a.shape != b.shape or a.sparse_dim() != b.sparse_dim():
        raise RuntimeError("add: expected sizes of 'self' and 'other' to match, but %s != %s" % (tuple(a.shape), tuple(b.shape)))
    cat = _op("cat")
    return _made(cat([a._i, b._i], 1), cat([a._v, alpha * b._v if alpha != 1 else b._v]), a.shape, False).coalesce()


def _times(a, b):
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if isinstance(b, SparseTensor):
        a, b = a.coalesce(), b.to_dense()
    if not isinstance(b, Tensor) or b.numel() == 1:
        return a._with(a._v * b)
    a = a.coalesce()
    return a._with(a._v * b.expand(tuple(int(k) for k in a.shape))[tuple(a._i)])


def _divided(a, b, *, rounding_mode=None):
    if not isinstance(a, SparseTensor) or isinstance(b, SparseTensor) or rounding_mode is not None:
        raise NotImplementedError("div of sparse tensors is that by numbers and dense tensors")
    return a._with(a._v / b) if not isinstance(b, Tensor) or b.numel() == 1 else _times(a, 1 / b)


def _of_values(name):
    def call(x, *args, **kwargs):
        x = x.coalesce()
        return x._with(getattr(x._v, name)(*args, **kwargs))
    return call


def sum(input, dim=None, dtype=None):
    if not isinstance(input, SparseTensor):
        input.coalesce()  # refuses
    if dim is None:
        return input._v.sum() if dtype is None else input._v.sum(dtype=dtype)
    dims = sorted(d % input.ndim for d in ((dim,) if isinstance(dim, int) else dim))
    kept = [d for d in range(input.sparse_dim()) if d not in dims]
    dense = [d - input.sparse_dim() + 1 for d in dims if d >= input.sparse_dim()]
    values = input._v.sum(dense) if dense else input._v
    values = values if dtype is None else values.to(dtype)
    sizes = [int(k) for d, k in enumerate(input.shape) if d not in dims]
    return _made(_op("stack")([input._i[d] for d in kept]), values, sizes, False).coalesce() if kept else values.sum(0)


def _sum_dense(input, dim=None, keepdim=False, *, dtype=None):
    return sum(input, None, dtype) if dim is None else input.to_dense().sum(dim, keepdim, dtype=dtype).to_sparse()


def _by_rows(x, dim):
    if x.ndim != 2 or x.dense_dim() or dim not in (1, -1):
        raise NotImplementedError("sparse.softmax is that of the rows of a matrix")
    x = x.coalesce()
    rows, n = x._i[0], int(x.shape[0])
    top = _op("full")([n], float("-inf"), dtype=x._v.dtype).scatter_reduce(0, rows, x._v.detach(), "amax")
    less = x._v - top[rows]
    return x, less, _op("zeros")([n], dtype=x._v.dtype).index_add(0, rows, less.exp())[rows]


def softmax(input, dim, *, dtype=None):
    x, less, total = _by_rows(input if dtype is None else input.to(dtype), dim)
    return x._with(less.exp() / total)


def log_softmax(input, dim, *, dtype=None):
    x, less, total = _by_rows(input if dtype is None else input.to(dtype), dim)
    return x._with(less - total.log())


def _row(x, i):
    if not isinstance(i, int):
        raise NotImplementedError("indexing of sparse tensors is that by one number")
    i, kept = i % int(x.shape[0]), None
    kept = (x._i[0] == i).nonzero().reshape(-1)
    if x.sparse_dim() == 1:
        return x._v[kept].sum(0)
    return _made(x._i[1:, kept], x._v[kept], x.shape[1:], x._is)


def _selected(x, dim, index):
    return _row(x if dim % x.ndim == 0 else _transposed(x, 0, dim), index)


def _masked(x, mask):
    x = x.to_dense() if isinstance(x, SparseTensor) else x
    return mask._with(x[tuple(mask._i)])


def _same(x, *, memory_format=None):
    return x._with(x._v.clone())


def _cat(tensors, dim=0):
    if not all(isinstance(x, SparseTensor) for x in tensors):
        raise RuntimeError("cat: sparse tensors are joined with sparse tensors")
    first = tensors[0]
    dim = dim % first.ndim
    for x in tensors[1:]:
        if x.ndim != first.ndim or any(a != b for d, (a, b) in enumerate(zip(x.shape, first.shape)) if d != dim):
            raise RuntimeError("All tensors must have the same shape: %s (except in the concatenating dimension) and %s" % (tuple(first.shape), tuple(x.shape)))
    cat, sizes = _op("cat"), [int(k) for k in first.shape]
    if dim >= first.sparse_dim():
        raise NotImplementedError("cat of sparse tensors in a dense dim")
    parts, at = [], 0
    for x in tensors:
        parts.append(_op("stack")([row + at if d == dim else row for d, row in enumerate(x._i)]))
        at += int(x.shape[dim])
    sizes[dim] = at
    return _made(cat(parts, 1), cat([x._v for x in tensors]), sizes, False)


def _unsqueezed(x, dim):
    dim = dim % (x.ndim + 1)
    sizes = [int(k) for k in x.shape]
    sizes.insert(dim, 1)
    if dim > x.sparse_dim():
        return _made(x._i, x._v.unsqueeze(dim - x.sparse_dim() + 1), sizes, x._is)
    rows = [*x._i]
    rows.insert(dim, _op("zeros")([x._nnz()], dtype=_C.int64, device=x._i.device))
    return _made(_op("stack")(rows), x._v, sizes, x._is)


def _index_selected(x, dim, index):
    dim, sizes = dim % x.ndim, [int(k) for k in x.shape]
    if len(index) and not (0 <= int(index.min()) and int(index.max()) < sizes[dim]):
        raise IndexError("index_select(): index contains an index out of range for tensor of size %s at dimension %d" % (sizes, dim))
    sizes[dim] = int(index.numel())
    if dim >= x.sparse_dim():
        return _made(x._i, x._v.index_select(dim - x.sparse_dim() + 1, index), sizes, x._is)
    place, element = (index.reshape(-1, 1) == x._i[dim]).nonzero().unbind(1)
    rows = [place if d == dim else row[element] for d, row in enumerate(x._i)]
    return _made(_op("stack")(rows), x._v[element], sizes, False).coalesce()


def _narrowed(x, dim, start, length):
    return _index_selected(x, dim, _op("arange")(int(start), int(start) + int(length)))


def _norm(x, ord=2, dim=None, keepdim=False, *, dtype=None): # noqa: A002
    if dim is not None or keepdim:
        raise NotImplementedError("norm of sparse tensors is that of all elements")
    return _op("linalg_vector_norm")(x.coalesce()._v, ord, None, False, dtype=dtype)


def _row_product(a, b):
    made = _product(a, b)
    rows = a.coalesce()._i[0].unique()
    return _made(rows.reshape(1, -1), made[rows], made.shape, True)


def _batches(a, b):
    if not isinstance(a, SparseTensor) or isinstance(b, SparseTensor):
        raise NotImplementedError("bmm of sparse tensors is that by a dense tensor")
    return _op("stack")([_product(_row(a, i), b[i]) for i in range(int(a.shape[0]))])


def _in_place(f):
    def call(x, *args, **kwargs):
        return x._become(f(x, *args, **kwargs))
    return call


_FUNCTIONS = {"bmm": _batches, "cat": _cat, "concat": _cat, "stack": lambda tensors, dim=0: _cat([_unsqueezed(x, dim) for x in tensors], dim), "unsqueeze": _unsqueezed,
              "index_select": _index_selected, "narrow_copy": _narrowed, "linalg_vector_norm": _norm, "any": lambda x: x.coalesce()._v.any(), "hspmm": _row_product,
              "is_same_size": lambda a, b: tuple(a.shape) == tuple(b.shape), "resize_as_": lambda x, like: x._become(x._with(x._v)) if x.shape == like.shape else x._become(like),
              "add_": _in_place(_add), "__iadd__": _in_place(_add), "sub_": _in_place(lambda a, b, *, alpha=1: _add(a, b, alpha=-alpha)), "__isub__": _in_place(lambda a, b: _add(a, b, alpha=-1)),
              "mul_": _in_place(_times), "__imul__": _in_place(_times), "div_": _in_place(_divided), "__itruediv__": _in_place(_divided),
              "zero_": lambda x: x._become(_made(x._i[:, :0], x._v[:0], x.shape, True)), "copy_": lambda x, other, non_blocking=False: x._become(other),
              "mm": _product, "matmul": _product, "__matmul__": _product, "mv": _product, "spmm": _product, "smm": _product, "addmm": _addmm, "t": _transposed, "numpy_T": _transposed, "mT": _transposed,
              "transpose": _transposed, "add": _add, "__add__": _add, "__radd__": _add, "sub": lambda a, b, *, alpha=1: _add(a, b, alpha=-alpha),
              "mul": _times, "multiply": _times, "div": _divided, "true_divide": _divided, "sum": _sum_dense, "clone": _same, "__getitem__": _row, "select": _selected,
              "is_coalesced": SparseTensor.is_coalesced, "coalesce": SparseTensor.coalesce, "to_dense": SparseTensor.to_dense, "zeros_like": lambda x, **k: x._with(x._v * 0),
              "sparse_mask": lambda x, mask: _masked(x, mask), "norm": lambda x, *a, **k: x.coalesce()._v.norm(*a, **k), "detach": SparseTensor.detach}
for _name in "isnan isinf isposinf isneginf signbit frac deg2rad rad2deg erf erfinv asinh atanh sgn neg abs relu sqrt sin tan asin atan sinh tanh expm1 log1p sign floor ceil round trunc pow square conj".split():
    _FUNCTIONS[_name] = _of_values(_name)
for _name in "neg abs sqrt sin tan tanh expm1 log1p sign floor ceil round trunc pow square".split():
    _FUNCTIONS[_name + "_"] = _in_place(_FUNCTIONS[_name])
