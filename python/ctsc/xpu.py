# SPDX-License-Identifier: Apache-2.0
"""xpu.py - torch.xpu: there is none."""


def is_available():
    return False


def device_count():
    return 0


def empty_cache():
    pass


synchronize = empty_cache


def manual_seed(seed):
    pass
