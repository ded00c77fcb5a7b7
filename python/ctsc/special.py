# SPDX-License-Identifier: Apache-2.0
"""special.py - ctsc.special: the operators that torch.special has."""
from . import _C


def __getattr__(name):
    value = None if name.startswith("_") else _C._operator("special_" + name)
    if value is None:
        raise AttributeError("module 'ctsc.special' has no attribute '%s'" % name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(n[len("special_"):] for n in _C._operator_names() if n.startswith("special_"))
