# SPDX-License-Identifier: Apache-2.0
"""rendezvous.py - torch.distributed.rendezvous: from an init_method to a store, a rank and a size."""
import os
import weakref
from urllib.parse import parse_qsl, urlparse

from .. import _launcher
from ._group import default_pg_timeout
from ._store import FileStore, HashStore, TCPStore

_handlers = {}
_open = weakref.WeakValueDictionary() # stores of this process by place: several parts of a program meet at one


def register_rendezvous_handler(scheme, handler):
    if scheme in _handlers:
        raise RuntimeError("Rendezvous handler for %s:// already registered" % scheme)
    _handlers[scheme] = handler


def rendezvous(url, rank=-1, world_size=-1, **kwargs):
    """Yields a store, the rank and the size."""
    if not isinstance(url, (str, bytes)):
        raise RuntimeError("`url` must be a string. %s: %s" % (type(url), url))
    parts = urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError("No rendezvous handler for %s://" % parts.scheme)
    query = dict(parse_qsl(parts.query))
    rank = int(query.get("rank", rank)) if rank == -1 else rank
    world_size = int(query.get("world_size", world_size)) if world_size == -1 else world_size
    return _handlers[parts.scheme](parts, rank, world_size, kwargs.get("timeout", default_pg_timeout))


def _lacks(scheme, what):
    return ValueError("Error initializing torch.distributed using %s:// rendezvous: %s" % (scheme, what))


def _file(parts, rank, world_size, timeout):
    path = parts.netloc + parts.path
    if not path:
        raise _lacks("file", "path missing")
    if rank == -1:
        raise _lacks("file", "rank parameter missing")
    if world_size == -1:
        raise _lacks("file", "world size parameter missing")
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _store_at(host, port, world_size, rank, timeout):
    store = _open.get((host, port))
    if store is None:
        store = _open[host, port] = TCPStore(host, port, world_size, rank == 0, timeout, wait_for_workers=False)
    return store


def _tcp(parts, rank, world_size, timeout):
    if not parts.port:
        raise _lacks("tcp", "port number missing")
    if rank == -1:
        raise _lacks("tcp", "rank parameter missing")
    if world_size == -1:
        raise _lacks("tcp", "world size parameter missing")
    yield _store_at(parts.hostname, parts.port, world_size, rank, timeout), rank, world_size


def _port(given):
    """MASTER_PORT; under torchrun itself, where a store of PyTorch's is, another that all ranks know from it, below those that systems give to connections. Each
    restart has its own."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return given
    return 10000 + (given + 7919 * int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)) % 20000


def _env(parts, rank, world_size, timeout):
    def get(name):
        if os.environ.get(name) is None:
            raise _lacks("env", "environment variable %s expected, but not set" % name)
        return os.environ[name]
    _launcher.apply()
    rank = int(get("RANK")) if rank == -1 else rank
    world_size = int(get("WORLD_SIZE")) if world_size == -1 else world_size
    if world_size == 1 and "MASTER_ADDR" not in os.environ: # there is nobody to be found
        store = HashStore()
        store.set_timeout(timeout)
    else:
        store = _store_at(get("MASTER_ADDR"), _port(int(get("MASTER_PORT"))), world_size, rank, timeout)
    yield store, rank, world_size


register_rendezvous_handler("file", _file)
register_rendezvous_handler("tcp", _tcp)
register_rendezvous_handler("env", _env)
