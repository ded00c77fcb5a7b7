# SPDX-License-Identifier: Apache-2.0
"""group.py - the parameters that one call of fully_shard cuts: whole for the forward pass, their gradients added and cut in the backward pass.

Method. Whole parameters are results of a Function of the parts (_Whole), whose backward is a reduce_scatter of all their gradients as one buffer. Backward passes need
the whole ones again: what is saved of them within the forward pass is kept as a place in them (_Saved), and they are gathered anew when the first place is asked for,
once for each pass. Every rank's part of a parameter is that of Shard(0), filled up to the size of the first one's; a buffer has the parts of one rank one after the other.
"""
import contextlib

from ctsc import _C
from ctsc.autograd import no_grad
from ctsc.autograd.function import Function
from ctsc.autograd.graph import saved_tensors_hooks

from .. import distributed_c10d as dist
from .._group import ReduceOp
from ..tensor._api import DTensor, DTensorSpec, leaf, plain, wrap
from ..tensor._redistribute import chunk, redistribute
from ..tensor.placement_types import Replicate, Shard, _StridedShard

_zeros, _cat = _C._operator("zeros"), _C._operator("cat")


class _Whole(Function):
    @staticmethod
    def forward(ctx, group, *parts):
        ctx.group = group
        ctx.set_materialize_grads(False)
        return tuple(group.gather(parts))

    @staticmethod
    def backward(ctx, *grads):
        with no_grad():
            return (None,) + tuple(ctx.group.reduce(list(grads)))


class _Saved:
    """What a backward pass will need of a whole parameter."""

    def __init__(self, index, shape, stride, offset, dtype):
        self.index, self.shape, self.stride, self.offset, self.dtype = index, shape, stride, offset, dtype


class Parameter_:
    """One parameter: where modules have it, and how it is cut."""

    def __init__(self, places, p, mesh, placement_fn):
        self.places, self.requires_grad = places, p.requires_grad
        self.inner = p._spec if isinstance(p, DTensor) else None # of a module that is parallel already
        local = plain(p.detach()) if self.inner else p.detach()
        placement = placement_fn(p) if placement_fn else None
        self.dim = placement.dim if placement is not None else 0
        if not local.dim():
            raise ValueError("fully_shard doesn't support scalar parameters. Change %s to a 1D tensor with numel equal to 1." % places[0][1])
        self.shape, self.dtype = tuple(local.shape), local.dtype
        own = mesh.ndim - 1
        cut = Shard(self.dim)
        outer = [Replicate()] * own + [cut]
        part = redistribute(local.clone(), mesh, self.shape, [Replicate()] * mesh.ndim, outer)
        if self.inner:
            whole_mesh = _joined(mesh, self.inner.mesh)
            if any(q.is_shard(self.dim) for q in self.inner.placements):
                n = 1
                for i, q in enumerate(self.inner.placements):
                    n *= self.inner.mesh.size(i) if q.is_shard(self.dim) else 1
                outer = outer[:-1] + [_StridedShard(self.dim, split_factor=n)]
            self.spec = DTensorSpec(whole_mesh, tuple(outer) + self.inner.placements, self.inner.shape)
        else:
            self.spec = DTensorSpec(mesh, outer, self.shape)
        self.sharded = leaf(part.contiguous(), self.spec, self.requires_grad)
        self.sharded._is_param = True
        self.put(self.sharded)

    def put(self, p):
        for module, name in self.places:
            module._parameters[name] = p

    def current(self):
        """The part, which programs may have replaced (load_state_dict(assign=True))."""
        module, name = self.places[0]
        found = module._parameters[name]
        if isinstance(found, DTensor) and getattr(found, "_is_param", False):
            self.sharded = found
        return self.sharded


def _joined(outer, inner):
    from ..device_mesh import DeviceMesh
    if outer._root is not inner._root:
        raise ValueError("the mesh of fully_shard and that of parallelize_module are parts of one mesh, found %s and %s" % (outer, inner))
    names = outer.mesh_dim_names + inner.mesh_dim_names if outer.mesh_dim_names and inner.mesh_dim_names else None
    return DeviceMesh(None, _part=(outer._root, outer._dims + inner._dims, names))


class Group:
    def __init__(self, mesh, params, policy, reshards, placement_fn):
        self.mesh, self.policy, self.reshards = mesh, policy, reshards
        self.cut, self.copies = mesh.get_group(mesh.ndim - 1), mesh.get_group(0) if mesh.ndim == 2 else None
        self.params = [Parameter_(places, p, mesh, placement_fn) for places, p in params]
        self.syncs, self.divide, self.pending, self.again, self.held = True, None, None, None, None
        self.whole_of = {} # places of the memory of whole parameters

    # ---- collectives

    def _each(self, p):
        """The shape of the largest part."""
        return p.shape[:p.dim] + (-(-p.shape[p.dim] // self.cut.size()),) + p.shape[p.dim + 1:]

    def _by_dtype(self, tensors):
        found = {}
        for i, t in enumerate(tensors):
            if t is not None:
                found.setdefault(t.dtype, []).append(i)
        return found.values()

    def gather(self, parts):
        """Whole parameters of the parts."""
        parts = [p.detach() for p in parts]
        if self.policy.param_dtype is not None:
            parts = [p.to(self.policy.param_dtype) if p.dtype.is_floating_point else p for p in parts]
        n, made = self.cut.size(), [None] * len(parts)
        for indices in self._by_dtype(parts):
            flat = _cat([_filled(parts[i], self._each(self.params[i])).reshape(-1) for i in indices])
            whole = flat.new_empty([n * flat.numel()])
            dist.all_gather_into_tensor(whole, flat, group=self.cut)
            rows, at = whole.view(n, -1), 0
            for i in indices:
                p = self.params[i]
                each = self._each(p)
                size = _count(each)
                columns = rows[:, at:at + size]
                made[i] = _joined_parts(columns.contiguous(), each, p, n)
                at += size
        return made

    def reduce(self, grads):
        """The parts of gradients, averaged over the ranks; None for those that only wait for more."""
        self.again = None
        if self.pending is not None:
            grads = [a if b is None else b if a is None else a + b for a, b in zip(grads, self.pending)]
            self.pending = None
        if not self.syncs:
            self.pending = grads
            return [None] * len(grads)
        if self.policy.reduce_dtype is not None:
            grads = [None if g is None else g.to(self.policy.reduce_dtype) for g in grads]
        n, made = self.cut.size(), [None] * len(grads)
        for indices in self._by_dtype(grads):
            flat = _cat([_in_rows(grads[i], self._each(self.params[i]), self.params[i], n) for i in indices], 1).contiguous()
            part = flat.new_empty([flat.shape[1]])
            dist.reduce_scatter_tensor(part, flat.view(-1), ReduceOp.SUM if self.divide else ReduceOp.AVG, self.cut)
            if self.copies is not None:
                dist.all_reduce(part, ReduceOp.SUM if self.divide else ReduceOp.AVG, self.copies)
            if self.divide:
                part.div_(self.divide)
            at = 0
            for i in indices:
                each = self._each(self.params[i])
                size, p = _count(each), self.params[i]
                here = chunk(p.shape[p.dim], n, self.cut.rank())[0]
                made[i] = part[at:at + size].view(each).narrow(p.dim, 0, here).to(p.dtype).clone()
                at += size
        return made

    # ---- whole and cut

    def whole(self):
        """Puts whole parameters into the modules."""
        parts = [p.current() for p in self.params]
        made = _Whole.apply(self, *[plain(p) for p in parts])
        made = made if isinstance(made, tuple) else (made,)
        self.held = [wrap(t, p.inner) if p.inner else t for t, p in zip(made, self.params)]
        self.whole_of = {t.untyped_storage().data_ptr(): i for i, t in enumerate(made)}
        for p, t in zip(self.params, self.held):
            p.put(t)

    def cut_again(self):
        self.held, self.whole_of = None, {}
        for p in self.params:
            p.put(p.sharded)

    def _pack(self, t):
        index = self.whole_of.get(t.untyped_storage().data_ptr())
        return t if index is None else _Saved(index, tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype)

    def _unpack(self, kept):
        if not isinstance(kept, _Saved):
            return kept
        with no_grad():
            if self.again is None:
                self.again = self.gather([plain(p.sharded) for p in self.params])
            return self.again[kept.index].as_strided(kept.shape, kept.stride, kept.offset)

    @contextlib.contextmanager
    def forward(self):
        self.again = None
        keeps = self.held is not None
        if not keeps:
            self.whole()
        try:
            if self.reshards and _C.is_grad_enabled() and not keeps:
                with saved_tensors_hooks(self._pack, self._unpack):
                    yield
            else:
                yield
        finally:
            if not keeps:
                self.cut_again()


def _count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def _filled(part, shape):
    """A part, padded with zeros."""
    if tuple(part.shape) == tuple(shape):
        return part.contiguous()
    made = _zeros(list(shape), dtype=part.dtype)
    index = tuple(slice(0, s) for s in part.shape)
    made[index] = part
    return made


def _joined_parts(columns, each, p, n):
    """The parameter of one row for each rank."""
    if p.dim == 0:
        return columns.view((n * each[0],) + each[1:])[:p.shape[0]].clone() if n * each[0] != p.shape[0] else columns.view((n * each[0],) + each[1:])
    return _cat([columns[r].view(each) for r in range(n)], p.dim).narrow(p.dim, 0, p.shape[p.dim]).contiguous()


def _in_rows(grad, each, p, n):
    """One row for each rank of a gradient."""
    whole = _filled(grad, p.shape[:p.dim] + (n * each[p.dim],) + p.shape[p.dim + 1:])
    if p.dim == 0:
        return whole.reshape(n, -1)
    return _cat([c.reshape(1, -1) for c in whole.chunk(n, p.dim)], 0)
