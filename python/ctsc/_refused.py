# SPDX-License-Identifier: Apache-2.0
"""_refused.py - modules of torch that ctsc has nothing of: they can be imported, so that programs that name them run, and what is called of them says why not."""


class _Refusing(type):
    """Classes that cannot be made, and have what they are asked for as another one."""

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError("%s: %s" % (cls._path_, cls._reason_))

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return named("%s.%s" % (cls._path_, name), cls._reason_)

    def __instancecheck__(cls, x):
        return False

    def __repr__(cls):
        return "<%s, which ctsc does not have>" % cls._path_


def named(path, reason):
    return _Refusing(path.rpartition(".")[2], (), {"_path_": path, "_reason_": reason, "__module__": "ctsc", "__doc__": "Refused where it is called: %s." % reason})


def refuse(module, reason, known=None):
    """__getattr__ of a module: known tells the names that there are; without it all that begin with a letter are refused when they are called."""
    def get(name):
        if name.startswith("_") or known is not None and name not in known:
            raise AttributeError("module '%s' has no attribute '%s'" % (module.replace("torch", "ctsc", 1), name))
        return named("%s.%s" % (module, name), reason)
    return get


# Parts of torch that ctsc has nothing of, with all that is below them, and why not. Libraries import them for isinstance and for paths that few programs take.
_SHARDED = "docs/distributed.md lists what there is: fully_shard, DTensor, parallelize_module, pipelining's stages and schedules, checkpoint"
_COMPILER = "ctsc.jit and ctsc.compile are ctsc's own"
_NO_FX = "ctsc has no graphs of fx; ctsc.trace, script and jit make programs of functions and modules"
TREES = {
    "torch.distributed.fsdp": _SHARDED, "torch.distributed.checkpoint": _SHARDED, "torch.distributed.tensor": _SHARDED, "torch.distributed._tensor": _SHARDED,
    "torch.distributed.device_mesh": _SHARDED, "torch.distributed.pipelining": _SHARDED, "torch.distributed._composable": _SHARDED,
    "torch.distributed._functional_collectives": _SHARDED, "torch.distributed.optim": _SHARDED, "torch.distributed.utils": _SHARDED,
    "torch.distributed._shard": _SHARDED, "torch.distributed.algorithms._checkpoint": "torch.utils.checkpoint is what there is",
    "torch.distributed.algorithms.model_averaging": _SHARDED, "torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": _SHARDED,
    "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook": _SHARDED, "torch.distributed.launcher": "ctsc launch starts processes",
    "torch.distributed.elastic": "ctsc launch starts processes", "torch.distributed.run": "ctsc launch starts processes", "torch.numa": "processes are not bound to nodes",
    "torch._dynamo.eval_frame": _COMPILER, "torch._dynamo._trace_wrapped_higher_order_op": _COMPILER, "torch._dynamo.backends": _COMPILER,
    "torch._higher_order_ops": _COMPILER, "torch._prims_common": _COMPILER, "torch._refs": _COMPILER, "torch._decomp": _COMPILER, "torch._functorch": _COMPILER,
    "torch._export": _COMPILER, "torch._guards": _COMPILER, "torch.utils._sympy": _COMPILER, "torch.export": "ctsc runs what PyTorch exported (ctsc.load of a .pt2)",
    "torch.fx.experimental": _NO_FX, "torch.fx.passes": _NO_FX, "torch.fx._pytree": _NO_FX, "torch.ao.quantization.fx": _NO_FX, "torch.ao.quantization.pt2e": _NO_FX,
    "torch.ao.pruning": "ctsc.nn.utils.prune and ctsc prune are what there is", "torch.utils.data.datapipes": "data pipes have left torch.utils.data",
    "torch.utils.data.graph_settings": "data pipes have left torch.utils.data",
}


def _reason(name):
    """Why what is at or below one of TREES is not there; None: it is below none."""
    return next((why for root, why in TREES.items() if name == root or name.startswith(root + ".")), None)


def rest(module):
    """__getattr__ of a module of one of TREES: names that it lacks are classes that are refused when they are called, the same class each time."""
    made, reason = {}, _reason(module)

    def get(name):
        if name.startswith("__"):
            raise AttributeError("module '%s' has no attribute '%s'" % (module, name))
        if name not in made:
            made[name] = named("%s.%s" % (module, name), reason)
        return made[name]
    return get


def tree(name):
    """The module of that name, one of TREES or below; None: another one."""
    import importlib.machinery
    import sys
    import types
    reason = _reason(name)
    if reason is None:
        return None
    module = types.ModuleType(name.replace("torch", "ctsc", 1), "Not in ctsc: %s." % reason)
    module.__path__, module.__spec__ = [], importlib.machinery.ModuleSpec(module.__name__, None, is_package=True)
    module.__getattr__ = rest(name)
    sys.modules[module.__name__] = module
    return module
