# SPDX-License-Identifier: Apache-2.0
"""func.py - torch.func: functions of functions of tensors. Gradients are those of ctsc.autograd; vmap calls the function once for each row and stacks what it gives."""
import functools

from . import _C
from ._functions import Tensor, default_generator
from .autograd import enable_grad, functional
from .autograd import grad as _grad
from .utils._pytree import tree_flatten, tree_map, tree_unflatten

_stack, _zeros_like = _C._operator("stack"), _C._operator("zeros_like")


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with tensors by their names in place of its parameters and buffers."""
    dicts = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (list, tuple)) else (parameter_and_buffer_dicts,)
    given = {name: t for d in dicts for name, t in d.items()}
    known = dict(module.named_parameters(remove_duplicate=False))
    known.update(module.named_buffers(remove_duplicate=False))
    unknown, missing = [n for n in given if n not in known], [n for n in known if n not in given]
    if strict and (unknown or missing):
        raise RuntimeError("Unexpected key(s): %s; missing key(s): %s" % (", ".join(unknown), ", ".join(missing)))
    if unknown and not strict:
        raise KeyError("%s is not a parameter or buffer of the module" % unknown[0])
    if tie_weights:
        for name in missing:
            for other in list(given):
                if other in known and known[other] is known[name] and known[name] is not None:
                    given[name] = given[other]
    replaced = []
    try:
        for name, tensor in given.items():
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            registry = owner._parameters if last in owner._parameters else owner._buffers
            replaced.append((registry, last, registry[last]))
            registry[last] = tensor
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for registry, last, before in reversed(replaced):
            registry[last] = before


def stack_module_state(models):
    """(parameters, buffers): of modules of one kind, each stacked along a new first dimension."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    def stacked(named):
        rows = [dict(n) for n in named]
        return {k: _stack([r[k].detach() for r in rows]) for k in rows[0]}
    params = {k: v.requires_grad_() for k, v in stacked(m.named_parameters() for m in models).items()}
    return params, stacked(m.named_buffers() for m in models)


# ---- gradients


def _wanted(argnums, args):
    one = isinstance(argnums, int)
    for i in (argnums,) if one else argnums:
        if not -len(args) <= i < len(args):
            raise RuntimeError("Got argnum=%d, but only %d positional inputs" % (i, len(args)))
    return one, [args[i] for i in ((argnums,) if one else argnums)], (argnums,) if one else tuple(argnums)


def _differentiable(args, indices):
    """(args with leaves of their own at indices, those leaves, and how they are arranged)"""
    given, leaves, specs = list(args), [], []
    for i in indices:
        flat, spec = tree_flatten(given[i])
        for x in flat:
            if not isinstance(x, Tensor):
                raise ValueError("Thing passed to transform API must be Tensor, got %s" % type(x))
        fresh = [x.view_as(x) if isinstance(x, Tensor) and x.requires_grad else x.detach().requires_grad_() for x in flat]
        given[i] = tree_unflatten(fresh, spec)
        leaves.append(fresh)
        specs.append(spec)
    return given, leaves, specs


def grad_and_value(func, argnums=0, has_aux=False):
    """f(*args) -> (gradients of func's one number, the number)."""
    @functools.wraps(func)
    def run(*args, **kwargs):
        one, _, indices = _wanted(argnums, args)
        outer = any(isinstance(x, Tensor) and x.requires_grad for a in args for x in tree_flatten(a)[0]) and _C.is_grad_enabled()
        with enable_grad():
            given, leaves, specs = _differentiable(args, indices)
            out = func(*given, **kwargs)
            value, aux = out if has_aux else (out, None)
            if not isinstance(value, Tensor):
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got %s" % type(value))
            if value.ndim:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with %d dims. Maybe you wanted to use the vjp or jacrev "
                                   "APIs instead?" % value.ndim)
            flat = [x for part in leaves for x in part]
            found = _grad(value, flat, create_graph=True, allow_unused=True) if value.requires_grad else (None,) * len(flat)
        found = [_zeros_like(x) if g is None else g if outer or g.requires_grad and _nested() else g.detach() for g, x in zip(found, flat)]
        results, at = [], 0
        for part, spec in zip(leaves, specs):
            results.append(tree_unflatten(found[at:at + len(part)], spec))
            at += len(part)
        grads = results[0] if one else tuple(results)
        value = value if outer or _nested() else value.detach()
        if has_aux and not (outer or _nested()):
            aux = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, aux)
        return (grads, (value, aux)) if has_aux else (grads, value)
    return _entered(run)


_depth = [0]


def _nested():
    return _depth[0] > 1


def _entered(f):
    @functools.wraps(f)
    def run(*args, **kwargs):
        _depth[0] += 1
        try:
            return f(*args, **kwargs)
        finally:
            _depth[0] -= 1
    return run


def grad(func, argnums=0, has_aux=False):
    """f(*args) -> the gradients of func's one number with respect to its arguments argnums."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads
    return run


def vjp(func, *primals, has_aux=False):
    """(func(*primals), function of cotangents)"""
    with enable_grad():
        given, leaves, specs = _differentiable(primals, range(len(primals)))
        out = func(*given)
        out, aux = out if has_aux else (out, None)
    outs, out_spec = tree_flatten(out)
    flat = [x for part in leaves for x in part]

    def back(*cotangents, retain_graph=True, create_graph=None):
        vs = tree_flatten(cotangents[0] if len(cotangents) == 1 else cotangents)[0]
        found = _grad(outs, flat, vs, retain_graph=True, create_graph=_C.is_grad_enabled() if create_graph is None else create_graph, allow_unused=True)
        found = [_zeros_like(x) if g is None else g.detach() if create_graph is None and not _nested() and not any(v.requires_grad for v in vs) else g
                 for g, x in zip(found, flat)]
        results, at = [], 0
        for part, spec in zip(leaves, specs):
            results.append(tree_unflatten(found[at:at + len(part)], spec))
            at += len(part)
        return results[0] if len(results) == 1 and False else tuple(results)
    if has_aux and not _nested():
        aux = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, aux)
    plain = tree_unflatten([o.detach() if not _nested() and not any(isinstance(p, Tensor) and p.requires_grad for p in primals) else o for o in outs], out_spec)
    return (plain, back, aux) if has_aux else (plain, back)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative in the direction of tangents)"""
    aux = []

    def f(*xs):
        out = func(*xs)
        if has_aux:
            aux.append(out[1])
            out = out[0]
        return out
    out, product = functional.jvp(f, tuple(primals), tuple(tangents), create_graph=_nested())
    return (out, product, aux[0]) if has_aux else (out, product)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    """f(*args) -> the Jacobian: sizes of the output, then of the argument."""
    @functools.wraps(func)
    def run(*args, **kwargs):
        one, _, indices = _wanted(argnums, args)
        outer = _nested() or any(isinstance(x, Tensor) and x.requires_grad for a in args for x in tree_flatten(a)[0])
        with enable_grad():
            given, leaves, specs = _differentiable(args, indices)
            out = func(*given, **kwargs)
            out, aux = out if has_aux else (out, None)
            outs, out_spec = tree_flatten(out)
            flat, rows = [x for part in leaves for x in part], []
            for o in outs:
                o_flat, found = o.reshape(-1), [[] for _ in flat]
                for i in range(o_flat.numel()):
                    grads = _grad(o_flat[i], flat, retain_graph=True, create_graph=True, allow_unused=True) if o_flat.requires_grad else (None,) * len(flat)
                    for k, (g, x) in enumerate(zip(grads, flat)):
                        found[k].append(_zeros_like(x) if g is None else g)
                row = [_stack(f).reshape(tuple(o.shape) + tuple(x.shape)) for f, x in zip(found, flat)]
                row, results, at = [r if outer else r.detach() for r in row], [], 0
                for part, spec in zip(leaves, specs):
                    results.append(tree_unflatten(row[at:at + len(part)], spec))
                    at += len(part)
                rows.append(results[0] if one else tuple(results))
        jacobian = tree_unflatten(rows, out_spec)
        return (jacobian, aux) if has_aux else jacobian
    return _entered(run)


jacfwd = jacrev # the same numbers; there is no forward mode


def hessian(func, argnums=0):
    return jacrev(jacrev(func, argnums), argnums)


# ---- vmap


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """func over a dimension of its arguments: called for each index, the results are stacked along out_dims."""
    if randomness not in ("error", "same", "different"):
        raise RuntimeError("Only allowed values for randomness are 'error', 'different', or 'same'. Got %s" % randomness)

    @functools.wraps(func)
    def run(*args, **kwargs):
        flat, spec = tree_flatten(args)
        dims = _mapped(getattr(func, "__name__", repr(func)), in_dims, args, flat)
        sizes = {x.size(d) for x, d in zip(flat, dims) if d is not None and isinstance(x, Tensor)}
        if not sizes:
            raise ValueError("vmap(f, in_dims=%s): at least one input must be mapped over" % (in_dims,))
        if len(sizes) > 1:
            raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes %s for the mapped dimension" % sorted(sizes))
        n, rows, out_spec = sizes.pop(), [], None
        if not n:
            raise RuntimeError("vmap of a dimension of size 0 is not supported")
        keyed, before = {k: v for k, v in kwargs.items()}, default_generator.get_state() if randomness != "different" else None
        for i in range(n):
            if i and randomness == "same":
                default_generator.set_state(before)
            given = tree_unflatten([x if d is None else x.select(d, i) for x, d in zip(flat, dims)], spec)
            named = tree_map(lambda v: v.select(0, i) if isinstance(v, Tensor) else v, keyed)
            row, out_spec = tree_flatten(func(*given, **named))
            if not i and randomness == "error" and not default_generator.get_state().equal(before):
                default_generator.set_state(before)
                raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or "
                                   "perform the randomness operation out of vmap")
            if any(not isinstance(x, Tensor) for x in row):
                name = getattr(func, "__name__", func)
                raise ValueError("vmap(%s, ...): `%s` must only return Tensors, got type %s. Did you mean to set out_dims= to None for output?" % (
                    name, name, next(type(x) for x in row if not isinstance(x, Tensor))))
            rows.append(row)
        outs = _spread(out_dims, tree_unflatten(rows[0], out_spec)) if not isinstance(out_dims, int) else [out_dims] * len(rows[0])
        return tree_unflatten([_stack(list(column), d) if d is not None else column[0] for column, d in zip(zip(*rows), outs)], out_spec)
    return run


def _mapped(name, in_dims, args, flat):
    """The dim of each argument that a call is made for the indices of; None: it is the same in all calls."""
    if not args:
        raise ValueError("vmap(%s)(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. The latter is "
                         "unsupported." % name)
    called = "vmap(%s, in_dims=%s, ...)(<inputs>): " % (name, in_dims)
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(called + "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: %s." % type(in_dims))
    dims = _spread(in_dims, args)
    for x, d in zip(flat, [in_dims] * len(flat) if isinstance(in_dims, int) else dims):
        if d is not None and not isinstance(x, Tensor):
            raise ValueError(called + "Got in_dim=%s for an input but the input is of type %s. We cannot vmap over non-Tensor arguments, please use None as the respective "
                             "in_dim" % (d, type(x)))
        if d is not None and not -x.ndim <= d < x.ndim:
            raise ValueError(called + "Got in_dim=%s for some input, but that input is a Tensor of dimensionality %d so expected in_dim to satisfy -%d <= in_dim < %d." % (
                d, x.ndim, x.ndim, x.ndim))
    return dims


def _spread(dims, tree):
    """dims, given for parts of a tree, for each of its leaves."""
    if dims is None or isinstance(dims, int):
        return [dims if isinstance(x, Tensor) or dims is None else None for x in tree_flatten(tree)[0]]
    if isinstance(tree, dict):
        return [d for k in tree for d in _spread(dims[k] if isinstance(dims, dict) else dims, tree[k])]
    if not isinstance(tree, (list, tuple)) or len(dims) != len(tree):
        raise ValueError("vmap: dims %s do not fit the arguments" % (dims,))
    return [d for part, x in zip(dims, tree) for d in _spread(part, x)]


def linearize(func, *primals):
    out = func(*primals)
    return out, lambda *tangents: jvp(func, primals, tangents)[1]


def debug_unwrap(tensor, *, recurse=True):
    return tensor


def functionalize(func, *, remove="mutations"):
    return func


def replace_all_batch_norm_modules_(root):
    """Batch norms of root keep no running numbers: they cannot be written for each row."""
    for m in root.modules():
        if hasattr(m, "track_running_stats") and hasattr(m, "running_mean"):
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
