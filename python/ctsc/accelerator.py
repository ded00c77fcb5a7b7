# SPDX-License-Identifier: Apache-2.0
"""accelerator.py - torch.accelerator: CUDA's first GPU, or none."""
from . import cuda
from ._types import device

is_available, device_count, synchronize = cuda.is_available, cuda.device_count, cuda.synchronize


def current_accelerator(check_available=False):
    return device("cuda") if is_available() else None


def current_device_index():
    return 0


def set_device_index(index):
    cuda.set_device(index)
