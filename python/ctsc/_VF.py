# SPDX-License-Identifier: Apache-2.0
"""_VF.py - operators by name, as torch._VF."""
from . import _C


def __getattr__(name):
    value = None if name.startswith("__") else _C._operator(name)
    if value is None:
        raise AttributeError(name)
    globals()[name] = value
    return value
