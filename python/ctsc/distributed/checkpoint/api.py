# SPDX-License-Identifier: Apache-2.0
"""api.py - torch.distributed.checkpoint: save and load, by all ranks of a group together, across other numbers of ranks."""
import concurrent.futures
import enum
import os
import threading
import traceback
import uuid

from ctsc import _C
from ctsc.autograd import no_grad

from .. import _objects
from .. import distributed_c10d as dist
from . import metadata as md
from .filesystem import FileSystemReader, FileSystemWriter, packed, unpacked
from .planner import flatten, part, put

Sizes = md.Sizes


class CheckpointException(BaseException):
    """Failures by rank."""

    def __init__(self, msg, failures):
        super().__init__(msg, failures)
        self._failures = failures

    failures = property(lambda self: self._failures)

    def __str__(self):
        text = "CheckpointException ranks:%s\n" % self._failures.keys()
        for rank, (error, trace) in self._failures.items():
            text += "Traceback (most recent call last): (RANK %d)\n%s%s: %s\n" % (rank, "".join(trace), type(error).__name__, error)
        return text


CheckpointException.__module__ = "torch.distributed.checkpoint.api"


class _Ranks:
    """The ranks of a group, or this process alone; a step in which one fails fails on all."""

    def __init__(self, group, no_dist):
        self.alone = no_dist or not dist.is_initialized()
        self.group = None if self.alone else dist._group_or_default(group)
        self.rank, self.size = (0, 1) if self.alone else (self.group.rank(), self.group.size())

    def all(self, name, step):
        """What step() gives on each rank."""
        try:
            mine = (step(), None)
        except Exception as e:
            mine = (None, (e, traceback.format_list(traceback.extract_tb(e.__traceback__))))
        found = [mine]
        if not self.alone:
            found = [None] * self.size
            try:
                _objects.all_gather_object(found, mine, group=self.group)
            except (TypeError, AttributeError): # an exception that cannot be sent
                _objects.all_gather_object(found, (None, (RuntimeError(str(mine[1][0])), mine[1][1])), group=self.group)
        failures = {r: f[1] for r, f in enumerate(found) if f[1] is not None}
        if failures:
            raise CheckpointException(name, failures)
        return [f[0] for f in found]

    def first(self, name, step):
        """What step() gives on rank 0."""
        return self.all(name, step if self.rank == 0 else lambda: None)[0]


def _is_stateful(x):
    return hasattr(x, "state_dict") and hasattr(x, "load_state_dict")


def _written(flat):
    """[(key, object or tensor, offset or None)] that this rank could write, and the sizes of tensors."""
    items, sizes = [], {}
    for key, x in flat.items():
        if not isinstance(x, _C.Tensor):
            items.append((key, x, None))
            continue
        memory, offset, first = part(x)
        sizes[key] = (tuple(x.shape), x.dtype, tuple(x.stride()), bool(x.requires_grad))
        if first and (memory.numel() or not x.numel()):
            items.append((key, memory, offset))
    return items, sizes


def _shared_out(lists):
    """Who writes what several ranks have: the lowest of them."""
    taken, found = set(), []
    for keys in lists:
        found.append([k for k in keys if not (k in taken or taken.add(k))])
    return found


def _staged(state_dict):
    """What this rank could write, as it is now: items, sizes, paths."""
    flat, paths = flatten({k: v.state_dict() if _is_stateful(v) else v for k, v in state_dict.items()})
    return (*_written(flat), paths)


def _write(writer, ranks, items, sizes, paths):
    ranks.first("begin", lambda: writer.begin(True))
    told = ranks.all("plan", lambda: ([(k, o, tuple(x.shape) if o is not None else None) for k, x, o in items], sizes, paths))
    mine = set(_shared_out([[(k, o) for k, o, _ in keys] for keys, _, _ in told])[ranks.rank])

    def write():
        chosen = [(md.MetadataIndex(k, None if o is None else Sizes(o)), packed(x.clone() if o is not None else x)) for k, x, o in items if (k, o) in mine]
        return writer.write(ranks.rank, chosen)
    results = ranks.all("write", write)

    def finish():
        made = _metadata(told, results)
        made.storage_meta = md.StorageMeta(str(writer.checkpoint_id), str(uuid.uuid4()))
        writer.end(made)
        return None
    ranks.first("finish", finish)
    return _metadata(told, results) if ranks.rank == 0 else None


@no_grad()
def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False, use_collectives=True):
    """Writes a checkpoint, after those that async_save has begun; its Metadata on rank 0."""
    writer = _storage(storage_writer, checkpoint_id, FileSystemWriter, "storage_writer")
    _Beside.settle()
    return _write(writer, _Ranks(process_group, no_dist), *_staged(state_dict))


def _metadata(told, results):
    of, planner_data, chunks = {}, {}, {}
    for keys, sizes, paths in told:
        planner_data.update(paths)
        for key, (size, dtype, stride, requires_grad) in sizes.items():
            of.setdefault(key, md.TensorStorageMetadata(md.TensorProperties(dtype, None, requires_grad, None, False, stride), Sizes(size), []))
        for key, offset, size in keys:
            if offset is None:
                of.setdefault(key, md.BytesStorageMetadata())
            elif offset not in chunks.setdefault(key, {}):
                chunks[key][offset] = len(chunks[key])
                of[key].chunks.append(md.ChunkStorageMetadata(Sizes(offset), Sizes(size)))
    stored = {}
    for found in results:
        for index, info in found:
            n = chunks[index.fqn][tuple(index.offset)] if index.offset is not None else None
            stored[md.MetadataIndex(index.fqn, index.offset, n)] = info
    return md.Metadata(of, planner_data, stored, None, "1.0.0")


class AsyncCheckpointerType(enum.Enum):
    THREAD = "thread"
    PROCESS = "process"


class _Beside:
    """The thread that writes what async_save has copied, one checkpoint after the other. Its collectives have a group of their own, so they are in no order with those
    of the program."""
    lock, thread, last, groups = threading.Lock(), None, None, {}

    @classmethod
    def group(cls, given):
        """The group of the thread with the ranks of the given one. All ranks come here in one order."""
        given = dist._group_or_default(given)
        found = cls.groups.get(id(given))
        if found is None or found[0] is not given:
            found = cls.groups[id(given)] = (given, dist.new_group(given._ranks, use_local_synchronization=True, sort_ranks=False, timeout=given._timeout))
        return found[1]

    @classmethod
    def start(cls, work):
        with cls.lock:
            if cls.thread is None:
                cls.thread = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
            cls.last = cls.thread.submit(work)
            return cls.last

    @classmethod
    def settle(cls):
        if cls.last is not None:
            concurrent.futures.wait([cls.last])


@no_grad()
def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, async_checkpointer_type=AsyncCheckpointerType.THREAD,
               async_stager=None, no_dist=False, use_collectives=True):
    """As save, with files written in a thread: a future of its result. What is saved is copied first; the program may change it when this returns."""
    if async_stager is not None or async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError("async_save: checkpoints are copied to memory and written by a thread; there are no other processes and stagers")
    writer = _storage(storage_writer, checkpoint_id, FileSystemWriter, "storage_writer")
    alone = no_dist or not dist.is_initialized()
    ranks = _Ranks(None if alone else _Beside.group(process_group), alone)
    items, sizes, paths = _staged(state_dict)
    items = [(k, x.clone() if o is not None else unpacked(packed(x)), o) for k, x, o in items]
    return _Beside.start(no_grad()(lambda: _write(writer, ranks, items, sizes, paths)))


def _storage(given, path, make, name):
    """What is given to write to or read from, at path; or what make makes of path alone."""
    if given is None and path is None:
        raise RuntimeError("`checkpoint_id` must be specificed if `%s` is None." % name)
    if given is None:
        return make(path)
    if path is not None:
        given.path = os.fspath(path)
    return given


# ---- loading -------------------------------------------------------------------------------------------------------------------


def _common(a, a_size, b, b_size):
    """The part that two boxes have in common: slices of each, or None."""
    mine, theirs = [], []
    for p, n, q, m in zip(a, a_size, b, b_size):
        first, last = max(p, q), min(p + n, q + m)
        if last <= first:
            return None
        mine.append(slice(first - p, last - p))
        theirs.append(slice(first - q, last - q))
    return tuple(mine), tuple(theirs)


class _Files:
    """Objects of a checkpoint."""

    def __init__(self, reader):
        self.reader, self.metadata = reader, reader.read_metadata()

    def where(self, key, offset=None):
        info = self.metadata.storage_data.get(md.MetadataIndex(key, None if offset is None else Sizes(offset)))
        if info is None:
            raise RuntimeError("Missing key in checkpoint state_dict: %s." % key)
        return info

    def object(self, key):
        return unpacked(self.reader.read(self.where(key)))

    def fill(self, key, of, target):
        """Copies what the checkpoint has of a tensor into this rank's part."""
        if not isinstance(of, md.TensorStorageMetadata):
            raise ValueError("%s is not a tensor in the checkpoint" % key)
        if tuple(of.size) != tuple(target.shape):
            raise ValueError("Size mismatch between saved torch.Size(%s) and current: torch.Size(%s) for %s" % (list(of.size), list(target.shape), key))
        memory, offset, _ = part(target)
        left = memory.numel()
        for chunk in of.chunks:
            both = _common(offset, memory.shape, chunk.offsets, chunk.sizes)
            if both is None and memory.dim():
                continue
            mine, theirs = both if both else ((), ())
            saved = unpacked(self.reader.read(self.where(key, chunk.offsets)))
            if tuple(saved.shape) != tuple(chunk.sizes):
                raise ValueError("a chunk of %s has the shape %s, not %s" % (key, tuple(saved.shape), tuple(chunk.sizes)))
            into = memory[mine] if mine else memory
            into.copy_(saved[theirs] if theirs else saved)
            left -= into.numel()
        if left > 0 and memory.numel():
            raise ValueError("the checkpoint lacks a part of %s" % key)


@no_grad()
def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Fills the tensors of a state dict, and puts other objects into it."""
    reader = _storage(storage_reader, checkpoint_id, FileSystemReader, "storage_reader")
    ranks = _Ranks(process_group, no_dist)
    asked = {k: v.state_dict() if _is_stateful(v) else v for k, v in state_dict.items()}
    flat, paths = flatten(asked)
    partial = getattr(planner, "allow_partial_load", False)

    def read():
        files = _Files(reader)
        for key, x in flat.items():
            of = files.metadata.state_dict_metadata.get(key)
            if of is None:
                if not partial:
                    raise RuntimeError("Missing key in checkpoint state_dict: %s." % key)
            elif isinstance(x, _C.Tensor):
                files.fill(key, of, x)
            elif isinstance(of, md.BytesStorageMetadata):
                put(asked, paths[key], files.object(key))
            else:
                raise ValueError("%s is a tensor in the checkpoint, and is a %s here" % (key, type(x).__name__))
        return None
    ranks.all("read", read)
    for k, v in state_dict.items():
        if _is_stateful(v):
            v.load_state_dict(asked[k])
        else:
            state_dict[k] = asked[k]


def whole(path):
    """All that a checkpoint has, by this process alone."""
    import ctsc
    files, made = _Files(FileSystemReader(path)), {}
    for key, of in files.metadata.state_dict_metadata.items():
        if isinstance(of, md.TensorStorageMetadata):
            x = ctsc.empty(tuple(of.size), dtype=of.properties.dtype)
            files.fill(key, of, x)
        else:
            x = files.object(key)
        put(made, (files.metadata.planner_data or {}).get(key, (key,)), x)
    return made


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """An older name."""
    return save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """An older name."""
    return load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)
