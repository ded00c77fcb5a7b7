# SPDX-License-Identifier: Apache-2.0
"""collate.py - examples put together as a batch: tensors and numbers along a new first dimension, containers item by item."""
from collections.abc import Mapping, Sequence

from .. import _C
from .._functions import as_tensor, tensor

_stack = _C._operator("stack")


def _is_array(x):
    return type(x).__module__ == "numpy"


def _same(kind, values, items):
    """A container of the same kind; a list where it cannot be made of the items."""
    try:
        return kind(*items) if hasattr(values, "_fields") else kind(items)
    except TypeError:
        return list(items)


def default_convert(data):
    """Arrays become tensors, in containers, too."""
    if isinstance(data, _C.Tensor):
        return data
    if _is_array(data) and data.dtype.kind in "biufc":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _same(type(data), data, [(k, default_convert(v)) for k, v in data.items()])
    if isinstance(data, tuple) and not hasattr(data, "_fields"):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _same(type(data), data, [default_convert(v) for v in data])
    return data


def default_collate(batch):
    """A list of examples as a batch."""
    first = batch[0]
    if isinstance(first, _C.Tensor):
        return _stack(list(batch), 0)
    if _is_array(first):
        if first.dtype.kind not in "biufc":
            raise TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found %s" % first.dtype)
        return _stack([as_tensor(b) for b in batch], 0)
    if isinstance(first, float):
        return tensor(batch, dtype=_C.float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _same(type(first), first, [(k, default_collate([b[k] for b in batch])) for k in first])
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(b) != len(first) for b in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        items = [default_collate(samples) for samples in zip(*batch)]
        return items if isinstance(first, tuple) else _same(type(first), first, items)
    raise TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found %s" % type(first))
