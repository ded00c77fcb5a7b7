# SPDX-License-Identifier: Apache-2.0
"""device_mesh.py - torch.distributed.device_mesh: the ranks as an array of one or more dimensions, each with names and with groups along it.

A mesh is sizes and strides into the ranks of its root (as tensors are of storages): parts of a mesh and flattened dimensions are other sizes and strides. A group is
made once for each distinct set of dimensions of a root, by all ranks at the same time, and parts find it there.
"""
from .._refused import rest as _rest
import math
import os
import threading

from ctsc import _C

from . import distributed_c10d as dist

_held = threading.local()


def _lines(sizes, strides):
    """All sums of index * stride, the last index running fastest."""
    found = [0]
    for size, stride in zip(sizes, strides):
        found = [f + i * stride for f in found for i in range(size)]
    return found


def _nested(flat, sizes):
    for size in reversed(sizes[1:]):
        flat = [flat[i:i + size] for i in range(0, len(flat), size)]
    return flat


def _contiguous(sizes):
    return [math.prod(sizes[i + 1:]) for i in range(len(sizes))]


class _Root:
    """What the parts of a mesh have in common."""

    def __init__(self, device_type, ranks, sizes, names):
        self.device_type, self.ranks, self.sizes, self.names = device_type, ranks, sizes, names
        self.groups, self.flattened = {}, {} # by the (size, stride) of dimensions; meshes by name


class DeviceMesh:
    def __init__(self, device_type, mesh=None, *, mesh_dim_names=None, backend_override=None, _init_backend=True, _rank=None, _part=None):
        if _part is not None:
            self._root, self._dims, self._names = _part
            return
        if mesh is None:
            raise TypeError("Must provide either mesh or _layout.")
        nested = mesh.tolist() if isinstance(mesh, _C.Tensor) or hasattr(mesh, "tolist") else mesh
        sizes, flat = [], nested
        while isinstance(flat, (list, tuple)):
            sizes.append(len(flat))
            flat = flat[0] if flat else None
        flat = nested
        for _ in sizes[1:]:
            flat = [x for row in flat for x in row]
        if len(flat) != math.prod(sizes):
            raise ValueError("the rows of a mesh have the same length")
        if mesh_dim_names is not None and len(mesh_dim_names) != len(sizes):
            raise RuntimeError("mesh_dim_names and the mesh have %d and %d dimensions" % (len(mesh_dim_names), len(sizes)))
        names = tuple(mesh_dim_names) if mesh_dim_names else None
        self._root = _Root(device_type, list(flat), tuple(sizes), names)
        self._dims, self._names = tuple(zip(sizes, _contiguous(sizes))), names
        if _init_backend:
            self._meet()

    # ---- groups

    def _meet(self):
        """Makes the groups along each dimension: all ranks do, at once."""
        if not dist.is_initialized():
            dist.init_process_group()
        if math.prod(self.shape) > dist.get_world_size():
            raise RuntimeError("Mesh should not be bigger than default world size %d, but found %d ranks!" % (dist.get_world_size(), math.prod(self.shape)))
        for i in range(self.ndim):
            self._make_group((self._dims[i],), self._names[i] if self._names else "dim_%d" % i)

    def _make_group(self, dims, name):
        """The group of this rank along dimensions; all others are made as well."""
        root = self._root
        if dims in root.groups:
            return
        rest = [d for d in zip(root.sizes, _contiguous(root.sizes))]
        for d in dims:
            rest = _without(rest, d)
        line = _lines(*zip(*dims))
        whole = sorted(root.ranks[i] for i in line)
        if len(whole) == dist.get_world_size() and [root.ranks[i] for i in line] == list(range(len(whole))):
            root.groups[dims] = dist._get_default_group()
            return
        for start in _lines([s for s, _ in rest], [t for _, t in rest]):
            made = dist.new_group([root.ranks[start + i] for i in line], group_desc="mesh_" + name, sort_ranks=False)
            if made != dist.GroupMember.NON_GROUP_MEMBER:
                root.groups[dims] = made

    def get_group(self, mesh_dim=None):
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError("Found the DeviceMesh have %d dimensions"
                               "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1."
                               "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                               "please use `get_all_groups()` instead." % self.ndim)
        dim = (self._dims[self._dim(mesh_dim or 0)],)
        if dim not in self._root.groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._root.groups[dim]

    def get_all_groups(self):
        return [self.get_group(i) for i in range(self.ndim)]

    # ---- what it is

    def _dim(self, dim):
        if isinstance(dim, str):
            if not self._names:
                raise KeyError("No `mesh_dim_names` found.")
            if dim not in self._names:
                raise KeyError("Mesh dimension '%s' does not exist. Available mesh dimensions are: mesh_dim_names=%s" % (dim, self._names))
            return self._names.index(dim)
        if not -self.ndim <= dim < self.ndim:
            raise IndexError("a mesh of %d dimensions has no dimension %d" % (self.ndim, dim))
        return dim % self.ndim

    device_type = property(lambda self: self._root.device_type)
    mesh_dim_names = property(lambda self: self._names)
    ndim = property(lambda self: len(self._dims))
    shape = property(lambda self: tuple(s for s, _ in self._dims))

    @property
    def mesh(self):
        from ctsc import tensor
        return tensor(_nested(self._ranks(), self.shape), dtype=_C.int32).reshape(self.shape)

    def _place(self):
        """Where this rank is in the root: None: nowhere."""
        rank = dist.get_rank()
        return self._root.ranks.index(rank) if rank in self._root.ranks else None

    def _start(self):
        """Of this rank's part: the place whose indices in these dimensions are 0."""
        place = self._place()
        return 0 if place is None else place - sum(self._index(place, d) * d[1] for d in self._dims)

    def _index(self, place, dim):
        return place // dim[1] % dim[0]

    def _ranks(self):
        start = self._start()
        return [self._root.ranks[start + i] for i in _lines(*zip(*self._dims))] if self._dims else [self._root.ranks[start]]

    def size(self, mesh_dim=None):
        return math.prod(self.shape) if mesh_dim is None else self.shape[self._dim(mesh_dim)]

    def get_rank(self):
        return dist.get_rank()

    def get_coordinate(self):
        place = self._place()
        return None if place is None else tuple(self._index(place, d) for d in self._dims)

    def get_local_rank(self, mesh_dim=None):
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError("Found the DeviceMesh have %d dimensionsOptional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1." % self.ndim)
        return self.get_coordinate()[self._dim(mesh_dim or 0)]

    def __repr__(self):
        sizes = "(%s)" % ", ".join("%s=%d" % p for p in zip(self._names, self.shape)) if self._names else str(self.shape)
        text = "DeviceMesh(%s, '%s', stride=%s" % (sizes, self.device_type, tuple(t for _, t in self._dims))
        if os.environ.get("TORCH_DISTRIBUTED_DEBUG") == "DETAIL":
            text += ", Mesh: %s" % _nested(self._ranks(), self.shape)
        return text + ")"

    def _key(self):
        return self.device_type, self.shape, tuple(self._ranks()), self._names

    def __eq__(self, other):
        return self is other or isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __getstate__(self):
        return {"device_type": self.device_type, "ranks": self._ranks(), "sizes": self.shape, "names": self._names}

    def __setstate__(self, kept):
        """A mesh of a file: its groups are those of an equal one that this process has made."""
        sizes = kept["sizes"]
        self._root = _Root(kept["device_type"], kept["ranks"], sizes, kept["names"])
        self._dims, self._names = tuple(zip(sizes, _contiguous(sizes))), kept["names"]
        for g in dist._world.groups:
            for dim in self._dims:
                if self._place() is not None and DeviceMesh(None, _part=(self._root, (dim,), None))._ranks() == list(g._ranks):
                    self._root.groups.setdefault((dim,), g)

    def __deepcopy__(self, memo):
        return self

    # ---- parts

    def __getitem__(self, mesh_dim_names):
        if not self._names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self._names:
            return self
        dims, at = [], -1
        for name in names:
            if name in self._root.flattened and name not in self._names:
                dims.append(self._root.flattened[name]._dims[0])
                continue
            if name not in self._names:
                raise KeyError("Invalid mesh_dim_names %s specified. Valid mesh_dim_names are %s." % (names, list(self._names) + list(self._root.flattened)))
            if self._names.index(name) <= at:
                raise KeyError("Invalid mesh_dim_names %s specified. Mesh dim indices should be in ascending order." % (names,))
            at = self._names.index(name)
            dims.append(self._dims[at])
        return DeviceMesh(None, _part=(self._root, tuple(dims), names))

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        name = mesh_dim_name or "_".join(self._names)
        if name in self._root.flattened:
            return self._root.flattened[name]
        if self.ndim == 1 and mesh_dim_name is None:
            return self
        for a, b in zip(self._dims, self._dims[1:]):
            if a[1] != b[0] * b[1]:
                raise RuntimeError("dimensions that are not beside one another cannot be one: %r" % self)
        dim = (math.prod(self.shape), self._dims[-1][1])
        made = DeviceMesh(None, _part=(self._root, (dim,), (name,)))
        if (dim,) not in self._root.groups:
            self._make_group(self._dims, name)
            self._root.groups[(dim,)] = self._root.groups[self._dims]
        self._root.flattened[name] = made
        return made

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None, backend_override=None):
        groups = [group] if isinstance(group, dist.ProcessGroup) else list(group)
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            if len(groups) > 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = dist.get_process_group_ranks(groups[0])
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if len(groups) != made.ndim:
            raise ValueError("Expects mesh with ndim equal to number of ProcessGroups but got mesh %s and %d ProcessGroups" % (made.mesh.tolist(), len(groups)))
        made._root.groups.update({(d,): g for d, g in zip(made._dims, groups)})
        return made

    def __enter__(self):
        _held.__dict__.setdefault("meshes", []).append(self)
        return self

    def __exit__(self, *exception):
        _held.meshes.pop()


DeviceMesh.__module__ = "torch.distributed.device_mesh"


def current_mesh():
    """Of the innermost `with mesh:`."""
    if not getattr(_held, "meshes", None):
        raise RuntimeError("No device mesh is currently active!")
    return _held.meshes[-1]


def _without(dims, dim):
    """The dimensions of a root that are left beside one of them, or beside one made of several."""
    size, stride = dim
    left = []
    for s, t in dims:
        if t >= stride and t < size * stride:
            if t * s > size * stride:
                raise RuntimeError("a part of a dimension is none")
            continue
        left.append((s, t))
    return left


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    sizes = tuple(mesh_shape)
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError("Each mesh_dim_name must be unique.", "Found repeated mesh_dim_name in mesh_dim_names %s" % (tuple(mesh_dim_names),))
        if len(sizes) != len(mesh_dim_names):
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length!",
                               "Found len(mesh_dim_names): %d and len(mesh_shape):%d." % (len(mesh_dim_names), len(sizes)))
    if device_type and not device_type.isalpha():
        raise RuntimeError("Device type with index is not supported but got %s. " % device_type,
                           "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.")
    if not dist.is_initialized():
        dist.init_process_group()
    return DeviceMesh(device_type, _nested(list(range(math.prod(sizes))), sizes), mesh_dim_names=mesh_dim_names)

__getattr__ = _rest("torch.distributed.device_mesh")
