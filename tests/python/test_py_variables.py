# SPDX-License-Identifier: Apache-2.0
"""test_py_variables.py - variables of the environment that show what the library does, from Python (docs/debugging.md)."""
import os
import subprocess
import sys

PROGRAM = """
import ctsc
f = ctsc.compile("def forward(x):\\n    return (x * 2.0 + 1.0).tanh()\\n")
for _ in range(3):
    y = f(ctsc.ones(4))
    ctsc._C.wait_for_kernels()
print(round(float(y[0]), 4))
"""


def call(**variables):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=dict(os.environ, **variables), capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "0.9951\n"
    return done.stderr


def test_nothing_is_said(tmp_path):
    assert call(CTSC_CACHE=str(tmp_path)) == ""


def test_log(tmp_path):
    said = call(CTSC_CACHE=str(tmp_path), CTSC_LOG="info")
    assert "ctsc: info: a kernel of " in said or "no compiler for kernels" in said


def test_graphs_after_passes():
    said = call(CTSC_PRINT_AFTER="fuse")
    assert "*** after fuse (changed) ***\ngraph(" in said and "prim::FusionGroup" in said and "*** after dce" not in said


def test_verified(tmp_path):
    assert call(CTSC_VERIFY="1", TMPDIR=str(tmp_path)) == "" and not list(tmp_path.glob("*.ir"))
