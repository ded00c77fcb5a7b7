# SPDX-License-Identifier: Apache-2.0
"""linalg.py - ctsc.linalg: the operators that torch.linalg has."""
from . import _C
from ._errors import LinAlgError


def __getattr__(name):
    value = None if name.startswith("_") else _C._operator("linalg_" + name)
    if value is None:
        raise AttributeError("module 'ctsc.linalg' has no attribute '%s'" % name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(n[len("linalg_"):] for n in _C._operator_names() if n.startswith("linalg_"))
