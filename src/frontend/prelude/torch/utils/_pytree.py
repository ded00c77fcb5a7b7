# SPDX-License-Identifier: Apache-2.0
# _pytree.py - torch.utils._pytree on lists, tuples and dicts.


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    pass


_register_pytree_node = register_pytree_node


def _dict_flatten(d):
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d):
    return [((k,), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def tree_leaves(tree, is_leaf=None):
    if is_leaf is not None and is_leaf(tree):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    if not isinstance(tree, (list, tuple)):
        return [tree]
    return [leaf for child in tree for leaf in tree_leaves(child, is_leaf)]


def tree_map(func, tree, is_leaf=None):
    if is_leaf is not None and is_leaf(tree):
        return func(tree)
    if isinstance(tree, dict):
        return {k: tree_map(func, v, is_leaf) for k, v in tree.items()}
    if not isinstance(tree, (list, tuple)):
        return func(tree)
    children = [tree_map(func, v, is_leaf) for v in tree]
    if hasattr(tree, '_fields'):
        return type(tree)(*children)
    return children if isinstance(tree, list) else tuple(children)


def tree_map_only(kind, func, tree, is_leaf=None):
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf)
