# SPDX-License-Identifier: Apache-2.0
# utils.py - sizes given as one number or as one for each dimension.
from typing import List


def _ntuple(n, name='parse'):
    def parse(x):
        if isinstance(x, (list, tuple)):
            return tuple(x)
        return (x,) * n

    return parse


# Compiled code calls these four as operators.
def _single(x):
    return _ntuple(1)(x)


def _pair(x):
    return _ntuple(2)(x)


def _triple(x):
    return _ntuple(3)(x)


def _quadruple(x):
    return _ntuple(4)(x)


def _reverse_repeat_tuple(t, n):
    result = []
    for x in reversed(t):
        result += [x] * n
    return tuple(result)


def _list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError('Input dimension should be at least {}'.format(len(out_size) + 1))
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix: str) -> None:
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
