# SPDX-License-Identifier: Apache-2.0
"""_pickled.py - what torch.save writes, by Python's pickle: objects come back as what they were (OrderedDict, Size, dtype, device, Parameter, classes of modules).

A file is a zip: ROOT/data.pkl, in which a tensor is a call of torch._utils._rebuild_tensor_v2 with its storage's number, and ROOT/data/NUMBER with the storage's bytes.
Storages are mapped from the file; what shares one when it is saved shares it when it is loaded. load(weights_only=True), the default, takes the names of SAFE only.
"""
import codecs
import io
import mmap
import os
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict

from . import _C, _types
from ._named import refuse_serialisation
from ._types import KINDS, Size, device
from .storage import in_memory

Tensor = _C.Tensor
_DTYPES = {kind + "Storage": name for name, kind in KINDS.items()}
_ALIGNMENT = 64
_SPARSE = ("SparseTensor", "CompressedTensor")


# ---- loading

def _tensor(storage, offset, sizes, strides, requires_grad=False, hooks=None, metadata=None):
    whole, dtype, place = storage
    if not all(sizes):
        t = _C._operator("empty")(list(sizes), dtype=dtype, device="cpu")
    else:
        t = whole.view(dtype).as_strided(tuple(sizes), tuple(strides), offset)
    if place is not None:
        t = _C._value_to(t, place)
    if metadata and metadata.get("conj"):
        t = t.conj()
    if metadata and metadata.get("neg"):
        t = _C._operator("_neg_view")(t)
    if requires_grad:
        t.requires_grad = True
    return t


def _parameter(data, requires_grad, hooks, state=None):
    from .nn.parameter import Parameter
    return Parameter(data, requires_grad)


def _v3(storage, offset, sizes, strides, requires_grad, hooks, dtype, metadata=None):
    return _tensor((storage[0], dtype, storage[2]), offset, sizes, strides, requires_grad, hooks, metadata)


def _sparse(layout, data):
    """torch.sparse_coo: (indices, values, size, whether coalesced); others: (compressed indices, plain indices, values, size). Checked, as a file may say anything."""
    if layout is _types.sparse_coo:
        from ._coo import sparse_coo_tensor
        indices, values, size = data[:3]
        return sparse_coo_tensor(indices, values, size, is_coalesced=data[3] if len(data) > 3 else False)
    from ._compressed import compressed
    return compressed("sparse_compressed_tensor", *data, layout=layout)


class _Storage:
    """torch.FloatStorage: names a dtype."""

    def __init__(self, name):
        self.dtype = getattr(_C, name)


_PLACES = {"torch._utils._rebuild_tensor_v2": _tensor, "torch._utils._rebuild_tensor_v3": _v3, "torch._utils._rebuild_parameter": _parameter,
           "torch._utils._rebuild_parameter_with_state": _parameter, "torch._utils._rebuild_sparse_tensor": _sparse, "torch.Size": Size, "torch.device": device, "torch.storage.UntypedStorage": _Storage("uint8"),
           "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "collections.defaultdict": defaultdict, "builtins.set": set, "builtins.frozenset": frozenset,
           "builtins.bytearray": bytearray, "builtins.complex": complex, "builtins.slice": slice, "builtins.range": range, "builtins.list": list, "builtins.dict": dict,
           "builtins.int": int, "builtins.float": float, "builtins.str": str, "builtins.bool": bool, "builtins.tuple": tuple}
_PLACES["_codecs.encode"] = codecs.encode # how bytes are pickled
_PLACES.update({"torch." + kind: _Storage(name) for kind, name in _DTYPES.items()})


safe_classes = [] # that load(weights_only=True) takes as well (serialization.add_safe_globals)


class _Refused(Exception):
    """A class that is not SAFE: (name)."""


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, storages, everything, place):
        super().__init__(file, encoding="utf-8")
        self.storages, self.everything, self.place = storages, everything, place

    def find_class(self, module, name):
        path = "%s.%s" % ({"__builtin__": "builtins"}.get(module, module), name)
        if path in _PLACES:
            return _PLACES[path]
        if module == "torch" and isinstance(getattr(_C, name, None), _C.dtype):
            return getattr(_C, name)
        if module in ("torch", "torch.serialization") and name in ("_get_layout",):
            return lambda text: getattr(_types, text.rpartition(".")[2])
        if path == "torch.nn.parameter.Parameter":
            from .nn.parameter import Parameter
            return Parameter
        for known in safe_classes:
            if known.__module__ == module and known.__qualname__ == name:
                return known
        if not self.everything:
            raise _Refused(path)
        if module == "torch" or module.startswith("torch."):
            import importlib
            return getattr(importlib.import_module("ctsc" + module[len("torch"):]), name)
        return super().find_class(module, name)

    def persistent_load(self, key):
        kind, storage, number, location = key[:4]
        dtype = storage.dtype
        return self.storages(number), dtype, self.place


def _mapping(f):
    """(the file's bytes, to be written to without changing the file)"""
    if isinstance(f, (bytes, bytearray, memoryview)):
        return bytearray(f)
    if hasattr(f, "read"):
        return bytearray(f.read())
    with open(f, "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY) if size else bytearray()


def is_saved(f):
    """Whether f is a zip with a data.pkl and no program: torch.save's."""
    try:
        with zipfile.ZipFile(io.BytesIO(f) if isinstance(f, (bytes, bytearray, memoryview)) else f) as z:
            names = z.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    ends = {n.partition("/")[2] for n in names}
    return "data.pkl" in ends and "constants.pkl" not in ends and not any(n.startswith("code/") for n in ends) and \
        all(i in ("data.pkl", "version", "byteorder", ".format_version", ".storage_alignment", ".data/serialization_id") or i.startswith("data/") for i in ends)


def load(f, place, everything):
    """place: "cuda", or None for the CPU. _Refused where a class is not safe."""
    from ._functions import frombuffer
    memory = _mapping(f)
    with zipfile.ZipFile(io.BytesIO(memory) if isinstance(memory, bytearray) else f) as z:
        infos = {i.filename: i for i in z.infolist()}
        root = next(n for n in infos if n.endswith("data.pkl"))[:-len("data.pkl")]
        order = z.read(root + "byteorder") if root + "byteorder" in infos else b"little"
        made = {}

        def storage(number):
            if number not in made:
                info = infos[root + "data/" + number]
                if info.compress_type != zipfile.ZIP_STORED:
                    made[number] = frombuffer(bytearray(z.read(info)), dtype=_C.uint8) if info.file_size else _C._operator("empty")([0], dtype=_C.uint8)
                elif info.file_size:
                    head = memory[info.header_offset + 26:info.header_offset + 30]
                    at = info.header_offset + 30 + head[0] + 256 * head[1] + head[2] + 256 * head[3]
                    part = memoryview(memory)[at:at + info.file_size]
                    made[number] = frombuffer(part if at % 16 == 0 else bytearray(part), dtype=_C.uint8)
                else:
                    made[number] = _C._operator("empty")([0], dtype=_C.uint8)
            return made[number]
        if order.strip() != b"little":
            raise _C.FileError("the file was written by a machine with another order of bytes")
        return _Unpickler(io.BytesIO(z.read(root + "data.pkl")), storage, everything, place).load()


# ---- saving

class _Pickler(pickle._Pickler):
    """Python's own, whose dispatch can be added to: names of torch stand for those of ctsc."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, 2)
        self.storages, self.kept = {}, []

    def persistent_id(self, x):
        return x.key if type(x) is _Stored else None

    def name(self, module, name):
        self.write(pickle.GLOBAL + module.encode() + b"\n" + name.encode() + b"\n")

    def call(self, module, name, args, obj):
        self.name(module, name)
        self.save(args)
        self.write(pickle.REDUCE)
        self.memoize(obj)

    def save(self, x, save_persistent_id=True):
        kind = type(x)
        if kind is Tensor or kind.__name__ in ("Parameter", "Buffer") and isinstance(x, Tensor):
            known = self.memo.get(id(x))
            if known is not None:
                return self.write(self.get(known[0]))
            return self.tensor(x, kind is not Tensor and kind.__name__ == "Parameter")
        if kind.__name__ in _SPARSE and isinstance(x, Tensor):
            known = self.memo.get(id(x))
            return self.write(self.get(known[0])) if known is not None else self.sparse(x)
        if kind is _types.layout:
            known = self.memo.get(id(x))
            return self.write(self.get(known[0])) if known is not None else self.call("torch.serialization", "_get_layout", ("torch." + x._name,), x)
        if kind is _C.dtype:
            return self.name("torch", x.name)
        if kind is Size:
            known = self.memo.get(id(x))
            return self.write(self.get(known[0])) if known is not None else self.call("torch", "Size", (tuple(x),), x)
        if kind is device:
            known = self.memo.get(id(x))
            return self.write(self.get(known[0])) if known is not None else self.call("torch", "device", (x.type,) if x.index is None else (x.type, x.index), x)
        return super().save(x, save_persistent_id)

    def sparse(self, t):
        parts = (t._i, t._v.detach()) if t.is_sparse else (t._c, t._p, t._v.detach())
        data = parts + (Size(int(k) for k in t.shape),) + ((bool(t._is),) if t.is_sparse else ())
        self.kept.append(data)
        self.call("torch._utils", "_rebuild_sparse_tensor", (t.layout, data), t)

    def tensor(self, t, parameter):
        refuse_serialisation(t)
        here = t.detach()
        where = str(here.device)
        here = here.cpu()
        metadata = {name: True for name, bit in (("conj", here.is_conj()), ("neg", here.is_neg())) if bit}
        here = in_memory(here)
        if here.dtype.name not in KINDS:
            raise NotImplementedError("tensors of %s are not saved" % here.dtype)
        address = here.data_ptr() - here.storage_offset() * here.dtype.itemsize if here.numel() else id(here)
        if address not in self.storages:
            self.storages[address] = str(len(self.storages)), [here]
        number, users = self.storages[address]
        users.append(here)
        self.kept.append(t)
        stored = _Stored(("storage", _StorageName(KINDS[here.dtype.name] + "Storage"), number, where, _reach(here)))
        args = (stored, here.storage_offset(), tuple(here.shape), tuple(here.stride()), False if parameter else bool(t.requires_grad and t.is_leaf), OrderedDict())
        args += (metadata,) if metadata else ()
        if not parameter:
            return self.call("torch._utils", "_rebuild_tensor_v2", args, t)
        self.name("torch._utils", "_rebuild_parameter")
        self.write(pickle.MARK)
        self.call("torch._utils", "_rebuild_tensor_v2", args, here)
        self.save(bool(t.requires_grad))
        self.save(OrderedDict())
        self.write(pickle.TUPLE + pickle.REDUCE)
        self.memoize(t)


class _Stored:
    def __init__(self, key):
        self.key = key


class _StorageName:
    def __init__(self, name):
        self.name = name


_Pickler.dispatch[_StorageName] = lambda self, x: self.name("torch", x.name)


def _reach(t):
    """How many elements its storage has up to its last one."""
    return t.storage_offset() + 1 + sum((int(n) - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else 0


def _bytes_of(users):
    """Of a storage, as far as any of its tensors reaches."""
    last = max(users, key=lambda t: _reach(t) * t.dtype.itemsize)
    n = _reach(last)
    if not n:
        return b""
    return bytes(memoryview(last.as_strided((n,), (1,), 0).view(_C.uint8)).cast("B"))


def fits(obj):
    """Whether save() knows all of obj."""
    kind = type(obj)
    if obj is None or kind in (bool, int, float, complex, str, bytes, _C.dtype, Size, device):
        return True
    if isinstance(obj, Tensor):
        return obj.dtype.name in KINDS and (kind is Tensor or kind.__name__ in _SPARSE or kind.__name__ in ("Parameter", "Buffer"))
    if kind.__module__ == "numpy" and hasattr(obj, "__array_interface__"): # arrays and numbers of NumPy's, pickled as such
        return not obj.dtype.hasobject
    if kind in (list, tuple, set, frozenset):
        return all(fits(x) for x in obj)
    return kind in (dict, OrderedDict) and all(fits(x) for item in obj.items() for x in item)


def save(obj, f):
    text = io.BytesIO()
    pickler = _Pickler(text)
    pickler.dump(obj)
    with zipfile.ZipFile(f if hasattr(f, "write") else os.fspath(f), "w", zipfile.ZIP_STORED) as z:
        def record(name, data):
            info = zipfile.ZipInfo("archive/" + name, (1980, 1, 1, 0, 0, 0))
            at = z.fp.tell() + 30 + len(info.filename) + 4
            info.extra = b"FB" + (-at % _ALIGNMENT).to_bytes(2, "little") + b"Z" * (-at % _ALIGNMENT)
            z.writestr(info, data)
        record("data.pkl", text.getvalue())
        record("byteorder", b"little")
        for number, users in pickler.storages.values():
            record("data/" + number, _bytes_of(users))
        record("version", b"3\n")
