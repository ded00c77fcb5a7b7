# SPDX-License-Identifier: Apache-2.0
"""powerSGD_hook.py - gradients of matrices sent as two thin factors (Vogels et al., PowerSGD, 2019).

Method. A matrix M of gradients becomes P Q^T of a low rank: P = M Q is summed over the ranks and made orthogonal, then Q = M^T P is averaged. Q is that of the step before
(warm start), at first random, of one seed for all ranks. What the product lacks of M is added to the next step's gradients (error feedback). Tensors for which that saves
little are averaged as they are."""
from ctsc import _C

from ... import distributed_c10d as dist
from .default_hooks import allreduce_hook

_bmm, _cat, _empty, _randn, _sum, _norm, _qr = (_C._operator(n) for n in ("bmm", "cat", "empty", "randn", "sum", "linalg_vector_norm", "linalg_qr"))


def _orthogonalize(matrices, epsilon=0):
    """Makes the columns of each matrix of a batch orthonormal, in place."""
    rank = matrices.shape[2]
    if rank > 2 and matrices.dtype not in (_C.float16, _C.bfloat16):
        matrices.copy_(_qr(matrices)[0])
        return
    for i in range(rank):
        column = matrices[:, :, i:i + 1]
        column.div_(_norm(column, 2, [1], True) + epsilon)
        rest = matrices[:, :, i + 1:]
        if i + 1 < rank:
            rest.sub_(_sum(column * rest, [1], True) * column)


class PowerSGDState:
    """What the hook keeps from step to step, and its settings."""

    def __init__(self, process_group, matrix_approximation_rank=1, start_powerSGD_iter=1000, min_compression_rate=2, use_error_feedback=True, warm_start=True,
                 orthogonalization_epsilon=0, random_seed=0, compression_stats_logging_frequency=10000, batch_tensors_with_same_shape=False):
        import numpy
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be applied after the first two "
                             "iterations in DDP.")
        self.process_group, self.matrix_approximation_rank, self.start_powerSGD_iter = process_group, matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate, self.use_error_feedback, self.warm_start = min_compression_rate, use_error_feedback, warm_start
        self.orthogonalization_epsilon, self.batch_tensors_with_same_shape = orthogonalization_epsilon, batch_tensors_with_same_shape
        self.rng, self.error_dict, self.p_memory_dict, self.q_memory_dict, self.iter = numpy.random.RandomState(random_seed), {}, {}, {}, 0
        self.total_numel_before_compression = self.total_numel_after_compression = self.next_stats_report = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "process_group"} # a group is of one process

    def __setstate__(self, state):
        self.__dict__.update(state, process_group=dist._get_default_group())

    def maybe_increase_iter(self, bucket):
        """A step more, once all its buckets were there."""
        self.iter += bucket.is_last()

    def compression_stats(self):
        """(how many times fewer elements are sent, elements before, elements after)"""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after > 0 else 0, before, after


def _thin(state, tensors):
    """(matrices to be sent as factors, tensors to be sent as they are), counted."""
    matrices, others = [], []
    for t in tensors:
        m = t.view(t.shape[0], -1) if t.dim() else t.view(1, 1)
        rows, columns = m.shape
        small = (rows + columns) * min(rows, columns, state.matrix_approximation_rank)
        saves = small * state.min_compression_rate < rows * columns
        (matrices if saves else others).append(m if saves else t)
        state.total_numel_before_compression += rows * columns
        state.total_numel_after_compression += small if saves else rows * columns
    return matrices, others


def _factors(memory, matrices, side, rank):
    """Views of one memory, a thin factor for each matrix."""
    made, at = [], 0
    for m in matrices:
        shape = (1, m.shape[side], min(m.shape[0], m.shape[1], rank))
        made.append(memory[at:at + shape[1] * shape[2]].view(shape))
        at += shape[1] * shape[2]
    return made


def powerSGD_hook(state, bucket):
    """A hook for DistributedDataParallel.register_comm_hook."""
    group, whole, index = dist._group_or_default(state.process_group), bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    if state.use_error_feedback and index in state.error_dict:
        whole.add_(state.error_dict[index])
    given = whole.clone() if state.use_error_feedback else None
    matrices, others = _thin(state, bucket.gradients())
    by_shape = {} # in the order in which PyTorch draws their random numbers
    for m in matrices:
        by_shape.setdefault(tuple(m.shape), []).append(m)
    matrices, rank = [m for same in by_shape.values() for m in same], state.matrix_approximation_rank
    fresh = not state.warm_start or index not in state.q_memory_dict
    if fresh:
        for kept, side in ((state.p_memory_dict, 0), (state.q_memory_dict, 1)):
            kept[index] = _empty([sum(m.shape[side] * min(m.shape[0], m.shape[1], rank) for m in matrices)], dtype=whole.dtype, device=whole.device)
    p_memory, q_memory = state.p_memory_dict[index], state.q_memory_dict[index]
    ps, qs = _factors(p_memory, matrices, 0, rank), _factors(q_memory, matrices, 1, rank)
    if fresh:
        generator = _C.Generator().manual_seed(int(state.rng.randint(1000000000)))
        same = len(by_shape) != len(matrices) and state.batch_tensors_with_same_shape
        for shape, those in by_shape.items() if same else ():
            drawn = _randn([len(those), shape[1], min(shape + (rank,))], dtype=whole.dtype, generator=generator)
            for m, one in zip(those, drawn):
                next(q for q, x in zip(qs, matrices) if x is m).copy_(one)
        for q in () if same else qs:
            q.copy_(_randn(list(q.shape), dtype=whole.dtype, generator=generator))
    for m, p, q in zip(matrices, ps, qs):
        _orthogonalize(q, state.orthogonalization_epsilon)
        p.copy_(_bmm(m.unsqueeze(0), q))
    plain = _cat([t.reshape(-1) for t in others]) if others else _empty([0], dtype=whole.dtype, device=whole.device)
    sent = dist.all_reduce(plain, group=group, async_op=True)
    sum_of_ps = dist.all_reduce(p_memory, group=group, async_op=True)

    def finish(_):
        sent.wait()
        at = 0
        plain.div_(group.size())
        for t in others:
            t.copy_(plain[at:at + t.numel()].view(t.shape))
            at += t.numel()
        for m, p, q in zip(matrices, ps, qs):
            _orthogonalize(p, state.orthogonalization_epsilon)
            q.copy_(_bmm(m.t().unsqueeze(0), p))
        dist.all_reduce(q_memory, group=group)
        q_memory.div_(group.size())
        for m, p, q in zip(matrices, ps, qs):
            m.copy_(_bmm(p, q.transpose(1, 2))[0])
        if state.use_error_feedback:
            state.error_dict[index] = given - whole
        if not state.warm_start:
            state.p_memory_dict.clear()
            state.q_memory_dict.clear()
        state.maybe_increase_iter(bucket)
        return whole
    return sum_of_ps.get_future().then(finish)
