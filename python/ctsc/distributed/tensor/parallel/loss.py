# SPDX-License-Identifier: Apache-2.0
"""loss_parallel: cross_entropy of logits that are cut along the classes, whose targets are ordinary tensors."""
import contextlib

from .. import _ops


@contextlib.contextmanager
def loss_parallel():
    """Within, tensors that are not DTensors are what all ranks have."""
    _ops._IMPLICIT[0] += 1
    try:
        yield
    finally:
        _ops._IMPLICIT[0] -= 1
