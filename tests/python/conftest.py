# SPDX-License-Identifier: Apache-2.0
"""conftest.py - where the repository is, and models that tests load."""
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def digits():
    import ctsc
    return ctsc.load(os.path.join(ROOT, "models", "digits_cnn.pt"))
