# SPDX-License-Identifier: Apache-2.0
"""test_py_types.py - the stubs: a typed program is accepted by mypy --strict, where that is installed, and runs; errors in a program are found."""
import ast
import importlib
import json
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


def names_of(path):
    """What a stub defines, with what it takes of others by *."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    found = set()
    for n in tree.body:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif isinstance(n, ast.AnnAssign):
            found.add(n.target.id)
        elif isinstance(n, ast.Assign):
            found |= {t.id for t in n.targets}
        elif isinstance(n, ast.ImportFrom) and n.names[0].name == "*":
            base = os.path.dirname(path)
            for _ in range(n.level - 1):
                base = os.path.dirname(base)
            other = os.path.join(base, *(n.module or "").split("."))
            found |= names_of(os.path.join(other, "__init__.pyi") if os.path.isdir(other) else other + ".pyi")
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            found |= {a.asname or a.name for a in n.names}
    return found


MODULES = ("", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "data", "distributions", "linalg", "fft", "special")
PUBLIC_NAMES = """
import importlib, json, sys, types
foreign = lambda v: isinstance(v, types.ModuleType) and not v.__name__.startswith("ctsc.") or getattr(v, "__module__", "ctsc").split(".")[0] in ("collections", "bisect", "_bisect", "typing")
found = {}
for name in sys.argv[1:]:
    module = importlib.import_module(("ctsc." + name).rstrip("."))
    found[name] = [module.__file__, [n for n in dir(module) if not n.startswith("_") and not foreign(getattr(module, n))]]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def public_names():
    """Of an interpreter of their own: other tests import modules that are not attributes before, ctsc.sklearn where there is scikit-learn."""
    return json.loads(subprocess.check_output([sys.executable, "-c", PUBLIC_NAMES, *MODULES], env=ENV, timeout=300))


@pytest.mark.parametrize("name", MODULES)
def test_stubs_have_every_public_name(name, public_names):
    file, names = public_names[name]
    found = names_of(file + "i")
    assert [n for n in names if n not in found] == []


def test_stubs_have_every_member():
    for stub, cls in ((ctsc.__file__ + "i", ctsc.Tensor), (importlib.import_module("ctsc.nn.modules.module").__file__ + "i", ctsc.nn.Module)):
        with open(stub, encoding="utf-8") as f:
            body = next(n for n in ast.parse(f.read()).body if isinstance(n, ast.ClassDef) and n.name == cls.__name__).body
        found = {n.name if isinstance(n, ast.FunctionDef) else n.target.id for n in body if isinstance(n, (ast.FunctionDef, ast.AnnAssign))}
        assert [n for n in dir(cls) if not n.startswith("_") and n not in found] == []


def test_stubs_are_free_of_errors():
    """Overloads that an earlier one takes all calls of, and the like."""
    folder = os.path.dirname(ctsc.__file__)
    out = mypy(*(os.path.join(folder, *p) for p in (("__init__.pyi",), ("linalg.pyi",), ("fft.pyi",), ("special.pyi",), ("optim", "lr_scheduler.pyi"))))
    assert "Success" in out, out


@pytest.mark.parametrize("name", ["training.py", "names.py"])
def test_strict(name):
    out = mypy(os.path.join(FOLDER, name))
    assert "Success" in out, out


def test_examples():
    folder = os.path.join(os.path.dirname(FOLDER), "..", "..", "examples", "python")
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", "--cache-dir=" + os.devnull]
    done = subprocess.run(command + [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".py")], env=ENV, capture_output=True, text=True, timeout=600, check=False)
    assert "Success" in done.stdout, done.stdout


def test_errors_are_found(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    out = mypy(str(path))
    assert sorted({int(line.split(":")[1]) for line in out.split("\n") if "error:" in line}) == [4, 5, 6, 7, 8, 9], out
