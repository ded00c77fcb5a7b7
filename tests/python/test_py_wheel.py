# SPDX-License-Identifier: Apache-2.0
"""test_py_wheel.py - the wheel: what is in it, how large it is installed, that it works in an environment of its own; stubs that fit the package."""
import ast
import os
import struct
import subprocess
import sys
import urllib.request
import zipfile
import zlib

import pytest

import ctsc

LARGEST = 15_320_000  # bytes, OpenBLAS, the command (1.6 MB), docstrings (0.2 MB) and collectives (0.1 MB) included; libzip and jansson add 0.4 MB, and the bytecode 2.1
FIVE_LINES = """
import ctsc, sys
model = ctsc.load(sys.argv[1] + "/digits_cnn.pt")
images, labels = (ctsc.load(sys.argv[1] + "/digits_" + name + ".pt") for name in ("test", "labels"))
first = lambda v: v[0] if isinstance(v, (tuple, list)) else v
print(float((model(first(images)).argmax(1) == first(labels)).float().mean()))
print(float(ctsc.linalg.inv(ctsc.tensor([[2., 0.], [0., 4.]])).sum()))
"""

# Whatever calls OpenBLAS, small and large, with one thread and two; prints the name of the kernels and the largest error.
LINEAR_ALGEBRA = """
import ctypes, os, ctsc
corename = ctypes.CDLL(os.path.join(os.path.dirname(ctsc.__file__), "libctsc-blas.so")).openblas_get_corename
corename.restype = ctypes.c_char_p
worst, L = 0.0, ctsc.linalg
def same(got, want):
    global worst
    worst = max(worst, float((got - want).abs().max() / (1 + want.abs().max())))
for threads in (1, 2):
    ctsc.set_num_threads(threads)
    for n in (3, 40, 300):
        for dtype in (ctsc.float32, ctsc.float64, ctsc.complex64, ctsc.complex128):
            ctsc.manual_seed(n)
            exact = ctsc.complex128 if dtype.is_complex else ctsc.float64
            a, b = ctsc.randn(n, n, dtype=dtype), ctsc.randn(n, 7, dtype=dtype)
            x, eye = a / n ** 0.5 + 4 * ctsc.eye(n, dtype=dtype), ctsc.eye(n, dtype=dtype)
            for l in (a, a.T, a.T.conj(), a.conj()):
                for r in (a, a.T, a.T.conj(), a.conj()):
                    same(l @ r, (l.to(exact).unsqueeze(2) * r.to(exact)).sum(1) if n < 50 else (l.to(exact) @ r.to(exact)))
            same(a @ b[:, 0], (a @ b)[:, 0])
            same(x @ L.solve(x, b), b)
            same(L.solve(x.T, b), L.inv(x.T) @ b)
            same(x @ L.inv(x), eye)
            H = lambda m: m.T.conj() if dtype.is_complex else m.T
            q, r = L.qr(x)
            same(q @ r, x)
            u, s, v = L.svd(x)
            same((u * s) @ v, x)
            w, v = L.eigh(x + H(x))
            same((v * w) @ H(v), x + H(x))
            values, vectors = L.eig(x)
            same(x.to(values.dtype) @ vectors, vectors * values)
            for hermitian in (True, False):
                m = x + (H(x) if hermitian else x.T)
                factors, pivots = L.ldl_factor(m, hermitian=hermitian)
                same(m @ L.ldl_solve(factors, pivots, b, hermitian=hermitian), b)
            spd = x @ H(x)
            c = L.cholesky(spd)
            same(c @ H(c), spd)
            same(spd @ ctsc.cholesky_solve(b, c), b)
            same(spd @ ctsc.cholesky_inverse(c), eye)
            for driver in ("gels", "gelsy", "gelsd", "gelss"):
                same(x @ L.lstsq(x, b, driver=driver)[0], b)
            for upper in (False, True):
                t = x.triu() if upper else x.tril()
                same(t @ L.solve_triangular(t, b, upper=upper), b)
                same(L.solve_triangular(t, b.T, upper=upper, left=False) @ t, b.T)
print(corename().decode(), worst)
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
    for name in ("ctsc/_C.abi3.so", "ctsc/libctsc-core.so", "ctsc/bin/ctsc", "ctsc/py.typed", "ctsc/__init__.pyi", "ctsc/nn/modules/linear.py"):
        assert name in names
    assert len(names) == len(set(names)) and not [n for n in names if "__pycache__" in n]


@pytest.mark.parametrize("core, flag", [("Prescott", "sse3"), ("Haswell", "avx2"), ("SkylakeX", "avx512vl")])
def test_linear_algebra_with_each_set_of_kernels(wheel, tmp_path, core, flag):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        flags = f.read().replace("pni", "sse3").split()
    with zipfile.ZipFile(wheel) as z:
        if "ctsc/libctsc-blas.so" not in z.namelist() or flag not in flags:
            pytest.skip("the wheel has no OpenBLAS of its own, or the processor no " + flag)
        z.extractall(str(tmp_path))
    env = dict(os.environ, PYTHONPATH=str(tmp_path), OPENBLAS_CORETYPE=core)
    found, worst = subprocess.check_output([sys.executable, "-c", LINEAR_ALGEBRA], env=env, cwd=str(tmp_path), text=True).split()
    assert found == core and float(worst) < 1e-3


def test_in_an_environment_of_its_own(wheel, tmp_path, root):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python = os.path.join(str(tmp_path), "bin", "python")
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], text=True).strip()
    with zipfile.ZipFile(wheel) as z:
        z.extractall(site)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    out = subprocess.check_output([python, "-c", FIVE_LINES, os.path.join(root, "models")], env=env, cwd=str(tmp_path), text=True).split()
    assert float(out[0]) > 0.99 and float(out[1]) == 0.75


def test_the_command(wheel, tmp_path, root):
    """What pip makes of the scripts and data of the wheel: the command, as the one that make builds."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python = os.path.join(str(tmp_path), "bin", "python")
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], text=True).strip()
    with zipfile.ZipFile(wheel) as z:
        z.extractall(site)
        names = z.namelist()
        script, = [n for n in names if n.endswith(".data/scripts/ctsc")]
        for name in ("ctsc/bin/ctsc", script):
            assert z.getinfo(name).external_attr >> 16 & 0o111 == 0o111
        text = z.read(script).decode()
    for end in ("man/man1/ctsc.1", "bash-completion/completions/ctsc", "zsh/site-functions/_ctsc", "fish/vendor_completions.d/ctsc.fish"):
        assert [n for n in names if n.endswith(".data/data/share/" + end)], end
    assert text.startswith("#!python\n")
    command = os.path.join(str(tmp_path), "bin", "ctsc")
    with open(command, "w", encoding="utf-8") as f:
        f.write(text.replace("#!python", "#!" + python, 1))
    os.chmod(command, 0o755)
    os.chmod(os.path.join(site, "ctsc", "bin", "ctsc"), 0o755)

    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*arguments, code=0):
        p = subprocess.run([command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(tmp_path), env=env, text=True)
        assert p.returncode == code, p.stdout
        return p.stdout
    models = os.path.join(root, "models")
    assert run("--version").split() == ["ctsc", ctsc.__version__]
    for name in ("serve", "train", "view", "graph-for"):
        assert "Usage: ctsc " + name in run(name, "--help")
    assert "6" in run("run", models + "/digits_cnn.pt", "--inputs", models + "/digits_test.pt", "--top", "1")
    image = os.path.join(str(tmp_path), "one.png")
    rows = b"\0" + bytes(3)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(image, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    with open(os.path.join(str(tmp_path), "net.py"), "w", encoding="utf-8") as f:
        f.write("import torch\ndef forward(x):\n    return x.sum()\n")
    assert run("run", "net.py", "--input", "@one.png").startswith("0")
    server = subprocess.Popen([command, "serve", models, "--port", "0"], stderr=subprocess.PIPE, env=env, text=True)
    line = ""
    while "listening on" not in line:
        line = server.stderr.readline()
        assert line, "the server ended"
    with urllib.request.urlopen(line.split()[-1] + "/v2/health/ready") as answer:
        assert answer.status == 200
    server.terminate()
    server.communicate(timeout=60)
    assert server.returncode == 0


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


def test_metadata(root, monkeypatch):
    """What a package index shows of it."""
    import email
    sys.path.insert(0, os.path.join(root, "python"))
    try:
        import backend
    finally:
        sys.path.pop(0)
    fields = email.message_from_string(backend.metadata())
    assert fields["Name"] == "ctsc" and fields["Version"] == ctsc.__version__ and fields["Description-Content-Type"] == "text/markdown"
    classifiers = fields.get_all("Classifier")
    assert len(classifiers) == len(set(classifiers)) and all(" :: " in c for c in classifiers)
    monkeypatch.setenv("CTSC_URL", "https://example.org/ctsc/")
    pages = email.message_from_string(backend.metadata()).get_all("Project-URL")
    assert len(pages) == 4 and "Source, https://example.org/ctsc" in pages and "Issues, https://example.org/ctsc/issues" in pages, pages
    assert fields.get_payload().startswith("# ctsc\n") and "import ctsc" in fields.get_payload()
