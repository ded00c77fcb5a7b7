# SPDX-License-Identifier: Apache-2.0
"""test_py_types.py - the stubs: a typed program is accepted by mypy --strict, where that is installed, and runs; errors in a program are found."""
import os
import subprocess
import sys

import pytest

import ctsc

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "typed")
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(ctsc.__file__)))
ENV = {**os.environ, "PYTHONPATH": PACKAGE, "MYPYPATH": PACKAGE}
WRONG = """
import ctsc
import ctsc.nn as nn
nn.Linear("3", 4)
nn.Linear(3, 4).forward("x")
ctsc.optim.SGD(nn.Linear(3, 4).parameters(), lr="0.1")
ctsc.ones(3).relu(1)
ctsc.add("a", ctsc.ones(1))
ctsc.zeros(2).no_such_method()
"""


def mypy(*args):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir=" + os.devnull, *args]
    return subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=600, check=False).stdout


def test_the_program_runs():
    done = subprocess.run([sys.executable, os.path.join(FOLDER, "training.py")], env=ENV, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and len(done.stdout.split("\n")) == 8, done.stdout + done.stderr


def test_every_module_has_a_stub():
    for folder in ("nn", "optim", "data", "distributions"):
        for where, _, files in os.walk(os.path.join(os.path.dirname(ctsc.__file__), folder)):
            for name in files:
                assert not name.endswith(".py") or name + "i" in files, os.path.join(where, name)
                if name.endswith(".pyi"):
                    with open(os.path.join(where, name), encoding="utf-8") as f:
                        compile(f.read(), name, "exec")


def test_strict():
    out = mypy(os.path.join(FOLDER, "training.py"))
    assert "Success" in out, out


def test_errors_are_found(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    out = mypy(str(path))
    assert sorted({int(line.split(":")[1]) for line in out.split("\n") if "error:" in line}) == [4, 5, 6, 7, 8, 9], out
