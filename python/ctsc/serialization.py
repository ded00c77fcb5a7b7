# SPDX-License-Identifier: Apache-2.0
"""serialization.py - torch.serialization: load and save."""
import contextlib

from ._functions import load, save


def add_safe_globals(safe_globals):
    """load(weights_only=True) takes tensors and Python's containers only."""


@contextlib.contextmanager
def safe_globals(safe_globals):
    yield
