# SPDX-License-Identifier: Apache-2.0
"""planner.py - flattens state dicts and restores them, and decides which part of a tensor a rank has. Programs pass planners to control that."""
import dataclasses

from ctsc import _C

from ..tensor._api import DTensor
from ..tensor._redistribute import local_shape


def _is_leaf(x):
    """Whether it is written as one object: all but dicts, and lists that have tensors or dicts in them."""
    if isinstance(x, dict):
        return False
    if not isinstance(x, list):
        return True
    return not any(isinstance(v, (dict, _C.Tensor)) or not _is_leaf(v) for v in x)


def flatten(state_dict):
    """{path with points: object}, {path with points: path}. Keys become texts."""
    flat, paths = {}, {}

    def walk(path, x):
        if isinstance(x, dict):
            for k, v in x.items():
                walk(path + (str(k),), v)
        elif _is_leaf(x):
            key = ".".join(map(str, path))
            if key in flat:
                raise ValueError("duplicated flatten key %s" % key)
            flat[key], paths[key] = x, path
        else:
            for i, v in enumerate(x):
                walk(path + (i,), v)
    for k, v in state_dict.items():
        walk((str(k),), v)
    return flat, paths


def _key(at, step):
    """A dict's own key for a text."""
    if isinstance(at, dict) and step not in at:
        return next((k for k in at if str(k) == step), step)
    return step


def put(state_dict, path, value):
    """Sets the element at a path, whose containers are there or are made."""
    at = state_dict
    for step, following in zip(path, path[1:]):
        step = _key(at, step)
        missing = step >= len(at) or at[step] is None if isinstance(at, list) else step not in at
        if isinstance(at, list):
            at.extend([None] * (step + 1 - len(at)))
        if missing:
            at[step] = [] if isinstance(following, int) else {}
        at = at[step]
    if isinstance(at, list):
        at.extend([None] * (path[-1] + 1 - len(at)))
    at[_key(at, path[-1])] = value


def part(t):
    """(memory of this rank, where it begins in the whole, whether this rank is the one to write it)"""
    if not isinstance(t, DTensor):
        return t.detach(), (0,) * t.dim(), True
    spec = t._spec
    if any(p.is_partial() for p in spec.placements):
        raise ValueError("terms of a sum are not saved: redistribute the tensor first (%s)" % (spec.placements,))
    first = all(c == 0 for c, p in zip(spec.mesh.get_coordinate(), spec.placements) if p.is_replicate())
    return t.detach().to_local(), tuple(local_shape(spec.shape, spec.mesh, spec.placements)[1]), first


class SavePlanner:
    pass


class LoadPlanner:
    pass


@dataclasses.dataclass
class DefaultSavePlanner(SavePlanner):
    flatten_state_dict: bool = True
    flatten_sharded_tensors: bool = True
    dedup_replicated_tensors: object = None
    dedup_save_to_lowest_rank: bool = False
    enable_plan_caching: bool = False


@dataclasses.dataclass
class DefaultLoadPlanner(LoadPlanner):
    flatten_state_dict: bool = True
    flatten_sharded_tensors: bool = True
    allow_partial_load: bool = False
