# SPDX-License-Identifier: Apache-2.0
# numpy.lib.stride_tricks: windows that share memory with the array.
from numpy import _tensor, ndarray


def sliding_window_view(x, window_shape, axis=None):
    t = _tensor(x)
    sizes = [window_shape] if isinstance(window_shape, int) else list(window_shape)
    axes = list(range(t.dim())) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if len(sizes) != len(axes):
        raise ValueError('window_shape must have as many numbers as there are axes')
    for a, n in zip([a % t.dim() for a in axes], sizes):
        t = t.unfold(a, n, 1)
    return ndarray(t)


def as_strided(x, shape=None, strides=None):
    t = _tensor(x)
    item = t.element_size()
    return ndarray(t.as_strided(list(t.shape) if shape is None else list(shape), list(t.stride()) if strides is None else [s // item for s in strides]))
