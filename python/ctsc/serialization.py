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
