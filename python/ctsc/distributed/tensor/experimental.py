# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor.experimental: ordinary tensors beside DTensors, and functions on what the ranks have."""
import functools

from ._api import DTensor, _mesh_of
from .parallel.loss import loss_parallel as implicit_replication


def local_map(func=None, out_placements=None, in_placements=None, in_grad_placements=None, device_mesh=None, *, redistribute_inputs=False):
    """func on local tensors, of DTensors with in_placements; its results become DTensors with out_placements."""
    if func is None:
        return functools.partial(local_map, out_placements=out_placements, in_placements=in_placements, in_grad_placements=in_grad_placements, device_mesh=device_mesh,
                                 redistribute_inputs=redistribute_inputs)

    @functools.wraps(func)
    def run(*args, **kwargs):
        mesh, here = device_mesh, []
        for i, a in enumerate(args):
            if isinstance(a, DTensor):
                mesh = mesh or a.device_mesh
                wanted = in_placements[i] if in_placements is not None else None
                if wanted is not None and tuple(wanted) != a.placements:
                    if not redistribute_inputs:
                        raise ValueError("arg %s in local_map has a mismatched placements: arg placements is %s but the input placements is %s! If redistribute_inputs is allowed, set "
                                         "redistribute_inputs=True to local_map." % (a, a.placements, wanted))
                    a = a.redistribute(placements=wanted)
                a = a.to_local(grad_placements=in_grad_placements[i] if in_grad_placements is not None else None)
            here.append(a)
        made = func(*here, **kwargs)
        several = isinstance(made, (tuple, list))
        items = list(made) if several else [made]
        wanted = out_placements if several and isinstance(out_placements, tuple) else [out_placements] * len(items)
        items = [x if p is None or mesh is None else DTensor.from_local(x, _mesh_of(mesh), p) for x, p in zip(items, wanted)]
        return type(made)(items) if several else items[0]
    return run
