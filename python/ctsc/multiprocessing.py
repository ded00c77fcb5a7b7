# SPDX-License-Identifier: Apache-2.0
"""multiprocessing.py - torch.multiprocessing: Python's. Tensors in shared memory (share_memory_) stay in it, others travel by pickling."""
import multiprocessing as _mp
from multiprocessing import *

from ._shared import _register

_register()


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """fn(i, *args) in nprocs processes."""
    context = _mp.get_context(start_method)
    processes = [context.Process(target=fn, args=(i,) + tuple(args), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    if not join:
        return processes
    for p in processes:
        p.join()
    for i, p in enumerate(processes):
        if p.exitcode:
            raise RuntimeError("process %d terminated with exit code %d" % (i, p.exitcode))


def set_sharing_strategy(strategy):
    pass


def get_sharing_strategy():
    return "file_system"


def get_all_sharing_strategies():
    return {"file_system"}
