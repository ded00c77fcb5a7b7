# SPDX-License-Identifier: Apache-2.0
"""multiprocessing.py - torch.multiprocessing: Python's. Tensors in shared memory (share_memory_) stay in it, others travel by pickling."""
import multiprocessing as _mp
import sys
import types
from multiprocessing import *

from ._shared import _register

_register()


class ProcessException(Exception):
    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process that spawn started ended with an exception."""


class ProcessExitedException(ProcessException):
    """A process that spawn started ended by a signal or with a status."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


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


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", **options):
    return spawn(fn, args, nprocs, join, daemon, start_method)


class _Spawn(types.ModuleType):
    """torch.multiprocessing.spawn is a module and a function."""

    def __call__(self, *args, **kwargs):
        return _spawn(*args, **kwargs)


_spawn = spawn
spawn = sys.modules[__name__ + ".spawn"] = _Spawn(__name__ + ".spawn", "Runs a function in several new processes: fn(i, *args).")
spawn.__dict__.update(spawn=_spawn, start_processes=start_processes, ProcessException=ProcessException, ProcessRaisedException=ProcessRaisedException,
                      ProcessExitedException=ProcessExitedException)
