# SPDX-License-Identifier: Apache-2.0
"""torch.nn.parallel.scatter_gather: tensors within containers, cut into one part for each device and joined again."""
from collections.abc import Mapping

from ctsc import Tensor, cat


def is_namedtuple(obj):
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs, target_gpus, dim=0):
    """A list with what each device gets: chunks of tensors, and other values as they are."""
    n = len(target_gpus)
    if isinstance(inputs, Tensor):
        return inputs.chunk(n, dim)
    if is_namedtuple(inputs):
        return [type(inputs)(*part) for part in zip(*(scatter(v, target_gpus, dim) for v in inputs))]
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(v, target_gpus, dim) for v in inputs)))
    if isinstance(inputs, list) and inputs:
        return [list(part) for part in zip(*(scatter(v, target_gpus, dim) for v in inputs))]
    if isinstance(inputs, Mapping) and inputs:
        return [type(inputs)(part) for part in zip(*(scatter(item, target_gpus, dim) for item in inputs.items()))]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """(arguments, keyword arguments) of each device."""
    inputs = scatter(inputs, target_gpus, dim) if inputs else []
    kwargs = scatter(kwargs, target_gpus, dim) if kwargs else []
    inputs += [()] * (len(kwargs) - len(inputs))
    kwargs += [{}] * (len(inputs) - len(kwargs))
    return tuple(inputs), tuple(kwargs)


def gather(outputs, target_device, dim=0):
    """What devices returned, joined: tensors along dim, numbers as a vector."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return cat([o.reshape(1) if o.dim() == 0 else o for o in outputs], dim)
    if first is None:
        return None
    if isinstance(first, Mapping):
        if any(len(o) != len(first) for o in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    made = [gather(list(o), target_device, dim) for o in zip(*outputs)]
    return type(first)._make(made) if is_namedtuple(first) else type(first)(made)
