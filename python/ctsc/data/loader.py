# SPDX-License-Identifier: Apache-2.0
"""loader.py - DataLoader: batches of a data set, in the order that PyTorch's loader gives under the same seed.

With workers, batch k is made by worker k modulo their number, and batches come in order. Before each batch of a data set with indices a worker's random numbers begin at
the epoch's seed plus k: what is drawn does not depend on how many workers there are. Without workers they are the process's own, and go on.
"""
import multiprocessing
import os
import queue
import shutil
import time
import weakref

from . import worker
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed


class _Endless(Sampler):
    """Of iterable data sets: there are no indices."""

    def __iter__(self):
        while True:
            yield None


class DataLoader:
    """for batch in DataLoader(dataset, batch_size=32, shuffle=True): the arguments are those of torch.utils.data.DataLoader."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False, drop_last=False,
                 timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, otherwise set "
                             "prefetch_factor to None.")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if num_workers == 0 and multiprocessing_context is not None:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0")
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn, self.generator = dataset, num_workers, timeout, worker_init_fn, generator
        self.prefetch_factor, self.persistent_workers = 2 if prefetch_factor is None and num_workers else prefetch_factor, persistent_workers
        if isinstance(multiprocessing_context, str):
            multiprocessing_context = multiprocessing.get_context(multiprocessing_context)
        self.multiprocessing_context = multiprocessing_context
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler options")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = _Endless() if self._iterable else RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_sampler is not None else default_convert)
        self.pin_memory, self._kept = pin_memory, None

    @property
    def _index_sampler(self):
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _fetching(self):
        """(class, its arguments)"""
        return worker.IterableFetcher if self._iterable else worker.MapFetcher, (self.collate_fn, self.batch_sampler is not None, self.drop_last)

    def __len__(self):
        if self._iterable:
            n = len(self.dataset)
            if self.batch_size is not None:
                n = n // self.batch_size if self.drop_last else (n + self.batch_size - 1) // self.batch_size
            return n
        return len(self._index_sampler)

    def __iter__(self):
        if self.num_workers == 0:
            return _here(self)
        if not self.persistent_workers:
            return _Epochs(self)
        if self._kept is None or self._kept.closed:
            self._kept = _Epochs(self)
        else:
            self._kept.begin(self)
        return self._kept

    def __getstate__(self):
        return dict(self.__dict__, _kept=None)


class _here:
    """Batches made by this process."""

    def __init__(self, loader):
        kind, args = loader._fetching()
        self._indices = iter(loader._index_sampler)
        draw_seed(loader.generator) # workers' in PyTorch, which draws it in any case
        self._fetcher = kind(loader.dataset, *args)

    def __iter__(self):
        return self

    def __next__(self):
        return self._fetcher.fetch(next(self._indices))


def _stop(pid, processes, queues, results, folder):
    """Ends the workers: those that are busy are told by a signal."""
    if os.getpid() != pid: # a copy in a forked process
        return
    for q in queues:
        try:
            q.put(None)
        except (OSError, ValueError):
            pass
    until = time.monotonic() + 1
    for p in processes:
        p.join(max(0.0, until - time.monotonic()))
    for p in processes:
        if p.is_alive():
            p.terminate()
            p.join(1)
        if p.is_alive():
            p.kill()
            p.join()
    for q in queues + [results]:
        q.cancel_join_thread()
        q.close()
    shutil.rmtree(folder, ignore_errors=True)


class _Epochs:
    """Batches made by workers."""

    def __init__(self, loader):
        context = loader.multiprocessing_context or multiprocessing
        kind, args = loader._fetching()
        self._by_index, self._timeout, self._workers = not loader._iterable, loader.timeout, loader.num_workers
        self._ahead = max(1, loader.prefetch_factor) * self._workers
        self._folder = worker.share_folder()
        self._results, self._queues, self._processes = context.Queue(), [], []
        self._close = weakref.finalize(self, _stop, os.getpid(), self._processes, self._queues, self._results, self._folder)
        try:
            for i in range(self._workers):
                tasks = context.Queue()
                tasks.cancel_join_thread()
                p = context.Process(target=worker.run, daemon=True, args=(loader.dataset, kind, args, self._by_index, tasks, self._results, loader.worker_init_fn, i,
                                                                          self._workers, self._folder, os.getpid()))
                self._queues.append(tasks)
                self._processes.append(p)
                p.start()
            self.begin(loader)
        except BaseException:
            self._processes[:] = [p for p in self._processes if p.pid is not None]
            self._close()
            raise

    @property
    def closed(self):
        return not self._close.alive

    def begin(self, loader):
        """An epoch."""
        while getattr(self, "_pending", None): # of an epoch that was left
            self._receive()
        self._persistent = loader.persistent_workers
        self._indices = iter(loader._index_sampler)
        seed = draw_seed(loader.generator) & 0x7FFFFFFFFFFFFF
        for q in self._queues:
            q.put(("epoch", seed))
        self._sent, self._next, self._pending, self._arrived, self._alive = 0, 0, set(), {}, [True] * self._workers
        self._give()

    def _give(self):
        while len(self._pending) + len(self._arrived) < self._ahead and any(self._alive):
            who = self._sent % self._workers
            if self._alive[who]:
                try:
                    index = next(self._indices)
                except StopIteration:
                    return
                self._queues[who].put((self._sent, index))
                self._pending.add(self._sent)
            else:
                self._arrived[self._sent] = None
            self._sent += 1

    def _receive(self):
        begun = time.monotonic()
        while True:
            try:
                number, who, data, path = self._results.get(timeout=min(self._timeout or 1, 1))
                break
            except queue.Empty:
                dead = [p for p in self._processes if not p.is_alive()]
                if dead:
                    raise RuntimeError("DataLoader worker (pid(s) %s) exited unexpectedly" % ", ".join(str(p.pid) for p in dead)) from None
                if self._timeout and time.monotonic() - begun >= self._timeout:
                    raise RuntimeError("DataLoader timed out after %s seconds" % self._timeout) from None
        self._pending.discard(number)
        batch = worker.unpack(data, path)
        if isinstance(batch, str) and batch == worker.END:
            self._alive[who], batch = False, None
            self._arrived[number] = None
        else:
            self._arrived[number] = (batch,)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            while True:
                if self.closed:
                    raise StopIteration
                self._give()
                if not self._pending and not self._arrived:
                    if not self._persistent:
                        self._close()
                    raise StopIteration
                while self._next not in self._arrived:
                    self._receive()
                found = self._arrived.pop(self._next)
                self._next += 1
                if found is None:
                    continue
                self._give()
                if isinstance(found[0], worker.Failure):
                    found[0].reraise()
                return found[0]
        except StopIteration:
            raise
        except BaseException: # Ctrl-C among them
            self._close()
            raise


# PyTorch's names of the iterators, which libraries ask isinstance of.
class _IsIterator(type):
    def __instancecheck__(cls, x):
        return isinstance(x, cls.kinds)


class _BaseDataLoaderIter(metaclass=_IsIterator):
    kinds = (_here, _Epochs)


_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = _here, _Epochs
