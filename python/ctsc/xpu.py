# SPDX-License-Identifier: Apache-2.0
"""xpu.py - torch.xpu: there is none."""
from ._absent import device_count, empty_cache, is_available, manual_seed, synchronize
