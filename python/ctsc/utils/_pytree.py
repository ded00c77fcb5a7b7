# SPDX-License-Identifier: Apache-2.0
"""_pytree.py - torch.utils._pytree: nested lists, tuples, named tuples and dicts as lists of leaves and back."""
from collections import OrderedDict, defaultdict, namedtuple

_KINDS = {}
PyTree = Context = object
NodeDef = namedtuple("NodeDef", "type flatten_fn unflatten_fn")


class TreeSpec(namedtuple("TreeSpec", "type context children_specs")):
    """The form of a tree: its class, what is needed to make it again, and the forms of its children."""
    __slots__ = ()
    num_nodes = property(lambda self: 1 + sum(s.num_nodes for s in self.children_specs))
    num_leaves = property(lambda self: sum(s.num_leaves for s in self.children_specs))
    num_children = property(lambda self: len(self.children_specs))

    def is_leaf(self):
        return False

    def unflatten(self, leaves):
        return tree_unflatten(leaves, self)


class LeafSpec(TreeSpec):
    """The form of what is not taken apart."""
    __slots__ = ()
    num_nodes = num_leaves = 1

    def __new__(cls):
        return super().__new__(cls, None, None, [])

    def is_leaf(self):
        return True

    def __repr__(self):
        return "*"


LEAF = LeafSpec()


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    _KINDS[cls] = (flatten_fn, unflatten_fn)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _children(tree):
    """(children, context), None of a leaf."""
    kind = type(tree)
    if kind in _KINDS:
        children, context = _KINDS[kind][0](tree)
        return list(children), context
    if kind in (dict, OrderedDict):
        return list(tree.values()), list(tree.keys())
    if kind is defaultdict:
        return list(tree.values()), [tree.default_factory, list(tree.keys())]
    if kind in (list, tuple):
        return list(tree), None
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree), kind
    return None


def _dict_flatten(d):
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d):
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _get_node_type(tree):
    """The key in SUPPORTED_NODES."""
    kind = type(tree)
    return namedtuple if kind not in _KINDS and isinstance(tree, tuple) and hasattr(tree, "_fields") else kind


SUPPORTED_NODES = {kind: NodeDef(kind, _children, lambda children, context, kind=kind: _made(kind, context, list(children)))
                   for kind in (dict, OrderedDict, defaultdict, list, tuple, namedtuple)}


def tree_flatten(tree, is_leaf=None):
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        return [tree], LEAF
    leaves, specs = [], []
    for child in found[0]:
        more, spec = tree_flatten(child, is_leaf)
        leaves += more
        specs.append(spec)
    return leaves, TreeSpec(_get_node_type(tree), found[1], specs)


def tree_unflatten(leaves, treespec):
    leaves = list(leaves)
    if treespec.is_leaf():
        return leaves[0]
    if len(leaves) != treespec.num_leaves:
        raise ValueError("tree_unflatten(leaves, treespec): `leaves` has length %d but the spec refers to a pytree that holds %d items" % (len(leaves), treespec.num_leaves))
    children, at = [], 0
    for spec in treespec.children_specs:
        n = spec.num_leaves
        children.append(tree_unflatten(leaves[at:at + n], spec))
        at += n
    return _made(treespec.type, treespec.context, children)


def _made(kind, context, children):
    if kind in _KINDS:
        return _KINDS[kind][1](children, context)
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], children))
    if kind in (dict, OrderedDict):
        return kind(zip(context, children))
    return context(*children) if kind is namedtuple else kind(children)


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
