# SPDX-License-Identifier: Apache-2.0
# autocast_mode.py - torch.cpu.amp.autocast.
from typing import Any

import torch


class autocast:
    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.bfloat16, cache_enabled: bool = True):
        self._enabled = enabled
        self.device = 'cpu'
        self.fast_dtype = dtype

    def __enter__(self):
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        pass

    def __call__(self, func):
        return func
