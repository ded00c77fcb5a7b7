# SPDX-License-Identifier: Apache-2.0
# autocast_mode.py - torch.autocast. Compiled, it is an object with attributes, which the pass `autocast` looks for where it is entered;
# in module-level code it tells the evaluator, which converts what operators are given.
from typing import Any, Optional

import torch


class autocast:
    def __init__(self, device_type: str, dtype: Optional[torch.dtype] = None, enabled: bool = True,
                 cache_enabled: Optional[bool] = None):
        if dtype is None:
            if torch.jit.is_scripting():  # archives of PyTorch 1.13 cannot ask
                dtype = torch.bfloat16 if device_type == 'cpu' else torch.float16
            else:
                dtype = torch.get_autocast_dtype(device_type)
        self.fast_dtype = dtype
        self._enabled = enabled
        self.device = device_type

    def __enter__(self):
        if not torch.jit.is_scripting():
            before = (torch.is_autocast_enabled(self.device), torch.get_autocast_dtype(self.device))
            self._before = getattr(self, '_before', ()) + (before,)
            torch.set_autocast_enabled(self.device, self._enabled)
            torch.set_autocast_dtype(self.device, self.fast_dtype)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        if not torch.jit.is_scripting():
            torch.set_autocast_enabled(self.device, self._before[-1][0])
            torch.set_autocast_dtype(self.device, self._before[-1][1])
            self._before = self._before[:-1]

    def __call__(self, func):
        if not torch.jit.is_scripting():
            torch._C._decorate_autocast(func, self)
        return func


def is_autocast_available(device_type: str) -> bool:
    return device_type in ('cpu', 'cuda')


def custom_fwd(fwd=None, **kwargs):
    if fwd is not None:
        return fwd

    def decorator(fn):
        return fn
    return decorator


def custom_bwd(bwd=None, **kwargs):
    if bwd is not None:
        return bwd

    def decorator(fn):
        return fn
    return decorator
