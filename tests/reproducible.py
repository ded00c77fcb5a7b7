#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reproducible.py - the same source makes the same bytes, wherever and whenever it is built.

    python3 tests/reproducible.py --build build             what is built says nothing of its folder; some targets built twice (a part of make test)
    python3 tests/reproducible.py --all [--jobs 2]          everything built twice, the wheel among it (make reproducible)

Copies of the source are built in two folders, of other names and lengths, with other locales, time zones, homes, users' masks and numbers of jobs, without
ccache. Prints "ok NAME" or "FAIL NAME" and why; the exit code is 1 if anything failed.
"""
import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# One of each kind: archives of objects, texts that are embedded, generated C, bitcode for kernels, a library made of it.
SAMPLE = ["libview.a", "libsandbox.a", "embedded/src/ir/op/schemas.txt.gz", "embedded/src/runtime/ops/composite.index.gz", "python/gen/op_names.h"]
SAMPLE_OF_LLVM = ["scalar_ops.bc", "libctsc-jit.so"]
SAMPLE_OF_RT = "rt/%s/src/rt/rt_isa.o"
# What is given to others, as patterns below the build folder.
PRODUCTS = ["ctsc", "lib*.a", "lib*.so", "libctsc.so.*", "rt/*/lib*.a", "python/ctsc/**/*", "python/wheel/**/*"]
TREE = ("src", "include", "packaging", "python", "scripts", "examples", "docs", "models")  # and the files of the root
SURROUNDINGS = [("one", dict(LC_ALL="C", TZ="UTC"), 0o022), ("another/folder, deeper down", dict(LC_ALL="C.UTF-8", TZ="Asia/Kathmandu", SOURCE_DATE_EPOCH="1"), 0o077)]


class Failed(Exception):
    pass


def products(build, patterns):
    """{name below the build folder: path} of the files that match, links left out: they lead to others."""
    found = {}
    for pattern in patterns:
        for path in glob.glob(os.path.join(glob.escape(build), pattern), recursive=True):
            if os.path.isfile(path) and not os.path.islink(path) and "__pycache__" not in path:
                found[os.path.relpath(path, build)] = path
    return found


def content(path):
    with open(path, "rb") as f:
        return f.read()


def names_folder(data, folder):
    """A folder's name is followed by more of a path, or by the end of a text: what merely begins like it is another one."""
    name = folder.encode()
    return any(name + end in data for end in (b"/", b"\0", b'"', b"\n", b":"))


def test_folder(build):
    """Debug information, texts of assertions, search paths: none names the folder of the project."""
    found = products(build, PRODUCTS)
    if "libctsc.a" not in found:
        raise Failed("%s has no library" % build)
    if b"__asan_init" in content(found["libctsc.a"]):
        return "skipped, a build with sanitizers"
    guilty = sorted(name for name, path in found.items() if names_folder(content(path), ROOT))
    if guilty:
        raise Failed("these name %s: %s" % (ROOT, ", ".join(guilty)))
    return "%d files" % len(found)


def copy(folder):
    os.makedirs(folder)
    skip = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in TREE:
        shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name), symlinks=True, ignore=skip)
    for name in os.listdir(ROOT):
        if os.path.isfile(os.path.join(ROOT, name)) and not name.startswith("."):
            shutil.copy(os.path.join(ROOT, name), folder)


def make(folder, targets, jobs, env, mask):
    own = dict(os.environ, CCACHE_DISABLE="1", HOME=folder, **env)
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PWD", "BUILD"):
        own.pop(name, None)
    p = subprocess.run(["make", "--no-print-directory", "-j%d" % jobs, *targets], cwd=folder, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, preexec_fn=lambda: os.umask(mask))
    if p.returncode:
        raise Failed("make %s ended with %d\n%s" % (" ".join(targets), p.returncode, p.stdout.decode("utf-8", "replace")[-3000:]))


def twice(targets, patterns, jobs, temporary, after=None):
    """Builds the targets in both surroundings; [(name, digest)] of what is the same. Raises Failed where something is not."""
    built = []
    for at, (name, env, mask) in enumerate(SURROUNDINGS):
        folder = os.path.join(temporary, name)
        copy(folder)
        # The time of a file says when it was made; neither may it matter.
        for where, _, files in os.walk(folder):
            for f in files:
                os.utime(os.path.join(where, f), (10**9 + at * 10**7,) * 2, follow_symlinks=False)
        make(folder, targets, jobs + at, env, mask)
        if after:
            after(folder, env)
        built.append({n: content(p) for n, p in products(os.path.join(folder, "build"), patterns).items()})
    first, second = built
    if not first:
        raise Failed("nothing was built")
    wrong = sorted("%s (only once)" % n for n in first.keys() ^ second.keys()) + sorted(
        "%s (from byte %d of %d)" % (n, difference(first[n], second[n]), len(first[n])) for n in first.keys() & second.keys() if first[n] != second[n])
    if wrong:
        raise Failed("not the same: " + ", ".join(wrong))
    return [(n, hashlib.sha256(data).hexdigest()) for n, data in sorted(first.items())]


def difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def test_sample(build):
    names = list(SAMPLE)
    if os.path.exists(os.path.join(build, "libctsc-jit.so")):
        names += SAMPLE_OF_LLVM
    sets = sorted(os.listdir(os.path.join(build, "rt"))) if os.path.isdir(os.path.join(build, "rt")) else []
    names += [SAMPLE_OF_RT % s for s in sets[:1]]
    with tempfile.TemporaryDirectory() as temporary:
        same = twice(["build/" + n for n in names], names, 1, os.path.realpath(temporary))
    if {n for n, _ in same} != set(names):
        raise Failed("of %s only %s were made" % (names, same))
    return "%d targets" % len(same)


def everything(jobs):
    def wheel(folder, env):
        subprocess.run([sys.executable, "python/backend.py", "--build", "build", "build/dist"], cwd=folder, env=dict(os.environ, **env), check=True, stdout=subprocess.DEVNULL)
    # An option of make cannot say which build-all is: the stamps keep make from asking for packages.
    with tempfile.TemporaryDirectory() as temporary:
        same = twice(["build-all", "shared", "python", "wheel-files", "rt"], PRODUCTS + ["dist/*.whl"], jobs, os.path.realpath(temporary), wheel)
    for name, digest in same:
        if name.startswith(("python/ctsc/", "python/wheel/ctsc/")) and ".so" not in name:
            continue
        print("  %s  %s" % (digest, name))
    return "%d files" % len(same)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build")
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = ap.parse_args()
    build = os.path.abspath(args.build)
    tests = [("all", lambda: everything(args.jobs))] if args.all else [("folder", lambda: test_folder(build)), ("sample", lambda: test_sample(build))]
    failed = 0
    for name, test in tests:
        try:
            note = test()
            print("ok %s%s" % (name, ": " + note if note else ""), flush=True)
        except (Failed, OSError, subprocess.SubprocessError) as why:
            print("FAIL %s\n%s" % (name, why), flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
