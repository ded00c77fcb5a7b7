#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""environment.py - the Python that the package's tests run in: a virtual environment with pytest and NumPy, and nothing else.

    python3 tests/environment.py --python /usr/bin/python3 FOLDER            (prints the environment's Python)

What else is installed beside them, and for the user, would change what tests find: plugins of pytest, packages that ctsc works with. The environment has
links to the packages of the Python it is made from, so that it needs no network: Debian's, which scripts/install-deps installs, as well as pip's. It is made
once, and again where that Python or one of the packages is another one.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

# What the tests use, and what that imports, as far as its version does.
PACKAGES = ("pytest", "numpy", "numpy.libs", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "py", "pygments", "exceptiongroup", "tomli", "typing_extensions")
# Prints [version, {module: the file or folder it is}].
FIND = """
import importlib.machinery, importlib.util, json, os, sys
found = {}
for name in sys.argv[1:]:
    if "." in name: # a folder beside a package, of libraries
        path = os.path.join(os.path.dirname(found.get(name.split(".")[0], "")), name)
        if os.path.isdir(path):
            found[name] = path
        continue
    spec = importlib.util.find_spec(name)
    if spec and spec.origin and spec.origin not in ("built-in", "frozen"):
        found[name] = os.path.dirname(spec.origin) if spec.submodule_search_locations else spec.origin
print(json.dumps([sys.version, found]))
"""
# Of the person who runs the tests, for his own Python.
FOREIGN = ("PYTHON", "PYTEST_", "VIRTUAL_ENV")


def own(env):
    """The environment's variables without those that change what Python and pytest do."""
    return {name: value for name, value in env.items() if not name.startswith(FOREIGN)}


def make(folder, python):
    """The path of the environment's Python. Raises OSError or CalledProcessError where there can be none: without pytest. Without NumPy its tests are skipped."""
    text = subprocess.run([python, "-c", FIND, *PACKAGES], check=True, stdout=subprocess.PIPE, env=own(os.environ)).stdout.decode()
    found = json.loads(text)[1]
    if "pytest" not in found:
        raise OSError("%s has no pytest (Debian: python3-pytest; scripts/install-deps test)" % python)
    made, stamp = os.path.join(folder, "bin", "python"), os.path.join(folder, "made-of")
    if os.path.exists(stamp) and os.path.exists(made):
        with open(stamp, encoding="utf-8") as f:
            if f.read() == python + "\n" + text:
                return made
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, env=own(os.environ))
    site = subprocess.check_output([made, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], env=own(os.environ)).decode().strip()
    for path in found.values():
        os.symlink(path, os.path.join(site, os.path.basename(path)))
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(python + "\n" + text)
    return made


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", default="/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable)
    ap.add_argument("folder")
    args = ap.parse_args()
    try:
        print(make(os.path.abspath(args.folder), args.python))
    except OSError as why:
        print("environment.py: %s" % why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
