# SPDX-License-Identifier: Apache-2.0
"""_api.py - torch.distributed.tensor: tensors that are spread over a mesh.

A DTensor is, to the library, what this rank has of the tensor: a view of it with its history. Its class says the shape of the whole, and what functions make of it
(_ops.py). So optimisers, gradients and saving see the rank's part."""
from ctsc import _C, _subclass

from .. import device_mesh
from .. import distributed_c10d as dist
from ..device_mesh import DeviceMesh, init_device_mesh
from ._redistribute import convert, local_shape, of_gradient, redistribute
from .placement_types import DTensorSpec, Partial, Placement, Replicate, Shard, TensorMeta

Tensor = _C.Tensor
_op = _C._operator
_grad = Tensor.__dict__["grad"]
dispatcher = [None] # _ops.call, which needs what is here


def plain(x):
    """What the rank has, with its history."""
    return _C._as_subclass(x, Tensor) if isinstance(x, DTensor) else x


def wrap(local, spec):
    """A DTensor of what the rank has, with its history."""
    made = _C._as_subclass(local, DTensor)
    made._spec = spec
    return made


def leaf(local, spec, requires_grad):
    made = Tensor.__new__(DTensor, local)
    made._spec = spec
    made.requires_grad = requires_grad
    return made


def _normal(mesh, placements, ndim):
    """Placements with dimensions counted from 0; those of the mesh that were left out replicate."""
    placements = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(placements) != mesh.ndim:
        raise ValueError("`placements` must have the same length as `device_mesh.ndim`! Found placements length: %d, and device_mesh.ndim: %d." % (len(placements), mesh.ndim))
    for i, p in enumerate(placements):
        if p.is_shard():
            if not -ndim <= p.dim < max(ndim, 1):
                raise RuntimeError("Sharding dim %d greater than tensor ndim %d for placement number %d." % (p.dim, ndim, i))
            if p.dim < 0:
                placements[i] = Shard(p.dim + ndim)
    return tuple(placements)


def _mesh_of(device_mesh_):
    return device_mesh_ if device_mesh_ is not None else device_mesh.current_mesh()


class DTensor(Tensor):
    _is_param = False

    def __new__(cls, local_tensor, spec, *, requires_grad=False):
        return leaf(local_tensor, spec, requires_grad)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with _subclass.DisableTorchFunctionSubclass():
            return dispatcher[0](func, args, kwargs or {})

    # ---- what it is

    device_mesh = property(lambda self: self._spec.mesh)
    placements = property(lambda self: self._spec.placements)
    shape = property(lambda self: _size(self._spec.shape))
    _local_tensor = property(lambda self: self.to_local())
    data = property(lambda self: self.detach(), lambda self, value: _set_data(self, value))
    T = property(lambda self: self.permute(*reversed(range(self.dim()))) if self.dim() != 2 else self.t())
    mT = property(lambda self: self.transpose(-2, -1))
    nbytes = property(lambda self: self.numel() * self.element_size())

    @property
    def grad(self):
        found = _grad.__get__(self)
        return None if found is None else wrap(found, DTensorSpec(self._spec.mesh, of_gradient(self._spec.placements), self._spec.shape))

    @grad.setter
    def grad(self, value):
        if isinstance(value, DTensor) and value.placements != of_gradient(self.placements):
            value = value.redistribute(self.device_mesh, of_gradient(self.placements))
        _grad.__set__(self, plain(value))

    @grad.deleter
    def grad(self):
        _grad.__set__(self, None)

    def size(self, dim=None):
        return self.shape if dim is None else self._spec.shape[dim]

    def numel(self):
        n = 1
        for size in self._spec.shape:
            n *= size
        return n

    nelement = numel

    def stride(self, dim=None):
        return self._spec.stride if dim is None else self._spec.stride[dim]

    def __len__(self):
        if not self._spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._spec.shape[0]

    def __iter__(self):
        return iter(self.unbind(0))

    def __hash__(self):
        return id(self)

    def __repr__(self):
        with _subclass.DisableTorchFunctionSubclass():
            return "DTensor(local_tensor=%r, device_mesh=%r, placements=%r)" % (plain(self.detach()) if not self.requires_grad else plain(self), self._spec.mesh, self._spec.placements)

    def __format__(self, spec):
        return format(self.item(), spec) if not self._spec.shape and spec else repr(self)

    # ---- its elements

    def to_local(self, *, grad_placements=None):
        with _subclass.DisableTorchFunctionSubclass():
            s = self._spec
            if grad_placements is not None:
                return convert(plain(self), s.mesh, s.shape, s.placements, s.placements, grad_placements)
            return plain(self)

    def full_tensor(self, *, grad_placements=None):
        return self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim).to_local(grad_placements=grad_placements)

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None, backward_dtype=None):
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        s = self._spec
        if device_mesh is not None and device_mesh != s.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        target = _normal(s.mesh, placements, len(s.shape))
        for p, q in zip(s.placements, target):
            if q.is_partial() and p != q:
                raise RuntimeError("Can not redistribute from %s to %s, redistributing to Partial is for internal use only!" % (s.placements, target))
        with _subclass.DisableTorchFunctionSubclass():
            return wrap(convert(plain(self), s.mesh, s.shape, s.placements, target), DTensorSpec(s.mesh, target, s.shape, s.stride))

    def _whole(self):
        return self.detach().full_tensor()

    def item(self):
        return self._whole().item()

    def tolist(self):
        return self._whole().tolist()

    def numpy(self, **options):
        return self._whole().numpy(**options)

    def __bool__(self):
        return bool(self._whole())

    def __float__(self):
        return float(self._whole())

    def __int__(self):
        return int(self._whole())

    def __contains__(self, x):
        return x in self._whole()

    # ---- gradients

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        root = self
        if any(p.is_partial() for p in self._spec.placements):
            root = self.redistribute(placements=of_gradient(self._spec.placements))
        if isinstance(gradient, DTensor):
            gradient = gradient.redistribute(placements=root.placements).to_local()
        elif gradient is not None:
            raise RuntimeError("the gradient of a DTensor is a DTensor")
        plain(root).backward(gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook):
        spec = DTensorSpec(self._spec.mesh, of_gradient(self._spec.placements), self._spec.shape)

        def called(grad):
            made = hook(wrap(grad, spec))
            return made.redistribute(placements=spec.placements).to_local() if isinstance(made, DTensor) else made
        return Tensor.register_hook(self, called)

    # ---- copies

    def _parameter(self, requires_grad):
        made = leaf(self.detach(), self._spec, requires_grad)
        made._is_param = True
        return made

    def _part_of_same(self, t):
        """A tensor of an optimiser's state: this parameter's placements are its own, if its shape is that of the rank's part."""
        with _subclass.DisableTorchFunctionSubclass():
            whole = isinstance(t, Tensor) and t.dim() and t.shape == plain(self).shape
            return wrap(t.detach(), self._spec) if whole and not isinstance(t, DTensor) else t

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            with _subclass.DisableTorchFunctionSubclass():
                made = leaf(plain(self).detach().clone(), self._spec, self.requires_grad)
            made._is_param = self._is_param
            memo[id(self)] = made
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        with _subclass.DisableTorchFunctionSubclass():
            return _rebuilt, (plain(self.detach()), self._spec, self.requires_grad, self._is_param)

    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None, stride=None, grad_placements=None):
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("the local_tensor argument only accepts torch.Tensor but got %s value." % type(local_tensor))
        mesh = _mesh_of(device_mesh)
        placements = _normal(mesh, placements, local_tensor.dim())
        if shape is None:
            sizes = list(local_tensor.shape)
            for i, p in enumerate(placements):
                if p.is_shard():
                    sizes[p.dim] *= mesh.size(i)
        else:
            sizes = shape
        if run_check:
            for i, p in enumerate(placements):
                if p.is_replicate():
                    dist.broadcast(local_tensor.detach(), group=mesh.get_group(i), group_src=0)
        if grad_placements is not None:
            local_tensor = convert(local_tensor, mesh, sizes, placements, placements, None)
        return wrap(local_tensor, DTensorSpec(mesh, placements, sizes, stride))


DTensor.__module__ = "torch.distributed.tensor"


def _rebuilt(local, spec, requires_grad, is_param):
    made = leaf(local, spec, requires_grad)
    made._is_param = is_param
    return made


def _size(sizes):
    from ctsc import Size
    return Size(sizes)


def _set_data(self, value):
    """x.data = y: this rank's part becomes y's."""
    if not isinstance(value, DTensor):
        raise RuntimeError("the data of a DTensor is a DTensor")
    with _subclass.DisableTorchFunctionSubclass():
        Tensor.__dict__["data"].__set__(self, plain(value.detach()))
    self._spec = value._spec


# ---- making them -----------------------------------------------------------------------------------------------------------


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """Of a tensor that all ranks have: that of the rank src_data_rank along each dimension counts; None: each rank's own."""
    mesh = _mesh_of(device_mesh)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError("Cannot distribute a DTensor with device mesh %s to a different device mesh %s." % (tensor.device_mesh, mesh))
        if tensor.placements != tuple(placements or ()):
            raise ValueError("Cannot distribute a DTensor with placements %s to a different placements %s. do you want to call `redistribute` instead?" % (
                tensor.placements, tuple(placements or ())))
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placements = _normal(mesh, placements, tensor.dim())
    if any(p.is_partial() for p in placements):
        raise RuntimeError("Trying to distribute a leaf tensor with device mesh, but encountered unsupported placements %s!" % (placements,))
    if mesh.get_coordinate() is None:
        raise RuntimeError("rank %d is not in the mesh" % mesh.get_rank())
    from ctsc.autograd import no_grad
    with no_grad(), _subclass.DisableTorchFunctionSubclass():
        local = tensor.detach().clone().contiguous()
        if src_data_rank is not None:
            for i in range(mesh.ndim):
                dist.broadcast(local, group=mesh.get_group(i), group_src=src_data_rank)
        local = redistribute(local, mesh, local.shape, [Replicate()] * mesh.ndim, placements)
        return leaf(local, DTensorSpec(mesh, placements, tensor.shape), tensor.requires_grad)


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Makes a module's parameters DTensors, by partition_fn or else replicated."""
    from ctsc.nn import Parameter
    mesh = _mesh_of(device_mesh)

    def replicate(m):
        for key, p in list(m._parameters.items()):
            if p is not None and not isinstance(p, DTensor):
                m.register_parameter(key, Parameter(distribute_tensor(p.data, mesh, None), p.requires_grad))
        for key, b in list(m._buffers.items()):
            if b is not None and not isinstance(b, DTensor):
                m._buffers[key] = distribute_tensor(b, mesh, None)
    for name, m in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, m, mesh)
        replicate(m)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    return module


def _factory(name, size, options, *before):
    """The rank's part of zeros, ones, ..."""
    mesh, requires_grad = _mesh_of(options.pop("device_mesh", None)), options.pop("requires_grad", False)
    options.pop("layout", None)
    sizes = list(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else list(size)
    placements = _normal(mesh, options.pop("placements", None), len(sizes))
    import ctsc
    local = getattr(ctsc, name)(local_shape(sizes, mesh, placements)[0], *before, **options)
    return leaf(local, DTensorSpec(mesh, placements, sizes), requires_grad)


def zeros(*size, **options):
    return _factory("zeros", size, options)


def ones(*size, **options):
    return _factory("ones", size, options)


def empty(*size, **options):
    return _factory("empty", size, options)


def full(size, fill_value, **options):
    return _factory("full", (size,), options, fill_value)


def rand(*size, **options):
    return _factory("rand", size, options)


def randn(*size, **options):
    return _factory("randn", size, options)


for _f in (distribute_tensor, distribute_module, zeros, ones, empty, full, rand, randn):
    _f.__module__ = "torch.distributed.tensor"
