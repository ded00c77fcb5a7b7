# SPDX-License-Identifier: Apache-2.0
"""worker.py - the other processes of a DataLoader: what they run, and how batches come back.

A batch is pickled without its tensors, whose elements are written to one file in the loader's own folder, in memory where there is /dev/shm. The loader's process maps
the file, takes its name away and makes tensors on the mapping: elements are copied once, by the worker. The folder goes with the iterator.
A worker ends when it is told to, or when the loader's process is gone; Ctrl-C is that process's affair.
"""
import io
import mmap
import os
import pickle
import queue
import random
import shutil
import signal
import sys
import traceback

from .. import _C
from .._functions import frombuffer, manual_seed

Tensor = _C.Tensor
_ALIGNMENT, _SMALL = 64, 4096
_info = None


class WorkerInfo:
    """id, num_workers, seed, dataset of a worker."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return "WorkerInfo(id=%d, num_workers=%d, seed=%d)" % (self.id, self.num_workers, self.seed)


def get_worker_info():
    """In a worker, which one it is; else None."""
    return _info


def share_folder():
    """A new folder for batches."""
    import tempfile
    place = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
    return tempfile.mkdtemp(prefix="ctsc-data-%d-" % os.getpid(), dir=place)


# ---- batches from process to process


class _Pickler(pickle.Pickler):
    def __init__(self, out):
        super().__init__(out, 4)
        self.tensors, self.size = [], 0

    def persistent_id(self, x):
        if type(x) is not Tensor or x._device_index != -1 or x.dtype.name.startswith("q") or x.numel() * x.dtype.itemsize < _SMALL:
            return None
        at = self.size
        self.tensors.append((at, x.detach().contiguous()))
        self.size += (x.numel() * x.dtype.itemsize + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        return at, x.dtype, tuple(x.shape)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data, memory):
        super().__init__(io.BytesIO(data))
        self.memory = memory

    def persistent_load(self, key):
        at, dtype, sizes = key
        n = dtype.itemsize
        for size in sizes:
            n *= size
        return frombuffer(memoryview(self.memory)[at:at + n], dtype=dtype).reshape(sizes)


def _bytes_of(t):
    return memoryview(t.reshape([-1]).view(_C.uint8)).cast("B")


def pack(batch, path):
    """(bytes, whether there is a file)"""
    out = io.BytesIO()
    pickler = _Pickler(out)
    pickler.dump(batch)
    if not pickler.tensors:
        return out.getvalue(), False
    try:
        with open(path, "xb", buffering=0) as f:
            for at, t in pickler.tensors:
                f.seek(at)
                raw = _bytes_of(t)
                while len(raw):
                    raw = raw[f.write(raw):]
            f.truncate(pickler.size)
    except OSError: # no room: through the pipe
        if os.path.exists(path):
            os.unlink(path)
        return pickle.dumps(batch, 4), False
    return out.getvalue(), True


def unpack(data, path):
    if path is None:
        return pickle.loads(data)
    with open(path, "r+b") as f:
        memory = mmap.mmap(f.fileno(), 0)
    os.unlink(path)
    return _Unpickler(data, memory).load()


class Failure:
    """An exception of a worker, to be raised again."""

    def __init__(self, where):
        kind, self.error, _ = sys.exc_info()
        self.kind, self.where, self.text = kind, where, traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(kind))
        except Exception:
            self.kind = RuntimeError
        self.error = None

    def reraise(self):
        text = "Caught %s %s.\nOriginal %s" % (self.kind.__name__, self.where, self.text)
        if self.kind is KeyError: # which shows its message as a repr
            raise KeyError(_Message(text))
        try:
            error = self.kind(text)
        except Exception: # it is made of something else than a message
            error = RuntimeError(text)
        raise error


class _Message(str):
    def __repr__(self):
        return str(self)


# ---- fetching


class MapFetcher:
    def __init__(self, dataset, collate, auto, drop_last):
        from .collate import default_collate
        self.dataset, self.collate, self.auto = dataset, collate, auto
        self.rows = getattr(dataset, "_rows", None) if auto and collate is default_collate else None

    def fetch(self, index):
        if not self.auto:
            return self.collate(self.dataset[index])
        if self.rows is not None:
            return self.rows(index)
        many = getattr(self.dataset, "__getitems__", None)
        return self.collate(many(index) if many is not None else [self.dataset[i] for i in index])


class IterableFetcher:
    def __init__(self, dataset, collate, auto, drop_last):
        self.items, self.collate, self.auto, self.drop_last, self.ended = iter(dataset), collate, auto, drop_last, False

    def fetch(self, index):
        """StopIteration: there is nothing more."""
        if self.ended:
            raise StopIteration
        if not self.auto:
            return self.collate(next(self.items))
        batch = []
        for _ in index:
            try:
                batch.append(next(self.items))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate(batch)


# ---- the process


def seed_all(seed):
    manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


END = "end"


def run(dataset, make_fetcher, fetcher_args, by_index, tasks, results, init, worker, workers, folder, parent):
    """A worker's life: tasks are ("epoch", base seed), (number, indices) and None, the end; results are (number, worker, bytes, file or None)."""
    global _info
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _C.set_num_threads(1)
    fetcher, failure, base = None, None, 0
    try:
        while True:
            try:
                task = tasks.get(timeout=5)
            except queue.Empty:
                if os.getppid() != parent:
                    shutil.rmtree(folder, ignore_errors=True)
                    return
                continue
            if task is None:
                return
            number, index = task
            if number == "epoch":
                first, base, fetcher, failure = _info is None, index, None, None
                _info = WorkerInfo(worker, workers, base + worker, dataset)
                seed_all(base + worker)
                try:
                    if first and init is not None:
                        init(worker)
                    fetcher = make_fetcher(dataset, *fetcher_args)
                except Exception:
                    failure = Failure("in DataLoader worker process %d" % worker)
                continue
            _answer(number, index, fetcher, failure, by_index, base, results, worker, folder)
    finally:
        results.cancel_join_thread()
        results.close()


def _answer(number, index, fetcher, failure, by_index, base, results, worker, folder):
    path = os.path.join(folder, "%d-%d" % (worker, number))
    shared = False
    if failure is None:
        try:
            if by_index: # the same numbers whichever worker it is
                seed_all(base + number)
            data, shared = pack(fetcher.fetch(index), path)
        except StopIteration:
            data = pickle.dumps(END)
        except Exception:
            failure = Failure("in DataLoader worker process %d" % worker)
    if failure is not None:
        data = pickle.dumps(failure)
    results.put((number, worker, data, path if shared else None))
