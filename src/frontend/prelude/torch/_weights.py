# SPDX-License-Identifier: Apache-2.0
"""What --weights takes: the state_dict of a module, as training scripts save it."""
from torch import Tensor

# Put before all names by DataParallel, torch.compile, and by modules that hold the model.
_PREFIXES = ('module.', '_orig_mod.', 'model.', 'net.', 'network.', 'backbone.', 'encoder.')


def _has_tensors(d):
    return any(isinstance(v, Tensor) for v in d.values())


def _candidates(state):
    """The dicts of tensors in it: itself, and those that are kept in it under a name."""
    found = [state] if _has_tensors(state) else []
    for value in state.values():
        if isinstance(value, dict):
            if _has_tensors(value):
                found.append(value)
            found.extend(v for v in value.values() if isinstance(v, dict) and _has_tensors(v))
    return found


def _without(state, prefix):
    return {k[len(prefix):]: v for k, v in state.items() if isinstance(k, str) and k.startswith(prefix)}


def _variants(state, depth):
    """With each sequence of prefixes taken off."""
    yield state
    if depth > 0:
        for prefix in _PREFIXES:
            if any(isinstance(k, str) and k.startswith(prefix) for k in state):
                for variant in _variants(_without(state, prefix), depth - 1):
                    yield variant


def load(module, state, file):
    own = module.state_dict()
    best, score = state, -1
    for candidate in _candidates(state):
        for variant in _variants(candidate, 3):
            matching = sum(1 for k in own if k in variant)
            # Names that are too many count less than those that are missing; the first of equals wins.
            s = matching * 1000000 - (len(variant) - matching)
            if s > score:
                best, score = variant, s
    try:
        module.load_state_dict(best)
    except RuntimeError as e:
        raise RuntimeError(file + ': ' + str(e)) from None
