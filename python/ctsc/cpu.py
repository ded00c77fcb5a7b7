# SPDX-License-Identifier: Apache-2.0
"""cpu.py - torch.cpu: the device that is always there."""
import sys
import types


def is_available():
    return True


def device_count():
    return 1


def current_device():
    return "cpu"


def synchronize(device=None):
    pass


def _autocast(enabled=True, dtype=None, cache_enabled=True):
    from .amp import autocast
    return autocast("cpu", dtype=dtype, enabled=enabled)


amp = types.ModuleType(__name__ + ".amp")
amp.autocast = _autocast
sys.modules[amp.__name__] = amp
