# SPDX-License-Identifier: Apache-2.0
"""distributed.py - torch.distributed: there is one process."""


def is_available():
    return False


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_torchelastic_launched = is_available


def get_rank(group=None):
    return 0


def get_world_size(group=None):
    return 1


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError("module 'ctsc.distributed' has no attribute '%s': ctsc runs in one process" % name)
