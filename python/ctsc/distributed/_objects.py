# SPDX-License-Identifier: Apache-2.0
"""_objects.py - collectives on Python objects: they travel as their pickles. What arrives is unpickled, so it comes from peers of the group alone."""
import pickle

from ctsc import _C

from .distributed_c10d import (_group_or_default, _outside, _root, all_gather, broadcast, gather, recv, scatter, send)

_empty, _frombuffer = _C._operator("empty"), _C._from_buffer


def _tensor_of(data):
    return _frombuffer(bytearray(data)) if data else _empty([0], dtype=_C.uint8)


def _bytes(n):
    return _empty([n], dtype=_C.uint8)


def _packed(obj):
    return _tensor_of(pickle.dumps(obj))


def _unpacked(tensor, size=None):
    return pickle.loads(memoryview(tensor)[:size] if size is not None else memoryview(tensor))


def _numbers(*n):
    from ctsc import tensor
    return tensor(list(n), dtype=_C.int64)


def _padded(data, size):
    """The first elements of a longer tensor."""
    if data.numel() == size:
        return data
    longer = _bytes(size)
    longer[:data.numel()] = data
    return longer


def _all_sizes(group, n):
    sizes = [_numbers(0) for _ in range(group.size())]
    all_gather(sizes, _numbers(n), group=group)
    return [int(s.item()) for s in sizes]


def all_gather_object(object_list, obj, group=None, weights_only=False):
    if _outside(group, "all_gather_object"):
        return
    group, data = _group_or_default(group), _packed(obj)
    sizes = _all_sizes(group, data.numel())
    parts = [_bytes(max(sizes)) for _ in sizes]
    all_gather(parts, _padded(data, max(sizes)), group=group)
    for i, (part, size) in enumerate(zip(parts, sizes)):
        object_list[i] = _unpacked(part, size)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None, weights_only=False):
    if _outside(group, "gather_object"):
        return
    group = _group_or_default(group)
    root = _root(group, 0 if dst is None and group_dst is None else dst, group_dst)
    if group.rank() == root and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if group.rank() != root and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    data = _packed(obj)
    sizes = _all_sizes(group, data.numel())
    parts = [_bytes(max(sizes)) for _ in sizes] if group.rank() == root else None
    gather(_padded(data, max(sizes)), parts, group=group, group_dst=root)
    for i, part in enumerate(parts or ()):
        object_gather_list[i] = _unpacked(part, sizes[i])


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None, weights_only=False):
    if _outside(group, "broadcast_object_list"):
        return
    group = _group_or_default(group)
    root = _root(group, 0 if src is None and group_src is None else src, group_src)
    data = [pickle.dumps(o) for o in object_list] if group.rank() == root else None
    sizes = _numbers(*[len(d) for d in data]) if data is not None else _numbers(*[0] * len(object_list))
    broadcast(sizes, group=group, group_src=root)
    whole = _tensor_of(b"".join(data)) if data is not None else _bytes(int(sizes.sum().item()))
    broadcast(whole, group=group, group_src=root)
    if group.rank() != root:
        _fill(object_list, whole, sizes.tolist())


def _fill(objects, whole, sizes):
    at, view = 0, memoryview(whole)
    for i, size in enumerate(sizes):
        objects[i] = pickle.loads(view[at:at + size])
        at += size


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None, weights_only=False):
    if _outside(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    group = _group_or_default(group)
    root = _root(group, 0 if src is None and group_src is None else src, group_src)
    gives = group.rank() == root
    if gives and (scatter_object_input_list is None or len(scatter_object_input_list) != group.size()):
        raise ValueError("Argument ``scatter_object_input_list`` must have one object for each rank on the source rank.")
    parts = [_packed(o) for o in scatter_object_input_list] if gives else []
    most = _numbers(max([p.numel() for p in parts], default=0))
    broadcast(most, group=group, group_src=root)
    most, own, size = int(most.item()), None, _numbers(0)
    own = _bytes(most)
    scatter(own, [_padded(p, most) for p in parts], group=group, group_src=root)
    scatter(size, [_numbers(p.numel()) for p in parts], group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(own, int(size.item()))


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False, weights_only=False):
    if _outside(group, "send_object_list"):
        return
    group = _group_or_default(group)
    peer, data = _root(group, dst, group_dst), [pickle.dumps(o) for o in object_list]
    send(_numbers(*[len(d) for d in data]), group=group, group_dst=peer)
    send(_tensor_of(b"".join(data)), group=group, group_dst=peer)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False, weights_only=False):
    if _outside(group, "recv_object_list"):
        return -1
    group = _group_or_default(group)
    sizes = _numbers(*[0] * len(object_list))
    source = recv(sizes, src, group=group, group_src=group_src)
    whole = _bytes(int(sizes.sum().item()))
    recv(whole, source, group=group)
    _fill(object_list, whole, sizes.tolist())
    return source
