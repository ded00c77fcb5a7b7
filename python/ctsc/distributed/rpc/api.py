# SPDX-License-Identifier: Apache-2.0
"""api.py - torch.distributed.rpc: calls, and references to values that other processes own (RRef).

Counting. An owner keeps a value as long as there is a fork: a reference in another process, with an id of its own. Whoever sends a reference on makes the fork's
id; the owner knows of it before it may forget the sender's: the sender keeps its own reference until the receiver, which has told the owner, says so (CONFIRM)."""
import functools
import atexit
import datetime
import enum
import os
import socket
import sys
import threading
import traceback
import types

from ctsc import _C
from ctsc.futures import Future

from .. import autograd
from .._store import PrefixStore, handle_of
from ..rendezvous import rendezvous
from . import constants
from ._agent import Agent, WorkerInfo, _Late

CALL, REMOTE, FETCH, FORK, DELETE, CONFIRM = "call", "remote", "fetch", "fork", "delete", "confirm"


class BackendType(enum.Enum):
    TENSORPIPE = "TENSORPIPE"


class RpcBackendOptions:
    def __init__(self, rpc_timeout=constants.DEFAULT_RPC_TIMEOUT_SEC, init_method="env://", **more):
        self.rpc_timeout, self.init_method, self.num_worker_threads = rpc_timeout, init_method, constants.DEFAULT_NUM_WORKER_THREADS


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    def __init__(self, *, num_worker_threads=constants.DEFAULT_NUM_WORKER_THREADS, rpc_timeout=constants.DEFAULT_RPC_TIMEOUT_SEC, init_method="env://", device_maps=None,
                 devices=None, _transports=None, _channels=None):
        super().__init__(rpc_timeout, init_method)
        self.num_worker_threads, self.device_maps, self.devices = num_worker_threads, device_maps or {}, devices or []

    def set_device_map(self, to, device_map):
        self.device_maps[to] = device_map

    def set_devices(self, devices):
        self.devices = devices


class _State:
    """What this process has of rpc between init_rpc and shutdown."""

    def __init__(self, agent, store, timeout):
        self.agent, self.store, self.timeout, self.lock, self.made = agent, store, timeout, threading.RLock(), 0
        self.owned, self.sent = {}, {} # ids to values; forks that are on their way to the references that they were made of

    def new_id(self):
        with self.lock:
            self.made += 1
            return self.agent.info.id, self.made

    def value(self, rref_id):
        with self.lock:
            return self.owned.setdefault(rref_id, _Owned())

    def count(self, rref_id, by):
        """More or fewer references of this process; the last one of all takes the value with it."""
        with self.lock:
            held = self.owned.get(rref_id) if by < 0 else self.value(rref_id)
            if held is None:
                return
            held.local += by
            if not held.local and not held.forks:
                del self.owned[rref_id]


class _Owned:
    """A value, which may come later, and who refers to it."""

    def __init__(self):
        self.future, self.forks, self.local = Future(), set(), 0 # local: references of this process, also those on their way to it


_state, _starts = [None], [0]
autograd.rpc[0] = sys.modules[__name__]


def _need():
    if _state[0] is None:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
    return _state[0]


def _require_initialized(func):
    @functools.wraps(func)
    def checked(*args, **kwargs):
        _need()
        return func(*args, **kwargs)
    return checked


def is_available():
    return True


def get_rpc_timeout():
    return _need().timeout


# ---- the beginning and the end ------------------------------------------------------------------------------------------------


def _address(store):
    """That of this machine, as the one with the store sees it."""
    owner = handle_of(store)[1]
    host = getattr(owner, "host", None)
    if not host:
        return "127.0.0.1"
    try:
        family, kind, _, _, where = socket.getaddrinfo(host, owner.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as s:
            s.connect(where)
            return s.getsockname()[0]
    except OSError:
        return socket.gethostname()


def init_rpc(name, backend=None, rank=-1, world_size=None, rpc_backend_options=None):
    if _state[0] is not None:
        raise RuntimeError("RPC is already initialized")
    if backend is not None and not isinstance(backend, BackendType):
        raise TypeError("Argument backend must be a member of BackendType")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    options = TensorPipeRpcBackendOptions() if rpc_backend_options is None else rpc_backend_options
    store, rank, world_size = next(rendezvous(options.init_method, rank, -1 if world_size is None else world_size))
    _starts[0] += 1
    prefix = "rpc/%d" % _starts[0]
    named = PrefixStore(prefix, store)
    named.set("name/%d" % rank, name)
    workers = [WorkerInfo(named.get("name/%d" % r).decode(), r) for r in range(world_size)]
    if len({w.name for w in workers}) != world_size:
        raise RuntimeError("RPC worker name %s is not unique." % name)
    agent = Agent(handle_of(store)[1], prefix, workers[rank], workers, _address(store), options.num_worker_threads, _answer)
    _state[0] = _State(agent, named, float(options.rpc_timeout))
    agent.start()
    _meet(_state[0], "ready")


def _meet(state, stage, all_wait=True):
    """Until all processes are here; all_wait False: only the first one waits, which has the store."""
    state.store.set("%s/%d" % (stage, state.agent.info.id), b"1")
    if all_wait or state.agent.info.id == 0:
        state.store.wait(["%s/%d" % (stage, w.id) for w in state.agent.workers])


def shutdown(graceful=True, timeout=constants.DEFAULT_SHUTDOWN_TIMEOUT):
    state = _need()
    if timeout:
        state.store.set_timeout(datetime.timedelta(seconds=timeout))
    try:
        if graceful:
            state.agent.drain()
            _meet(state, "idle")
            _meet(state, "down", all_wait=False)
    finally:
        _state[0] = None
        state.agent.stop()


@atexit.register
def _forget():
    if _state[0] is not None: # the program has not called shutdown: threads end with the process
        _state[0].agent._stopped, _state[0] = True, None


# ---- calls --------------------------------------------------------------------------------------------------------------------


class RemoteException:
    def __init__(self, msg, exception_type=None):
        self.msg, self.exception_type = msg, exception_type

    def made(self):
        try:
            return self.exception_type(self.msg)
        except BaseException as e:
            return RuntimeError("Failed to create original exception type. Error msg was %s Original exception on remote side was %s" % (e, self.msg))


def _failed(e):
    """What is sent of an exception."""
    text = "On %s:\n%r\n%s" % (_need().agent.info, e, "".join(traceback.format_exception(type(e), e, e.__traceback__)))
    print(text, file=sys.stderr)
    return RemoteException(text, RuntimeError if isinstance(e, _C.ScriptError) else type(e)) # classes of scripts' exceptions are of one process


def _invoke(func, args, kwargs):
    """The value, a future of it, or a RemoteException."""
    try:
        result = func(*args, **kwargs)
        if hasattr(func, "_wrapped_async_rpc_function") and not isinstance(result, Future):
            raise RuntimeError("Functions decorated with @rpc.async_function must return a torch.futures.Future object, but got %r" % (result,))
        if not hasattr(func, "_wrapped_async_rpc_function"):
            return result
    except Exception as e:
        return _failed(e)

    def settled(f):
        try:
            return f.wait()
        except Exception as e:
            return _failed(e)
    return result.then(settled)


def _answer(kind, sender, payload):
    """What another process asks for; runs in a thread of the pool."""
    state = _need()
    if kind == CALL:
        return _invoke(*payload)
    if kind == REMOTE:
        rref_id, fork, call = payload
        state.value(rref_id).forks.add(fork)
        _fulfil(state.value(rref_id), _invoke(*call))
        return None
    if kind == FETCH:
        return state.value(payload).future
    if kind == FORK:
        rref_id, fork = payload
        state.value(rref_id).forks.add(fork)
    elif kind == DELETE:
        rref_id, fork = payload
        with state.lock:
            held = state.owned.get(rref_id)
            if held is not None:
                held.forks.discard(fork)
                if not held.forks and not held.local:
                    del state.owned[rref_id]
    elif kind == CONFIRM:
        with state.lock:
            state.sent.pop(payload, None)
    return None


def _fulfil(owned, value):
    if isinstance(value, Future):
        value.add_done_callback(lambda f: owned.future.set_result(f.value()))
    else:
        owned.future.set_result(value)


def _check(func, args, kwargs):
    if not callable(func):
        raise TypeError("function should be callable.")
    return func, tuple(args) if args else (), dict(kwargs) if kwargs else {}


def _timeout(timeout):
    return _need().timeout if timeout == constants.UNSET_RPC_TIMEOUT else timeout


def _raised(e):
    """An exception of a call as its future raises it: errors of values and types keep their class."""
    kind = ValueError if isinstance(e, ValueError) else TypeError if isinstance(e, TypeError) else RuntimeError
    return kind("%s: %s" % (type(e).__name__, e))


def _own(e):
    """An exception that no user's code raised."""
    return RuntimeError(str(e)) if isinstance(e, _Late) else _raised(e)


def _unpack(outcome):
    ok, value = outcome
    if isinstance(value, RemoteException):
        raise _raised(value.made())
    if not ok:
        raise _own(value)
    return value


def _asked(state, to, call, timeout, finish):
    """A future of finish(value of the call)."""
    made = Future()

    def done(f):
        try:
            made.set_result(finish(_unpack(f.value())))
        except Exception as e:
            made.set_exception(e)
    answer = Future()
    answer.add_done_callback(done)
    state.agent.ask(to, CALL, call, _timeout(timeout), answer)
    return made


def _plain_async(to, func, args):
    """A call that is not part of a context."""
    state = _need()
    return _asked(state, state.agent.find(to), (func, args, {}), constants.UNSET_RPC_TIMEOUT, lambda value: value)


def _traced(state, to, call, held, run):
    """The call as one of a context of distributed autograd."""
    func, args, kwargs = call
    held.workers.add(to.id)
    return run, (held.number, state.agent.info.id, func, autograd.leave(held, (args, kwargs))), {}


def rpc_async(to, func, args=None, kwargs=None, timeout=constants.UNSET_RPC_TIMEOUT):
    state, call = _need(), _check(func, args, kwargs)
    to, held = state.agent.find(to), autograd.current()
    if held is None or hasattr(func, "_wrapped_async_rpc_function"):
        return _asked(state, to, call, timeout, lambda value: value)
    return _asked(state, to, _traced(state, to, call, held, autograd.traced), timeout, lambda packed: autograd.arrive(held.number, to.id, packed))


def rpc_sync(to, func, args=None, kwargs=None, timeout=constants.UNSET_RPC_TIMEOUT):
    return rpc_async(to, func, args, kwargs, timeout).wait()


def remote(to, func, args=None, kwargs=None, timeout=constants.UNSET_RPC_TIMEOUT):
    state, call = _need(), _check(func, args, kwargs)
    to, rref_id, held = state.agent.find(to), state.new_id(), autograd.current()
    if held is not None and not hasattr(func, "_wrapped_async_rpc_function"):
        call = _traced(state, to, call, held, autograd.traced_value)
    if to == state.agent.info:
        owned = state.value(rref_id)
        made = RRef._refer(state, to, rref_id, None)
        state.agent._pool.submit(lambda: _fulfil(owned, _invoke(*call)))
        return made
    fork = state.new_id()
    made = RRef._refer(state, to, rref_id, fork)
    made._creation = state.agent.ask(to, REMOTE, (rref_id, fork, call), _timeout(timeout))
    return made


def get_worker_info(worker_name=None):
    state = _need()
    return state.agent.info if worker_name is None else state.agent.find(worker_name)


# ---- references ---------------------------------------------------------------------------------------------------------------


def _rref_method(rref, name, args, kwargs):
    return getattr(rref.local_value(), name)(*args, **kwargs)


def _local_value(rref):
    return rref.local_value()


def _rref_async_method(rref, name, args, kwargs):
    return getattr(rref.local_value(), name)(*args, **kwargs)


_rref_async_method._wrapped_async_rpc_function = _rref_async_method


def _backward(rref, context_id, retain_graph):
    rref.backward(context_id, retain_graph)


def _rref_type(rref):
    return type(rref.local_value())


def _script_type(v):
    """The type of a value, as scripts write it."""
    if isinstance(v, _C.Tensor) or v is None:
        return "None" if v is None else "torch.Tensor"
    if type(v) in (bool, int, float, str, complex):
        return type(v).__name__
    parts = list(dict.fromkeys(map(_script_type, v))) if type(v) in (list, dict) else []
    if type(v) is list and len(parts) == 1:
        return "_ctsc_typing.List[%s]" % parts[0]
    if type(v) is dict and len(parts) == 1 and len(set(map(_script_type, v.values()))) == 1:
        return "_ctsc_typing.Dict[%s, %s]" % (parts[0], _script_type(next(iter(v.values()))))
    if type(v) is tuple:
        return "_ctsc_typing.Tuple[%s]" % ", ".join(map(_script_type, v))
    raise RuntimeError("a script has no type for the value of an RRef of %s" % type(v).__name__)


def _rref_script_type(rref):
    return _script_type(rref.local_value())


class _Proxy:
    """Methods of the value, called where it is."""

    def __init__(self, rref, call, timeout):
        self.__dict__.update(_rref=rref, _call=call, _timeout=timeout)

    def __getattr__(self, name):
        rref, call = self._rref, self._call
        kind = rref._get_type()
        function = None if issubclass(kind, _C.ScriptModule) else getattr(kind, name) # methods of compiled modules are each object's
        runner = _rref_async_method if hasattr(function, "_wrapped_async_rpc_function") else _rref_method
        return lambda *args, **kwargs: call(rref.owner(), runner, args=(rref, name, args, kwargs), timeout=self._timeout)


class RRef:
    """A reference to a value that one process owns."""

    def __init__(self, value, type_hint=None):
        state = _need()
        rref_id = state.new_id()
        self._set(state, state.agent.info, rref_id, None)
        state.count(rref_id, 1)
        state.value(rref_id).future.set_result(value)

    def __class_getitem__(cls, item):
        return types.GenericAlias(cls, item)

    @classmethod
    def _refer(cls, state, owner, rref_id, fork):
        made = cls.__new__(cls)
        made._set(state, owner, rref_id, fork)
        if fork is None:
            state.count(rref_id, 1)
        return made

    def _set(self, state, owner, rref_id, fork):
        self._state, self._owner, self._id, self._fork, self._creation, self._type = state, owner, rref_id, fork, None, None

    def owner(self):
        return self._owner

    def owner_name(self):
        return self._owner.name

    def is_owner(self):
        return self._fork is None

    def confirmed_by_owner(self):
        return self._creation is None or self._creation.done()

    def local_value(self):
        if not self.is_owner():
            raise RuntimeError("For %s, can't call localValue() on user %s. Call it on owner %s" % (repr(self).replace(" = ", "=").replace("RRefId", "rref_id").replace("ForkId", "fork_id"),
                                                                                                  self._state.agent.info, self._owner))
        return self._held(self._state.value(self._id).future.wait())

    @staticmethod
    def _held(value):
        if isinstance(value, RemoteException):
            raise value.made()
        return value

    def to_here(self, timeout=constants.UNSET_RPC_TIMEOUT):
        if self.is_owner():
            return self.local_value()
        if autograd.current() is not None:
            return rpc_sync(self._owner, _local_value, args=(self,), timeout=timeout)
        state = _need()
        ok, value = state.agent.ask(self._owner, FETCH, self._id, _timeout(timeout)).wait()
        if not ok:
            raise _own(value)
        return self._held(value)

    _ctsc_wait_ = to_here

    @property
    def _ctsc_value_(self):
        """What a script sees of it."""
        return _C._future(self)

    def _get_type(self, timeout=constants.UNSET_RPC_TIMEOUT, blocking=True):
        if self._type is None:
            self._type = _rref_type(self) if self.is_owner() else rpc_sync(self._owner, _rref_type, args=(self,), timeout=timeout)
        return self._type

    def _script_type(self):
        """That of the value."""
        return _rref_script_type(self) if self.is_owner() else rpc_sync(self._owner, _rref_script_type, args=(self,))

    def _get_future(self):
        made = Future()
        source = self._creation if self._creation is not None else self._state.value(self._id).future
        source.add_done_callback(lambda f: made.set_result(None))
        return made

    def backward(self, dist_autograd_ctx_id=-1, retain_graph=False):
        if not self.is_owner():
            rpc_sync(self._owner, _backward, args=(self, dist_autograd_ctx_id, retain_graph))
        elif dist_autograd_ctx_id < 0:
            self.local_value().backward(retain_graph=retain_graph)
        else:
            autograd.backward(dist_autograd_ctx_id, [self.local_value()], retain_graph)

    def rpc_sync(self, timeout=constants.UNSET_RPC_TIMEOUT):
        return _Proxy(self, rpc_sync, timeout)

    def rpc_async(self, timeout=constants.UNSET_RPC_TIMEOUT):
        return _Proxy(self, rpc_async, timeout)

    def remote(self, timeout=constants.UNSET_RPC_TIMEOUT):
        return _Proxy(self, remote, timeout)

    def __repr__(self):
        unique = "GloballyUniqueId(created_on=%d, local_id=%d)"
        if self.is_owner():
            return "OwnerRRef(%s)" % (unique % self._id)
        return "UserRRef(RRefId = %s, ForkId = %s)" % (unique % self._id, unique % self._fork)

    def __reduce__(self):
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")

    def _packed_for(self, to):
        """The reference as it is sent to a process: the receiver turns the message into a reference again."""
        state = self._state
        if to == self._owner:
            if self.is_owner():
                state.count(self._id, 1) # until it has arrived
            return _arrived, (self._owner.id, self._id, None, state.agent.info.id, self._kept(state, state.new_id()))
        fork = state.new_id()
        if self.is_owner():
            state.value(self._id).forks.add(fork)
            return _arrived, (self._owner.id, self._id, fork, -1, None)
        return _arrived, (self._owner.id, self._id, fork, state.agent.info.id, self._kept(state, fork))

    def _kept(self, state, mark):
        """This reference lives until the receiver confirms."""
        if self.is_owner():
            return None
        with state.lock:
            state.sent[mark] = self
        return mark

    def __del__(self):
        state = self.__dict__.get("_state")
        if state is None or _state[0] is not state:
            return
        if self._fork is None:
            state.count(self._id, -1)
            return
        gone = (self._id, self._fork)
        after = self._creation

        def tell(_=None):
            try:
                state.agent.send(self_owner, DELETE, gone)
            except Exception: # the process ends
                pass
        self_owner = self._owner
        tell() if after is None else after.add_done_callback(tell)


def _arrived(owner, rref_id, fork, parent, mark):
    """A reference out of a message."""
    state = _need()
    who = state.agent.workers[owner]
    made = RRef._refer(state, who, rref_id, fork)
    if fork is None and mark is None:
        state.count(rref_id, -1)
    if mark is not None:
        told = Future()
        told.add_done_callback(lambda _: state.agent.send(state.agent.workers[parent], CONFIRM, mark))
        if fork is None:
            told.set_result(None)
        else:
            state.agent.ask(who, FORK, (rref_id, fork), state.timeout, told)
    return made


RRef.__module__ = "torch.distributed.rpc"
