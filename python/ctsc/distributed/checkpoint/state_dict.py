# SPDX-License-Identifier: Apache-2.0
"""state_dict.py - state dicts of models and optimisers whose keys are the names of parameters, whatever the parallelism: the same on other numbers of ranks."""
import dataclasses

from ctsc import _C
from ctsc.autograd import no_grad

from .. import _objects
from .. import distributed_c10d as dist
from ..tensor._api import DTensor, distribute_tensor

Tensor = _C.Tensor


@dataclasses.dataclass
class StateDictOptions:
    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _name(name):
    """Without what DistributedDataParallel and compiled modules add."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _unwrapped(model):
    from .._ddp import DistributedDataParallel
    return model.module if isinstance(model, DistributedDataParallel) else model


def _names(model):
    """{id of a parameter: its name}"""
    return {id(p): _name(n) for n, p in _unwrapped(model).named_parameters()}


def _out(x, options):
    """Values as the options want them."""
    if isinstance(x, dict):
        return {k: _out(v, options) for k, v in x.items()}
    if options.full_state_dict and isinstance(x, DTensor):
        return x.detach().full_tensor()
    return x.detach() if isinstance(x, Tensor) else x


def _offloaded(made, options):
    """With full_state_dict and cpu_offload rank 0 alone has it."""
    if options.full_state_dict and options.cpu_offload and dist.is_initialized() and dist.get_rank() != 0:
        return {}
    return made


def get_model_state_dict(model, *, submodules=None, options=None):
    options = options or StateDictOptions()
    frozen = {_name(n) for n, p in _unwrapped(model).named_parameters() if not p.requires_grad} if options.ignore_frozen_params else ()
    made = {_name(k): _out(v, options) for k, v in _unwrapped(model).state_dict().items()}
    if submodules:
        prefixes = [n + "." for n, m in _unwrapped(model).named_modules() if m in submodules]
        made = {k: v for k, v in made.items() if any(k.startswith(p) for p in prefixes)}
    return _offloaded({k: v for k, v in made.items() if k not in frozen}, options)


def set_model_state_dict(model, model_state_dict, *, options=None):
    options = options or StateDictOptions()
    inner = _unwrapped(model)
    own = inner.state_dict()
    given = _broadcast(model_state_dict, options)
    return inner.load_state_dict({k: _like(v, own.get(k)) for k, v in given.items()}, strict=options.strict)


def _broadcast(given, options):
    if options.broadcast_from_rank0 and dist.is_initialized():
        held = [given if dist.get_rank() == 0 else None]
        _objects.broadcast_object_list(held, src=0)
        return held[0]
    return given


def _like(x, own):
    """A whole tensor as the model's is cut."""
    if isinstance(own, DTensor) and isinstance(x, Tensor) and not isinstance(x, DTensor):
        with no_grad():
            return distribute_tensor(x.detach(), own.device_mesh, own.placements, src_data_rank=None)
    return x


# ---- optimisers ----------------------------------------------------------------------------------------------------------------


def _list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _start(optimizer):
    """Gives an optimiser without state that of one step that changes nothing."""
    params = [p for g in optimizer.param_groups for p in g["params"]]
    if optimizer.state_dict()["state"] or not params:
        return
    if any(p.grad is not None for p in params):
        raise RuntimeError("optimisers get their state before there are gradients: call zero_grad() first")
    kept = [(g, k, g[k]) for g in optimizer.param_groups for k in ("lr", "weight_decay") if k in g]
    for g, k, v in kept:
        g[k] = v * 0 if isinstance(v, Tensor) else 0.0
    with no_grad():
        for p in params:
            if p.requires_grad:
                p.grad = _zeros_like(p.detach())
        optimizer.step()
    for g, k, v in kept:
        g[k] = v
    optimizer.zero_grad()


_zeros_like = _C._operator("zeros_like")


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    options, names = options or StateDictOptions(), _names(model)
    made = {"state": {}, "param_groups": []}
    for optimizer in _list(optimizers):
        _start(optimizer)
        own = optimizer.state_dict()
        of = {}
        for g, saved in zip(optimizer.param_groups, own["param_groups"]):
            of.update({number: names[id(p)] for number, p in zip(saved["params"], g["params"])})
            made["param_groups"].append({k: [of[n] for n in v] if k == "params" else v for k, v in saved.items()})
        made["state"].update({of[n]: _out(s, options) for n, s in own["state"].items()})
    if options.flatten_optimizer_state_dict:
        made = _flat(made)
    return _offloaded(made, options)


def _flat(made):
    found = {}
    for name, s in made["state"].items():
        found.update({"state.%s.%s" % (name, k): v for k, v in s.items()})
    for g in made["param_groups"]:
        for name in g["params"]:
            found.update({"param_groups.%s.%s" % (name, k): v for k, v in g.items() if k != "params"})
    return found


def _unflat(flat, optimizers, names):
    made = {"state": {}, "param_groups": []}
    for optimizer in _list(optimizers):
        for g in optimizer.param_groups:
            group = {"params": [names[id(p)] for p in g["params"]]}
            for name in group["params"]:
                at = "state.%s." % name
                made["state"][name] = {k[len(at):]: v for k, v in flat.items() if k.startswith(at)}
                at = "param_groups.%s." % name
                group.update({k[len(at):]: v for k, v in flat.items() if k.startswith(at)})
            made["param_groups"].append(group)
    return made


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    options, names = options or StateDictOptions(), _names(model)
    given = _broadcast(optim_state_dict, options)
    if given and "param_groups" not in given:
        given = _unflat(given, optimizers, names)
    groups = list(given.get("param_groups", ()))
    for optimizer in _list(optimizers):
        _start(optimizer)
        own = optimizer.state_dict()
        state, group_dicts = {}, []
        for g, saved in zip(optimizer.param_groups, own["param_groups"]):
            first = names[id(g["params"][0])] if g["params"] else None
            source = next((o for o in groups if first in o["params"]), {})
            group_dicts.append(dict(saved, **{k: v for k, v in source.items() if k != "params"}))
            for number, p in zip(saved["params"], g["params"]):
                found = given["state"].get(names[id(p)])
                if found is not None:
                    state[number] = {k: _like(v, p) if isinstance(v, Tensor) and v.dim() and v.shape == p.shape else v for k, v in found.items()}
        optimizer.load_state_dict({"state": state, "param_groups": group_dicts})


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    return get_model_state_dict(model, submodules=submodules, options=options), get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    found = set_model_state_dict(model, model_state_dict, options=options) if model_state_dict else None
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
