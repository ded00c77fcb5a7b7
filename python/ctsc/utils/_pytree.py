# SPDX-License-Identifier: Apache-2.0
"""_pytree.py - torch.utils._pytree: nested lists, tuples, named tuples and dicts as lists of leaves and back."""
from collections import OrderedDict, defaultdict, namedtuple

_KINDS = {}
_Leaf = namedtuple("_Leaf", ())
LEAF = _Leaf()
TreeSpec = namedtuple("TreeSpec", "kind context children")
PyTree = object


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    _KINDS[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _children(tree):
    """(children, context), None of a leaf."""
    kind = type(tree)
    if kind in _KINDS:
        children, context = _KINDS[kind][0](tree)
        return list(children), context
    if kind in (dict, OrderedDict, defaultdict):
        return list(tree.values()), (list(tree.keys()), tree.default_factory if kind is defaultdict else None)
    if kind in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return list(tree), None
    return None


def tree_flatten(tree, is_leaf=None):
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        return [tree], LEAF
    leaves, specs = [], []
    for child in found[0]:
        more, spec = tree_flatten(child, is_leaf)
        leaves += more
        specs.append(spec)
    return leaves, TreeSpec(type(tree), found[1], specs)


def _count(spec):
    return 1 if spec is LEAF else sum(_count(s) for s in spec.children)


def tree_unflatten(leaves, treespec):
    leaves = list(leaves)
    if treespec is LEAF:
        return leaves[0]
    children, at = [], 0
    for spec in treespec.children:
        n = _count(spec)
        children.append(tree_unflatten(leaves[at:at + n], spec))
        at += n
    kind, context = treespec.kind, treespec.context
    if kind in _KINDS:
        return _KINDS[kind][1](children, context)
    if kind is defaultdict:
        return defaultdict(context[1], zip(context[0], children))
    if kind in (dict, OrderedDict):
        return kind(zip(context[0], children))
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten([func(*xs) for xs in zip(leaves, *(tree_flatten(r, is_leaf)[0] for r in rests))], spec)


def tree_map_only(kind, func, tree, is_leaf=None):
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    return any(map(pred, tree_leaves(tree, is_leaf)))


# ---- leaves with the way to them

MappingKey, SequenceKey, GetAttrKey = namedtuple("MappingKey", "key"), namedtuple("SequenceKey", "idx"), namedtuple("GetAttrKey", "name")


def _steps(tree):
    """The step to each child."""
    if isinstance(tree, dict):
        return [MappingKey(k) for k in tree]
    if hasattr(tree, "_fields"):
        return [GetAttrKey(f) for f in tree._fields]
    return [SequenceKey(i) for i in range(len(_children(tree)[0]))]


def tree_leaves_with_path(tree, is_leaf=None, _path=()):
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        return [(_path, tree)]
    return [row for step, child in zip(_steps(tree), found[0]) for row in tree_leaves_with_path(child, is_leaf, _path + (step,))]


def tree_flatten_with_path(tree, is_leaf=None):
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    rows, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(r, is_leaf) for r in rests]
    return tree_unflatten([func(*row, *xs) for row, *xs in zip(rows, *others)], spec)


def keystr(kp):
    """[0]['weight'].bias"""
    return "".join("[%r]" % (k[0],) if not isinstance(k, GetAttrKey) else "." + k.name for k in kp)


def tree_iter(tree, is_leaf=None):
    return iter(tree_leaves(tree, is_leaf))


def tree_map_(func, tree, *rests, is_leaf=None):
    """func is called for what it does; the tree as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only_(kind, func, tree, is_leaf=None):
    tree_map_only(kind, func, tree, is_leaf)
    return tree


def tree_all_only(kind, pred, tree, is_leaf=None):
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(kind, pred, tree, is_leaf=None):
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))
