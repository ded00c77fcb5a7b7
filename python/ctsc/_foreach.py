# SPDX-License-Identifier: Apache-2.0
"""_foreach.py - torch._foreach_NAME and torch._foreach_NAME_: an operator for each tensor of a list, as optimisers are written with."""
from . import _C

_ALONE = frozenset("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt "
                   "tan tanh trunc zero".split())
# Others: how many arguments each has beside the list, at least and at most.
_WITH = {"add": (1, 1), "sub": (1, 1), "mul": (1, 1), "div": (1, 1), "pow": (1, 1), "maximum": (1, 1), "minimum": (1, 1), "clamp_max": (1, 1), "clamp_min": (1, 1),
         "addcmul": (2, 3), "addcdiv": (2, 3), "lerp": (2, 2), "copy": (1, 2), "mm": (1, 1), "norm": (0, 2), "max": (0, 0), "powsum": (1, 2), "clone": (0, 0)}
_NAMES = {"copy": ("src", "non_blocking"), "norm": ("ord", "dtype"), "lerp": ("tensors1", "weight"), "pow": ("exponent",), "powsum": ("ord", "dtype"),
          "addcmul": ("tensor1", "tensor2", "value"), "addcdiv": ("tensor1", "tensor2", "value")}
# For numbers, and in place.
_CLAMPS = {"maximum": "clamp_min", "minimum": "clamp_max"}
_OUT_OF_PLACE = frozenset(("norm", "max", "powsum", "clone", "mm"))


def _is_list(x):
    return isinstance(x, (list, tuple))


def _tensors_of(name, x):
    if not _is_list(x):
        raise TypeError("%s(): argument 'self' (position 1) must be tuple of Tensors, not %s" % (name, type(x).__name__))
    for i, t in enumerate(x):
        if not isinstance(t, _C.Tensor):
            raise TypeError("expected Tensor as element %d in argument 0, but got %s" % (i, type(t).__name__))
    if not x:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return x


def _spread(x, n):
    """An argument for each of n tensors."""
    if not _is_list(x):
        return [x] * n
    if len(x) != n and all(isinstance(v, _C.Tensor) for v in x):
        raise RuntimeError("Tensor lists must have the same number of tensors, got %d and %d" % (n, len(x)))
    if len(x) != n:
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return x


def _numbers(scalars, n):
    """The factors of addcmul and addcdiv, which may be one tensor."""
    if not isinstance(scalars, _C.Tensor):
        return scalars
    if scalars.ndim != 1:
        raise RuntimeError("Expected packed scalar Tensor to be of dimension 1. Got %d instead." % scalars.ndim)
    if len(scalars) != n:
        raise RuntimeError("Expected length of scalars to match input of length %d but got %d instead." % (n, len(scalars)))
    return scalars.tolist()


def _norm(x, order=2, dtype=None):
    return _C._operator("aten::linalg_vector_norm")(x, order, dtype=dtype)


def _powsum(x, order, dtype=None):
    return (x if dtype is None else x.to(dtype)).abs().pow(order).sum()


def _max(x):
    if not x.numel():
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return x.max()


_OWN = {"norm": _norm, "powsum": _powsum, "max": _max}


def _operator_for(base, suffix, rows):
    """What computes the element of each row of arguments."""
    if base in _OWN:
        return _OWN[base]
    if base in _CLAMPS and (suffix or not isinstance(rows[0][1], _C.Tensor)):
        base = _CLAMPS[base]
    run = _C._operator(base + suffix)
    if base not in ("addcmul", "addcdiv"):
        return run
    return lambda x, a, b, value=1: run(x, a, b, value=value)


def function(name):
    """torch._foreach_NAME; None: there is no such function."""
    base = name[len("_foreach_"):]
    suffix = "_" if base.endswith("_") else ""
    base = base.rstrip("_")
    least, most = _WITH.get(base, (0, 0))
    if base not in _WITH and base not in _ALONE or (suffix and base in _OUT_OF_PLACE) or (not suffix and base in ("zero", "copy")):
        return None

    def each(self, *args, **kwargs):
        alpha = {"alpha": kwargs.pop("alpha")} if base in ("add", "sub") and "alpha" in kwargs else {}
        args = list(args)
        for word in _NAMES.get(base, ("other", "scalar"))[len(args):]:
            if word in kwargs:
                args.append(kwargs.pop(word))
        if kwargs or not least <= len(args) <= most or (alpha and not _is_list(args[0]) and not isinstance(args[0], _C.Tensor)):
            raise TypeError("%s() received an invalid combination of arguments - got (%s)" %
                            (name, ", ".join([type(x).__name__ for x in [self] + args] + ["%s=%s" % (k, type(v).__name__) for k, v in {**alpha, **kwargs}.items()])))
        if base == "pow" and not suffix and not _is_list(self):
            n = len(_tensors_of(name, args[0]))
        else:
            n = len(_tensors_of(name, self))
        if base in ("addcmul", "addcdiv") and len(args) == 3:
            args[2] = _numbers(args[2], n)
        if base in ("add", "sub", "mul", "div") and isinstance(args[0], _C.Tensor) and args[0].ndim:
            raise RuntimeError("scalar tensor expected to be 0 dim but it has %d dimensions and %d elements." % (args[0].ndim, args[0].numel()))
        rows = list(zip(*(_spread(x, n) for x in [self] + args)))
        run = _operator_for(base, suffix, rows)
        results = tuple(run(*row, **alpha) for row in rows)
        return self if suffix else results
    each.__name__ = each.__qualname__ = name
    each.__doc__ = "torch.%s%s for each tensor of a list%s." % (base, suffix, ", in place; returns the list" if suffix else "; returns a tuple")
    return each
