#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""places.py - the command, the Python package and the project itself, from wherever they are called or built.

    python3 tests/places.py --build build [--python /usr/bin/python3]

The command finds its compiler for kernels when it is called through PATH, through links, from another folder and in a folder with a space, and the package
does when it is imported from elsewhere. Where there is none, `run`, `bench`, `serve` and Python say so, once. A copy of the project in a folder with a space
builds the demo, runs tests and is installed by pip; it links everything anew, from the objects that are there. What `make install` puts in place is
tests/install.py's. Prints "ok NAME" or "FAIL NAME" and why; the exit code is 1 if anything failed.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
import environment  # noqa: E402
from client import Server, tensor  # noqa: E402

LIBRARY = "libctsc-jit.so"
MISSING = "no compiler for kernels"
LOOP = "def forward(x):\n    for i in range(10):\n        x = x * 2.0 + 1.0\n    return x\n"
# A function that Python calls often enough for a kernel.
CALLS = """
import sys
import ctsc
f = ctsc.compile(sys.argv[1])
for _ in range(4):
    f(ctsc.ones(4))
    ctsc._C.wait_for_kernels()
print("done")
"""
# What the build of the copy takes from the one that is there: all that is not linked.
OBJECTS = ("rt", "rt_ops.inc", "src", "embedded", "onnx", "grpc", "libctsc.a", "libserve.a", "libview.a", "libsandbox.a", "libctsc.map", "scalar_ops.bc", "tests", "diff", "threads", "examples", ".deps-build",
           ".deps-test", "python/obj", "python/gen", "python/wheel/ctsc/libctsc-blas.so", "python/python.map", LIBRARY)


class Failed(Exception):
    pass


def run(command, cwd, timeout=600, **env):
    """(stdout, stderr) of a command that has to succeed."""
    p = subprocess.run(command, cwd=cwd, env=dict(os.environ, **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    out, err = (text.decode("utf-8", "replace") for text in (p.stdout, p.stderr))
    if p.returncode:
        raise Failed("%s\nended with %d\n%s\n%s" % (" ".join(command), p.returncode, out[-3000:], err[-3000:]))
    return out, err


def same(got, want):
    if got != want:
        raise Failed("%r, not %r" % (got, want))


class Places:
    def __init__(self, build, python, folder):
        # Two folders down: the library is looked for up to two above a program, and what lies about in the system's temporary folder is not part of this.
        self.build, self.python, self.folder = build, python, os.path.join(folder, "two", "down")
        self.ctsc, self.library = os.path.join(build, "ctsc"), os.path.realpath(os.path.join(build, LIBRARY))
        self.elsewhere = self.make("elsewhere")
        self.program = os.path.join(self.elsewhere, "loop.py")
        with open(self.program, "w") as f:
            f.write(LOOP)

    def make(self, *parts):
        path = os.path.join(self.folder, *parts)
        os.makedirs(path, exist_ok=True)
        return path

    def alone(self):
        """The command without its compiler."""
        path = os.path.join(self.make("alone", "bin"), "ctsc")
        if not os.path.exists(path):
            shutil.copy(self.ctsc, path)
        return path

    def found(self, command, cwd, **env):
        """The library that the command opens."""
        out, _ = run([command, "doctor", "--json"], cwd, **env)
        library = json.loads(out)["compiler"]["library"]
        return library and os.path.realpath(library)

    def path(self, folder):
        return folder + os.pathsep + os.environ["PATH"]

    def told(self, text, advice):
        lines = [line for line in text.split("\n") if MISSING in line]
        if len(lines) != 1 or not all(part in lines[0] for part in advice):
            raise Failed("not once in one line, with %s:\n%s" % (", ".join(advice), text))

    # ---- the command

    def test_path(self):
        same(self.found("ctsc", self.elsewhere, PATH=self.path(self.build)), self.library)
        same(self.found(os.path.relpath(self.ctsc, self.elsewhere), self.elsewhere), self.library)
        _, err = run(["ctsc", "bench", self.program, "--input", "float32[4]:ones", "--seconds", "0.1"], self.elsewhere, PATH=self.path(self.build))
        same(err, "")

    def test_link(self):
        links = self.make("links")
        os.symlink(self.ctsc, os.path.join(links, "ctsc"))
        os.symlink("ctsc", os.path.join(links, "again"))
        same(self.found("ctsc", self.elsewhere, PATH=self.path(links)), self.library)
        same(self.found("again", self.elsewhere, PATH=self.path(links)), self.library)
        same(self.found("./again", links), self.library)

    def test_space(self):
        place = self.make("two words", "bin")
        for name in (self.ctsc, self.library):
            shutil.copy(name, place)
        mine = os.path.join(place, LIBRARY)
        same(self.found("ctsc", self.elsewhere, PATH=self.path(place)), os.path.realpath(mine))
        os.makedirs(os.path.join(place, "..", "lib"))
        os.rename(mine, os.path.join(place, "..", "lib", LIBRARY))
        same(self.found("ctsc", self.elsewhere, PATH=self.path(place)), os.path.realpath(os.path.join(place, "..", "lib", LIBRARY)))

    def test_variable(self):
        same(self.found(self.alone(), self.elsewhere, CTSC_JIT=self.library), self.library)
        same(self.found(self.ctsc, self.elsewhere, CTSC_JIT="0"), None)
        same(self.found(self.ctsc, self.elsewhere, CTSC_JIT="/nowhere/" + LIBRARY), None)

    # ---- where there is no compiler

    def test_missing(self):
        if self.found(self.alone(), self.elsewhere):
            return "skipped, the system has %s" % LIBRARY
        way_out = (os.path.dirname(self.alone()), "CTSC_JIT", "llvm-19-dev")
        self.told(run([self.alone(), "run", self.program, "--input", "float32[4]:ones"], self.elsewhere)[1], way_out)
        self.told(run([self.alone(), "bench", self.program, "--input", "float32[4]:ones", "--seconds", "0.1"], self.elsewhere)[1], way_out)
        same(run([self.alone(), "run", self.program, "--input", "float32[4]:ones"], self.elsewhere, CTSC_JIT="0")[1], "")
        same(run([self.alone(), "run", self.program, "--opt", "1", "--input", "float32[4]:ones"], self.elsewhere)[1], "")

    def test_missing_serve(self):
        models = self.make("models")
        run([self.ctsc, "compile", self.program, "-o", os.path.join(models, "loop.pt")], self.elsewhere)
        os.environ["CTSC_JIT"] = "/nowhere/" + LIBRARY
        try:
            server = Server(self.ctsc, models)
        finally:
            del os.environ["CTSC_JIT"]
        for _ in range(4):
            server.infer("loop", [tensor("x", [2], [1.0, 2.0])])
        _, text = server.stop()
        self.told(text, ("/nowhere/", "CTSC_JIT"))

    def test_damaged(self):
        """A library that is in its place and cannot be used: LLVM is missing, or it is another version's."""
        place = self.make("damaged")
        shutil.copy(self.ctsc, place)
        with open(os.path.join(place, "x.c"), "w") as f:
            f.write("int x;\n")
        link = lambda name, *more: run(["cc", "-shared", "-o", name, "x.c", "-Wl,-soname," + name, *more], place)
        command = [os.path.join(place, "ctsc"), "bench", self.program, "--input", "float32[4]:ones", "--seconds", "0.1"]
        link("libLLVM-none.so.1")
        link(LIBRARY, "-Wl,--no-as-needed", "-L.", "-l:libLLVM-none.so.1")
        os.unlink(os.path.join(place, "libLLVM-none.so.1"))
        self.told(run(command, self.elsewhere)[1], ("libLLVM-none", "libllvm19"))
        link(LIBRARY)
        self.told(run(command, self.elsewhere)[1], (os.path.join(place, LIBRARY), "one version"))

    # ---- Python

    def test_python(self):
        package = os.path.join(self.build, "python")
        if not os.path.exists(os.path.join(package, "ctsc", "_C.abi3.so")):
            return "skipped, the package has not been built (make python)"
        with open(os.path.join(self.elsewhere, "calls.py"), "w") as f:
            f.write(CALLS)
        command, own = [self.python, "calls.py", self.program], {"PYTHONPATH": package, "CTSC_CACHE": os.path.join(self.folder, "cache")}
        same(run(command, self.elsewhere, **own), ("done\n", ""))
        out, err = run(command, self.elsewhere, CTSC_JIT="/nowhere/" + LIBRARY, **own)
        same(out, "done\n")
        self.told(err, ("RuntimeWarning", "CTSC_JIT"))
        same(run(command, self.elsewhere, CTSC_JIT="0", **own), ("done\n", ""))

    def test_environment(self):
        """Tests of the package see nothing of what else is installed."""
        crowd = os.path.join(self.folder, "crowd")
        python = environment.make(crowd, self.python)
        site = run([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], self.folder)[0].strip()
        for name in ("sklearn", "pytest_crowd"):
            with open(os.path.join(site, name + ".py"), "w") as f:
                f.write("raise RuntimeError('%s is imported')\n" % name)
        look = "import importlib.util as u; print([u.find_spec(n) is not None for n in ('pytest', 'sklearn', 'pytest_crowd')])"
        same(run([python, "-c", look], self.folder)[0], "[True, True, True]\n")
        alone = environment.make(os.path.join(self.folder, "a b", "alone"), python)
        same(run([alone, "-c", look], self.folder)[0], "[True, False, False]\n")
        if "pytest" not in "".join(run([alone, "-m", "pytest", "--version"], self.folder)):
            raise Failed("pytest does not run")

    # ---- the project in a folder with a space

    def tree(self):
        """A copy with the times of its files, so that make compiles nothing."""
        tree = os.path.join(self.folder, "a b", "ctsc")
        if os.path.exists(tree):
            return tree
        skip = lambda folder, names: [n for n in names if n == "__pycache__" or (folder == ROOT and (n.startswith((".git", "build-")) or n in ("build", "dist")))]
        shutil.copytree(ROOT, tree, symlinks=True, ignore=skip)
        for name in OBJECTS:
            if not os.path.exists(os.path.join(self.build, name)):
                continue
            os.makedirs(os.path.dirname(os.path.join(tree, "build", name)), exist_ok=True)
            os.symlink(os.path.join(self.build, name), os.path.join(tree, "build", name))
        return tree

    def make_there(self, *arguments, **env):
        tree = self.tree()
        out, err = run(["make", "--no-print-directory", *arguments], tree, 1200, **env)
        if "  CC  " in out or "  TEST  " in out:
            raise Failed("it compiles what is there:\n" + out[-3000:])
        return out + err

    def without(self, folder, name):
        """Of a folder that is there the copy has all but one file, which make has to make."""
        here = os.path.join(self.tree(), "build", folder)
        if os.path.islink(here):
            os.unlink(here)
            os.mkdir(here)
            for path in glob.glob(os.path.join(self.build, folder, "*")):
                os.symlink(path, os.path.join(here, os.path.basename(path)))
        if os.path.lexists(os.path.join(here, name)):
            os.unlink(os.path.join(here, name))

    def test_tree_demo(self):
        self.without("examples", "demo")
        if "PyTorch writes the same" not in self.make_there("demo"):
            raise Failed("the demo says something else")

    def test_tree_test(self):
        out = self.make_there("test", "ONLY=layers,docs,lang,demo,cli:doctor+usage")
        if " 0 failed" not in out.rstrip().rpartition("\n")[2]:
            raise Failed(out[-3000:])

    def test_tree_pip(self):
        home = os.path.join(self.folder, "a b", "environment")
        run([self.python, "-m", "venv", home], self.folder)
        python = os.path.join(home, "bin", "python")
        self.without("python/obj", "bind_dtype.o") # Python is asked for its headers, and packs files, by a path with a space
        packed = os.path.join(self.tree(), "build", "python", "wheel", "ctsc", ".files")
        if os.path.exists(packed):
            os.unlink(packed)
        run([python, "-m", "pip", "install", "-q", "--no-index", "."], self.tree(), 1200)
        out, _ = run([python, "-c", "import ctsc; print(ctsc.__file__, float(ctsc.ones(2).sum()))"], self.elsewhere)
        if not out.startswith(os.path.join(home, "")) or not out.endswith(" 2.0\n"):
            raise Failed(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--python", default="/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable)
    ap.add_argument("--only", default="", help="tests, separated by commas")
    args = ap.parse_args()
    for name in [n for n in os.environ if n.startswith("CTSC_")]:
        del os.environ[name]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        p = Places(os.path.abspath(args.build), args.python, os.path.realpath(folder))
        has_compiler = os.path.exists(p.library)
        for name in [n[len("test_"):] for n in vars(Places) if n.startswith("test_")]:
            if args.only and name not in args.only.split(","):
                continue
            try:
                skip = not has_compiler and not name.startswith(("tree", "missing"))
                note = "skipped, built without the compiler for kernels" if skip else getattr(p, "test_" + name)()
                print("ok %s%s" % (name, ": " + note if note else ""), flush=True)
            except (Failed, AssertionError, OSError, subprocess.TimeoutExpired) as why:
                print("FAIL %s\n%s" % (name, why), flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
