# SPDX-License-Identifier: Apache-2.0
"""_group.py - process groups, and handles of what runs on them: calls of ctsc_dist.h on ctsc's tensors."""
import ctypes
import datetime
import enum
import threading

from ctsc import _C
from ctsc.futures import Future

from . import _library
from ._library import library, milliseconds, tensors

default_pg_timeout = datetime.timedelta(minutes=30)


# ---- reductions ---------------------------------------------------------------------------------------------------------------


class RedOpType(enum.IntEnum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __repr__(self):
        return "<RedOpType.%s: %d>" % (self.name, self.value)

    def __str__(self):
        return "RedOpType." + self.name

    __format__ = lambda self, spec: format(str(self), spec)


class _Reductions(type):
    def __instancecheck__(cls, x):
        return isinstance(x, RedOpType) or type.__instancecheck__(cls, x)


class ReduceOp(metaclass=_Reductions):
    """ReduceOp.SUM and the others are members of RedOpType; ReduceOp(x) is one of them as well."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = RedOpType

    def __new__(cls, op):
        return RedOpType(op)


coalesced = threading.local() # its manager: the _coalescing_manager that calls of this thread belong to


# ---- backends -----------------------------------------------------------------------------------------------------------------


class Backend(str):
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL}
    _plugins = {}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def engine_of(backend):
    """The engine of tensors on the CPU: of "gloo", "cpu:gloo,cuda:nccl", None."""
    if not backend or backend == Backend.UNDEFINED:
        return Backend.GLOO
    parts = dict(p.split(":", 1) for p in backend.split(",") if ":" in p)
    engine = parts.get("cpu", next(iter(parts.values()))) if parts else backend
    if engine in ("nccl", "ucc", "xccl"):
        raise RuntimeError("Distributed package doesn't have %s built in" % engine.upper())
    if engine not in ("gloo", "mpi"):
        raise ValueError("Unknown backend '%s'. Specify a 'device:backend' string or use one of: %s" % (engine, sorted(Backend.default_device_backend_map.values())))
    return engine


# ---- works --------------------------------------------------------------------------------------------------------------------


class WorkFuture(Future):
    """The future of a work: whoever wants its value waits for the work."""

    def __init__(self, work):
        super().__init__()
        self._work, self._asked = work, threading.RLock()

    def wait(self):
        with self._asked:
            if not super().done():
                try:
                    self._work.wait()
                    self.set_result(self._work.result())
                except Exception as e:
                    self.set_exception(e)
        return super().wait()

    def value(self):
        return self.wait() if not super().done() else super().value()

    def done(self):
        return super().done() or (self._work.is_completed() and (self._settle() or super().done()))

    def _settle(self):
        try:
            self.wait()
        except Exception:
            pass

    def add_done_callback(self, callback):
        super().add_done_callback(callback)
        if not super().done():
            threading.Thread(target=self._settle, daemon=True).start()


class Work:
    """A call that runs, or is done."""

    def __init__(self, handle=None, kept=(), result=(), finish=None, timeout=None):
        self._handle, self._kept, self._result, self._finish, self._error = handle, kept, list(result), finish, None
        self._timeout, self._lock, self._source = timeout, threading.RLock(), -1

    def _end(self):
        """Called once after the work: finishes the results."""
        handle, self._handle = self._handle, None
        self._source = library().work_source(handle)
        library().work_free(handle)
        finish, self._finish, self._kept = self._finish, None, ()
        if finish and self._error is None:
            finish()

    def wait(self, timeout=None):
        with self._lock:
            if self._handle is not None:
                ms = -1 if timeout is None or not timeout.total_seconds() else milliseconds(timeout)
                try:
                    library().work_wait(self._handle, ms)
                except RuntimeError as e:
                    if ms >= 0 and not library().work_done(self._handle):
                        raise
                    self._error = e
                self._end()
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait
    block_current_stream = wait

    def is_completed(self):
        return self._handle is None or bool(library().work_done(self._handle))

    def is_success(self):
        return self.is_completed() and self.exception() is None

    def exception(self):
        if self.is_completed():
            try:
                self.wait()
            except RuntimeError:
                pass
        return self._error

    def result(self):
        return self._result

    def source_rank(self):
        return self._source

    def get_future(self):
        return WorkFuture(self)

    def __del__(self):
        if self._handle is not None:
            library().work_free(self._handle)


class _Several(Work):
    """Works as one."""

    def __init__(self, works, result=()):
        super().__init__(result=result)
        self._works = works

    def wait(self, timeout=None):
        for w in self._works:
            w.wait() if timeout is None else w.wait(timeout)
        return True

    def is_completed(self):
        return all(w.is_completed() for w in self._works)


Work.__module__ = _Several.__module__ = "torch.distributed.distributed_c10d"


def together(works, result=()):
    return _Several([w for w in works if w is not None], result)


# ---- groups -------------------------------------------------------------------------------------------------------------------


class ProcessGroup:
    def __init__(self, handle, ranks, backend, name, description, timeout, store):
        self._handle, self._ranks, self._backend, self.group_name, self.group_desc = handle, list(ranks), backend, name, description
        self._timeout, self._store, self._rank, self._held = timeout, store, library().rank(handle), None
        self.bound_device_id = None
        library().publish(handle, name.encode()) # for programs with collectives (_c10d_functional::*)

    def size(self):
        return len(self._ranks)

    def rank(self):
        return self._rank

    def name(self):
        return engine_of(self._backend)

    def get_group_store(self):
        return self._store

    def set_timeout(self, timeout):
        self._timeout = timeout
        library().group_set_timeout(self._handle, milliseconds(timeout))

    _set_default_timeout = set_timeout

    def _close(self):
        handle, self._handle = self._handle, None
        if handle:
            library().group_free(handle)

    shutdown = _close

    def abort(self):
        self._close()

    @property
    def _device_types(self):
        return [_C_device("cpu")]

    def run(self, op, inputs=(), outputs=(), root=0, reduce=0, tag=0, async_op=False, timeout=None, result=None):
        """A call of ctsc_dist_run on tensors. A Work if async_op, else None when it is done."""
        if self._handle is None:
            raise RuntimeError("the process group was destroyed")
        manager = getattr(coalesced, "manager", None)
        if manager is not None and not async_op:
            manager.append(self.run(op, inputs, outputs, root, reduce, tag, True, timeout, result))
            return None
        inputs, copies = [_on_host(t)[0] for t in inputs], [_on_host(t) for t in outputs]
        hosts = [h for h, _ in copies]
        for h, t in copies: # what an operation leaves as it is
            if h is not t and op in (_library.ALL_REDUCE, _library.BROADCAST):
                h.copy_(t)
        call = _library.Call(op, int(reduce), root, tag, -1 if timeout is None else milliseconds(timeout), len(inputs), len(outputs), tensors(inputs), tensors(hosts))
        handle = ctypes.c_void_p()
        library().run(self._handle, ctypes.byref(call), ctypes.byref(handle) if async_op else None)
        moved = [(h, t) for h, t in copies if h is not t]

        def finish():
            for h, t in moved:
                t.copy_(h)
        if not async_op:
            finish()
            return None
        return Work(handle, (inputs, hosts), outputs if result is None else result, finish if moved else None)

    # The methods of c10d's class, which take lists.
    def allreduce(self, tensors_, op=RedOpType.SUM, timeout=None):
        op = getattr(op, "reduceOp", op)
        return together([self.run(_library.ALL_REDUCE, [t], [t], reduce=op, async_op=True) for t in _list(tensors_)], _list(tensors_))

    def broadcast(self, tensors_, root=0, timeout=None):
        root = getattr(root, "rootRank", root)
        return together([self.run(_library.BROADCAST, [t], [t], root=root, async_op=True) for t in _list(tensors_)], _list(tensors_))

    def allgather(self, output_tensors, input_tensors, timeout=None):
        return together([self.run(_library.ALL_GATHER, [t], o, async_op=True) for o, t in zip(output_tensors, _list(input_tensors))], output_tensors)

    def barrier(self, opts=None, timeout=None):
        return self.run(_library.BARRIER, async_op=True)

    def send(self, tensors_, dst, tag):
        return self.run(_library.SEND, tensors_[:1], root=dst, tag=tag, async_op=True)

    def recv(self, tensors_, src, tag):
        return self.run(_library.RECV, (), tensors_[:1], root=src, tag=tag, async_op=True)


ProcessGroup.__module__ = "torch.distributed.distributed_c10d"


def _C_device(name):
    from ctsc._types import device
    return device(name)


def _list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _on_host(t):
    """What the engine reads or writes for a tensor, and the tensor: it itself, or memory of the host. Lazily conjugated elements are computed."""
    if t.device.type != "cpu":
        return t.detach().cpu(), t
    if t.dtype.is_complex and (t.is_conj() or t.is_neg()):
        return t.detach().resolve_conj().resolve_neg(), t
    return t, t


def is_tensor(x):
    return isinstance(x, _C.Tensor)
