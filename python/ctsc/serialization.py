# SPDX-License-Identifier: Apache-2.0
"""serialization.py - torch.serialization: load and save."""
import contextlib
import os
import sys
import typing

from . import _C
from ._files import load, save
from ._pickled import safe_classes as _known


def add_safe_globals(safe_globals):
    """Classes that load(weights_only=True) takes beside tensors and Python's containers."""
    _known.extend(g for g in safe_globals if g not in _known)


def clear_safe_globals():
    _known.clear()


def get_safe_globals():
    return list(_known)


@contextlib.contextmanager
def safe_globals(safe_globals):
    before = list(_known)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _known[:] = before


def get_unsafe_globals_in_checkpoint(f):
    """Names of classes and functions in a file that load(weights_only=True) would not take."""
    import pickletools
    import zipfile
    with zipfile.ZipFile(f) as z:
        data = z.read(next(n for n in z.namelist() if n.endswith("/data.pkl")))
    known = {"%s.%s" % (c.__module__, c.__qualname__) for c in _known}
    found, strings = set(), []
    for op, arg, _ in pickletools.genops(data):
        if op.name in ("SHORT_BINUNICODE", "BINUNICODE", "UNICODE"):
            strings.append(arg)
        name = arg.replace(" ", ".") if op.name == "GLOBAL" else ".".join(strings[-2:]) if op.name == "STACK_GLOBAL" else ""
        if name and not name.startswith(("torch.", "ctsc.", "collections.", "builtins.", "_codecs.")) and name not in known:
            found.add(name)
    return sorted(found)


FileLike = typing.Union[str, "os.PathLike[str]", typing.IO[bytes]]
MAP_LOCATION = typing.Optional[typing.Union[typing.Callable[[typing.Any, str], typing.Any], _C.device, str, typing.Dict[str, str]]]
DEFAULT_PROTOCOL, PROTOCOL_VERSION, MAGIC_NUMBER = 2, 1001, 0x1950a86a20f9469cfc6c
LONG_SIZE, INT_SIZE, SHORT_SIZE = 8, 4, 2
STORAGE_KEY_SEPARATOR = ","


class SourceChangeWarning(Warning):
    """A module's source is not the one that it was saved with."""


class LoadEndianness:
    """Byte orders of files."""

    NATIVE, LITTLE, BIG = 1, 2, 3


def get_default_load_endianness():
    """The byte order of files that do not say theirs; None: this machine's."""
    return None


def set_default_load_endianness(endianness):
    """Files that do not say their byte order are of this machine's."""
    if endianness not in (None, LoadEndianness.NATIVE, LoadEndianness.LITTLE if sys.byteorder == "little" else LoadEndianness.BIG):
        raise NotImplementedError("files of another byte order are not read")


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether a module's __version__ is at least this one."""
    try:
        return tuple(int(part) for part in module.__version__.split(".")[:len(req_version_tuple)]) >= tuple(req_version_tuple)
    except Exception as e:
        message = "'%s' module version string is malformed '%s' and cannot be compared with tuple %s" % (module.__name__, module.__version__, str(req_version_tuple))
        if error_if_malformed:
            raise RuntimeError(message) from e
        return True


def location_tag(storage):
    """How files name the device of a storage."""
    device = _C.device(storage.device)
    return "cuda:%d" % (device.index or 0) if device.type == "cuda" else device.type


def default_restore_location(storage, location):
    """The storage on the device that a file names."""
    if location.split(":")[0] in ("cpu", "cuda", "meta"):
        return storage if location_tag(storage) == location else storage.to(location) if hasattr(storage, "to") else storage
    raise RuntimeError("don't know how to restore data location of %s (tagged with %s)" % (type(storage).__name__, location))
