# SPDX-License-Identifier: Apache-2.0
"""cuda.py - ctsc.cuda: what programs ask before they use a device."""
from . import _C


def device_count():
    return _C.cuda_device_count()


def is_available():
    return device_count() > 0
