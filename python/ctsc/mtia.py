# SPDX-License-Identifier: Apache-2.0
"""mtia.py - torch.mtia: a kind of device, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.mtia", "ctsc runs on CPUs and on CUDA devices")
