# SPDX-License-Identifier: Apache-2.0
"""distributed.py - torch.distributed of one process: a group of which it is the only member, in which every exchange gives back what was given. Groups of more are refused."""
import enum
import os

_group = [None]


class ReduceOp(enum.Enum):
    SUM, PRODUCT, MIN, MAX, AVG, BAND, BOR, BXOR = range(8)


class Work:
    """An exchange that is done."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    is_success = is_completed


class ProcessGroup:
    def __init__(self, backend):
        self._backend = backend

    def size(self):
        return 1

    def rank(self):
        return 0


class group:
    WORLD = None


def is_available():
    """Whether there is all of it: rpc, stores, sharded modules."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_available


def is_initialized():
    return _group[0] is not None


def is_backend_available(backend):
    return backend.lower() in ("gloo", "cpu:gloo")


def _lone(size, what):
    if size not in (None, -1, 1):
        raise NotImplementedError("torch.distributed: %s of %d processes: ctsc trains in one process, whose operators use all threads" % (what, size))


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None):
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    _lone(int(os.environ.get("WORLD_SIZE", 1)) if world_size == -1 and init_method in (None, "env://") else world_size, "a group")
    _group[0] = group.WORLD = ProcessGroup(str(backend or "gloo"))


def destroy_process_group(group=None):
    _group[0] = None


def _held():
    if _group[0] is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _group[0]


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None):
    _lone(None if ranks is None else len(ranks), "a group")
    return ProcessGroup(backend or _held()._backend)


def get_rank(group=None):
    return 0


def get_world_size(group=None):
    return 1


def get_backend(group=None):
    return _held()._backend if group is None else group._backend


def get_global_rank(group, group_rank):
    return group_rank


get_group_rank = get_global_rank


def get_process_group_ranks(group):
    return [0]


def _alone(*ranks):
    if any(r not in (None, 0, -1) for r in ranks):
        raise ValueError("torch.distributed: the only process has rank 0, not %s" % (ranks,))
    _held()


def _done(async_op):
    return Work() if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    _held()
    return _done(async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    _alone(src, group_src)
    return _done(async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    _alone(dst, group_dst)
    return _done(async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    _held()
    tensor_list[0].copy_(tensor)
    return _done(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    _held()
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    _held()
    output.copy_(input_list[0])
    return _done(async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    return all_gather_into_tensor(output, input, group, async_op)


all_to_all_single = lambda output, input, *args, group=None, async_op=False, **kwargs: all_gather_into_tensor(output, input, group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    return all_gather(output_tensor_list, input_tensor_list[0], group, async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    _alone(dst, group_dst)
    return all_gather(gather_list, tensor, group, async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    _alone(src, group_src)
    tensor.copy_(scatter_list[0])
    return _done(async_op)


def all_gather_object(object_list, obj, group=None):
    _held()
    object_list[0] = obj


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    _alone(dst, group_dst)
    object_gather_list[0] = obj


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    _alone(src, group_src)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    _alone(src, group_src)
    scatter_object_output_list[0] = scatter_object_input_list[0]


def barrier(group=None, async_op=False, device_ids=None):
    _held()
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    _held()


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError("module 'ctsc.distributed' has no attribute '%s': ctsc runs in one process" % name)
