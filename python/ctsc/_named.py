# SPDX-License-Identifier: Apache-2.0
"""_named.py - names of dims, as PyTorch 1.13 has them: Tensor.names, rename, refine_names, align_to, unflatten by name. The library computes with them (src/runtime/names).

In lists that the library gets, "*" is no name and "..." what PyTorch writes as an Ellipsis.
"""
from . import _C

Tensor = _C.Tensor
_op = _C._operator
_rename, _rename_in_place, _refine, _align = _op("aten::rename"), _op("aten::rename_"), _op("aten::refine_names"), _op("aten::align_to")
_unflatten_ints, _unflatten_names = _op("aten::unflatten.int"), _op("aten::unflatten.Dimname")


def _words(function, names):
    """Names as the library takes them."""
    for name in names:
        if name is not None and name is not Ellipsis and not isinstance(name, str):
            raise TypeError("%s(): argument 'names' (position 1) must be tuple of names, not tuple" % function)
    if sum(name in (Ellipsis, "...") for name in names) > 1:
        raise RuntimeError("%s: More than one Ellipsis ('...') found in names (%s). This function supports up to one Ellipsis." % (function, tuple(names)))
    return ["*" if name is None else "..." if name is Ellipsis else name for name in names]


def _renamed(self, names, renames):
    """The list for rename and rename_; None: no names."""
    if names and renames:
        raise RuntimeError("rename: This function takes either positional args or keyword args, but not both. Use tensor.rename(*names) to name dims and "
                           "tensor.rename(**rename_map) to rename dims.")
    if not renames:
        return None if len(names) == 1 and names[0] is None else _words("rename", names)
    made = list(self.names)
    for old, new in renames.items():
        if old not in self.names:
            raise RuntimeError("rename: Tried to rename dim '%s' to dim %s in Tensor[%s] but dim '%s' does not exist" % (old, new, self.names, old))
        made[self.names.index(old)] = new
    return _words("rename", made)


def rename(self, *names, **renames):
    """A view whose dims have these names: rename("N", "C"), rename(..., "C"), rename(old="new"), rename(None)."""
    return _rename(self, _renamed(self, names, renames))


def rename_(self, *names, **renames):
    """Renames the dims of this tensor."""
    _rename_in_place(self, _renamed(self, names, renames))
    return self


def refine_names(self, *names):
    """A view whose dims without a name get one: those that have one keep it."""
    return _refine(self, _words("refine_names", names))


def align_to(self, *names):
    """A view whose dims are in this order, with new ones of size 1 for names that the tensor has not."""
    return _align(self, _words("align_to", names))


def unflatten(self, dim, sizes):
    """A view in which dim has become several: sizes, or (name, size) pairs."""
    pairs = list(sizes.items()) if isinstance(sizes, dict) else list(sizes)
    if isinstance(dim, str):
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise TypeError("unflatten(): argument 'dim' (position 1) must be int, not str")
        return _unflatten_names(self, dim, [size for _, size in pairs], _words("unflatten", [name for name, _ in pairs]))
    if pairs and isinstance(pairs[0], (tuple, list)):
        raise TypeError("unflatten(): argument 'dim' (position 1) must be name, not int")
    return _unflatten_ints(self, dim, pairs)


def _set_names(self, names):
    _rename_in_place(self, None if names is None else _words("rename", names))


Tensor.names = property(lambda self: self._names(), _set_names, doc="The names of the dims, None for those without.")
Tensor.has_names = lambda self: any(name is not None for name in self._names())
Tensor.rename, Tensor.rename_, Tensor.refine_names, Tensor.align_to, Tensor.unflatten = rename, rename_, refine_names, align_to, unflatten


def refuse_serialisation(t):
    """Files cannot hold names."""
    if t.has_names():
        raise RuntimeError("NYI: Named tensors don't support serialization. Please drop names via `tensor = tensor.rename(None)` before serialization.")
