# SPDX-License-Identifier: Apache-2.0
"""placement_types.py - torch.distributed.tensor.placement_types: what each rank along a dimension of a mesh has of a tensor; and the whole's shape (DTensorSpec)."""


class Placement:
    def is_shard(self, dim=None):
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self):
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)

    def _key(self):
        return ()

    def __eq__(self, other):
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash((type(self), self._key()))


class Shard(Placement):
    """The dimension is cut as torch.chunk does; the last ranks have less, or nothing."""

    def __init__(self, dim):
        self.dim = dim

    def _key(self):
        return (self.dim,)

    def __repr__(self):
        return "Shard(dim=%d)" % self.dim

    def __str__(self):
        return "S(%d)" % self.dim

    @staticmethod
    def local_shard_size_and_offset(size, parts, rank):
        """Of a dimension of this size, what this rank of so many has, and where it begins."""
        each = -(-size // parts) if parts else size
        start = min(each * rank, size)
        return min(each, size - start), start

    _local_shard_size_and_offset = local_shard_size_and_offset


class _StridedShard(Shard):
    """Cut after the dimensions of the mesh behind this one have cut the same dimension: what cuts the parts of a module that is already parallel."""

    def __init__(self, dim, *, split_factor):
        super().__init__(dim)
        self.split_factor = split_factor

    def _key(self):
        return self.dim, self.split_factor

    def __repr__(self):
        return "_StridedShard(dim=%d, sf=%d)" % (self.dim, self.split_factor)

    def __str__(self):
        return "_S(%d, %d)" % (self.dim, self.split_factor)


class Replicate(Placement):
    def __repr__(self):
        return "Replicate()"

    def __str__(self):
        return "R"


class Partial(Placement):
    """The whole is a reduction of what the ranks have."""

    def __init__(self, reduce_op="sum"):
        self.reduce_op = reduce_op

    def _key(self):
        return (self.reduce_op,)

    def __repr__(self):
        return "Partial(%s)" % self.reduce_op

    def __str__(self):
        return "P(%s)" % self.reduce_op


class _NormPartial(Partial):
    """Norms of parts: the whole's is the norm of these."""

    def __init__(self, norm_type=2):
        super().__init__("sum" if norm_type not in (float("inf"), float("-inf")) else "max" if norm_type > 0 else "min")
        self.norm_type = norm_type

    def _key(self):
        return self.reduce_op, self.norm_type

    def __repr__(self):
        return "_NormPartial(%s)" % (self.norm_type,)

    __str__ = __repr__


class TensorMeta(tuple):
    shape, stride, dtype = (property(lambda self, i=i: self[i]) for i in range(3))

    def __new__(cls, shape, stride, dtype):
        return tuple.__new__(cls, (shape, stride, dtype))

    def __getnewargs__(self):
        return tuple(self)


class DTensorSpec:
    """The mesh, one placement for each of its dimensions, and the shape and strides of the whole."""

    __slots__ = ("mesh", "placements", "shape", "stride")

    def __init__(self, mesh, placements, shape, stride=None):
        self.mesh, self.placements, self.shape = mesh, tuple(placements), tuple(shape)
        self.stride = tuple(stride) if stride is not None else strides(self.shape)

    device_mesh = property(lambda self: self.mesh)
    ndim = property(lambda self: len(self.shape))
    num_shards = property(lambda self: _product(self.mesh.size(i) for i, p in enumerate(self.placements) if p.is_shard()))

    def __eq__(self, other):
        return isinstance(other, DTensorSpec) and all(getattr(self, k) == getattr(other, k) for k in ("mesh", "placements", "shape"))

    def __hash__(self):
        return hash((self.placements, self.shape))

    def __repr__(self):
        return "Spec(%s on %s)" % ("".join(map(str, self.placements)), tuple(self.shape))

    def __reduce__(self):
        return DTensorSpec, (self.mesh, self.placements, self.shape, self.stride)


def _product(numbers):
    n = 1
    for k in numbers:
        n *= k
    return n


def strides(shape):
    found, n = [], 1
    for size in reversed(shape):
        found.insert(0, n)
        n *= max(size, 1)
    return tuple(found)


for _kind in (Placement, Shard, Replicate, Partial):
    _kind.__module__ = "torch.distributed.tensor.placement_types"
