# SPDX-License-Identifier: Apache-2.0
"""fft.py - ctsc.fft: the operators that torch.fft has."""
from . import _C


def __getattr__(name):
    value = None if name.startswith("_") else _C._operator("fft_" + name)
    if value is None:
        raise AttributeError("module 'ctsc.fft' has no attribute '%s'" % name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(n[len("fft_"):] for n in _C._operator_names() if n.startswith("fft_"))
