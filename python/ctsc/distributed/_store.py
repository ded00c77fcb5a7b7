# SPDX-License-Identifier: Apache-2.0
"""_store.py - torch.distributed's stores: keys and values that all processes see (src/distributed/store.h)."""
import ctypes
import datetime

from ._library import DistStoreError, QueueEmptyError, library, milliseconds

DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


def _text(key):
    if not isinstance(key, str):
        raise TypeError("the keys of stores are strings, not %s" % type(key).__name__)
    return key.encode()


def _texts(keys):
    return (ctypes.c_char_p * len(keys))(*[_text(k) for k in keys])


def _data(value):
    return value if isinstance(value, bytes) else bytes(value) if isinstance(value, (bytearray, memoryview)) else str(value).encode()


class Store:
    """What all have. A subclass in Python overrides set, get, add, wait, check, delete_key, num_keys, compare_set."""

    _handle, _timeout = None, DEFAULT_TIMEOUT

    def _open(self, name, *args):
        handle = ctypes.c_void_p()
        getattr(library(), "store_" + name)(*args, ctypes.byref(handle))
        self._handle = handle

    def __del__(self):
        if self._handle:
            library().store_free(self._handle)
            self._handle = None

    @property
    def timeout(self):
        return self._timeout

    def set_timeout(self, timeout):
        self._timeout = timeout
        if self._handle:
            library().store_set_timeout(self._handle, milliseconds(timeout))

    def set(self, key, value):
        value = _data(value)
        library().store_set(self._handle, _text(key), value, len(value))

    def get(self, key, timeout=None):
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        library().store_get(self._handle, _text(key), -1 if timeout is None else milliseconds(timeout), ctypes.byref(data), ctypes.byref(size))
        return library().taken(data, size)

    def add(self, key, amount):
        total = ctypes.c_int64()
        library().store_add(self._handle, _text(key), amount, ctypes.byref(total))
        return total.value

    def append(self, key, value):
        value = _data(value)
        library().store_append(self._handle, _text(key), value, len(value))

    def compare_set(self, key, expected_value, desired_value):
        expected, desired = _data(expected_value), _data(desired_value)
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        library().store_exchange(self._handle, _text(key), expected, len(expected), desired, len(desired), ctypes.byref(data), ctypes.byref(size))
        return library().taken(data, size)

    def check(self, keys):
        there = ctypes.c_bool()
        library().store_check(self._handle, len(keys), _texts(keys), ctypes.byref(there))
        return there.value

    def wait(self, keys, timeout=None):
        library().store_wait(self._handle, len(keys), _texts(keys), -1 if timeout is None else milliseconds(timeout))

    def delete_key(self, key):
        there = ctypes.c_bool()
        library().store_delete(self._handle, _text(key), ctypes.byref(there))
        return there.value

    def num_keys(self):
        count = ctypes.c_int64()
        library().store_count(self._handle, ctypes.byref(count))
        return count.value

    def multi_get(self, keys):
        return [self.get(k) for k in keys]

    def multi_set(self, keys, values):
        for k, v in zip(keys, values):
            self.set(k, v)

    def has_extended_api(self):
        return True

    # A queue is two counters and a key for each value.
    def queue_push(self, key, value):
        self.set("%s/%d" % (key, self.add(key + "/pushed", 1)), value)

    def queue_pop(self, key, block=True):
        if not block and self.queue_len(key) <= 0:
            raise QueueEmptyError("queue is empty")
        name = "%s/%d" % (key, self.add(key + "/popped", 1))
        value = self.get(name)
        self.delete_key(name)
        return value

    def queue_len(self, key):
        return self.add(key + "/pushed", 0) - self.add(key + "/popped", 0)


class TCPStore(Store):
    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=DEFAULT_TIMEOUT, wait_for_workers=True, multi_tenant=False, master_listen_fd=None,
                 use_libuv=True):
        self._arguments = host_name, timeout
        self._open("tcp", host_name.encode(), int(port), bool(is_master), milliseconds(timeout))
        self._timeout = timeout
        if wait_for_workers and world_size is not None and int(world_size) > 0:
            self._meet(int(world_size), is_master)

    def _meet(self, size, waits):
        """Says that this process has come; the one that has the store waits for all."""
        if self.add("ctsc/workers", 1) == size:
            self.set("ctsc/all_workers", b"1")
        if not waits:
            return
        try:
            self.wait(["ctsc/all_workers"])
        except DistStoreError:
            raise DistStoreError("Timed out after %d seconds waiting for clients. %d/%d clients joined." % (
                self._timeout.total_seconds(), self.add("ctsc/workers", 0), size)) from None

    @property
    def host(self):
        return self._arguments[0]

    @property
    def port(self):
        return library().store_port(self._handle)

    def clone(self):
        return TCPStore(self.host, self.port, timeout=self._timeout)


class FileStore(Store):
    def __init__(self, file_name, world_size=-1):
        self.path, self._users = file_name, world_size
        self._open("file", file_name.encode(), max(int(world_size), 0), milliseconds(DEFAULT_TIMEOUT))

    def clone(self):
        return FileStore(self.path)


class HashStore(Store):
    def __init__(self):
        self._open("memory", milliseconds(DEFAULT_TIMEOUT))


class PrefixStore(Store):
    """Another store, each of whose keys begins with a prefix."""

    def __init__(self, prefix, store):
        self.underlying_store, self._prefix = store, prefix

    timeout = property(lambda self: self.underlying_store.timeout)

    def _name(self, key):
        return "%s/%s" % (self._prefix, _text(key).decode())

    def set_timeout(self, timeout):
        self.underlying_store.set_timeout(timeout)

    def set(self, key, value):
        self.underlying_store.set(self._name(key), value)

    def get(self, key, timeout=None):
        return self.underlying_store.get(self._name(key)) if timeout is None else self.underlying_store.get(self._name(key), timeout)

    def add(self, key, amount):
        return self.underlying_store.add(self._name(key), amount)

    def append(self, key, value):
        self.underlying_store.append(self._name(key), value)

    def compare_set(self, key, expected_value, desired_value):
        return self.underlying_store.compare_set(self._name(key), expected_value, desired_value)

    def check(self, keys):
        return self.underlying_store.check([self._name(k) for k in keys])

    def wait(self, keys, timeout=None):
        names = [self._name(k) for k in keys]
        self.underlying_store.wait(names) if timeout is None else self.underlying_store.wait(names, timeout)

    def delete_key(self, key):
        return self.underlying_store.delete_key(self._name(key))

    def num_keys(self):
        return self.underlying_store.num_keys()

    def clone(self):
        return PrefixStore(self._prefix, self.underlying_store.clone())


def handle_of(store):
    """The library's store below prefixes, and its owner; None for one that a program wrote."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store._handle, store
