# SPDX-License-Identifier: Apache-2.0
"""test_py_wheel.py - the wheel: what is in it, how large it is installed, that it works in an environment of its own; stubs that fit the package."""
import ast
import os
import subprocess
import sys
import zipfile

import pytest

import ctsc

LARGEST = 12_000_000  # bytes installed, OpenBLAS included
FIVE_LINES = """
import ctsc, sys
model = ctsc.load(sys.argv[1] + "/digits_cnn.pt")
images, labels = (ctsc.load(sys.argv[1] + "/digits_" + name + ".pt") for name in ("test", "labels"))
first = lambda v: v[0] if isinstance(v, (tuple, list)) else v
print(float((model(first(images)).argmax(1) == first(labels)).float().mean()))
print(float(ctsc.linalg.inv(ctsc.tensor([[2., 0.], [0., 4.]])).sum()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    from conftest import ROOT
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import backend
    build = os.environ.get("CTSC_BUILD", os.path.join(ROOT, "build"))
    files = os.path.join(build, "python", "wheel", "ctsc")
    if not os.path.exists(os.path.join(files, "_C.abi3.so")):
        pytest.skip("make wheel-files has not been run")
    folder = tmp_path_factory.mktemp("wheel")
    return os.path.join(str(folder), backend.pack(files, str(folder)))


def test_what_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as z:
        names, size = z.namelist(), sum(i.file_size for i in z.infolist())
    assert "cp39-abi3" in os.path.basename(wheel) and size <= LARGEST
    for name in ("ctsc/_C.abi3.so", "ctsc/py.typed", "ctsc/__init__.pyi", "ctsc/nn/modules/linear.py"):
        assert name in names
    assert len(names) == len(set(names)) and not [n for n in names if "__pycache__" in n]


def test_in_an_environment_of_its_own(wheel, tmp_path, root):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python = os.path.join(str(tmp_path), "bin", "python")
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], text=True).strip()
    with zipfile.ZipFile(wheel) as z:
        z.extractall(site)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    out = subprocess.check_output([python, "-c", FIVE_LINES, os.path.join(root, "models")], env=env, cwd=str(tmp_path), text=True).split()
    assert float(out[0]) > 0.99 and float(out[1]) == 0.75


def test_stubs_are_python_and_name_what_there_is():
    path = os.path.join(os.path.dirname(ctsc.__file__), "__init__.pyi")
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name != "__getattr__"}
    assert len(functions) > 500
    missing = [n for n in functions if not hasattr(ctsc, n)]
    assert not missing
    tensor, = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    methods = {n.name for n in tensor.body if isinstance(n, ast.FunctionDef)}
    assert len(methods) > 300 and not [n for n in methods if not hasattr(ctsc.Tensor, n)]
