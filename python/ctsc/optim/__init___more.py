# SPDX-License-Identifier: Apache-2.0
# __init___more.py - optimisers that are written in Python, and swa_utils.
from .more import Adafactor, Muon, SparseAdam


def __getattr__(name):
    if name != 'swa_utils':
        raise AttributeError("module 'ctsc.optim' has no attribute '%s'" % name)
    import importlib
    return importlib.import_module('.swa_utils', __name__)
