# SPDX-License-Identifier: Apache-2.0
"""_compressed.py - sparse matrices of compressed rows or columns: CSR, CSC, and BSR and BSC, whose elements are blocks.

    row layouts      crow_indices [rows + 1] says where each row's elements begin, col_indices [nnz] their columns
    column layouts   ccol_indices, row_indices: those of the transposed matrix
    blocks           the same of rows and columns of blocks; values are [nnz, height, width]

As in _coo.py, a tensor is a view of one element with its parts beside it, and gradients flow through values. Products are ctsc::sparse_mm of rows; other layouts
become rows first. Indices are checked when a tensor is made, and by the operators again. Batches of matrices, and elements with dims of their own, are refused.
"""
from . import _C, _subclass
from ._coo import SparseTensor, Stored, _made as _made_coo, _matrix_product, _multiply, _product, from_dense
from ._register import ops
from ._tensor_str import sparse_str
from ._types import Size, parse_to, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr

Tensor, _op = _C.Tensor, _C._operator
_ROWS, _BLOCKS = (sparse_csr, sparse_bsr), (sparse_bsr, sparse_bsc)
_TITLES = {sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr", sparse_bsc: "SparseBsc"}
_TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


def _needs(name, layouts, what):
    def method(self):
        if self.layout not in layouts:
            raise RuntimeError("%s expected sparse %s compressed tensor layout but got %s" % (name, what, _TITLES[self.layout]))
        return self._c if name[0] == "c" and name[1] in "rc" and name[1:4] != "ol_" else self._p
    method.__name__ = name
    return method


def _only_coo(name):
    def method(self, *args, **kwargs):
        raise RuntimeError("%s expected sparse coordinate tensor layout but got %s" % (name, _TITLES[self.layout]))
    method.__name__ = name
    return method


class CompressedTensor(Stored):
    """Tensor.layout is sparse_csr, sparse_csc, sparse_bsr or sparse_bsc."""

    is_sparse = False
    layout, is_sparse_csr = property(lambda self: self._layout), property(lambda self: self._layout is sparse_csr)
    crow_indices, ccol_indices = _needs("crow_indices", _ROWS, "row"), _needs("ccol_indices", (sparse_csc, sparse_bsc), "column")
    col_indices, row_indices = _needs("col_indices", _ROWS, "row"), _needs("row_indices", (sparse_csc, sparse_bsc), "column")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        known = _FUNCTIONS.get(name)
        if known is None:
            layouts = [a.layout for a in list(args) + list((kwargs or {}).values()) if isinstance(a, CompressedTensor)]
            raise RuntimeError("unsupported tensor layout: %s" % _TITLES[layouts[0]] if layouts else "%s of sparse tensors; to_dense() gives what it takes" % name)
        return known(*args, **(kwargs or {}))

    def values(self):
        return self._v

    def _nnz(self):
        return int(self._p.shape[-1])

    def sparse_dim(self):
        return 2

    def dense_dim(self):
        return 0

    def _with(self, values):
        return _made(self._c, self._p, values, self.shape, self._layout)

    coalesce, is_coalesced, indices = _only_coo("coalesce"), _only_coo("is_coalesced"), _only_coo("indices")
    _indices, _values = _only_coo("_indices"), _only_coo("_values")

    def _rows(self):
        """(crow, columns, values) of the matrix's elements: those of CSR."""
        if self._layout is sparse_csr:
            return self._c, self._p, self._v
        if self._layout is sparse_csc:
            crow, columns, order = ops.ctsc.sparse_transposed(self._c, self._p, int(self.shape[0]))
            return crow, columns, self._v.index_select(0, order)
        return self.to_sparse()._csr()

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        if layout is self._layout:
            return self
        if layout not in (None, sparse_coo):
            return convert(self, layout, blocksize)
        ends = _op("_convert_indices_from_csr_to_coo")(self._c, self._p, transpose=self._layout not in _ROWS).to(_C.int64)
        if self._layout not in _BLOCKS:
            made = _made_coo(ends, self._v, self.shape, self._layout is sparse_csr)
            return made if self._layout is sparse_csr else made.coalesce()
        height, width = (int(k) for k in self._v.shape[1:])
        arange = _op("arange")
        rows = (ends[0] * height).reshape(-1, 1, 1) + arange(height).reshape(1, -1, 1).expand(1, height, width)
        columns = (ends[1] * width).reshape(-1, 1, 1) + arange(width).reshape(1, 1, -1).expand(1, height, width)
        return _made_coo(_op("stack")([rows.reshape(-1), columns.reshape(-1)]), self._v.reshape(-1), self.shape, False).coalesce()

    def to_dense(self, dtype=None, *, masked_grad=None):
        return self.to_sparse().to_dense(dtype)

    def to(self, *args, **kwargs):
        place = parse_to(args, **kwargs)[0]
        c, p = (self._c, self._p) if place is None else (self._c.to(place), self._p.to(place))
        return _made(c, p, self._v.to(*args, **kwargs), self.shape, self._layout)

    def __repr__(self):
        first, second = ("crow_indices", "col_indices") if self._layout in _ROWS else ("ccol_indices", "row_indices")
        return sparse_str(self, [(first, self._c), (second, self._p), ("values", self._v)], False)

    def __reduce_ex__(self, protocol):
        return _made, (self._c, self._p, self._v, tuple(int(k) for k in self.shape), self._layout)

    def stride(self, *args):
        raise RuntimeError("Sparse %s tensors do not have strides" % _TITLES[self.layout][6:].upper())

    def numpy(self, *args, **kwargs):
        raise TypeError("can't convert %s layout tensor to numpy. Use Tensor.to_dense() first." % _TITLES[self.layout])

    def storage(self):
        raise NotImplementedError("Cannot access storage of SparseCsrTensorImpl")

    __array__, untyped_storage, __dlpack__ = numpy, storage, numpy
    data_ptr = item = tolist = SparseTensor._refused


_subclass.register(CompressedTensor)


def _made(c, p, values, sizes, layout):
    with _subclass.DisableTorchFunctionSubclass():
        made = _op("empty")([], dtype=values.dtype, device="cpu").expand(tuple(int(k) for k in sizes)).as_subclass(CompressedTensor)
    made._c, made._p, made._v, made._layout = c, p, values, layout
    return made


def compressed(name, first, second, values, size=None, dtype=None, device=None, layout=None, requires_grad=False):
    """What sparse_csr_tensor and the others make: checked."""
    from ._functions import as_tensor
    if layout not in _TURNED:
        raise RuntimeError("%s expected sparse compressed tensor layout but got %s" % (name, "none" if layout is None else layout))
    c, p, v = as_tensor(first), as_tensor(second), as_tensor(values)
    v = v.to(device, dtype) if dtype is not None or device is not None else v
    block = layout in _BLOCKS
    outer, inner = ("crow_indices", "col_indices") if layout in _ROWS else ("ccol_indices", "row_indices")
    for title, t in ((outer, c), (inner, p)):
        if t.dtype not in (_C.int32, _C.int64):
            raise RuntimeError("%s must be an int32 or int64 type, but got: %s" % (title, t.dtype._type_name))
    if c.dtype is not p.dtype:
        raise RuntimeError("%s and %s must have the same dtype" % (outer, inner))
    if c.ndim != 1 or p.ndim != 1 or v.ndim != (3 if block else 1):
        raise NotImplementedError("%s: batches of matrices, and elements with dims of their own, are not supported" % name)
    if not c.numel():
        raise RuntimeError("%s must not be empty" % outer)
    height, width = (int(k) for k in v.shape[1:]) if block else (1, 1)
    if size is None:
        ends = [int(c.numel()) - 1, int(p.max()) + 1 if p.numel() else 0]
        size = [ends[0] * height, ends[1] * width] if layout in _ROWS else [ends[1] * height, ends[0] * width]
    size = Size(int(k) for k in size)
    if len(size) != 2:
        raise RuntimeError("size must be that of a matrix, but got size %s" % (list(size),))
    if height == 0 or width == 0 or size[0] % height or size[1] % width:
        raise RuntimeError("size %s must be divisible by blocksize (%d, %d)" % (list(size), height, width))
    blocks = (size[0] // height, size[1] // width)
    major, minor = blocks if layout in _ROWS else blocks[::-1]
    if c.numel() != major + 1:
        raise RuntimeError("%s.shape[-1] must be equal to the number of compressed dims plus one (%d), but got %d" % (outer, major + 1, c.numel()))
    if p.numel() != v.shape[0]:
        raise RuntimeError("number of elements of %s (%d) and of values (%d) must be equal" % (inner, p.numel(), v.shape[0]))
    if int(c[0]) != 0 or int(c[-1]) != p.numel() or bool((c[1:] < c[:-1]).any()):
        raise RuntimeError("`%s[..., 0] == 0`, `%s[..., -1] == nnz` and `0 <= %s[..., 1:] - %s[..., :-1]` is not satisfied." % (outer, outer, outer, outer))
    if p.numel() and not 0 <= int(p.min()) <= int(p.max()) < minor:
        raise RuntimeError("`0 <= %s < %d` is not satisfied." % (inner, minor))
    return _made(c, p, v.detach().requires_grad_() if requires_grad else v, size, layout)


def to_sparse(x, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """Tensor.to_sparse of a dense tensor, and of COO."""
    if layout not in (None, sparse_coo):
        return convert(x, layout, blocksize)
    return x if isinstance(x, SparseTensor) else from_dense(x, sparse_dim)


def convert(x, layout, blocksize=None):
    """x, dense or sparse, in a compressed layout."""
    if x.ndim != 2:
        raise NotImplementedError("compressed layouts of tensors with %d dims are not supported: matrices have them" % x.ndim)
    if layout in _BLOCKS:
        if blocksize is None:
            raise RuntimeError("to_sparse: blocksize is required for the layout %s" % layout)
        height, width = (blocksize, blocksize) if isinstance(blocksize, int) else (int(k) for k in blocksize)
        if height < 1 or width < 1 or int(x.shape[0]) % height or int(x.shape[1]) % width:
            raise RuntimeError("dense_to_%s: tensor sparse size (%d,%d) must be divisible by given blocksize (%d,%d)" % (str(layout).rpartition(".")[2], x.shape[0], x.shape[1], height, width))
        if isinstance(x, CompressedTensor) and x._layout is layout and tuple(x._v.shape[1:]) == (height, width):
            return x
        return _blocks(x if isinstance(x, SparseTensor) else x.to_sparse(), layout, height, width)
    if isinstance(x, CompressedTensor) and x._layout is layout:
        return x
    if layout is sparse_csc:
        crow, columns, values = convert(x, sparse_csr)._rows()
        ccol, rows, order = ops.ctsc.sparse_transposed(crow, columns, int(x.shape[1]))
        return _made(ccol, rows, values.index_select(0, order), x.shape, layout)
    if not isinstance(x, CompressedTensor):
        x = (x if isinstance(x, SparseTensor) else x.to_sparse()).coalesce()
        if x.dense_dim():
            raise NotImplementedError("compressed layouts of elements with dims of their own are not supported")
        return _made(*x._csr(), x.shape, layout)
    return _made(*x._rows(), x.shape, layout)


def _blocks(coo, layout, height, width):
    from ._functions import unique
    coo, down, across = coo.coalesce(), int(coo.shape[0]) // height, int(coo.shape[1]) // width
    rows, columns = coo._i[0], coo._i[1]
    major, minor, size = (rows // height, columns // width, across) if layout is sparse_bsr else (columns // width, rows // height, down)
    there, which = unique(major * size + minor, return_inverse=True)
    at = (which * height + rows % height) * width + columns % width
    values = _op("zeros")([len(there) * height * width], dtype=coo._v.dtype).index_add(0, at, coo._v).reshape(len(there), height, width)
    c = _op("_convert_indices_from_coo_to_csr")(there // size, down if layout is sparse_bsr else across)
    return _made(c, there % size, values, coo.shape, layout)


def _transposed(x, dim0=0, dim1=1):
    if dim0 % 2 == dim1 % 2:
        return x
    values = x._v.transpose(1, 2) if x._layout in _BLOCKS else x._v
    return _made(x._c, x._p, values, tuple(x.shape)[::-1], _TURNED[x._layout])


# ---- functions


def product(a, b):
    """Of a compressed matrix and another one, or a vector."""
    if not isinstance(a, CompressedTensor):
        if not isinstance(b, CompressedTensor):
            return _product(a, b)
        if isinstance(a, SparseTensor):
            return product(a.to_sparse_csr(), b)
        return product(_transposed(b), a.t()).t() if a.ndim == 2 else product(_transposed(b), a)
    sizes = ["x".join(str(int(k)) for k in t.shape) for t in (a, b)]
    if b.ndim not in (1, 2):
        raise RuntimeError("mat2 must be a matrix, got %d-D tensor" % b.ndim)
    if int(a.shape[1]) != int(b.shape[0]):
        raise RuntimeError("addmm: mat1 and mat2 shapes cannot be multiplied (%s)" % " and ".join(sizes) if b.ndim == 2 else
                           "size mismatch, got input (%s), vec (%s)" % (sizes[0], sizes[1]))
    if isinstance(b, (CompressedTensor, SparseTensor)):
        left, right = (convert(t, sparse_csr)._rows() for t in (a, b))
        return convert(_matrix_product(left, right, int(a.shape[0]), int(b.shape[1])), sparse_csr)
    if a._layout is sparse_bsr and b.ndim == 2:
        return _block_product(a, b)
    return _multiply(*a._rows(), b)


def _block_product(a, b):
    height, width = (int(k) for k in a._v.shape[1:])
    rows = _op("_convert_indices_from_csr_to_coo")(a._c, a._p)[0].to(_C.int64)
    parts = a._v @ b.reshape(int(b.shape[0]) // width, width, int(b.shape[1])).index_select(0, a._p)
    return _op("zeros")([int(a.shape[0]) // height, height, int(b.shape[1])], dtype=parts.dtype).index_add(0, rows, parts).reshape(int(a.shape[0]), int(b.shape[1]))


def _addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    made = product(mat1, mat2)
    return (made if alpha == 1 else made * alpha) + (input if beta == 1 else input * beta) if beta != 0 else made * alpha


def reduced(sparse, dense, how):
    """torch.sparse.mm(csr, dense, "mean"): of the products of each row's elements; rows without any are zeros."""
    from ._functions import as_tensor
    if not isinstance(sparse, CompressedTensor) or sparse._layout is not sparse_csr:
        raise RuntimeError("torch.sparse.mm: reduce operations are those of CSR tensors")
    if how not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, mean, amax or amin, got %s" % how)
    counts = (sparse._c[1:] - sparse._c[:-1]).to(_C.int64).reshape(-1, 1)
    if how in ("sum", "mean"):
        made = product(sparse, dense)
        return made if how == "sum" else made / counts.clamp(min=1).to(made.dtype)
    rows = _op("_convert_indices_from_csr_to_coo")(sparse._c, sparse._p)[0].to(_C.int64)
    parts = dense.index_select(0, sparse._p) * sparse._v.unsqueeze(1)
    made = _op("zeros")([int(sparse.shape[0]), int(dense.shape[1])], dtype=parts.dtype)
    return made.scatter_reduce(0, rows.reshape(-1, 1).expand(*parts.shape), parts, how, include_self=False)


def sampled_addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    if not isinstance(input, CompressedTensor) or input._layout is not sparse_csr:
        raise RuntimeError("sampled_addmm: Expected self to be a CSR tensor")
    if mat1.ndim != 2 or mat2.ndim != 2 or int(mat1.shape[1]) != int(mat2.shape[0]):
        raise RuntimeError("sampled_addmm: mat1 and mat2 shapes cannot be multiplied (%s and %s)" % tuple("x".join(str(int(k)) for k in t.shape) for t in (mat1, mat2)))
    if (int(mat1.shape[0]), int(mat2.shape[1])) != tuple(input.shape):
        raise RuntimeError("sampled_addmm: self.shape must match (mat1 @ mat2).shape")
    made = ops.ctsc.sparse_sampled(input._c, input._p, mat1, mat2.t())
    return input._with((made if alpha == 1 else made * alpha) + (input._v if beta == 1 else input._v * beta))


def _add(a, b, *, alpha=1):
    if isinstance(a, CompressedTensor) and isinstance(b, CompressedTensor):
        if tuple(a.shape) != tuple(b.shape):
            raise RuntimeError("add: Expected input tensors to have the same shape.")
        return convert(a.to_sparse() + (b.to_sparse() if alpha == 1 else b.to_sparse() * alpha), a._layout, tuple(a._v.shape[1:]) or None)
    if not all(isinstance(t, Tensor) and tuple(t.shape) == tuple(a.shape) for t in (a, b)):
        raise RuntimeError("add: expected 'self' and 'other' to have same size, but self has size %s while other has size %s (FYI: op2-sparse addition does not currently "
                           "support broadcasting)" % tuple(list(t.shape) if isinstance(t, Tensor) else [] for t in (b, a)))
    dense = [t.to_dense() if isinstance(t, CompressedTensor) else t for t in (a, b)]
    return dense[0] + dense[1] * alpha if alpha != 1 else dense[0] + dense[1]


def _times(a, b):
    if not isinstance(a, CompressedTensor):
        a, b = b, a
    if not isinstance(b, Tensor) or b.numel() == 1 and not isinstance(b, CompressedTensor):
        return a._with(a._v * b)
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError("mul(sparse, dense): Expected tensors of one shape, got %s and %s" % (tuple(a.shape), tuple(b.shape)))
    same = isinstance(b, CompressedTensor) and b._layout is a._layout and _C._operator("equal")(a._c, b._c) and _C._operator("equal")(a._p, b._p)
    if same:
        return a._with(a._v * b._v)
    coo = a.to_sparse() * (b.to_dense() if isinstance(b, (CompressedTensor, SparseTensor)) else b)
    if isinstance(b, (CompressedTensor, SparseTensor)):
        kept = (coo._v.detach() != 0).nonzero().reshape(-1)
        coo = _made_coo(coo._i[:, kept], coo._v[kept], coo.shape, True)
    return convert(coo, a._layout, tuple(a._v.shape[1:]) or None)


def _sum(input, dim=None, keepdim=False, *, dtype=None):
    if dim is None:
        return input._v.sum() if dtype is None else input._v.sum(dtype=dtype)
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return convert(input.to_dense().sum(dim, True, dtype=dtype).to_sparse(), input._layout)


def _like(fill):
    def call(x, *, dtype=None, **kwargs):
        return x._with(_op(fill)(x._v, dtype=dtype))
    return call


def _zeros_like(x, *, dtype=None, **kwargs):
    return _made(_op("zeros_like")(x._c), x._p[:0], x._v[:0] if dtype is None else x._v[:0].to(dtype), x.shape, x._layout)


def _of_values(name):
    return lambda x, *args, **kwargs: x._with(getattr(x._v, name)(*args, **kwargs))


def sparse_mask(dense, mask):
    values = dense[tuple(_op("_convert_indices_from_csr_to_coo")(mask._c, mask._p).to(_C.int64))] if mask._layout is sparse_csr else None
    if values is None:
        raise NotImplementedError("sparse_mask of %s tensors; CSR and COO have it" % _TITLES[mask._layout])
    return mask._with(values)


_FUNCTIONS = {"mm": product, "matmul": product, "__matmul__": product, "mv": product, "spmm": product, "smm": product, "addmm": _addmm, "t": _transposed, "mT": _transposed,
              "transpose": _transposed, "add": _add, "__add__": _add, "__radd__": _add, "mul": _times, "multiply": _times, "sum": _sum,
              "clone": lambda x, *, memory_format=None: x._with(x._v.clone()), "detach": CompressedTensor.detach, "to_dense": CompressedTensor.to_dense,
              "__getitem__": lambda x, i: x.to_sparse()[i] if isinstance(i, int) else x.to_dense()[i], "select": lambda x, dim, index: x.to_sparse().select(dim, index),
              "zeros_like": _zeros_like, "ones_like": _like("ones_like"), "empty_like": _like("empty_like"), "linear": lambda x, w, b=None: product(x, w.t()) if b is None else product(x, w.t()) + b,
              "sparse_mask": lambda x, mask: sparse_mask(x.to_dense() if isinstance(x, CompressedTensor) else x, mask)}
for _name in ("neg abs relu sqrt sin sinh tan tanh asin asinh atan atanh expm1 log1p sign sgn signbit floor ceil round trunc frac rad2deg deg2rad erf erfinv angle conj isnan isinf isposinf "
              "isneginf square").split():
    _FUNCTIONS[_name] = _of_values(_name)


def _to_layout(layout):
    def method(self, *args, dense_dim=None, **kwargs):
        return convert(self, layout, *args, **kwargs)
    return method


SparseTensor.to_sparse = to_sparse
for _class in (SparseTensor, CompressedTensor):
    _class.to_sparse_coo = lambda self: self.to_sparse()
    for _layout in _TURNED:
        setattr(_class, "to_" + _layout._name, _to_layout(_layout))
