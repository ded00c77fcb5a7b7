# SPDX-License-Identifier: Apache-2.0
# autocast_mode.py - torch.autocast, by attributes that the runtime looks at when the object is entered.
# It computes in the dtypes that a program asks for: it refuses to enter where PyTorch would compute in others.
from typing import Any, Optional

import torch


class autocast:
    def __init__(self, device_type: str, dtype: Optional[torch.dtype] = None, enabled: bool = True,
                 cache_enabled: Optional[bool] = None):
        self._enabled = enabled
        self.device = device_type
        self.fast_dtype = dtype

    def __enter__(self):
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        pass

    def __call__(self, func):
        return func
