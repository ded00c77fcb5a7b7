# SPDX-License-Identifier: Apache-2.0
# __init___more.py - optimisers that are written in Python, and swa_utils.
import sys as _sys

from .more import Adafactor, Muon, SparseAdam

# PyTorch has a module for each.
for _name in 'adadelta adafactor adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd sparse_adam'.split():
    _sys.modules.setdefault(__name__ + '.' + _name, _sys.modules[__name__])


def __getattr__(name):
    if name != 'swa_utils':
        raise AttributeError("module 'ctsc.optim' has no attribute '%s'" % name)
    import importlib
    return importlib.import_module('.swa_utils', __name__)
