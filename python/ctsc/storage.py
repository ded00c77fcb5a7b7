# SPDX-License-Identifier: Apache-2.0
"""storage.py - torch.storage: the memory of a tensor and of its views, as bytes or as elements of a dtype."""
import warnings

from . import _C
from ._types import KINDS

_op = _C._operator


class UntypedStorage:
    """Bytes."""

    dtype, is_sparse = _C.uint8, False

    def __init__(self, *args, device=None):
        if len(args) == 1 and not isinstance(args[0], int):
            self._t = _C._tensor(list(args[0]), _C.uint8._ctsc_value_).to(device or "cpu")
        else:
            self._t = _op("empty")(list(args) or [0], dtype=_C.uint8, device=device or "cpu")

    @classmethod
    def _on(cls, t):
        made = cls.__new__(cls)
        made._t = t
        return made

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first nbytes of a file, mapped: what is written goes to the file where shared is true, which makes it that long, and to memory elsewhere."""
        import mmap
        with open(filename, "a+b" if shared else "rb") as f:
            if shared and f.seek(0, 2) < nbytes:
                f.truncate(nbytes)
            if f.seek(0, 2) < nbytes:
                raise RuntimeError("unable to mmap %d bytes from file <%s>: Cannot allocate memory (12)" % (nbytes, filename))
            if not nbytes:
                return cls(0)
            mapped = mmap.mmap(f.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        return cls._on(_C._from_buffer(memoryview(mapped)))

    device, is_cuda, is_cpu = property(lambda self: self._t.device), property(lambda self: self._t.is_cuda), property(lambda self: self._t.is_cpu)
    _cdata = property(lambda self: self.data_ptr())

    def data_ptr(self):
        return self._t.data_ptr()

    def nbytes(self):
        return self._t.numel()

    size = __len__ = nbytes

    def element_size(self):
        return 1

    def __getitem__(self, i):
        return self._on(self._t[i]) if isinstance(i, slice) else self._t[i].item()

    def __setitem__(self, i, value):
        self._t[i] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._t.tolist()

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and (self.data_ptr(), len(self)) == (other.data_ptr(), len(other))

    def __hash__(self):
        return hash(self.data_ptr())

    def clone(self):
        return self._on(self._t.clone())

    def cpu(self):
        return self._on(self._t.cpu())

    def cuda(self, device=None, non_blocking=False):
        return self._on(self._t.cuda(device))

    def copy_(self, source, non_blocking=None):
        self._t.copy_(source._t)
        return self

    def fill_(self, value):
        self._t.fill_(value)
        return self

    def resize_(self, size):
        if size != len(self):
            raise NotImplementedError("storages keep their size: tensors lie on this one")
        return self

    def is_shared(self):
        return self._t.is_shared()

    def untyped(self):
        return self

    def __repr__(self):
        return "%s\n[torch.storage.UntypedStorage(device=%s) of size %d]" % ("\n".join(" %d" % v for v in self), self.device, len(self))


class TypedStorage:
    """Elements."""

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        self.dtype = dtype or getattr(type(self), "_dtype_", _C.float32)
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif len(args) == 1 and not isinstance(args[0], int):
            self._untyped = of(_C._tensor(list(args[0]), self.dtype._ctsc_value_).to(device or "cpu"))
        else:
            self._untyped = of(_op("empty")(list(args) or [0], dtype=self.dtype, device=device or "cpu"))

    @classmethod
    def _from_buffer(cls, *args, **kwargs):
        """ByteStorage._from_buffer(bytes)"""
        made = cls.__new__(cls)
        made.dtype = getattr(cls, "_dtype_", None) or kwargs["dtype"]
        made._untyped = of(_C._from_buffer(memoryview(bytearray(args[0])).cast("B")))
        return made

    device, is_cuda = property(lambda self: self._untyped.device), property(lambda self: self._untyped.is_cuda)
    _t = property(lambda self: self._untyped._t.view(self.dtype) if len(self._untyped) else self._untyped._t.to(self.dtype))

    def untyped(self):
        return self._untyped

    def data_ptr(self):
        return self._untyped.data_ptr()

    def nbytes(self):
        return len(self._untyped)

    def element_size(self):
        return self.dtype.itemsize

    def size(self):
        return len(self._untyped) // self.dtype.itemsize

    __len__ = _size = size

    def __getitem__(self, i):
        if isinstance(i, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._t[i].item()

    def __setitem__(self, i, value):
        self._t[i] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._t.tolist()

    def is_shared(self):
        return self._untyped.is_shared()

    def pickle_storage_type(self):
        return _kind(self.dtype) + "Storage"

    def _like(self, untyped):
        made = type(self).__new__(type(self))
        made.dtype, made._untyped = self.dtype, untyped
        return made

    def clone(self):
        return self._like(self._untyped.clone())

    def cpu(self):
        return self._like(self._untyped.cpu())

    def cuda(self, device=None, non_blocking=False):
        return self._like(self._untyped.cuda(device))

    def copy_(self, source, non_blocking=None):
        self._t.copy_(source._t)
        return self

    def fill_(self, value):
        self._t.fill_(value)
        return self

    def resize_(self, size):
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._untyped == other._untyped

    def __hash__(self):
        return hash(self._untyped)

    def __repr__(self):
        return "%s\n[torch.storage.TypedStorage(dtype=%s, device=%s) of size %d]" % ("\n".join(" %s" % v for v in self), self.dtype, self.device, len(self))


_TypedStorage = TypedStorage


def _kind(dtype):
    return KINDS.get(dtype.name, "")


for _name, _of in KINDS.items():
    globals()[_of + "Storage"] = type(_of + "Storage", (TypedStorage,), {"_dtype_": getattr(_C, _name), "__module__": "ctsc", "__doc__": "A storage of %s." % _name})


def in_memory(t):
    """t, as its memory has it: a view that is neither lazily conjugated nor negated."""
    if t.is_conj():
        t = t.conj()
    return _op("_neg_view")(t) if t.is_neg() else t


def of(t):
    """The whole memory that t is part of."""
    t = in_memory(t.detach())
    n = t._storage_bytes // t.dtype.itemsize
    return UntypedStorage._on(t.as_strided((n,), (1,), 0).view(_C.uint8) if n else _op("empty")([0], dtype=_C.uint8, device=t.device))


def typed_of(t):
    warnings.warn("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should only matter to you if you are "
                  "using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()", stacklevel=3)
    return TypedStorage(wrap_storage=of(t), dtype=t.dtype)


def placed(t, source, offset, size, stride):
    """A tensor as t.set_(...) makes it."""
    if source is None:
        return _op("empty")([0], dtype=t.dtype)
    if isinstance(source, (UntypedStorage, TypedStorage)):
        whole = source.untyped()._t
        whole = whole[:len(whole) // t.dtype.itemsize * t.dtype.itemsize].view(t.dtype) if len(whole) else whole.to(t.dtype)
        size = (whole.numel() - offset,) if size is None else tuple(size)
    else:
        whole = source.detach()
        if size is None:
            return whole
        size, offset = tuple(size), source.storage_offset() + offset
    if stride is None:
        stride, n = [], 1
        for k in reversed(size):
            stride.insert(0, n)
            n *= k
    return whole.as_strided(size, tuple(stride), offset)
