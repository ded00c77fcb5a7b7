# SPDX-License-Identifier: Apache-2.0
"""_absent.py - what torch asks a kind of device of which there is none: torch.mps, torch.xpu."""


def is_available():
    return False


def device_count():
    return 0


def empty_cache():
    pass


synchronize = empty_cache


def manual_seed(seed):
    pass
