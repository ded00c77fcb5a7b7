# SPDX-License-Identifier: Apache-2.0
"""serialization.py - torch.serialization: load and save."""
import contextlib

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
