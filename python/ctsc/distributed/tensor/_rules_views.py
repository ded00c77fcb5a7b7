# SPDX-License-Identifier: Apache-2.0
"""_rules_views.py - rules (_ops.py) of what moves dimensions, joins and cuts tensors. All of these also take terms of a sum as they are."""
from ._ops import rule
from ._redistribute import R
from .placement_types import Partial, Shard


def _moves(case, shape, to):
    """to: where each dimension of the input is in the result; None: it must not be cut."""
    case.shape = tuple(shape)
    found = []
    for p in {p for p in case.specs[0].placements}:
        if p.is_shard() and to.get(p.dim) is not None:
            found.append((Shard(to[p.dim]), [p]))
        elif type(p) is Partial:
            found.append((p, [p]))
    return found


def _numbers(case, first, name="dims"):
    rest = case.args[first:] or case.kwargs.get(name, ())
    return list(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else list(rest)


def _permuted(case, order):
    shape = case.specs[0].shape
    return _moves(case, [shape[d] for d in order], {d: k for k, d in enumerate(order)})


@rule("t", "numpy_T", "matrix_H", "adjoint", "mT", "T")
def t(case):
    n = len(case.specs[0].shape)
    return _permuted(case, list(range(n - 2)) + ([n - 1, n - 2] if n > 1 else list(range(n))))


@rule("transpose", "swapaxes", "swapdims")
def transpose(case):
    n = len(case.specs[0].shape)
    order = list(range(n))
    a, b = (d % n for d in (case.argument(1, "dim0"), case.argument(2, "dim1")))
    order[a], order[b] = order[b], order[a]
    return _permuted(case, order)


@rule("permute")
def permute(case):
    n = len(case.specs[0].shape)
    return _permuted(case, [d % n for d in _numbers(case, 1)])


@rule("unsqueeze")
def unsqueeze(case):
    shape = list(case.specs[0].shape)
    at = case.argument(1, "dim") % (len(shape) + 1)
    return _moves(case, shape[:at] + [1] + shape[at:], {d: d + (d >= at) for d in range(len(shape))})


@rule("squeeze")
def squeeze(case):
    shape, dim = case.specs[0].shape, case.argument(1, "dim")
    n = len(shape)
    gone = [d % n for d in (dim if isinstance(dim, (list, tuple)) else range(n) if dim is None else [dim]) if shape[d] == 1]
    left = [d for d in range(n) if d not in gone]
    made = _moves(case, [shape[d] for d in left], {d: k for k, d in enumerate(left)})
    case.local = lambda args, kwargs, outs: args[0].squeeze(tuple(gone)) if gone else args[0]
    return made


@rule("expand", "expand_as", "broadcast_to")
def expand(case):
    shape = case.specs[0].shape
    sizes = _numbers(case, 1, "size") if case.name != "expand_as" else list(case.args[1].shape)
    if case.name == "expand_as":
        return None
    lead = len(sizes) - len(shape)
    whole = [shape[k - lead] if s == -1 else s for k, s in enumerate(sizes)]
    made = _moves(case, whole, {d: d + lead for d in range(len(shape)) if whole[d + lead] == shape[d]})

    def local(args, kwargs, outs):
        cut = {o.dim for o in outs if o.is_shard()}
        return args[0].expand(*[-1 if k in cut else s for k, s in enumerate(whole)])
    case.local = local
    return made


# ---- other sizes for the same elements -------------------------------------------------------------------------------------------


def _groups(a, b):
    """Dimensions of a and of b with the same elements in the same order: [(range of a, range of b)]."""
    found, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        si, sj, p, q = i, j, 1, 1
        if i < len(a):
            p, i = a[i], i + 1
        if j < len(b):
            q, j = b[j], j + 1
        while p != q:
            if p < q and i < len(a):
                p, i = p * a[i], i + 1
            elif q < p and j < len(b):
                q, j = q * b[j], j + 1
            else:
                return None
        found.append((range(si, i), range(sj, j)))
    return found


def _resized(case, sizes):
    shape, n = list(case.specs[0].shape), case.mesh.size()
    total = 1
    for s in shape:
        total *= s
    sizes = list(sizes)
    if -1 in sizes:
        known = 1
        for s in sizes:
            known *= s if s != -1 else 1
        sizes[sizes.index(-1)] = total // known if known else 0
    groups, to = _groups(shape, sizes) if total else None, {}
    for own, new in groups or ():
        lead = next((d for d in own if shape[d] != 1), None)
        into = next((d for d in new if sizes[d] != 1), None)
        if lead is None or into is None:
            continue
        if len(own) == len(new) == 1 or shape[lead] % n == 0 and sizes[into] % n == 0:
            to[lead] = into
    made = _moves(case, sizes, to)

    def local(args, kwargs, outs):
        here = list(sizes)
        for i, o in enumerate(outs):
            if o.is_shard():
                source = next(d for d, k in to.items() if k == o.dim)
                here[o.dim] = args[0].shape[source] if sizes[o.dim] == shape[source] else here[o.dim] // case.mesh.size(i)
        return args[0].reshape(here)
    case.local = local
    return made


@rule("view", "reshape", "view_as", "_unsafe_view")
def view(case):
    if case.name == "view_as" or not all(isinstance(s, int) for s in _numbers(case, 1, "size")):
        return None
    return _resized(case, _numbers(case, 1, "shape" if "shape" in case.kwargs else "size"))


@rule("flatten")
def flatten(case):
    shape = list(case.specs[0].shape)
    n = len(shape)
    first, last = case.argument(1, "start_dim", 0), case.argument(2, "end_dim", -1)
    if not n:
        return None
    first, last = first % n, last % n
    return _resized(case, shape[:first] + [-1] + shape[last + 1:]) if 0 not in shape else None


@rule("unflatten")
def unflatten(case):
    shape = list(case.specs[0].shape)
    at, sizes = case.argument(1, "dim"), case.argument(2, "sizes", case.kwargs.get("unflattened_size"))
    at %= len(shape)
    sizes = list(sizes)
    if -1 in sizes:
        known = 1
        for s in sizes:
            known *= s if s != -1 else 1
        sizes[sizes.index(-1)] = shape[at] // known
    return _resized(case, shape[:at] + sizes + shape[at + 1:])


# ---- parts -----------------------------------------------------------------------------------------------------------------------


def _sliced(size, s):
    return len(range(*s.indices(size)))


@rule("__getitem__")
def getitem(case):
    index, shape = case.args[1], case.specs[0].shape
    index = list(index) if isinstance(index, tuple) else [index]
    if not all(isinstance(k, (int, slice)) and not isinstance(k, bool) or k is None or k is Ellipsis for k in index):
        return None
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index[at:at + 1] = [slice(None)] * (len(shape) - sum(1 for k in index if k is not None and k is not Ellipsis))
    index += [slice(None)] * (len(shape) - sum(1 for k in index if k is not None))
    sizes, to, d = [], {}, 0
    for k in index:
        if k is None:
            sizes.append(1)
            continue
        if isinstance(k, slice):
            if k.indices(shape[d]) == (0, shape[d], 1):
                to[d] = len(sizes)
            sizes.append(_sliced(shape[d], k))
        d += 1
    local = [slice(None) if isinstance(k, slice) and k.start in (None, 0) and k.step in (None, 1) and (k.stop is None or k.stop >= 1 << 40) else k for k in index]
    whole = iter(range(len(shape)))
    for n, k in enumerate(index):
        if k is not None:
            d = next(whole)
            if d in to:
                local[n] = slice(None)
    case.local = lambda args, kwargs, outs: args[0][tuple(local)]
    return _moves(case, sizes, to)


@rule("select", "narrow")
def select(case):
    shape = list(case.specs[0].shape)
    dim = case.argument(1, "dim") % len(shape)
    if case.name == "narrow":
        sizes = shape[:dim] + [case.argument(3, "length")] + shape[dim + 1:]
        return _moves(case, sizes, {d: d for d in range(len(shape)) if d != dim})
    return _moves(case, shape[:dim] + shape[dim + 1:], {d: d - (d > dim) for d in range(len(shape)) if d != dim})


def _parts(case, dim, sizes):
    """Several results, cut in no other dimension than the input's."""
    shape = list(case.specs[0].shape)
    made = _moves(case, shape, {d: d for d in range(len(shape)) if d != dim})
    case.shape = [tuple(shape[:dim] + [s] + shape[dim + 1:]) for s in sizes]
    return made


def _even(size, each):
    return [min(each, size - at) for at in range(0, size, each)] if each > 0 else None


@rule("split", "split_with_sizes", "chunk", "tensor_split")
def split(case):
    dim, size = case.argument(2, "dim", 0), 0
    dim %= len(case.specs[0].shape)
    size, given = case.specs[0].shape[dim], case.argument(1, "chunks" if case.name == "chunk" else "split_size_or_sections")
    if case.name == "tensor_split" or given is None:
        return None
    sizes = list(given) if isinstance(given, (list, tuple)) else _even(size, -(-size // given) if case.name == "chunk" else given)
    return _parts(case, dim, sizes) if sizes else None


@rule("unbind")
def unbind(case):
    shape = list(case.specs[0].shape)
    dim = case.argument(1, "dim", 0) % len(shape)
    made = _moves(case, shape, {d: d - (d > dim) for d in range(len(shape)) if d != dim})
    case.shape = [tuple(shape[:dim] + shape[dim + 1:])] * shape[dim]
    return made


@rule("cat", "concat", "concatenate", "stack")
def cat(case):
    shapes = [list(s.shape) for s in case.specs]
    if len(case.args[0]) != len(case.specs) or any(len(s) != len(shapes[0]) for s in shapes):
        return None
    stacks, dim, n = case.name == "stack", case.argument(1, "dim", 0), len(case.specs)
    dim %= len(shapes[0]) + stacks
    sizes = list(shapes[0])
    if stacks:
        sizes.insert(dim, n)
    else:
        sizes[dim] = sum(s[dim] for s in shapes)
    case.shape = tuple(sizes)
    found = []
    for p in {p for s in case.specs for p in s.placements}:
        if p.is_shard() and (stacks or p.dim != dim):
            found.append((Shard(p.dim + (stacks and p.dim >= dim)), [p] * n))
        elif type(p) is Partial:
            found.append((p, [p] * n))
    return found
