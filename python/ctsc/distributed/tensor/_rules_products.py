# SPDX-License-Identifier: Apache-2.0
"""_rules_products.py - rules (_ops.py) of matrix products, embeddings and attention."""
from ._ops import rule
from ._redistribute import R, local_shape
from .placement_types import Partial, Shard

SUM = Partial("sum")


@rule("linear")
def linear(case):
    """x [..., k], w [n, k], b [n]"""
    x, w = case.specs[0].shape, case.specs[1].shape
    bias, last = len(case.specs) > 2, len(x) - 1
    case.shape = tuple(x[:-1]) + (w[0],)
    found = [(Shard(d), [Shard(d), R] + [R] * bias) for d in range(last)]
    found.append((Shard(last), [R, Shard(0)] + [Shard(0)] * bias))
    found.append((SUM, [Shard(last), Shard(1)] + [SUM] * bias))
    if not bias:
        found.append((SUM, [SUM, R]))
    return found


@rule("matmul", "mm", "bmm", "__matmul__", "__rmatmul__")
def matmul(case):
    a, b = case.specs[0].shape, case.specs[1].shape
    if len(a) < 2 or len(b) < 2 or len(b) > 2 and a[:-2] != b[:-2]:
        return None
    n, batched = len(a), len(b) > 2
    case.shape = tuple(a[:-1]) + (b[-1],)
    found = [(Shard(d), [Shard(d), Shard(d) if batched else R]) for d in range(n - 2)]
    found += [(Shard(n - 2), [Shard(n - 2), R]), (Shard(n - 1), [R, Shard(len(b) - 1)]), (SUM, [Shard(n - 1), Shard(len(b) - 2)])]
    return found + [(SUM, [SUM, R]), (SUM, [R, SUM])]


@rule("addmm", "baddbmm")
def addmm(case):
    """c + a @ b, with c [n] or of the result's shape"""
    c, a, b = (s.shape for s in case.specs)
    if case.kwargs.get("beta", 1) != 1:
        return None
    n = len(a)
    case.shape = tuple(a[:-1]) + (b[-1],)
    of = lambda d: Shard(d - n + len(c)) if len(c) >= n - d and c[d - n] == case.shape[d] else R
    found = [(Shard(0), [of(0), Shard(0), Shard(0)])] if n == 3 else []
    return found + [(Shard(n - 2), [of(n - 2), Shard(n - 2), R]), (Shard(n - 1), [of(n - 1), R, Shard(n - 1)]), (SUM, [SUM, Shard(n - 1), Shard(n - 2)])]


@rule("embedding")
def embedding(case):
    """weight [rows, width], indices; rows that are cut: those of other ranks are 0"""
    if len(case.inputs) != 2:
        return None
    weight, indices = case.specs
    nd = len(indices.shape)
    case.shape = tuple(indices.shape) + (weight.shape[1],)
    found = [(Shard(d), [R, Shard(d)]) for d in range(nd)] + [(Shard(nd), [Shard(1), R])]
    if case.argument(2, "padding_idx", -1) in (-1, None):
        found.append((SUM, [Shard(0), R]))

    def local(args, kwargs, outs):
        cut = [i for i, o in enumerate(outs) if o.is_partial()]
        if not cut:
            return case.func(*args, **kwargs)
        placements = [Shard(0) if i in cut else R for i in range(len(outs))]
        (rows, _), (start, _) = local_shape(weight.shape, case.mesh, placements)
        here = args[1] - start
        inside = (here >= 0) & (here < rows)
        made = case.func(args[0], here.masked_fill(inside.logical_not(), 0), *args[2:], **kwargs) if rows else args[0].new_zeros(list(args[1].shape) + [args[0].shape[1]])
        return made * inside.unsqueeze(-1).to(made.dtype)
    case.local = local
    return found


@rule("scaled_dot_product_attention")
def attention(case):
    if len(case.inputs) != 3 or any(len(s.shape) != 4 or s.shape[:2] != case.specs[0].shape[:2] for s in case.specs):
        return None
    case.shape = tuple(case.specs[0].shape[:-1]) + (case.specs[2].shape[-1],)
    return [(Shard(d), [Shard(d)] * 3) for d in (0, 1)]
