# SPDX-License-Identifier: Apache-2.0
"""What --weights takes: the state_dict of a module, as training scripts save it."""
import torch
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


# What quantisers put beside a weight. DeepSeek's name says the inverse and means what the weight is multiplied with, too.
_SCALES = ('_scale', '_scale_inv')
_NARROW = (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def _scale(state, own, key):
    """What the tensor is multiplied with, where the module has floats in its place and no scale; else None."""
    given = state[key]
    if not isinstance(given, Tensor) or key not in own or given.dtype not in _NARROW or own[key].dtype in _NARROW or not own[key].is_floating_point():
        return None
    for suffix in _SCALES:
        scale = state.get(key + suffix)
        if isinstance(scale, Tensor) and key + suffix not in own:
            return scale
    return None


def _scaled(state, own):
    """With scales multiplied in. Those of activations beside them go: what is computed in floats needs none."""
    scales = {k: _scale(state, own, k) for k in state if isinstance(k, str)}
    used = [k for k in scales if scales[k] is not None]
    if not used:
        return state
    gone = [k + suffix for k in used for suffix in _SCALES]
    gone += [k[:k.rfind('.') + 1] + 'input_scale' for k in used]
    result = {}
    for key, value in state.items():
        if key in used:
            result[key] = torch.ops.ctsc.scaled_weight(value, scales[key])
        elif key not in gone or key in own:
            result[key] = value
    return result


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
        module.load_state_dict(_scaled(best, own))
    except RuntimeError as e:
        raise RuntimeError(file + ': ' + str(e)) from None
