# SPDX-License-Identifier: Apache-2.0
"""distributed_c10d.py - torch.distributed.distributed_c10d: the default group, other groups, and the collectives on tensors. Objects are in _objects.py.

What torch checks with its own words before or in gloo is checked here in the same; all else is an error of the library (src/distributed/dist_api.c)."""
import contextlib
import ctypes
import datetime
import os
import warnings

from ctsc import _C

from . import _library
from ._group import (Backend, ProcessGroup, ReduceOp, RedOpType, Work, WorkFuture, coalesced, default_pg_timeout, engine_of, is_tensor, together)
from ._library import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError, has_engine, library, milliseconds
from ._store import FileStore, HashStore, PrefixStore, Store, TCPStore, handle_of
from .rendezvous import register_rendezvous_handler, rendezvous


class reduce_op:
    """An older name of ReduceOp."""

    SUM, PRODUCT, MIN, MAX = ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX


# ---- what there is ------------------------------------------------------------------------------------------------------------


class _World:
    """Groups of this process, in the order in which they were made."""

    def __init__(self):
        self.default, self.groups, self.made = None, [], 0
        self.others = [] # the ranks of the last group that this process is not in


_world = _World()


class _WorldMeta(type):
    @property
    def WORLD(cls):
        return _world.default

    @WORLD.setter
    def WORLD(cls, group):
        _world.default = group


class group(metaclass=_WorldMeta):
    pass


class GroupMember(metaclass=_WorldMeta):
    NON_GROUP_MEMBER = -100


def is_mpi_available():
    return has_engine("mpi") is None


def is_gloo_available():
    return has_engine("gloo") is None


def is_nccl_available():
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend):
    return {"gloo": is_gloo_available, "mpi": is_mpi_available}.get(engine_name(backend), is_nccl_available)()


def engine_name(backend):
    try:
        return engine_of(backend.lower())
    except (RuntimeError, ValueError):
        return None


def is_torchelastic_launched():
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_initialized():
    return _world.default is not None


def _get_default_group():
    if _world.default is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world.default


def _check_timeout(timeout):
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError("Expected timeout argument to be of type datetime.timedelta, got %s" % (timeout,))


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None, _ranks=None):
    if _world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and not world_size > 0:
        raise AssertionError("world_size must be positive if using store")
    if store is not None and not rank >= 0:
        raise AssertionError("rank must be non-negative if using store")
    timeout = default_pg_timeout if timeout is None else timeout
    _check_timeout(timeout)
    backend = Backend(backend) if backend else Backend("cpu:gloo,cuda:nccl")
    engine = engine_of(backend)
    if engine == "mpi":
        store, rank, world_size = None, 0, 1
    elif store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        store.set_timeout(timeout)
    _world.made, handle = 1, ctypes.c_void_p()
    kept, owner = (None, None) if store is None else _lent(store, world_size)
    if engine == "gloo" and world_size == 1 and not is_gloo_available():
        engine = "local"
    library().init(engine.encode(), kept, rank, world_size, milliseconds(timeout), b"default_pg", ctypes.byref(handle))
    made = ProcessGroup(handle, range(library().size(handle)), backend, "0", "default_pg", timeout, store)
    made._held = owner
    _world.default, _world.groups = made, [made]


def _lent(store, world_size):
    """The library's store of one that Python has."""
    handle, owner = handle_of(store)
    if handle is None:
        if world_size > 1:
            raise TypeError("a store of ctsc is expected, not %s" % type(owner).__name__)
        owner = HashStore()
        handle = owner._handle
    return handle, owner


def destroy_process_group(group=None):
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    default = _get_default_group() if group is None else _world.default
    if default is None or (group is not None and group not in _world.groups):
        raise ValueError("Invalid process group specified")
    if group is None or group is default:
        for g in reversed(_world.groups):
            g._close()
        _world.default, _world.groups, _world.made = None, [], 0
    else:
        _world.groups.remove(group)
        group._close()


def abort_process_group(group=None):
    destroy_process_group(group)


_abort_process_group = abort_process_group


def set_timeout(timeout, group=None):
    _check_timeout(timeout)
    _group_or_default(group).set_timeout(timeout)


_set_pg_timeout = set_timeout


# ---- ranks --------------------------------------------------------------------------------------------------------------------


def _rank_not_in_group(group):
    return group == GroupMember.NON_GROUP_MEMBER


def _group_or_default(group):
    if group is None:
        return _get_default_group()
    if group is not _world.default and group not in _world.groups:
        raise ValueError("Invalid process group specified")
    return group


def get_rank(group=None):
    default = _get_default_group()
    return -1 if _rank_not_in_group(group) else (default if group is None else group).rank()


def get_world_size(group=None):
    return -1 if _rank_not_in_group(group) else _group_or_default(group).size()


def get_process_group_ranks(group):
    return list(_group_or_default(group)._ranks)


def get_group_rank(group, global_rank):
    if group is _world.default and group is not None:
        return global_rank
    if group not in _world.groups:
        raise ValueError("Group %s is not registered, please create group with torch.distributed.new_group API" % (group,))
    if global_rank not in group._ranks:
        raise ValueError("Global rank %d is not part of group %s" % (global_rank, group))
    return group._ranks.index(global_rank)


def get_global_rank(group, group_rank):
    if group is _world.default and group is not None:
        return group_rank
    if _rank_not_in_group(group) and 0 <= group_rank < len(_world.others):
        return _world.others[group_rank]
    if group not in _world.groups:
        raise ValueError("Group %s is not registered, please create group with torch.distributed.new_group API" % (group,))
    if not 0 <= group_rank < group.size():
        raise ValueError("Group rank %d is not part of group %s" % (group_rank, group))
    return group._ranks[group_rank]


def get_node_local_rank(fallback_rank=None):
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
                       "assuming you are not running in a multi-device context and want the code to run locally instead.")


def get_pg_count():
    return len(_world.groups)


def get_backend(group=None):
    held = _group_or_default(group) if not _rank_not_in_group(group) else None
    if held is None:
        raise ValueError("Invalid process group specified")
    return Backend(engine_of(held._backend)) if ":" in held._backend else Backend(held._backend)


def get_backend_config(group=None):
    backend = _group_or_default(group)._backend
    return str(backend) if ":" in backend else "cpu:%s,cuda:%s" % (backend, backend)


def get_default_backend_for_device(device):
    return Backend.default_device_backend_map[str(device).split(":")[0]]


def _root(group, global_rank, group_rank):
    """The rank in the group of one that is named by either number."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, global_rank)


# ---- groups -------------------------------------------------------------------------------------------------------------------


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None, sort_ranks=True):
    world = _get_default_group()
    size = world.size()
    backend = Backend(backend) if backend else world._backend
    engine_of(backend)
    timeout = world._timeout if timeout is None else timeout
    _check_timeout(timeout)
    ranks = list(range(size)) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(ranks) > size:
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    for r in ranks:
        if r < 0 or r >= size:
            raise ValueError("Rank %d is out of range. Valid ranks are 0 to %d (world_size=%d)" % (r, size - 1, size))
    if len(set(ranks)) != len(ranks):
        raise ValueError("ranks list must not contain duplicate entries, got %s" % (ranks,))
    if use_local_synchronization:
        if world.rank() not in ranks:
            return None
        name = "local/%d/%s" % (sum(g._ranks == ranks for g in _world.groups), "/".join(map(str, ranks)))
    else:
        name, _world.made = str(_world.made), _world.made + 1
    if world.rank() not in ranks:
        _world.others = list(ranks)
        return GroupMember.NON_GROUP_MEMBER
    handle, description = ctypes.c_void_p(), group_desc or "undefined"
    library().subgroup(world._handle, len(ranks), (ctypes.c_int * len(ranks))(*ranks), milliseconds(timeout), name.encode(), ctypes.byref(handle))
    made = ProcessGroup(handle, ranks, backend, name, description, timeout, PrefixStore(name, world._store) if world._store is not None else None)
    _world.groups.append(made)
    return made


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", 0)) or get_world_size(group)
    size = get_world_size(group)
    if group_size <= 0:
        raise ValueError("The arg 'group_size' (%d) must be positive" % group_size)
    if size < group_size:
        raise ValueError("The arg 'group_size' (%d) must not exceed the world size (%d)" % (group_size, size))
    if size % group_size:
        raise ValueError("The world size (%d) must be divisible by 'group_size=%d'" % (size, group_size))
    of_world = get_process_group_ranks(group)
    return new_subgroups_by_enumeration([of_world[i:i + group_size] for i in range(0, size, group_size)], timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    found = {}
    for ranks in ranks_per_subgroup_list:
        for r in ranks:
            if r in found:
                raise ValueError("Rank %d has appeared in both subgroup %s and %s" % (r, found[r], ranks))
            found[r] = ranks
    own, groups = None, []
    for ranks in ranks_per_subgroup_list:
        made = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        if get_rank() in ranks:
            own = made
    return own, groups


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent, own = _group_or_default(parent_pg), None
    for ranks in split_ranks:
        made = new_group([parent._ranks[r] for r in ranks], timeout, backend, pg_options, group_desc=group_desc)
        own = made if made != GroupMember.NON_GROUP_MEMBER else own
    return own


# ---- checks -------------------------------------------------------------------------------------------------------------------


def _check_single_tensor(x, name):
    if not is_tensor(x):
        raise TypeError("Invalid function argument. Expected parameter `%s` of type torch.Tensor\n             but got %s instead." % (name, type(x)))


def _check_tensor_list(x, name):
    if not isinstance(x, list):
        raise TypeError("Invalid function argument. Expected parameter `%s` of type List[torch.Tensor]\n             but got %s instead." % (name, type(x)))
    if not all(is_tensor(t) for t in x):
        raise TypeError("Invalid function argument. Expected parameter `%s` of type List[torch.Tensor]\n             but got %s with elements of type %s."
                        % (name, type(x), [type(t) for t in x]))


def _ensure_all_tensors_same_dtype(*tensors):
    last = None
    for t in tensors:
        for one in t if isinstance(t, (list, tuple)) else [t]:
            dtype = {_C.complex64: _C.float32, _C.complex128: _C.float64}.get(one.dtype, one.dtype)
            if last is None:
                last = dtype
            elif last != dtype:
                raise ValueError("Invalid usage of tensors with different dtypesFound %s and  %s" % (last, one.dtype))


def _refuse(function, text):
    raise RuntimeError("ProcessGroupGloo::%s: %s" % (function, text))


def _sizes(t):
    return "(%s)" % ", ".join(map(str, t.shape))


def _check_list(function, tensors, like, size):
    if len(tensors) != size:
        _refuse(function, "invalid output tensor list at index 0 (expected length %d, got %d)" % (size, len(tensors)))
    for t in tensors:
        if t.shape != like.shape:
            _refuse(function, "invalid tensor size at index 0 (expected %s, got %s)" % (_sizes(like), _sizes(t)))


def _check_root(function, group, rank):
    if not 0 <= rank < group.size():
        _refuse(function, "invalid root rank: %d" % rank)


def _check_reduction(tensor, op):
    if not isinstance(op, (RedOpType, ReduceOp)):
        raise TypeError("a reduction is a member of ReduceOp, not %s" % type(op).__name__)
    if op == RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    if op == RedOpType.AVG and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise RuntimeError("result type Float can't be cast to the desired output type %s" % tensor.dtype._type_name)


def supports_complex(reduceOp):
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def _outside(group, function):
    """Whether this process is not in the group: then nothing is done."""
    if not _rank_not_in_group(group):
        return False
    warnings.warn("Running %s on global rank %s which does not belong to the given group." % (function, get_rank()), stacklevel=3)
    return True


def _contiguous(function, *tensors):
    for t in tensors:
        if not t.is_contiguous():
            raise ValueError("Tensors must be contiguous") if function is None else RuntimeError("ProcessGroupGloo::%s: tensors must be contiguous" % function)


# ---- collectives --------------------------------------------------------------------------------------------------------------


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "all_reduce"):
        return None
    if tensor.dtype.is_complex and not supports_complex(op):
        raise ValueError("all_reduce does not support %s on complex tensors" % op)
    group = _group_or_default(group)
    _check_reduction(tensor, op)
    return group.run(_library.ALL_REDUCE, [tensor], [tensor], reduce=op, async_op=async_op)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    tensors = [tensors] if is_tensor(tensors) else tensors
    _check_tensor_list(tensors, "tensor")
    _ensure_all_tensors_same_dtype(tensors)
    if _outside(group, "all_reduce_coalesced"):
        return None
    works = [all_reduce(t, op, group, True) for t in tensors]
    return _done(together(works, tensors), async_op, future=True)


def _done(work, async_op, future=False):
    if async_op:
        return work.get_future() if future else work
    work.wait()
    return None


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "broadcast"):
        return None
    group = _group_or_default(group)
    root = _root(group, src, group_src)
    _check_root("broadcast", group, root)
    return group.run(_library.BROADCAST, [tensor], [tensor], root=root, async_op=async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "reduce"):
        return None
    group = _group_or_default(group)
    root = _root(group, dst, group_dst)
    _check_root("reduce", group, root)
    _check_reduction(tensor, op)
    return group.run(_library.REDUCE, [tensor], [tensor], root=root, reduce=op, async_op=async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    _check_tensor_list(tensor_list, "tensor_list")
    _check_single_tensor(tensor, "tensor")
    _ensure_all_tensors_same_dtype(tensor_list, tensor)
    if _outside(group, "all_gather"):
        return None
    group = _group_or_default(group)
    _check_list("allgather", tensor_list, tensor, group.size())
    return group.run(_library.ALL_GATHER, [tensor], tensor_list, async_op=async_op)


def _pieces(t, n):
    """n views of contiguous memory, one after the other."""
    flat = t.detach().reshape(-1)
    each = flat.numel() // n
    return [flat[i * each:(i + 1) * each] for i in range(n)]


def _flat(t):
    """Memory for a result whose parts follow one another, and what to do with it after."""
    return t if t.is_contiguous() else t.detach().contiguous()


def _split_run(group, op, inputs, output, async_op, split, **more):
    """A call whose result is a whole tensor, or its input is: its parts are views."""
    held = _flat(output)
    outputs = _pieces(held, group.size()) if split else [held]
    work = group.run(op, inputs, outputs, async_op=async_op or held is not output, result=[output], **more)
    if held is output:
        return work
    work._finish = lambda: output.copy_(held)
    return _done(work, async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    _check_single_tensor(input_tensor, "input_tensor")
    _check_single_tensor(output_tensor, "output_tensor")
    if _outside(group, "all_gather_into_tensor"):
        return None
    group = _group_or_default(group)
    if output_tensor.numel() != input_tensor.numel() * group.size():
        whole = (output_tensor.numel() // group.size(),) + tuple(output_tensor.shape[1:]) if output_tensor.dim() <= 1 else (output_tensor.shape[0] // group.size(),) + tuple(output_tensor.shape[1:])
        _refuse("allgather", "invalid tensor size at index 0 (expected %s, got (%s))" % (_sizes(input_tensor), ", ".join(map(str, whole))))
    _ensure_all_tensors_same_dtype(output_tensor, input_tensor)
    return _split_run(group, _library.ALL_GATHER, [input_tensor], output_tensor, async_op, True)


all_gather_single = _all_gather_base = all_gather_into_tensor


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    if _outside(group, "all_gather_coalesced"):
        return None
    _check_tensor_list(input_tensor_list, "input_tensor_list")
    works = [all_gather(outs, t, group, True) for outs, t in zip([list(o) for o in zip(*output_tensor_lists)], input_tensor_list)]
    return _done(together(works, output_tensor_lists), async_op, future=True)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    _check_single_tensor(tensor, "tensor")
    if gather_list:
        _check_tensor_list(gather_list, "gather_list")
    else:
        gather_list = []
    _ensure_all_tensors_same_dtype(tensor, gather_list)
    group = _group_or_default(group) if not _rank_not_in_group(group) else group
    if _outside(group, "gather"):
        return None
    root = _root(group, 0 if dst is None and group_dst is None else dst, group_dst)
    if group.rank() == root and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if group.rank() != root and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    _check_root("gather", group, root)
    if group.rank() == root:
        if len(gather_list) != group.size():
            _refuse("gather", "Incorrect output list size %d. Output list size should be %d, same as size of the process group." % (len(gather_list), group.size()))
        _check_list("gather", gather_list, tensor, group.size())
    return group.run(_library.GATHER, [tensor], gather_list, root=root, async_op=async_op)


def gather_into_tensor(output, input, dst=None, group=None, async_op=False, group_dst=None):
    group = _group_or_default(group)
    root = _root(group, 0 if dst is None and group_dst is None else dst, group_dst)
    if group.rank() != root:
        return group.run(_library.GATHER, [input], root=root, async_op=async_op)
    return _split_run(group, _library.GATHER, [input], output, async_op, True, root=root)


gather_single = gather_into_tensor


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    _check_single_tensor(tensor, "tensor")
    if scatter_list:
        _check_tensor_list(scatter_list, "scatter_list")
    else:
        scatter_list = []
    _ensure_all_tensors_same_dtype(tensor, scatter_list)
    if _outside(group, "scatter"):
        return None
    group = _group_or_default(group)
    root = _root(group, 0 if src is None and group_src is None else src, group_src)
    if group.rank() == root and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if group.rank() != root and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    _check_root("scatter", group, root)
    if group.rank() == root:
        if len(scatter_list) != group.size():
            _refuse("scatter", "Incorrect input list size %d. Input list size should be %d, same as size of the process group." % (len(scatter_list), group.size()))
        _check_list("scatter", scatter_list, tensor, group.size())
    return group.run(_library.SCATTER, scatter_list, [tensor], root=root, async_op=async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    _check_single_tensor(output, "output")
    _check_tensor_list(input_list, "input_list")
    _ensure_all_tensors_same_dtype(output, input_list)
    if _outside(group, "reduce_scatter"):
        return None
    group = _group_or_default(group)
    _check_reduction(output, op)
    if len(input_list) != group.size():
        _refuse("reduce_scatter", "invalid input tensor list at index 0 (expected length %d, got %d)" % (group.size(), len(input_list)))
    return group.run(_library.REDUCE_SCATTER, input_list, [output], reduce=op, async_op=async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    _check_single_tensor(output, "output")
    _check_single_tensor(input, "input")
    if _outside(group, "reduce_scatter_tensor"):
        return None
    group = _group_or_default(group)
    _check_reduction(output, op)
    if input.numel() != output.numel() * group.size():
        _refuse("reduce_scatter", "input tensor must be the same size as output size times world size")
    return _split_run(group, _library.REDUCE_SCATTER, _pieces(input.contiguous(), group.size()), output, async_op, False, reduce=op)


reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor


def _splits(t, sizes, n, what):
    if not sizes:
        if t.shape[0] % n:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [t.shape[0] // n] * n
    if len(sizes) != n:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != t.shape[0]:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    flat, at, each, found = t.detach().reshape(-1), 0, t.numel() // t.shape[0] if t.shape[0] else 0, []
    for s in sizes:
        found.append(flat[at * each:(at + s) * each])
        at += s
    return found


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    if _outside(group, "all_to_all_single"):
        return None
    _check_single_tensor(output, "output")
    _check_single_tensor(input, "input")
    _ensure_all_tensors_same_dtype(output, input)
    group = _group_or_default(group)
    held = _flat(output)
    inputs = _splits(input.contiguous(), input_split_sizes, group.size(), "input")
    work = group.run(_library.ALL_TO_ALL, inputs, _splits(held, output_split_sizes, group.size(), "output"), async_op=True, result=[output])
    if held is not output:
        work._finish = lambda: output.copy_(held)
    return _done(work, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    if _outside(group, "all_to_all"):
        return None
    _check_tensor_list(output_tensor_list, "output_tensor_list")
    _check_tensor_list(input_tensor_list, "input_tensor_list")
    _ensure_all_tensors_same_dtype(output_tensor_list, input_tensor_list)
    group = _group_or_default(group)
    return group.run(_library.ALL_TO_ALL, input_tensor_list, output_tensor_list, async_op=async_op)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    if _outside(group, "barrier"):
        return None
    if device_ids is not None and not (isinstance(device_ids, list) and all(isinstance(i, int) for i in device_ids)):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    return _group_or_default(group).run(_library.BARRIER, async_op=async_op, timeout=timeout)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Rank 0 says who does not come. All meet in the store, so a rank that is late breaks no connection."""
    if _outside(group, "monitored_barrier"):
        return
    group = _group_or_default(group)
    timeout = group._timeout if timeout is None else datetime.timedelta(seconds=timeout) if isinstance(timeout, (int, float)) else timeout
    if group.size() == 1:
        return
    group._monitored = getattr(group, "_monitored", 0) + 1
    key = "ctsc/monitored/%s/%d/" % (group.group_name, group._monitored)
    store, n = group._store, group.size()
    if group.rank():
        store.set(key + str(group.rank()), b"1")
        try:
            store.wait([key + "done"], timeout)
        except RuntimeError:
            raise RuntimeError("Rank %d successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. "
                               "Please check rank 0 logs for faulty rank." % group.rank()) from None
        return
    import time
    ends, missing = time.monotonic() + timeout.total_seconds(), []
    for r in range(1, n):
        try:
            store.wait([key + str(r)], datetime.timedelta(seconds=max(ends - time.monotonic(), 0)))
        except RuntimeError:
            missing.append(r)
            if not wait_all_ranks:
                break
    if missing:
        what = "Ranks %s" % ", ".join(map(str, missing)) if wait_all_ranks else "Rank %d" % missing[0]
        raise RuntimeError("[Rank 0]: %s failed to pass monitoredBarrier in %d ms" % (what, milliseconds(timeout)))
    store.set(key + "done", b"1")


# ---- single messages ----------------------------------------------------------------------------------------------------------


def _check_not_self_rank(group, rank, kind):
    if group.rank() == rank:
        raise ValueError("Invalid %s rank: %s rank should not be the same as the rank of the current process." % (kind, kind))


def _message(op, tensor, peer, group, tag, async_op, kind):
    _contiguous(None, tensor)
    if peer >= 0:
        _check_not_self_rank(group, peer, kind)
    return group.run(op, [tensor] if op == _library.SEND else (), [tensor] if op == _library.RECV else (), root=peer, tag=tag, async_op=async_op)


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "isend"):
        return None
    group = _group_or_default(group)
    return _message(_library.SEND, tensor, _root(group, dst, group_dst), group, tag, True, "destination")


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    _check_single_tensor(tensor, "tensor")
    if _outside(group, "irecv"):
        return None
    group = _group_or_default(group)
    peer = -1 if src is None and group_src is None else _root(group, src, group_src)
    return _message(_library.RECV, tensor, peer, group, tag, True, "source")


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """The rank of the sender."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    group = _group_or_default(group)
    if src is not None:
        return src
    return get_global_rank(group, work.source_rank() if group_src is None else group_src)


class P2POp:
    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        _check_single_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = _group_or_default(group)
        self.group_peer = _root(self.group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self):
        return "P2POp(%s pg=%s, group_src=%d, group_dst=%d,  %s, %s)" % (
            self.op.__name__, self.group.group_name, *((self.group.rank(), self.group_peer) if self.op is isend else (self.group_peer, self.group.rank())),
            self.tensor.shape, self.tensor.dtype)


def batch_isend_irecv(p2p_op_list):
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if not all(p.group is p2p_op_list[0].group for p in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    return [p.op(p.tensor, group=p.group, tag=p.tag, **{"group_dst" if p.op is isend else "group_src": p.group_peer}) for p in p2p_op_list]


class _CoalescingManager:
    """What was called within a _coalescing_manager."""

    def __init__(self):
        self.works = []

    def append(self, work=None):
        if work:
            self.works.append(work)

    def wait(self):
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(group=None, device=None, async_ops=False):
    """Calls within it are started, and waited for together: at its end, or by the manager's wait where async_ops is true."""
    _group_or_default(group)
    before, made = getattr(coalesced, "manager", None), _CoalescingManager()
    coalesced.manager = made
    try:
        yield made
    finally:
        coalesced.manager = before
    if not async_ops:
        made.wait()
