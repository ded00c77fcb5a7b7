# SPDX-License-Identifier: Apache-2.0
"""_nn_support.py - what ctsc.nn, written as torch.nn, finds under ctsc._C."""
import types

from . import _C, _VF
from ._types import parse_to


class _Namespace(types.ModuleType):
    def __getattr__(self, name):
        return getattr(_VF, name)


def _parse_to(*args, **kwargs):
    device, dtype, non_blocking, copy, memory_format = parse_to(args, **kwargs)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    return device, dtype, non_blocking, memory_format


_C._nn = _Namespace("ctsc._C._nn")
_C._nn._parse_to = _parse_to
_C._skips_init = lambda: False
_C._draws_anew = lambda: True
_C._records = _C.is_grad_enabled
_C._load_data = lambda value, given: value.copy_(given)


def _infer_size(a, b):
    from ._functions import broadcast_shapes
    return broadcast_shapes(tuple(a), tuple(b))


_C._infer_size = _infer_size
