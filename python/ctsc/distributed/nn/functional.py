# SPDX-License-Identifier: Apache-2.0
"""functional.py - torch.distributed.nn.functional: collectives that return new tensors, and whose gradients are collectives."""
from ctsc import _C
from ctsc.autograd.function import Function

from .. import distributed_c10d as dist
from .._group import ReduceOp

_empty_like, _zeros_like, _stack, _cat = (_C._operator(n) for n in ("empty_like", "zeros_like", "stack", "cat"))


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, src, group, tensor):
        ctx.src, ctx.group, ctx.rank = src, group, dist.get_rank(group)
        made = tensor.clone()
        dist.broadcast(made, src, group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        gx = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, gx if dist.get_rank() == ctx.src else _zeros_like(gx)


class _Gather(Function):
    @staticmethod
    def forward(ctx, dst, group, tensor):
        ctx.dst, ctx.group = dst, group
        parts = [_zeros_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.gather(tensor.contiguous(), parts if dist.get_rank(group) == _place(group, dst) else None, dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.src, ctx.group = src, group
        made = _zeros_like(tensors[0])
        dist.scatter(made, [t.contiguous() for t in tensors] if dist.get_rank(group) == _place(group, src) else None, src, group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return (None, None) + tuple(_Gather.apply(ctx.src, ctx.group, grad))


class _Reduce(Function):
    @staticmethod
    def forward(ctx, src, op, group, tensor):
        ctx.src, ctx.group = src, group
        made = tensor.clone()
        dist.reduce(made, src, op=op, group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, _Broadcast.apply(ctx.src, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, tensor, *inputs):
        ctx.group = group
        made = _empty_like(tensor)
        dist.reduce_scatter(made, [t.contiguous() for t in inputs], op=op, group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return (None, None, None) + tuple(_AllGather.apply(ctx.group, grad))


class _AllGather(Function):
    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group = group
        parts = [_empty_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, tensor.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        made = _empty_like(grads[0])
        dist.reduce_scatter(made, [g.contiguous() for g in grads], group=ctx.group)
        return None, made


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx, output, tensor, group):
        ctx.group, ctx.shape = group, tensor.shape
        made = _empty_like(output)
        dist.all_gather_into_tensor(made, tensor.contiguous(), group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        made = grad.new_empty(ctx.shape)
        dist.reduce_scatter_tensor(made, grad.contiguous(), group=ctx.group)
        return None, made, None


class _AlltoAll(Function):
    @staticmethod
    def forward(ctx, group, outputs, *inputs):
        ctx.group = group
        ctx.sizes = [t.shape for t in inputs]
        made = [_empty_like(o) for o in outputs]
        dist.all_to_all(made, [t.contiguous() for t in inputs], group=group)
        return tuple(made)

    @staticmethod
    def backward(ctx, *grads):
        made = [grads[0].new_empty(s) for s in ctx.sizes]
        return (None, None) + tuple(_AlltoAll.apply(ctx.group, made, *grads))


class _AlltoAllSingle(Function):
    @staticmethod
    def forward(ctx, group, output, output_split_sizes, input_split_sizes, tensor):
        ctx.group, ctx.shape, ctx.splits = group, tensor.shape, (output_split_sizes, input_split_sizes)
        made = _empty_like(output)
        dist.all_to_all_single(made, tensor.contiguous(), output_split_sizes, input_split_sizes, group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, None, _AlltoAllSingle.apply(ctx.group, grad.new_empty(ctx.shape), ctx.splits[1], ctx.splits[0], grad.contiguous())


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.op, ctx.group = op, group
        made = tensor.clone()
        dist.all_reduce(made, op=op, group=group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


def _place(group, global_rank):
    return dist.get_group_rank(dist._group_or_default(group), global_rank)


def broadcast(tensor, src, group=None):
    return _Broadcast.apply(src, group, tensor)


def gather(tensor, dst=0, group=None):
    return _Gather.apply(dst, group, tensor)


def scatter(tensors, src=0, group=None):
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor, group=None):
    return _AllGather.apply(group, tensor)


def _all_gather_base(output_tensor, input_tensor, group=None):
    return _AllGatherBase.apply(output_tensor, input_tensor, group)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    return _AlltoAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    return _AlltoAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    return _AllReduce.apply(op, group, tensor)
