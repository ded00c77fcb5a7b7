# SPDX-License-Identifier: Apache-2.0
# rnn_more.py - PackedSequence as Python's programs use it: moved, cast, made of its data alone.
def _moved(self, *args, **kwargs):
    data = self.data.to(*args, **kwargs)
    if data is self.data:
        return self
    onto = {k: v for k, v in kwargs.items() if k not in ('device', 'dtype')}
    sorted_indices, unsorted_indices = (i if i is None else i.to(data.device, **onto) for i in (self.sorted_indices, self.unsorted_indices))
    return type(self)(data, self.batch_sizes, sorted_indices, unsorted_indices)


def _as(dtype):
    return lambda self: _moved(self, dtype)


PackedSequence.to, PackedSequence.is_cuda, PackedSequence.is_pinned = _moved, property(lambda self: self.data.is_cuda), lambda self: self.data.is_pinned()
PackedSequence.cpu = lambda self, *args, **kwargs: _moved(self, 'cpu', *args, **kwargs)
PackedSequence.cuda = lambda self, device=None, **kwargs: _moved(self, 'cuda' if device is None else device, **kwargs)
PackedSequence.pin_memory = lambda self: self
for _dtype in torch._C.dtypes:
    if _dtype._method in ('double', 'float', 'half', 'long', 'int', 'short', 'char', 'byte'):
        setattr(PackedSequence, _dtype._method, _as(_dtype))
_make = PackedSequence.__new__


def _new(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
    return _make(cls, *_packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices))


PackedSequence.__new__ = _new
