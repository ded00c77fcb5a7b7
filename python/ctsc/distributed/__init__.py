# SPDX-License-Identifier: Apache-2.0
"""torch.distributed: processes that work together (docs/distributed.md). The layers below are those of src/distributed/dist.h."""
import importlib as _importlib

from ._group import Backend, ProcessGroup, ReduceOp, Work, default_pg_timeout
from ._library import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from ._objects import (all_gather_object, broadcast_object_list, gather_object, recv_object_list, scatter_object_list, send_object_list)
from .device_mesh import DeviceMesh, init_device_mesh
from ._store import FileStore, HashStore, PrefixStore, Store, TCPStore
from .distributed_c10d import *
from .distributed_c10d import _all_gather_base, _coalescing_manager, _get_default_group, _reduce_scatter_base
from .rendezvous import register_rendezvous_handler, rendezvous

_MODULES = ("distributed_c10d", "constants", "nn", "rpc", "algorithms", "tensor", "fsdp", "optim", "checkpoint", "pipelining", "elastic", "autograd", "_functional_collectives")


def is_available():
    return True


def __getattr__(name):
    if name in _MODULES:
        return _importlib.import_module("." + name, __name__)
    raise AttributeError("module 'torch.distributed' has no attribute '%s'" % name)
