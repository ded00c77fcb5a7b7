# SPDX-License-Identifier: Apache-2.0
"""_redistribute.py - other placements of a tensor: the collectives between them, and their gradients.

Method. Dimensions of the mesh that change are undone from the last to the first (a tensor dimension that several of them cut is cut by the first of them first), then
done from the first to the last. Gradients. What is recorded are operators on what each rank has. The gradient of a cut tensor is cut alike; that of a replicated one
and of the terms of a sum (Partial) is replicated. So an operator that makes of a replicated tensor something that is not has gradients for it that are terms of a sum:
_Convert adds these up, at the same time as it undoes the placement that the operator asked for.
"""
from ctsc import _C
from ctsc.autograd.function import Function

from .. import distributed_c10d as dist
from .._group import ReduceOp
from .placement_types import Partial, Replicate, Shard, _NormPartial, _StridedShard, strides

_cat, _zeros, _zeros_like = (_C._operator(n) for n in ("cat", "zeros", "zeros_like"))
R = Replicate()


def chunk(size, parts, rank):
    return Shard.local_shard_size_and_offset(size, parts, rank)


def in_order(placements):
    """Dimensions of the mesh in the order in which they cut."""
    return sorted(range(len(placements)), key=lambda i: isinstance(placements[i], _StridedShard))


def level(shape, placements, mesh, at, dim):
    """The size of a dimension before the at-th dimension of the mesh cuts it."""
    size = shape[dim]
    for i in in_order(placements):
        if i == at:
            break
        if placements[i].is_shard(dim):
            size = chunk(size, mesh.size(i), mesh.get_coordinate()[i])[0]
    return size


def local_shape(shape, mesh, placements, coordinate=None):
    """What this rank has, and where it begins in the whole."""
    sizes, starts = list(shape), [0] * len(shape)
    coordinate = mesh.get_coordinate() if coordinate is None else coordinate
    for i in in_order(placements):
        p = placements[i]
        if p.is_shard():
            sizes[p.dim], start = chunk(sizes[p.dim], mesh.size(i), coordinate[i])
            starts[p.dim] += start
    return sizes, starts


def _gather(local, dim, size, group):
    """The whole of a dimension whose parts are those of chunk()."""
    n = group.size()
    each = -(-size // n)
    local = local.contiguous()
    if local.shape[dim] != each:
        rest = list(local.shape)
        rest[dim] = each - local.shape[dim]
        local = _cat([local, _zeros(rest, dtype=local.dtype)], dim)
    parts = [local.new_empty(list(local.shape)) for _ in range(n)]
    dist.all_gather(parts, local, group=group)
    whole = _cat(parts, dim)
    return whole if whole.shape[dim] == size else whole.narrow(dim, 0, size)


def _reduce(local, placement, group):
    if isinstance(placement, _NormPartial):
        p = placement.norm_type
        if abs(p) == float("inf"):
            made = local.clone().contiguous()
            dist.all_reduce(made, ReduceOp.MAX if p > 0 else ReduceOp.MIN, group)
            return made
        made = local.abs().pow(p) if p else local.clone()
        dist.all_reduce(made, ReduceOp.SUM, group)
        return made.pow(1.0 / p) if p else made
    made = local.clone().contiguous()
    dist.all_reduce(made, getattr(ReduceOp, {"product": "PRODUCT"}.get(placement.reduce_op, placement.reduce_op.upper())), group)
    return made


def _scatter_sum(local, placement, dim, group):
    """The rank's part of a sum, where all parts have one size."""
    n = group.size()
    parts = [p.contiguous() for p in local.chunk(n, dim)]
    made = local.new_empty(list(parts[0].shape))
    dist.reduce_scatter(made, parts, getattr(ReduceOp, placement.reduce_op.upper()), group)
    return made


def _take(local, dim, parts, rank):
    size, start = chunk(local.shape[dim], parts, rank)
    return local.narrow(dim, start, size).clone()


def _may_scatter(shape, mesh, current, target, i):
    p, dim = current[i], target[i].dim
    others = [q for k, q in enumerate(list(current) + list(target)) if k % len(current) != i and q.is_shard(dim)]
    return not isinstance(p, _NormPartial) and p.reduce_op in ("sum", "avg") and not others and shape[dim] % mesh.size(i) == 0


def redistribute(local, mesh, shape, current, target):
    """What this rank has under other placements. Records no gradients."""
    current, target = list(current), list(target)
    if current == target:
        return local
    changes = {i for i in range(len(current)) if current[i] != target[i]}
    order = in_order(current)
    for i in sorted(changes):
        for j in order[order.index(i) + 1:]:
            if current[j].is_shard() and any(p.is_shard(current[j].dim) for p in (current[i], target[i])):
                changes.add(j)
    local = local.detach()
    for i in (i for i in reversed(order) if i in changes):
        p = current[i]
        if p.is_shard():
            local = _gather(local, p.dim, level(shape, current, mesh, i, p.dim), mesh.get_group(i))
        elif p.is_partial():
            if target[i].is_shard() and _may_scatter(shape, mesh, current, target, i):
                continue
            local = _reduce(local, p, mesh.get_group(i))
        current[i] = R
    for i in (i for i in in_order(target) if i in changes):
        p = target[i]
        if current[i].is_partial():
            local = _scatter_sum(local, current[i], p.dim, mesh.get_group(i))
        elif p.is_shard():
            local = _take(local, p.dim, mesh.size(i), mesh.get_coordinate()[i])
        elif p.is_partial("sum") and mesh.get_coordinate()[i]:
            local = _zeros_like(local)
        current[i] = p
    return local


def of_gradient(placements):
    """Of the gradient of a tensor with these placements."""
    return tuple(R if p.is_partial() else p for p in placements)


class _Convert(Function):
    @staticmethod
    def forward(ctx, local, mesh, shape, current, target, incoming):
        ctx.kept = mesh, shape, current, incoming
        made = redistribute(local, mesh, shape, current, target)
        return made.view_as(made) if made is local else made

    @staticmethod
    def backward(ctx, grad):
        mesh, shape, current, incoming = ctx.kept
        made = redistribute(grad, mesh, shape, incoming, of_gradient(current))
        for i, p in enumerate(current):
            if p.is_partial("avg"):
                made = made / mesh.size(i)
        return made, None, None, None, None, None


def convert(local, mesh, shape, current, target, incoming=None):
    """As redistribute, with gradients; incoming: the placements of the gradients that come."""
    incoming = of_gradient(target) if incoming is None else tuple(incoming)
    if _C.is_grad_enabled() and local.requires_grad:
        if tuple(current) != tuple(target) or incoming != of_gradient(current):
            return _Convert.apply(local, mesh, tuple(shape), tuple(current), tuple(target), incoming)
        return local
    return redistribute(local, mesh, shape, current, target)


__all__ = ["chunk", "convert", "level", "local_shape", "of_gradient", "redistribute", "strides"]
