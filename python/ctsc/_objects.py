# SPDX-License-Identifier: Apache-2.0
"""_objects.py - files of objects that are more than tensors and containers, as torch.save(net, path) writes: a zip with Python's pickle, in which tensors are
pickled as themselves. Only load(path, weights_only=False) reads them, since a pickle can run anything."""
import io
import os
import pickle
import zipfile
from collections import OrderedDict, defaultdict

from . import _C
from ._tensor import _rebuild
from ._types import Size, device, layout, memory_format

_RECORD = "ctsc/objects.pkl"
_PLAIN = (type(None), bool, int, float, complex, str, bytes, _C.Tensor, _C.dtype, _C.ScriptObject, Size, device, layout, memory_format)


def plain(obj):
    """obj as the library saves it; None: it has something of another kind."""
    kind = type(obj)
    if obj is None or isinstance(obj, _PLAIN):
        return obj
    if kind is list or kind is tuple:
        return obj if all(x is None or plain(x) is not None for x in obj) else None
    if kind in (dict, OrderedDict, defaultdict):
        return obj if all((x is None or plain(x) is not None) for item in obj.items() for x in item) else None
    if isinstance(obj, tuple) or hasattr(obj, "__array_interface__"):
        return obj
    return None


def pickle_to(obj, f):
    text = pickle.dumps(obj, protocol=4)
    with zipfile.ZipFile(f if hasattr(f, "write") else os.fspath(f), "w") as z:
        z.writestr(_RECORD, text)


def _opened(f):
    return io.BytesIO(f) if isinstance(f, (bytes, bytearray, memoryview)) else f if hasattr(f, "read") else os.fspath(f)


def is_pickled(f):
    """Whether pickle_to wrote it: by its first bytes, a zip whose first record is ours."""
    head = b"PK\x03\x04"
    try:
        if isinstance(f, (bytes, bytearray, memoryview)):
            start = bytes(f[:64])
        elif hasattr(f, "read"):
            at = f.tell()
            start = f.read(64)
            f.seek(at)
        elif isinstance(f, (str, os.PathLike)):
            with open(f, "rb") as opened:
                start = opened.read(64)
        else:
            return False
    except (OSError, ValueError, AttributeError):
        return False
    return start[:4] == head and start[30:30 + len(_RECORD)] == _RECORD.encode()


class _Unpickler(pickle.Unpickler):
    """Tensors come to a place."""

    def __init__(self, file, place):
        super().__init__(file)
        self.place = place

    def find_class(self, module, name):
        found = super().find_class(module, name)
        if found is not _rebuild or self.place is None:
            return found

        def placed(*args):
            t = found(*args)
            if t.device.type != self.place.type:
                t.data = t.detach().to(self.place)
            return t
        return placed


def unpickle(f, place):
    with zipfile.ZipFile(_opened(f)) as z:
        return _Unpickler(io.BytesIO(z.read(_RECORD)), place if place is None else device(place)).load()
