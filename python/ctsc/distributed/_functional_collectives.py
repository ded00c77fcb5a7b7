# SPDX-License-Identifier: Apache-2.0
"""_functional_collectives.py - collectives that return new tensors. They are done when they return; the _autograd ones have gradients."""
from .._refused import rest as _rest
from ctsc import _C

from . import distributed_c10d as dist
from ._group import ReduceOp
from .nn import functional as _with_gradients

_cat = _C._operator("cat")


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
    return getattr(ReduceOp, reduce_op.upper()) if isinstance(reduce_op, str) else reduce_op


def wait_tensor(tensor):
    return tensor


def all_reduce(self, reduceOp, group, tag=""):
    made = self.detach().clone().contiguous()
    dist.all_reduce(made, _op(reduceOp), _group(group))
    return made


def broadcast(self, src, group, tag=""):
    made = self.detach().clone().contiguous()
    dist.broadcast(made, group=_group(group), group_src=src)
    return made


def all_gather_tensor(self, gather_dim, group, tag=""):
    group = _group(group)
    made = self.new_empty([group.size() * self.shape[0]] + list(self.shape[1:]))
    dist.all_gather_into_tensor(made, self.detach().contiguous(), group=group)
    return made if gather_dim == 0 else _cat(made.chunk(group.size(), 0), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    group = _group(group)
    if self.shape[scatter_dim] % group.size():
        raise AssertionError("input dimension 0 (%d) must be a multiple of group_size %d" % (self.shape[scatter_dim], group.size()))
    given = self.detach() if scatter_dim == 0 else _cat(self.detach().chunk(group.size(), scatter_dim), 0)
    made = given.new_empty([given.shape[0] // group.size()] + list(given.shape[1:]))
    dist.reduce_scatter_tensor(made, given.contiguous(), _op(reduceOp), group)
    return made


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    made = self.new_empty([rows] + list(self.shape[1:]))
    dist.all_to_all_single(made, self.detach().contiguous(), output_split_sizes, input_split_sizes, _group(group))
    return made


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


# ---- with gradients --------------------------------------------------------------------------------------------------------------


def all_gather_tensor_autograd(self, gather_dim, group, tag=""):
    return _cat(_with_gradients.all_gather(self, _group(group)), gather_dim)


def reduce_scatter_tensor_autograd(self, reduceOp, scatter_dim, group, tag=""):
    group = _group(group)
    parts = list(self.chunk(group.size(), scatter_dim))
    return _with_gradients.reduce_scatter(parts[0].detach().contiguous(), parts, _op(reduceOp), group)


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    return _with_gradients.all_to_all_single(self.new_empty([rows] + list(self.shape[1:])), self, output_split_sizes, input_split_sizes, _group(group))

__getattr__ = _rest("torch.distributed._functional_collectives")
