# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor: how a tensor would lie on several processes. Placements can be made and compared, as plans of libraries do when they are imported; tensors that
lie so are refused where they are made."""
import sys

from ..._refused import TREES, named


class Placement:
    _fields = ()

    def is_shard(self, dim=None):
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self):
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)

    def _key(self):
        return tuple(getattr(self, f) for f in self._fields)

    def __eq__(self, other):
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash((type(self), self._key()))

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%s" % (f, getattr(self, f)) for f in self._fields))


class Shard(Placement):
    _fields = ("dim",)

    def __init__(self, dim):
        self.dim = dim


class _StridedShard(Shard):
    _fields = ("dim", "split_factor")

    def __init__(self, dim, *, split_factor):
        self.dim, self.split_factor = dim, split_factor


class Replicate(Placement):
    pass


class Partial(Placement):
    _fields = ("reduce_op",)

    def __init__(self, reduce_op="sum"):
        self.reduce_op = reduce_op


placement_types = sys.modules[__name__ + ".placement_types"] = sys.modules[__name__]
__path__ = []


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError("module 'torch.distributed.tensor' has no attribute '%s'" % name)
    globals()[name] = named("torch.distributed.tensor." + name, TREES["torch.distributed.tensor"])
    return globals()[name]
