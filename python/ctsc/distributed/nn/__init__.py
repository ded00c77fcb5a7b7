# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.nn: collectives with gradients, and modules in other processes."""
from .functional import *


def __getattr__(name):
    if name == "RemoteModule": # remote calls are loaded by those who need them
        from .api.remote_module import RemoteModule
        return RemoteModule
    raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
