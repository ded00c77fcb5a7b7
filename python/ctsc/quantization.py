# SPDX-License-Identifier: Apache-2.0
"""quantization.py - torch.quantization, the older name of torch.ao.quantization: what that has. Observers, wrappers and fake quantisation are refused where they are called."""
import sys

from . import ao as _ao
from ._refused import refuse

_other = refuse("torch.quantization", "prepare, convert, quantize and quantize_dynamic, with a QConfig or get_default_qconfig, are what there is (docs/quantize.md)")
_PARTS = ("quantize", "qconfig", "stubs", "fuse_modules", "observer", "fake_quantize", "quantization_mappings", "quant_type", "quantize_jit", "quantize_fx", "utils")


def __getattr__(name):
    try:
        return getattr(_ao, name)
    except AttributeError:
        return _other(name)


for _name in _PARTS: # torch.quantization.observer and the like are this module, too
    sys.modules["%s.%s" % (__name__, _name)] = sys.modules[__name__]
quantize, fuse_modules = _ao.quantize, _ao.fuse_modules
