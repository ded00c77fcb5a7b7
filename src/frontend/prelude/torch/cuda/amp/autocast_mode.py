# SPDX-License-Identifier: Apache-2.0
# autocast_mode.py - torch.cuda.amp.autocast: the same as torch.autocast('cuda').
from typing import Any

import torch
from torch.amp import autocast_mode


class autocast:
    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True):
        self.fast_dtype = dtype
        self._enabled = enabled
        self.device = 'cuda'

    def __enter__(self):
        if not torch.jit.is_scripting():
            autocast_mode.autocast.__enter__(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        if not torch.jit.is_scripting():
            autocast_mode.autocast.__exit__(self, exc_type, exc_val, exc_tb)

    def __call__(self, func):
        if not torch.jit.is_scripting():
            torch._C._decorate_autocast(func, self)
        return func


from torch.amp.autocast_mode import custom_bwd, custom_fwd
