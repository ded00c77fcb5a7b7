# SPDX-License-Identifier: Apache-2.0
"""_library.py - libctsc-dist.so (ctsc_dist.h), opened when a group or a store is first asked for: its structures, and calls that raise."""
import ctypes
import os

from ctsc import _C

VERSION = 1
PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "libctsc-dist.so")
(ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, GATHER, SCATTER, REDUCE_SCATTER, ALL_TO_ALL, BARRIER, SEND, RECV) = range(11)
LIMIT, UNSUPPORTED, ENVIRONMENT = 5, 4, 6 # of ctsc_status
# Numbers of dtypes (ctsc_dtype).
DTYPES = {getattr(_C, name): number for name, number in (
    ("uint8", 0), ("int8", 1), ("int16", 2), ("int32", 3), ("int64", 4), ("float16", 5), ("float32", 6), ("float64", 7), ("complex64", 9), ("complex128", 10),
    ("bool", 11), ("bfloat16", 15), ("float8_e5m2", 23), ("float8_e4m3fn", 24), ("float8_e5m2fnuz", 25), ("float8_e4m3fnuz", 26), ("uint16", 27), ("uint32", 28),
    ("uint64", 29), ("float8_e8m0fnu", 44))}


class DistError(RuntimeError):
    pass


class DistBackendError(DistError):
    pass


class DistNetworkError(DistError):
    pass


class DistStoreError(DistError):
    pass


class QueueEmptyError(DistStoreError):
    pass


for _kind in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _kind.__module__ = "torch.distributed"


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("ndim", ctypes.c_int), ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


class Call(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("reduce", ctypes.c_int), ("root", ctypes.c_int), ("tag", ctypes.c_int), ("timeout_ms", ctypes.c_int64),
                ("n_in", ctypes.c_size_t), ("n_out", ctypes.c_size_t), ("inputs", ctypes.POINTER(Tensor)), ("outputs", ctypes.POINTER(Tensor))]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 1024)]

    @property
    def text(self):
        return self.message.decode("utf-8", "replace")


_pointer, _int, _long, _size, _text = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_size_t, ctypes.c_char_p
_error, _bytes = ctypes.POINTER(Error), ctypes.c_char_p
_out, _out_long, _out_size, _out_bool = (ctypes.POINTER(t) for t in (_pointer, _long, _size, ctypes.c_bool))
_texts = ctypes.POINTER(_text)
# Functions that return a status, and end with the error.
_FALLIBLE = {
    "store_tcp": (_text, _int, ctypes.c_bool, _long, _out), "store_file": (_text, _int, _long, _out), "store_memory": (_long, _out),
    "store_set": (_pointer, _text, _bytes, _size), "store_get": (_pointer, _text, _long, _out, _out_size), "store_add": (_pointer, _text, _long, _out_long),
    "store_append": (_pointer, _text, _bytes, _size), "store_exchange": (_pointer, _text, _bytes, _size, _bytes, _size, _out, _out_size),
    "store_check": (_pointer, _size, _texts, _out_bool), "store_wait": (_pointer, _size, _texts, _long), "store_delete": (_pointer, _text, _out_bool),
    "store_count": (_pointer, _out_long),
    "init": (_text, _pointer, _int, _int, _long, _text, _out), "subgroup": (_pointer, _int, ctypes.POINTER(_int), _long, _text, _out),
    "publish": (_pointer, _text), "run": (_pointer, ctypes.POINTER(Call), _out), "work_wait": (_pointer, _long),
    "mail_open": (_pointer, _text, _int, _text, _out), "mail_send": (_pointer, _int, _bytes, _size), "mail_receive": (_pointer, _long, _out, _out_size),
}
_PLAIN = {
    "version": (_int,), "free": (None, _pointer), "store_free": (None, _pointer), "store_port": (_int, _pointer), "store_set_timeout": (None, _pointer, _long),
    "group_free": (None, _pointer), "rank": (_int, _pointer), "size": (_int, _pointer), "has_engine": (ctypes.c_bool, _text, _error),
    "group_set_timeout": (None, _pointer, _long), "work_done": (ctypes.c_bool, _pointer), "work_source": (_int, _pointer), "work_free": (None, _pointer),
    "mail_free": (None, _pointer),
}


class _Library:
    """Its functions without their prefix. Those that can fail raise."""

    def __init__(self, path):
        self.opened = ctypes.CDLL(path)
        for name, types in _PLAIN.items():
            f = getattr(self.opened, "ctsc_dist_" + name)
            f.restype, f.argtypes = types[0], types[1:]
            setattr(self, name, f)
        if self.version() != VERSION:
            raise DistError("%s belongs to another version of ctsc" % path)
        for name, types in _FALLIBLE.items():
            f = getattr(self.opened, "ctsc_dist_" + name)
            f.restype, f.argtypes = _int, types + (_error,)
            setattr(self, name, self._raising(f, DistStoreError if name.startswith("store") else RuntimeError))

    @staticmethod
    def _raising(f, kind):
        def call(*args):
            error = Error()
            if f(*args, ctypes.byref(error)):
                raise (DistNetworkError if kind is DistStoreError and error.status == ENVIRONMENT else kind)(error.text)
        return call

    def taken(self, data, size):
        """Bytes that the library gave, and memory that it frees."""
        value = ctypes.string_at(data, size.value)
        self.free(data)
        return value


_opened = []


def library():
    if not _opened:
        path = os.environ.get("CTSC_DIST") or PATH
        try:
            _opened.append(_Library(path))
        except OSError as e:
            raise DistError("no collectives between processes: %s" % e) from None
    return _opened[0]


def has_engine(name):
    """None, or why there is none."""
    error = Error()
    try:
        return None if library().has_engine(name.encode(), ctypes.byref(error)) else error.text
    except DistError as e:
        return str(e)


def milliseconds(timeout):
    return max(0, int(timeout.total_seconds() * 1000))


def tensors(list_of):
    """Tensors as the library takes them."""
    made = (Tensor * len(list_of))()
    for one, t in zip(made, list_of):
        number = DTYPES.get(t.dtype)
        if number is None:
            raise RuntimeError("Invalid scalar type")
        one.data, one.dtype = t.data_ptr(), number
        if t.is_contiguous():
            one.ndim, one.sizes = 1, (ctypes.c_int64 * 1)(t.numel())
        else:
            one.ndim, one.sizes, one.strides = t.dim(), (ctypes.c_int64 * t.dim())(*t.shape), (ctypes.c_int64 * t.dim())(*t.stride())
    return made
