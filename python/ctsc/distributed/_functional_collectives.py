# SPDX-License-Identifier: Apache-2.0
"""_functional_collectives.py - collectives that return new tensors, with gradients. They are the operators of exported programs (_c10d_functional::*), and done
when they return."""
from .._refused import rest as _rest
from ctsc import _C

from . import distributed_c10d as dist

_cat, _wait = _C._operator("cat"), _C._operator("_c10d_functional::wait_tensor")
_all_reduce, _broadcast, _gather, _scatter, _exchange = (_C._operator("_c10d_functional::" + name) for name in (
    "all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"))


def _group(group, tag=""):
    """Of a group, a mesh of one dimension, (mesh, dimension), or ranks."""
    from .device_mesh import DeviceMesh
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, tuple):
        return group[0].get_group(group[1])
    if isinstance(group, list):
        return dist.new_group(group)
    return dist._group_or_default(group)


def _op(reduce_op):
    return reduce_op.lower() if isinstance(reduce_op, str) else str(reduce_op).rsplit(".", 1)[-1].lower()


def wait_tensor(tensor):
    return tensor if tensor.is_meta else _wait(tensor)


def all_reduce(self, reduceOp, group, tag=""):
    return _wait(_all_reduce(self, _op(reduceOp), _group(group).group_name))


def broadcast(self, src, group, tag=""):
    return _wait(_broadcast(self, src, _group(group).group_name))


def all_gather_tensor(self, gather_dim, group, tag=""):
    group = _group(group)
    made = _wait(_gather(self, group.size(), group.group_name))
    return made if gather_dim == 0 else _cat(made.chunk(group.size(), 0), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    group = _group(group)
    if self.shape[scatter_dim] % group.size():
        raise AssertionError("input dimension 0 (%d) must be a multiple of group_size %d" % (self.shape[scatter_dim], group.size()))
    given = self if scatter_dim == 0 else _cat(self.chunk(group.size(), scatter_dim), 0)
    return _wait(_scatter(given, _op(reduceOp), group.size(), group.group_name))


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    group = _group(group)
    equal = [self.shape[0] // group.size()] * group.size()
    if (output_split_sizes is None or input_split_sizes is None) and self.shape[0] % group.size():
        raise AssertionError("group_size must evenly divide the first dimension")
    return _wait(_exchange(self, list(output_split_sizes or equal), list(input_split_sizes or equal), group.group_name))


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    group = _group(group)
    return [all_reduce(t, reduceOp, group) for t in self]


def all_gather_into_tensor_coalesced(self, group, tag=""):
    group = _group(group)
    return [all_gather_tensor(t, 0, group) for t in self]


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    group = _group(group)
    return [reduce_scatter_tensor(t, reduceOp, d, group) for t, d in zip(inputs, scatter_dim)]


def permute_tensor(self, src_dst, group, tag=""):
    """Each rank's tensor goes to the rank that src_dst says."""
    group = _group(group)
    to, mine, received = src_dst[group.rank()], [], []
    mine = [self.shape[0] if r == to else 0 for r in range(group.size())]
    received = [self.shape[0] if src_dst[r] == group.rank() else 0 for r in range(group.size())]
    return all_to_all_single(self, received, mine, group)


all_gather_tensor_autograd, reduce_scatter_tensor_autograd, all_to_all_single_autograd = all_gather_tensor, reduce_scatter_tensor, all_to_all_single

__getattr__ = _rest("torch.distributed._functional_collectives")
