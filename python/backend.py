# SPDX-License-Identifier: Apache-2.0
"""backend.py - makes the wheel, for pip (PEP 517: pip install .) and for `make wheel`. It needs make, a C compiler and what scripts/install-deps lists.

    python3 python/backend.py --build build dist
"""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def version():
    with open(os.path.join(ROOT, "include", "ctsc.h"), encoding="utf-8") as f:
        return re.search(r'#define CTSC_VERSION_STRING "(.*)"', f.read()).group(1)


CLASSIFIERS = """Development Status :: 4 - Beta
Intended Audience :: Developers
Intended Audience :: Science/Research
License :: OSI Approved :: Apache Software License
Operating System :: POSIX :: Linux
Programming Language :: C
Programming Language :: Python :: 3
Programming Language :: Python :: 3 :: Only
Programming Language :: Python :: Implementation :: CPython
Topic :: Scientific/Engineering :: Artificial Intelligence
Topic :: Software Development :: Compilers
Typing :: Typed"""
DESCRIPTION = """# ctsc

Runs PyTorch models without PyTorch: tensors, modules, optimisers, gradients and data loaders with PyTorch's names and
behaviour, TorchScript, `torch.export` and ONNX files, native kernels.

    import ctsc
    model = ctsc.load("model.pt")
    print(model(ctsc.zeros(1, 1, 8, 8)))

Only `.numpy()` and `from_numpy` need NumPy. `python -m ctsc program.py` runs a program that imports `torch` with ctsc
in its place, and `ctsc` is the command: `ctsc run`, `bench`, `train`, `serve` and more. Kernels are compiled where
LLVM 19 is installed (Debian: `libllvm19`); elsewhere programs are interpreted.
"""


# Pages of a release, by what PyPI calls them. The sources name no host: `make wheel CTSC_URL=https://...` says where this release is published.
PAGES = {"Source": "", "Documentation": "/blob/main/docs/index.md", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}


def metadata():
    home = os.environ.get("CTSC_URL", "").rstrip("/") # make exports what it is given
    fields = ["Metadata-Version: 2.1", "Name: ctsc", "Version: " + version(), "Summary: PyTorch models without PyTorch: tensors, modules and programs",
              "Keywords: pytorch,torchscript,onnx,inference,compiler", "Author: the ctsc authors", "License: Apache-2.0"]
    fields += ["Classifier: " + c for c in CLASSIFIERS.split("\n")]
    fields += ["Project-URL: %s, %s%s" % (name, home, page) for name, page in PAGES.items() if home]
    fields += ["Requires-Python: >=3.9", "Provides-Extra: numpy", 'Requires-Dist: numpy; extra == "numpy"', "Description-Content-Type: text/markdown"]
    return "\n".join(fields) + "\n\n" + DESCRIPTION


def tag():
    return "cp39-abi3-linux_%s" % platform.machine()


class Wheel:
    def __init__(self, path):
        self.zip, self.record = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)) # the same files make the same wheel
        info.external_attr, info.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self, name):
        self.zip.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "\n".join(self.record + [name + ",,"]) + "\n")
        self.zip.close()


def pack(files, folder):
    """The wheel of the files, in folder: its name."""
    info = "ctsc-%s.dist-info" % version()
    name = "ctsc-%s-%s.whl" % (version(), tag())
    os.makedirs(folder, exist_ok=True)
    w = Wheel(os.path.join(folder, name))
    for where, folders, names in os.walk(files):
        folders.sort()
        for n in sorted(names):
            path = os.path.join(where, n)
            if n.startswith(".") or "__pycache__" in where:
                continue
            with open(path, "rb") as f:
                w.add("ctsc/" + os.path.relpath(path, files), f.read(), 0o755 if ".so" in n or os.access(path, os.X_OK) else 0o644)
    data = "ctsc-%s.data" % version()
    with open(os.path.join(ROOT, "python", "ctsc_script.py"), "rb") as f:
        w.add(data + "/scripts/ctsc", f.read(), 0o755)
    share = os.path.join(os.path.dirname(files), "share")
    for where, folders, names in os.walk(share):
        folders.sort()
        for n in sorted(set(names) - {".files"}):
            with open(os.path.join(where, n), "rb") as f:
                w.add("%s/data/share/%s" % (data, os.path.relpath(os.path.join(where, n), share)), f.read())
    w.add(info + "/METADATA", metadata().encode())
    w.add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: ctsc\nRoot-Is-Purelib: false\nTag: %s\n" % tag()).encode())
    with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
        w.add(info + "/LICENSE", f.read())
    w.close(info + "/RECORD")
    return name


# ---- PEP 517


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    python = "PYTHON=" + sys.executable
    subprocess.run(["make", "--no-print-directory", "deps-build"], cwd=ROOT, check=True)
    subprocess.run(["make", "--no-print-directory", "-j%d" % (os.cpu_count() or 1), python, "wheel-files"], cwd=ROOT, check=True)
    return pack(os.path.join(ROOT, "build", "python", "wheel", "ctsc"), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("ctsc is built from a checkout: pip install .")


def get_requires_for_build_wheel(config_settings=None):
    return []


if __name__ == "__main__":
    print(os.path.join(sys.argv[3], pack(os.path.join(os.path.abspath(sys.argv[2]), "python", "wheel", "ctsc"), sys.argv[3])))
