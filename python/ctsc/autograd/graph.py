# SPDX-License-Identifier: Apache-2.0
"""graph.py - torch.autograd.graph: what is saved for backward passes is in memory that stays."""
import contextlib

from . import Node


@contextlib.contextmanager
def save_on_cpu(pin_memory=False, device_type="cuda"):
    """On the CPU it is already."""
    yield


class saved_tensors_hooks:
    def __init__(self, pack_hook, unpack_hook):
        raise NotImplementedError("hooks of saved tensors: the library saves them where Python does not see it")


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    yield


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    raise NotImplementedError("tensors that were saved for a backward pass cannot be written to")
    yield
