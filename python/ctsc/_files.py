# SPDX-License-Identifier: Apache-2.0
"""_files.py - load and save: which of the formats a file has, or is to have."""
import os

from . import _C, _pickled
from ._module import from_bytes, load as load_module, through_file
from ._objects import is_pickled, pickle_to, plain, unpickle
from ._types import device as _device

_op = _C._operator


def _located(map_location):
    """Where load's tensors go, which are on the CPU first: what a function or a dict says of these."""
    if isinstance(map_location, dict):
        map_location = map_location.get("cpu")
    elif callable(map_location) and not isinstance(map_location, _device):
        given = _op("empty")([0], device="cpu").untyped_storage()
        found = map_location(given, "cpu")
        map_location = None if found is None or found is given else found.device
    return map_location if map_location is None or isinstance(map_location, (str, _device)) else _device(map_location)


def _check_pickle(pickle_module, options=()):
    """What load and save are told of pickles: it is Python's, of version 2; texts in it are of Python 3."""
    if pickle_module is not None and getattr(pickle_module, "__name__", "").lstrip("_") not in ("pickle", "cPickle"):
        raise NotImplementedError("pickle_module: files are read and written by Python's pickle, not by %s" % getattr(pickle_module, "__name__", pickle_module))
    for name in options:
        if name not in ("encoding", "errors", "fix_imports", "buffers"):
            raise TypeError("load() got an unexpected keyword argument '%s'" % name)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """A module of torch.jit.save or ctsc (path, bytes or an open file), or what torch.save and NumPy wrote. Objects of other classes than PyTorch's tensors and
    Python's containers (save(net, path)) are read with weights_only=False, by Python's pickle: only of files that can be trusted."""
    _check_pickle(pickle_module, pickle_load_args)
    map_location = _located(map_location)
    if weights_only is False or weights_only is None:
        if is_pickled(f):
            if weights_only is None:
                raise _C.FileError("the file has objects of classes of its own: load(..., weights_only=False) reads it, where it can be trusted")
            return unpickle(f, map_location)
    if isinstance(f, (str, os.PathLike)):
        if os.fspath(f).endswith((".npy", ".npz")):
            return _moved(_C._value_load(os.fspath(f)), map_location)
        source, value = f, lambda: _C._value_load(os.fspath(f))
    else:
        if not isinstance(f, (bytes, bytearray, memoryview)) and not hasattr(f, "read"):
            raise TypeError("load() takes a path, the bytes of a file, or an open file, not %s" % type(f).__name__)
        source = bytes(f) if isinstance(f, (bytes, bytearray, memoryview)) else f.read()
        value = lambda: from_bytes(_C._value_load, source)
    try:
        return load_module(source, map_location)
    except _C.FileError as e:
        if _pickled.is_saved(source):
            try:
                return _pickled.load(source, None if map_location is None else str(map_location), weights_only is False)
            except _pickled._Refused as refused:
                raise _C.FileError("the file has objects of %s, a class of its own: load(..., weights_only=False) reads it, where it can be trusted, or "
                                   "serialization.add_safe_globals takes the class" % refused) from None
        try:
            found = value()
        except _C.Error:
            raise e from None
    return _moved(found, map_location)


def _moved(value, device):
    return value if device is None else _C._value_to(value, str(device))


def save(obj, f, pickle_module=None, pickle_protocol=None, _use_new_zipfile_serialization=True):
    """As torch.save; a module as torch.jit.save. What no PyTorch could read (objects of a program's own classes) is pickled by Python. Files are
    archives, which PyTorch reads since 1.6, whatever _use_new_zipfile_serialization asks for."""
    _check_pickle(pickle_module)
    if isinstance(obj, _C.ScriptModule):
        return obj.save(f)
    if _pickled.fits(obj):
        return _pickled.save(obj, f)
    known = plain(obj)
    if known is None:
        return pickle_to(obj, f)
    if isinstance(f, (str, os.PathLike)):
        return _C._value_save(known, os.fspath(f))
    f.write(through_file(lambda path: _C._value_save(known, path)))
