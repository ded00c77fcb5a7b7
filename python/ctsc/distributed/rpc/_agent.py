# SPDX-License-Identifier: Apache-2.0
"""_agent.py - messages between the processes of torch.distributed.rpc: requests, their answers, time-outs.

A message is the pickle of (kind, number, sender, payload); ZeroMQ carries it (src/distributed/mail.c). One thread receives; what is asked runs in a pool of
threads. A request is answered by a message with its number. What is in messages is api.py's."""
import ctypes
import heapq
import io
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from ctsc import _C
from ctsc.futures import Future

from .._library import Error, library

ANSWER, FAILURE = "answer", "failure"
LOOK_MS = 100 # how long the receiver sleeps while nothing comes


class WorkerInfo:
    def __init__(self, name, id):
        self.name, self.id = name, id

    def __repr__(self):
        return "WorkerInfo(id=%d, name=%s)" % (self.id, self.name)

    def __eq__(self, other):
        return isinstance(other, WorkerInfo) and (self.name, self.id) == (other.name, other.id)

    def __hash__(self):
        return hash((self.name, self.id))

    @property
    def _ctsc_value_(self):
        """What a script sees of it: something that it can only hand on."""
        return _C._future(self)


class _Pickler(pickle.Pickler):
    """References to remote values are packed for the process that gets them."""

    def __init__(self, file, to):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.to = to

    def reducer_override(self, obj):
        pack = getattr(type(obj), "_packed_for", None)
        return NotImplemented if pack is None else pack(obj, self.to)


class Agent:
    def __init__(self, store, prefix, self_info, workers, host, threads, answer):
        self.info, self.workers, self.by_name = self_info, workers, {w.name: w for w in workers}
        self._answer, self._pending, self._deadlines, self._number, self._lock = answer, {}, [], 0, threading.Condition()
        self._pool, self._stopped, self._store = ThreadPoolExecutor(threads), False, store
        self._mail = ctypes.c_void_p()
        library().mail_open(store._handle, prefix.encode(), self_info.id, host.encode(), ctypes.byref(self._mail))
        self._thread = threading.Thread(target=self._receive, name="rpc", daemon=True)

    def start(self):
        self._thread.start()

    def find(self, to):
        if isinstance(to, WorkerInfo):
            return to
        if isinstance(to, int) and 0 <= to < len(self.workers):
            return self.workers[to]
        if to not in self.by_name:
            raise RuntimeError("name:%s,rank:%d could not find destination name %s" % (self.info.name, self.info.id, to))
        return self.by_name[to]

    # ---- out

    def send(self, to, kind, payload, number=0):
        file = io.BytesIO()
        _Pickler(file, to).dump((kind, number, self.info.id, payload))
        self._send(to, file.getvalue())

    def _send(self, to, data):
        if not self._stopped:
            library().mail_send(self._mail, to.id, data, len(data))

    def ask(self, to, kind, payload, timeout, future=None):
        """A future of the answer: (ok, value)."""
        made = Future() if future is None else future
        with self._lock:
            self._number += 1
            number = self._number
            self._pending[number] = made
            if timeout > 0:
                heapq.heappush(self._deadlines, (time.monotonic() + timeout, number, timeout))
        try:
            self.send(to, kind, payload, number)
        except BaseException:
            with self._lock:
                self._pending.pop(number, None)
            raise
        return made

    # ---- in

    def _receive(self):
        data, size, error = ctypes.c_void_p(), ctypes.c_size_t(), Error()
        receive = library().opened.ctsc_dist_mail_receive
        while not self._stopped:
            if receive(self._mail, LOOK_MS, ctypes.byref(data), ctypes.byref(size), ctypes.byref(error)) == 0:
                self._take(library().taken(data, size))
            self._expire()

    def _take(self, data):
        try:
            kind, number, sender, payload = pickle.loads(data)
        except Exception as e: # a class that this process lacks: whoever asked hears of it
            self._refuse(data, e)
            return
        if kind in (ANSWER, FAILURE):
            self._settle(number, (kind == ANSWER, payload))
        else:
            self._pool.submit(self._run, kind, number, self.workers[sender], payload)

    def _refuse(self, data, error):
        """The number and the sender are plain, and come before what cannot be read."""
        class Head(pickle.Unpickler):
            def find_class(self, module, name):
                return lambda *a, **k: None
        try:
            kind, number, sender, _ = Head(io.BytesIO(data)).load()
        except Exception:
            return
        if kind in (ANSWER, FAILURE):
            self._settle(number, (False, error))
        elif number:
            self.send(self.workers[sender], FAILURE, error, number)

    def _run(self, kind, number, sender, payload):
        try:
            value = self._answer(kind, sender, payload)
        except BaseException as e:
            self.reply(sender, number, False, e)
            return
        if isinstance(value, Future):
            value.add_done_callback(lambda f: self._reply_future(sender, number, f))
        else:
            self.reply(sender, number, True, value)

    def _reply_future(self, sender, number, future):
        try:
            value = future.wait()
        except BaseException as e:
            self.reply(sender, number, False, e)
        else:
            self.reply(sender, number, True, value)

    def reply(self, sender, number, ok, value):
        if not number:
            return
        try:
            self.send(sender, ANSWER if ok else FAILURE, value, number)
        except Exception as e: # what cannot be pickled
            self.send(sender, FAILURE, RuntimeError("%s: %s" % (type(e).__name__, e)), number)

    def _settle(self, number, outcome):
        with self._lock:
            future = self._pending.pop(number, None)
            self._lock.notify_all()
        if future is not None:
            future.set_result(outcome)

    def _expire(self):
        late = []
        with self._lock:
            while self._deadlines and (self._deadlines[0][0] <= time.monotonic() or self._deadlines[0][1] not in self._pending):
                _, number, timeout = heapq.heappop(self._deadlines)
                if number in self._pending:
                    late.append((number, timeout))
        for number, timeout in late:
            self._settle(number, (False, _Late("RPCErr:1:RPC ran for more than set timeout (%d ms) and will now be marked with an error" % (timeout * 1000))))

    # ---- the end

    def drain(self):
        """Until all that this process asked for is answered."""
        with self._lock:
            while self._pending:
                self._lock.wait(LOOK_MS / 1000)

    def stop(self):
        self._stopped = True
        self._thread.join()
        self._pool.shutdown(wait=False)
        library().mail_free(self._mail)


class _Late(RuntimeError):
    """The time of a request is over."""
