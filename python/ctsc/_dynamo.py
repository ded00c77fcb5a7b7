# SPDX-License-Identifier: Apache-2.0
"""_dynamo.py - torch._dynamo (compiler.py)."""
from .compiler import *
from .compiler import _same

import contextlib
import sys
import types


def is_compile_supported(device_type):
    """Whether torch.compile's own compiler is there."""
    return False


class OptimizedModule:
    """What torch.compile makes of a module in PyTorch: nothing is one here."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch._dynamo.OptimizedModule: ctsc.compile gives functions and modules of its own")


class _Settings(types.ModuleType):
    """Whatever is set is kept; nothing changes by it."""

    def __init__(self, name, **values):
        super().__init__(name, "Settings of PyTorch's compiler.")
        self.__dict__.update(values)

    @contextlib.contextmanager
    def patch(self, *names, **values):
        values = dict(names[0] if len(names) == 1 else [names] if names else (), **values)
        before = dict(self.__dict__)
        self.__dict__.update(values)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)


config = sys.modules[__name__ + ".config"] = _Settings(
    __name__ + ".config", verbose=False, suppress_errors=False, cache_size_limit=8, recompile_limit=8, accumulated_cache_size_limit=256, capture_scalar_outputs=False,
    capture_dynamic_output_shape_ops=False, dynamic_shapes=True, assume_static_by_default=True, automatic_dynamic_shapes=True, optimize_ddp=True,
    skip_fwd_side_effects_in_bwd_under_checkpoint=False, inline_inbuilt_nn_modules=True, guard_nn_modules=True)
utils = sys.modules[__name__ + ".utils"] = types.ModuleType(__name__ + ".utils", "What libraries import of torch._dynamo.utils.")
utils.is_compile_supported = is_compile_supported


def __getattr__(name):
    if name in ("eval_frame", "backends"):
        from ._refused import tree
        return tree("torch._dynamo." + name)
    raise AttributeError("module 'ctsc._dynamo' has no attribute '%s'" % name)
