# SPDX-License-Identifier: Apache-2.0
"""_shared.py - tensors whose memory other processes see: share_memory_().

The memory is a file without a name (memfd). Processes that are forked have it mapped; what multiprocessing pickles for others (Queue, Process under spawn, Pool) is where
the file is found, /proc/PID/fd/N, which holds as long as the process that made it lives. Other pickles hold the elements.
"""
import mmap
import os
import weakref

from . import _C

Tensor = _C.Tensor
_files = {} # address: (bytes, path, mapping as a weak reference)


def _forget(address, fd):
    _files.pop(address, None)
    if fd is not None:
        try:
            os.close(fd)
        except OSError:
            pass


def _mapped(mapping, nbytes, path, fd):
    """The memory as a tensor of bytes."""
    from ._functions import frombuffer
    whole = frombuffer(memoryview(mapping), dtype=_C.uint8)
    address = whole.data_ptr()
    _files[address] = nbytes, path, weakref.ref(mapping)
    weakref.finalize(mapping, _forget, address, fd)
    return whole


def _found(t):
    """(address, path) of the file that holds t."""
    at = t.data_ptr()
    for address, (nbytes, path, mapping) in list(_files.items()):
        if address <= at < address + max(nbytes, 1) and mapping() is not None:
            return address, path
    return None


def is_shared(t):
    return t.device.type == "cuda" or _found(t) is not None


def _typed(whole, offset, dtype, sizes, strides):
    n = dtype.itemsize
    return whole[offset:].view(_C.uint8)[:(whole.numel() - offset) // n * n].view(dtype).as_strided(sizes, strides) if whole.numel() > offset else \
        _C._operator("empty")(list(sizes), dtype=dtype)


def share(t):
    """t's elements move to memory that is shared; t stays the object that it is. Other views of the old memory stay there."""
    if is_shared(t) or t.device.type != "cpu":
        return t
    if not t.is_leaf:
        raise RuntimeError("Cowardly refusing to share a non-leaf tensor which requires_grad; detach() it first")
    _register()
    source = t.detach()
    nbytes = max(source.numel() * source.dtype.itemsize, 1)
    fd = os.memfd_create("ctsc-shared")
    try:
        os.ftruncate(fd, nbytes)
        mapping = mmap.mmap(fd, nbytes)
    except BaseException:
        os.close(fd)
        raise
    whole = _mapped(mapping, nbytes, "/proc/%d/fd/%d" % (os.getpid(), fd), fd)
    if source.numel():
        new = whole.view(source.dtype).reshape(tuple(source.shape))
        new.copy_(source)
        t.data = new
    return t


def _opened(path, nbytes):
    for address, (size, known, mapping) in list(_files.items()):
        held = mapping()
        if known == path and held is not None: # of this process, or mapped before
            from ._functions import frombuffer
            return frombuffer(memoryview(held), dtype=_C.uint8)
    with open(path, "r+b") as f:
        mapping = mmap.mmap(f.fileno(), nbytes)
    return _mapped(mapping, nbytes, path, None)


def _rebuild(kind, path, nbytes, offset, dtype, sizes, strides, requires_grad):
    t = _typed(_opened(path, nbytes), offset, dtype, sizes, strides)
    if kind is not Tensor:
        t = kind(t)
    t.requires_grad = requires_grad
    return t


def _reduce(t):
    place = _found(t) if t.device.type == "cpu" else None
    if place is None or not t.is_leaf:
        return t.__reduce_ex__(4)
    address, path = place
    return _rebuild, (type(t), path, _files[address][0], t.data_ptr() - address, t.dtype, tuple(t.shape), tuple(t.stride()), t.requires_grad)


_registered = [False]


def _register():
    """multiprocessing's pickles of shared tensors are where they are."""
    if _registered[0]:
        return
    _registered[0] = True
    from multiprocessing.reduction import ForkingPickler

    from .nn.parameter import Parameter
    ForkingPickler.register(Tensor, _reduce)
    ForkingPickler.register(Parameter, _reduce)
