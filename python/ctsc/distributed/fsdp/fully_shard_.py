# SPDX-License-Identifier: Apache-2.0
"""fully_shard_.py - fully_shard: a module whose parameters are DTensors, cut over the ranks, and whole while its forward and backward passes need them (group.py)."""
import functools

from ctsc import _C
from ctsc.nn import Module, ModuleDict, ModuleList

from .. import distributed_c10d as dist
from ..device_mesh import init_device_mesh
from .api import MixedPrecisionPolicy, OffloadPolicy
from .group import Group

Tensor = _C.Tensor


class UnshardHandle:
    def wait(self):
        pass


def _cast(x, dtype):
    if isinstance(x, Tensor):
        return x.to(dtype) if x.dtype.is_floating_point and x.dtype != dtype else x
    if isinstance(x, dict):
        return type(x)((k, _cast(v, dtype)) for k, v in x.items())
    if isinstance(x, (list, tuple)):
        items = [_cast(v, dtype) for v in x]
        return type(x)._make(items) if hasattr(x, "_make") else type(x)(items)
    return x


def _run(self, method, args, kwargs):
    state = self._fsdp_state
    policy = state["policy"]
    if policy.cast_forward_inputs and policy.param_dtype is not None:
        args, kwargs = _cast(args, policy.param_dtype), _cast(kwargs, policy.param_dtype)
    if state["group"] is None:
        made = method(*args, **kwargs)
    else:
        with state["group"].forward():
            made = method(*args, **kwargs)
    return made if policy.output_dtype is None else _cast(made, policy.output_dtype)


class FSDPModule:
    """What fully_shard adds to a module's class."""

    def __new__(cls, *args, **kwargs):
        """Another module of this class is one of the class without this."""
        plain_class = cls.__mro__[2]
        made = plain_class.__new__(plain_class, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def forward(self, *args, **kwargs):
        return _run(self, super().forward, args, kwargs)

    def _groups(self, recurse=True):
        found = [m._fsdp_state["group"] for m in (self.modules() if recurse else [self]) if isinstance(m, FSDPModule)]
        return [g for g in found if g is not None]

    def unshard(self, async_op=False):
        for g in self._groups(False):
            if g.held is None:
                g.whole()
        return UnshardHandle() if async_op else None

    def reshard(self):
        for g in self._groups(False):
            g.cut_again()

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True):
        for g in self._groups(recurse):
            g.syncs = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True):
        for g in self._groups(recurse):
            g.reshards = reshard_after_forward

    def set_gradient_divide_factor(self, factor):
        for g in self._groups(False):
            g.divide = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def _unchanged(self, *args, **kwargs):
        """About when things are done, not what: everything is done when it is needed."""

    set_is_last_backward = set_requires_all_reduce = set_reshard_after_backward = _unchanged

    def set_modules_to_forward_prefetch(self, modules):
        """Checked, and no more: whole parameters are gathered when they are needed."""
        for m in modules:
            if not isinstance(m, FSDPModule):
                raise ValueError("Expects FSDPModule but got %s: %s" % (type(m), m))

    set_modules_to_backward_prefetch = set_modules_to_forward_prefetch
    set_post_optim_event = set_unshard_in_backward = set_all_reduce_hook = set_allocate_memory_from_process_group_for_comm = set_force_sum_reduction_for_comms = _unchanged


FSDPModule.__module__ = "torch.distributed.fsdp"


def _managed(modules, ignored):
    """Parameters that no module below manages, each with all its places."""
    found = {}
    for root in modules:
        for m in _own_modules(root, root):
            for name, p in m._parameters.items():
                if p is not None and id(p) not in ignored:
                    found.setdefault(id(p), ([], p))[0].append((m, name))
    return list(found.values())


def _own_modules(module, root):
    if module is not root and isinstance(module, FSDPModule):
        return
    yield module
    for child in module.children():
        yield from _own_modules(child, root)


def fully_shard(module, *, mesh=None, reshard_after_forward=None, shard_placement_fn=None, mp_policy=None, offload_policy=None, ignored_params=None, dp_mesh_dims=None):
    """reshard_after_forward=False keeps whole parameters from the forward to the backward pass. The module, whose class is FSDPModule too from now on."""
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for m in modules:
        if isinstance(m, (ModuleList, ModuleDict)) and type(m).forward is Module.forward:
            raise ValueError("fully_shard does not support containers that do not implement forward: %s" % m)
        if isinstance(m, FSDPModule):
            raise AssertionError("Each distinct composable distributed API can only be applied to a module once. fully_shard has already been applied to the following module:\n%s" % m)
    if mesh is None:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError("fully_shard expects a 1D or 2D DeviceMesh but got %s" % mesh)
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    params = _managed(modules, {id(p) for p in ignored_params or ()})
    policy = mp_policy or MixedPrecisionPolicy()
    if offload_policy is not None and not isinstance(offload_policy, OffloadPolicy):
        raise ValueError("the offload_policy of fully_shard is an OffloadPolicy")
    for _, p in params:
        if getattr(p, "is_meta", False):
            raise NotImplementedError("fully_shard of parameters on the device meta is not supported: make the module on the CPU")
    group = Group(mesh, params, policy, reshard_after_forward is not False, shard_placement_fn) if params else None
    for m in modules:
        _become(m, group if m is modules[0] else None, policy)
    return module


def _become(m, group, policy):
    plain_class = type(m)
    m.__class__ = type("FSDP" + plain_class.__name__, (FSDPModule, plain_class), {"__module__": plain_class.__module__})
    m.__dict__["_fsdp_state"] = {"group": group, "policy": policy}


def register_fsdp_forward_method(module, method_name):
    """Another method that needs whole parameters."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    @functools.wraps(method)
    def run(*args, **kwargs):
        return _run(module, method, args, kwargs)
    module.__dict__[method_name] = run
