# SPDX-License-Identifier: Apache-2.0
"""test_py_programs.py - programs of PyTorch's users print what they print under PyTorch (programs.py)."""
import pytest

import programs


def test_there_are_programs():
    assert len(programs.names()) >= 40


@pytest.mark.parametrize("name", programs.names())
def test_program(name):
    if name in ("transforms", "copying", "numpy_bridge", "numpy_interop", "workers_pipeline"):
        pytest.importorskip("numpy")
    assert programs.check(name) is None
