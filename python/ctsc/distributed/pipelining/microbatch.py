# SPDX-License-Identifier: Apache-2.0
"""microbatch.py - how a batch is cut into parts, and how results are put together: along a dimension of each tensor (TensorChunkSpec), or the same value for every part."""
from ctsc import _C
from ctsc.utils._pytree import tree_flatten, tree_map, tree_unflatten

Tensor = _C.Tensor
_cat, _tensor_split = _C._operator("cat"), _C._operator("tensor_split")
DEFAULT_CHUNK_DIM = 0


class TensorChunkSpec:
    """A tensor that is cut along a dimension."""

    def __init__(self, split_dim):
        self.split_dim = split_dim

    def __repr__(self):
        return "%s.%s(%s)" % (type(self).__module__, type(self).__name__, self.split_dim)

    def __str__(self):
        return "TensorChunkSpec(%s)" % self.split_dim

    @staticmethod
    def from_tuple(chunk_dims):
        """Of positional arguments: a dimension for each."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims):
        """Of keyword arguments: a dimension for each."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """A value that all parts have."""


def _is_whole(spec):
    return spec is _Replicate or isinstance(spec, _Replicate)


def _default(v):
    return TensorChunkSpec(DEFAULT_CHUNK_DIM) if isinstance(v, Tensor) else _Replicate()


def _leaves(values, specs):
    """(leaves with their specs, the form of values)"""
    leaves, form = tree_flatten(values)
    found = tree_flatten(specs)[0]
    if len(found) != len(leaves):
        raise ValueError("%d values have %d chunk specs" % (len(leaves), len(found)))
    for v, spec in zip(leaves, found):
        if not _is_whole(spec) and not isinstance(v, Tensor):
            raise ValueError("Unsupported chunk spec: %s and value: %s combination." % (spec, v))
        if not _is_whole(spec) and not isinstance(spec, TensorChunkSpec):
            raise AssertionError("Expected TensorChunkSpec, got %s" % type(spec))
    return list(zip(leaves, found)), form


def _parts(v, spec, n):
    if _is_whole(spec):
        return [v] * n
    found = list(_tensor_split(v, n, spec.split_dim))
    if v.requires_grad and v.is_leaf:
        for part in found:
            part.retain_grad()
    return found


def split_args_kwargs_into_chunks(args, kwargs, chunks, args_chunk_spec=None, kwargs_chunk_spec=None):
    """The arguments of each part. There are fewer parts than asked for where a tensor is shorter."""
    kwargs = kwargs or {}
    args_chunk_spec = tree_map(_default, args) if args_chunk_spec is None else args_chunk_spec
    kwargs_chunk_spec = tree_map(_default, kwargs) if kwargs_chunk_spec is None else kwargs_chunk_spec
    if len(args) != len(args_chunk_spec) or len(kwargs) != len(kwargs_chunk_spec):
        raise AssertionError("there are %d and %d arguments, and chunk specs for %d and %d" % (len(args), len(kwargs), len(args_chunk_spec), len(kwargs_chunk_spec)))
    positional, form = _leaves(tuple(args), tuple(args_chunk_spec))
    named, named_form = _leaves(kwargs, {k: kwargs_chunk_spec[k] for k in kwargs})
    n = min([chunks] + [v.size(spec.split_dim) for v, spec in positional + named if not _is_whole(spec)])
    positional, named = ([_parts(v, spec, n) for v, spec in found] for found in (positional, named))
    return [tree_unflatten([p[i] for p in positional], form) for i in range(n)], [tree_unflatten([p[i] for p in named], named_form) for i in range(n)]


def merge_chunks(chunks, chunk_spec):
    """One value of those of all parts: what is cut is put together, of the rest the first one's is taken."""
    if chunk_spec is None:
        specs, form = [TensorChunkSpec(DEFAULT_CHUNK_DIM)] * len(tree_flatten(chunks[0])[0]), tree_flatten(chunks[0])[1]
    else:
        specs, form = tree_flatten(chunk_spec)
    leaves = [tree_flatten(c)[0] for c in chunks]
    for chunk, found in zip(chunks, leaves):
        if len(found) != len(specs):
            raise ValueError("Chunk %s did not match chunk spec %s" % (chunk, chunk_spec))
    merged = []
    for i, spec in enumerate(specs):
        parts = [found[i] for found in leaves]
        if isinstance(spec, TensorChunkSpec):
            merged.append(_cat(parts, spec.split_dim))
        else:
            if any(p is not parts[0] and (isinstance(p, Tensor) or p != parts[0]) for p in parts):
                raise AssertionError("Cannot merge chunks with different values where there is no chunk spec")
            merged.append(parts[0])
    return tree_unflatten(merged, form)
