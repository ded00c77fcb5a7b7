# SPDX-License-Identifier: Apache-2.0
"""xpu.py - torch.xpu: there is none."""
from ._absent import device_count, empty_cache, is_available, is_bf16_supported, is_initialized, manual_seed, manual_seed_all, none, synchronize

__getattr__ = none("torch.xpu", "there is no such device")
