# SPDX-License-Identifier: Apache-2.0
"""_ops.py - what functions make of DTensors: which placements they want of their arguments, and which their results have.

A rule says for one dimension of the mesh what can be done without communication: (placement of the result, placements of the DTensors among the arguments, in their
order). For each dimension of the mesh that is taken whose arguments cost least to bring there. Functions without a rule, and cases that a rule has nothing for, run on
replicated arguments: that is right for all. Rules: by name in _rules_*.py; call() is the one way in.
"""
from ctsc import _C

from . import _api
from ._api import DTensor, DTensorSpec, _op, plain, wrap
from ._redistribute import R, convert
from .placement_types import Partial, Shard

Tensor = _C.Tensor
RULES = {}


class Case:
    """A call: arguments in order, the DTensors among them, and what a rule may change: the local call and the shape of the result."""

    def __init__(self, name, func, args, kwargs):
        self.name, self.func, self.args, self.kwargs = name, func, list(args), dict(kwargs)
        self.inputs = []
        _walk(list(args) + list(kwargs.values()), self.inputs)
        self.mesh = self.inputs[0]._spec.mesh
        self.specs = [x._spec for x in self.inputs]
        self.shape = None   # of the result, or a list of shapes; None: that of the first input
        self.local = None   # (args, kwargs, target) -> result, where the arguments of the call are not those of the local one

    def argument(self, i, name=None, default=None):
        return self.args[i] if len(self.args) > i else self.kwargs.get(name, default)

    def tracks(self):
        return _C.is_grad_enabled() and any(x.requires_grad for x in self.inputs)

    def divides(self, size, shard=None):
        """Whether each dimension of the mesh that could cut a dimension of this size, cuts it evenly."""
        return all(size % self.mesh.size(i) == 0 for i in range(self.mesh.ndim)) and size % self.mesh.size() == 0


def rule(*names):
    def register(f):
        for n in names:
            RULES[n] = f
        return f
    return register


def _walk(values, found):
    for v in values:
        if isinstance(v, DTensor):
            found.append(v)
        elif type(v) in (list, tuple):
            _walk(v, found)
        elif isinstance(v, dict):
            _walk(v.values(), found)


def replace(x, f):
    """x with its DTensors, also those in lists, replaced."""
    if isinstance(x, DTensor):
        return f(x)
    if type(x) in (list, tuple):
        return type(x)(replace(v, f) for v in x)
    if isinstance(x, dict):
        return {k: replace(v, f) for k, v in x.items()}
    return x


def _same_mesh(case):
    for s in case.specs[1:]:
        if s.mesh != case.mesh:
            raise RuntimeError("aten.%s: all operands of DTensor operators have one mesh, found %s and %s" % (case.name, case.mesh, s.mesh))


def _mixed(values):
    for v in values:
        if isinstance(v, Tensor) and not isinstance(v, DTensor) and v.dim():
            return True
        if type(v) in (list, tuple) and _mixed(v):
            return True
    return False


def _cost(spec, i, need):
    have, n = spec.placements[i], 1.0
    for size in spec.shape:
        n *= size
    if have == need:
        return 0.0
    if need.is_partial():
        return 0.5 if have.is_replicate() and need.reduce_op == "sum" else float("inf")
    if have.is_replicate():
        return 1e-3
    return 1 + (2 * n if have.is_partial() and need.is_replicate() else n)


def _best(case, candidates, i, fixed):
    """Of the candidates that for dimension i of the mesh. fixed: the first input is written, and stays as it is."""
    best, least = None, float("inf")
    for out, needs in candidates + [(R, [R] * len(case.inputs))]:
        if fixed and (needs[0] != case.specs[0].placements[i] or out != needs[0]):
            continue
        cost = sum(_cost(s, i, p) for s, p in zip(case.specs, needs))
        if cost < least:
            best, least = (out, needs), cost
    if best is None:
        raise RuntimeError("aten.%s: in-place operations that require placement changes are not supported" % case.name)
    return best


def _of_output(out, k):
    return out[k] if isinstance(out, list) else out


def _grown(case, chosen):
    """Of each input where its gradients will be; of a replicated one they are terms of a sum if the result is not replicated."""
    found = []
    for k in range(len(case.inputs)):
        row = []
        for out, needs in chosen:
            outs = out if isinstance(out, list) else [out]
            p = needs[k]
            row.append(p if p.is_shard() else R if p.is_partial() or all(o.is_replicate() for o in outs) else Partial("sum"))
        found.append(tuple(row))
    return found


def _wrapped(case, result, chosen, replicated):
    placements = lambda k: tuple(_of_output(out, k) for out, _ in chosen)
    shapes = case.shape

    def one(x, k):
        if not isinstance(x, Tensor):
            return x
        shape = x.shape if replicated else shapes[k] if isinstance(shapes, list) else shapes
        return wrap(x, DTensorSpec(case.mesh, placements(k), shape))
    if isinstance(result, Tensor):
        return one(result, 0)
    if isinstance(result, (list, tuple)):
        items = [one(x, k) for k, x in enumerate(result)]
        return type(result)._make(items) if hasattr(result, "_make") else type(result)(items)
    return result


_IMPLICIT = [0]
ARGUMENTS = {"where": _op("aten::where")} # of methods that have other arguments than their operators


def call(func, args, kwargs):
    name = getattr(func, "__name__", str(func)).split(".")[0]
    special = SPECIAL.get(name)
    if special is not None:
        return special(*args, **kwargs)
    func = ARGUMENTS.get(name, func)
    case = Case(name, func, args, kwargs)
    _same_mesh(case)
    if _mixed(list(args) + list(kwargs.values())):
        if not _IMPLICIT[0]:
            raise RuntimeError("aten.%s.%s got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!" % (
                name.strip("_") or name, "Tensor" if len(args) == 2 else "default"))
    writes = name.endswith("_") and not name.startswith("__")
    base = name[:-1] if writes else name
    case.name, case.shape = base, case.specs[0].shape
    made = RULES.get(base, _none)(case)
    candidates = made or []
    chosen = [_best(case, candidates, i, writes) for i in range(case.mesh.ndim)]
    incoming = _grown(case, chosen)
    locals_ = {}
    for k, (x, s) in enumerate(zip(case.inputs, case.specs)):
        if writes and k == 0:
            locals_[id(x)] = plain(x)
            continue
        locals_.setdefault((id(x), k), convert(plain(x), s.mesh, s.shape, s.placements, [needs[k] for _, needs in chosen], incoming[k]))
    order = iter(range(len(case.inputs)))

    def local(x):
        k = next(order)
        return locals_[id(x)] if writes and k == 0 else locals_[(id(x), k)]
    new_args = replace(case.args, local)
    new_kwargs = replace(case.kwargs, local)
    replicated = all(all(p.is_replicate() for p in needs) and not isinstance(out, list) and out.is_replicate() for out, needs in chosen)
    run = case.local if case.local is not None and not replicated else None
    result = run(new_args, new_kwargs, [out for out, _ in chosen]) if run else func(*new_args, **new_kwargs)
    if writes:
        return args[0]
    return _wrapped(case, result, chosen, replicated)


def _none(case):
    return None


# ---- functions that are not operators on elements -------------------------------------------------------------------------------


def _equal(a, b, **options):
    return plain(a.full_tensor()).equal(plain(b.full_tensor())) if isinstance(a, DTensor) and isinstance(b, DTensor) else False


def _allclose(a, b, *args, **options):
    import ctsc
    whole = lambda x: plain(x.full_tensor()) if isinstance(x, DTensor) else x
    return ctsc.allclose(whole(a), whole(b), *args, **options)


def _broadcast_tensors(*tensors):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = broadcast_shape([tuple(t.shape) for t in tensors])
    return [t if tuple(t.shape) == shape else t.expand(*shape) for t in tensors]


def _foreach(name):
    method = name[len("_foreach_"):]

    def run(first, *rest, **options):
        return [getattr(x, method)(*[r[i] if isinstance(r, (list, tuple)) else r for r in rest], **options) for i, x in enumerate(first)]
    return run


def broadcast_shape(shapes):
    found = []
    for at in range(1, max((len(s) for s in shapes), default=0) + 1):
        sizes = {s[-at] for s in shapes if len(s) >= at} - {1}
        if len(sizes) > 1:
            raise RuntimeError("The size of tensor a (%d) must match the size of tensor b (%d) at non-singleton dimension %d" % (*sorted(sizes)[:2], -at))
        found.insert(0, sizes.pop() if sizes else 1)
    return tuple(found)


SPECIAL = {"equal": _equal, "allclose": _allclose, "broadcast_tensors": _broadcast_tensors}
for _name in ("add", "sub", "mul", "div", "sqrt", "pow", "neg", "lerp", "addcmul", "addcdiv", "zero", "norm"):
    SPECIAL["_foreach_" + _name], SPECIAL["_foreach_%s_" % _name] = _foreach("_foreach_" + _name), _foreach("_foreach_%s_" % _name)

_api.dispatcher[0] = call
