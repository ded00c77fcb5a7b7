# SPDX-License-Identifier: Apache-2.0
"""_utils.py - torch._utils: how pickles of PyTorch name their tensors' parts, and small helpers that libraries use."""
from . import _C


def _element_size(dtype):
    return dtype.itemsize


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A view of a storage that knows its dtype."""
    from .storage import TypedStorage
    from ._functions import empty_of_bytes
    if not isinstance(storage, TypedStorage):
        raise TypeError("_rebuild_tensor: a TypedStorage is needed, not a %s" % type(storage).__name__)
    return empty_of_bytes(storage.dtype, [0], b"").set_(storage, storage_offset, list(size), list(stride))


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor(storage, storage_offset, size, stride).requires_grad_(requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    from .nn import Parameter
    return Parameter(data, requires_grad)


def _flatten_dense_tensors(tensors):
    """Their elements, one after another."""
    return _C._operator("cat")([t.contiguous().view(-1) for t in tensors]) if tensors else _C._operator("empty")([0])


def _unflatten_dense_tensors(flat, tensors):
    """Views of flat with the tensors' sizes."""
    found, at = [], 0
    for t in tensors:
        found.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(found)


def _take_tensors(tensors, size_limit):
    """Groups of tensors of one dtype with at most about size_limit bytes each."""
    groups = {}
    for t in tensors:
        group, size = groups.get(t.dtype, ([], 0))
        own = t.numel() * t.element_size()
        if group and size + own > size_limit:
            yield group
            group, size = [], 0
        groups[t.dtype] = group + [t], size + own
    for group, _ in groups.values():
        if group:
            yield group


def _get_device_index(device, optional=False, allow_cpu=False):
    from ._types import device as kind
    if isinstance(device, int):
        return device
    place = kind(device) if device is not None else None
    if place is None or place.index is None:
        if optional or (allow_cpu and place is not None and place.type == "cpu"):
            return -1 if place is not None and place.type == "cpu" else 0
        raise ValueError("Expected a torch.device with a specified index or an integer, but got: %s" % (device,))
    return place.index


def _get_available_device_type():
    from . import cuda
    return "cuda" if cuda.is_available() else None


def is_compiling():
    return False
