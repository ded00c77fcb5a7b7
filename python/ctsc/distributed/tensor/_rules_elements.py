# SPDX-License-Identifier: Apache-2.0
"""_rules_elements.py - rules (_ops.py) of functions of elements, of reductions, and of what works along some dimensions alone."""
from ctsc import _C

from ._ops import broadcast_shape, rule
from ._redistribute import R
from .placement_types import Partial, Shard, _NormPartial

Tensor = _C.Tensor
_LINEAR = frozenset("add sub mul div neg clone detach to contiguous alias positive true_divide copy type float double half bfloat16 requires_grad __add__ __radd__ __sub__ __rsub__ __mul__ "
                    "__rmul__ __truediv__ __neg__".split())
_SUMS = frozenset("add sub __add__ __radd__ __sub__ copy".split())


def _shards(case):
    """Dimensions that inputs are cut in, counted from the end of their shapes."""
    found = []
    for s in case.specs:
        for p in s.placements:
            if p.is_shard() and p.dim - len(s.shape) not in found:
                found.append(p.dim - len(s.shape))
    return found


def _cut(spec, shape, at):
    """What an operand is where the result is cut at dimension at (counted from the end): None: it cannot be."""
    if len(spec.shape) < -at or spec.shape[at] == 1 and shape[at] != 1:
        return R
    return Shard(at + len(spec.shape)) if spec.shape[at] == shape[at] else None


@rule(*"""abs acos acosh add addcdiv addcmul alias asin asinh atan atan2 atanh bernoulli bfloat16 bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp clamp_max clamp_min
    clip clone contiguous copy cos cosh deg2rad detach digamma div double dropout elu empty_like eq erf erfc erfinv exp exp2 expm1 exponential fill float floor floor_divide fmod frac full_like ge gelu gt
    half hardsigmoid hardswish hardtanh int isfinite isinf isnan isneginf isposinf ldexp le leaky_relu lerp lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or
    logical_xor logit logsigmoid log_sigmoid long lt masked_fill maximum minimum mish mul multiply nan_to_num ne neg negative normal ones_like positive pow rad2deg rand_like randn_like random reciprocal relu relu6
    remainder round rsqrt selu sgn sigmoid sign silu sin sinh softplus softshrink sqrt square sub subtract tan tanh tanhshrink threshold to true_divide trunc uniform where xlogy zero
    zeros_like bool type type_as requires_grad square rsub __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __neg__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __and__
    __or__ __xor__ __invert__ __floordiv__ __mod__ _to_copy""".split())
def elements(case):
    shape = case.shape = broadcast_shape([s.shape for s in case.specs])
    found = []
    for at in _shards(case):
        needs = [_cut(s, shape, at) for s in case.specs]
        if None not in needs:
            found.append((Shard(at + len(shape)), needs))
    if case.name in ("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"):
        return found
    partial = next((p for s in case.specs for p in s.placements if p.is_partial()), None)
    if partial is not None and case.name in _LINEAR and type(partial) is Partial and partial.reduce_op in ("sum", "avg"):
        n, numbers = len(case.specs), [a for a in case.args[1:] if isinstance(a, (int, float)) and not isinstance(a, bool)]
        if n == 1 and not (case.name in _SUMS and numbers):
            found.append((partial, [partial]))
        elif case.name in _SUMS and n == 2:
            found.append((partial, [partial, partial]))
        elif n == 2 and case.name in ("mul", "div", "__mul__", "__truediv__", "true_divide"):
            found.append((partial, [partial, R]))
            if "div" not in case.name:
                found.append((partial, [R, partial]))
    return found


# ---- reductions ------------------------------------------------------------------------------------------------------------------


def _dims(x, n):
    """None: all."""
    if x is None or isinstance(x, (list, tuple)) and not x:
        return None
    return [d % n if n else 0 for d in (x if isinstance(x, (list, tuple)) else [x])]


def reduced_shape(shape, dims, keep):
    if dims is None:
        dims = range(len(shape))
    return tuple(1 if k in dims else size for k, size in enumerate(shape) if keep or k not in dims)


def _after(dim, dims, keep):
    """Where a dimension is that was not reduced."""
    return dim if keep else dim - sum(1 for d in dims if d < dim)


def _reduction(case, dims, keep, partial=None, linear=False):
    """partial(size): what the result is where a reduced dimension of this size was cut; None: not that."""
    shape = case.specs[0].shape
    case.shape = reduced_shape(shape, dims, keep)
    found = []
    for p in {p for p in case.specs[0].placements}:
        if p.is_shard():
            if dims is None or p.dim in dims:
                made = partial(shape[p.dim]) if partial else None
                if made is not None:
                    found.append((made, [p]))
            else:
                found.append((Shard(_after(p.dim, dims, keep)), [p]))
        elif linear and type(p) is Partial and p.reduce_op in ("sum", "avg"):
            found.append((p, [p]))
    return found


def _reducing(case, first=1, keep_at=2):
    """(dims, keepdim) as such calls give them."""
    a = case.argument(first, "dim", case.kwargs.get("axis"))
    if isinstance(a, _C.dtype):
        a = None
    if isinstance(a, int) and not isinstance(a, bool) and len(case.args) > keep_at and isinstance(case.args[keep_at], int) and not isinstance(case.args[keep_at], bool):
        a = [v for v in case.args[first:] if isinstance(v, int) and not isinstance(v, bool)]
        return _dims(a, len(case.specs[0].shape)), bool(case.kwargs.get("keepdim", False))
    return _dims(a, len(case.specs[0].shape)), bool(case.argument(keep_at, "keepdim", False))


@rule("sum", "nansum")
def sums(case):
    return _reduction(case, *_reducing(case), lambda size: Partial("sum"), case.name == "sum")


@rule("mean")
def mean(case):
    dims, keep = _reducing(case)
    return _reduction(case, dims, keep, lambda size: Partial("avg") if case.divides(size) else None, True)


def _untracked(case, op):
    return (lambda size: None) if case.tracks() else (lambda size: Partial(op))


@rule("amax", "amin")
def extremes(case):
    return _reduction(case, *_reducing(case), _untracked(case, case.name[1:]))


@rule("max", "min", "any", "all", "prod")
def ends(case):
    """max and min of a dimension give two tensors."""
    if len(case.inputs) > 1:
        return elements(case)
    dims, keep = _reducing(case)
    if dims is None:
        op = {"max": "max", "min": "min", "prod": "product"}.get(case.name)
        return _reduction(case, None, False, _untracked(case, op) if op else None)
    found = _reduction(case, dims, keep)
    case.shape = [case.shape, case.shape] if case.name in ("max", "min") else case.shape
    return found


@rule("argmax", "argmin", "var", "std", "logsumexp", "median", "mode")
def others(case):
    dims, keep = _reducing(case)
    if case.name in ("var", "std"):
        keep = case.kwargs.get("keepdim", False)
        if len(case.args) > 2:
            return None
    if dims is None:
        return None
    found = _reduction(case, dims, keep)
    if case.name in ("median", "mode"):
        case.shape = [case.shape, case.shape]
    return found


@rule("vector_norm", "linalg_vector_norm", "norm")
def norms(case):
    order = case.argument(1, "ord" if "vector" in case.name else "p", 2)
    order = 2 if order == "fro" else order
    if not isinstance(order, (int, float)) or case.argument(2, "dim") is not None or case.argument(3, "keepdim"):
        return None
    return _reduction(case, None, False, None if case.tracks() else lambda size: _NormPartial(order))


# ---- along dimensions -------------------------------------------------------------------------------------------------------------


def _uncut(case, dims, outputs=1):
    """Each dimension but these may be cut."""
    dims = [d % len(case.specs[0].shape) for d in dims]
    case.shape = [case.shape] * outputs if outputs > 1 else case.shape
    return [(p, [p]) for p in {p for p in case.specs[0].placements if p.is_shard() and p.dim not in dims}]


@rule("softmax", "log_softmax", "_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp", "flip", "roll")
def along(case):
    dim = case.argument(1, "dim", -1) if case.name != "roll" else case.argument(2, "dims", None)
    if dim is None or len(case.inputs) != 1:
        return None
    return _uncut(case, dim if isinstance(dim, (list, tuple)) else [dim])


@rule("sort")
def sort(case):
    return _uncut(case, [case.argument(1, "dim", -1)], 2) if not case.kwargs.get("stable") else None


@rule("topk")
def topk(case):
    dim, shape = case.argument(2, "dim", -1), list(case.specs[0].shape)
    shape[dim] = case.argument(1, "k")
    found = _uncut(case, [dim])
    case.shape = [tuple(shape), tuple(shape)]
    return found


@rule("tril", "triu")
def triangles(case):
    return _uncut(case, [-1, -2])


def _normalised(case, count):
    """The first input is cut in a leading dimension; weights are whole."""
    lead = len(case.specs[0].shape) - count
    return [(p, [p] + [R] * (len(case.inputs) - 1)) for p in {p for p in case.specs[0].placements if p.is_shard() and p.dim < lead}]


@rule("layer_norm", "rms_norm")
def layer_norm(case):
    sizes = case.argument(1, "normalized_shape")
    return _normalised(case, len(sizes) if isinstance(sizes, (list, tuple)) else 1)


@rule("group_norm")
def group_norm(case):
    return _normalised(case, len(case.specs[0].shape) - 1)


@rule("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def losses(case):
    a, b = case.specs[0], case.specs[-1]
    reduction = case.argument(2, "reduction", 1)
    if len(case.specs) != 2 or a.shape != b.shape or reduction not in (0, 1, 2, "none", "mean", "sum"):
        return None
    if reduction in (0, "none"):
        return elements(case)
    case.shape, mean_ = (), reduction in (1, "mean")
    cut = {p for s in (a, b) for p in s.placements if p.is_shard()}
    return [(Partial("avg" if mean_ else "sum"), [p, p]) for p in cut if not mean_ or case.divides(a.shape[p.dim])]
