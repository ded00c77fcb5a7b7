# SPDX-License-Identifier: Apache-2.0
"""sitecustomize.py - under AddressSanitizer: what NumPy keeps of its import is no leak (of Python's objects one frame is known, which no suppression can tell by)."""
import builtins
import ctypes
import sys

_process, _import = ctypes.CDLL(None), builtins.__import__


def _importing(name, *args, **kwargs):
    if name.partition(".")[0] != "numpy" or "numpy" in sys.modules:
        return _import(name, *args, **kwargs)
    _process.__lsan_disable()
    try:
        return _import(name, *args, **kwargs)
    finally:
        _process.__lsan_enable()


builtins.__import__ = _importing
