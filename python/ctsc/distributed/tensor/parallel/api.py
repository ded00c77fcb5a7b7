# SPDX-License-Identifier: Apache-2.0
"""api.py - parallelize_module: styles for the modules that a plan names."""
import fnmatch
import warnings

from .. import _api
from .style import ParallelStyle


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """parallelize_plan: a style, or styles by the path of modules, in which * and ? stand for parts of a name."""
    mesh = _api._mesh_of(device_mesh)
    if mesh.ndim != 1:
        raise ValueError("Tensor Parallel only accepts a 1D DeviceMesh, but found %dD!" % mesh.ndim)
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do nothing.")
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, %s found!" % type(parallelize_plan))
    for path, style in parallelize_plan.items():
        found = list(_found(module, path.split("."))) if path else [module]
        if not found:
            warnings.warn("Parallelize plan key '%s' could not be resolved: no submodule matching token '%s'" % (path, path.split(".")[0]))
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _found(module, steps):
    if not steps:
        yield module
        return
    for name, child in list(module.named_children()):
        if fnmatch.fnmatch(name, steps[0]):
            yield from _found(child, steps[1:])
