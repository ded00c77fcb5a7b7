#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests as other machines would: other processors, other OpenBLAS kernels, other users, folders, locales; closes with "N passed, N failed".

    python3 tests/machines.py --build build [--machines all|NAME,NAME] [-j N] [--list]          (make test-machines MACHINES=...)

A row of MACHINES is one machine: what is changed, and the groups of tests/run.py that it can make a difference to. Without --machines those rows run
that between them change everything once, several things at a time where each can be seen to work or not by itself; the rows of single changes, which
tell which one it was, and the oldest processors, run where they are named or with "all". What this machine cannot run is said, and not counted.

  processors  CTSC_MAX_ISA limits ctsc's own kernels and the code that it compiles; with variables of their own, OpenBLAS and libm take the paths of an
              older processor too. A newer one than this can be emulated (tests/machines/bochs.py).
  OpenBLAS    OPENBLAS_CORETYPE chooses the kernels, which sum in other orders. libraries of other threading, where installed
  users       a copy of the checkout whose sources belong to someone else, run as nobody (or, without root, as whoever runs this)
  folders     a checkout, a TMPDIR with a space; no HOME; a folder of kernels that cannot be made, or not be written to; umasks
  programs    a PATH without what is optional: Graphviz, CMake, shells, ccache
  locales     with a decimal comma, without ASCII case rules, without UTF-8; also set by the program itself (tests/machines/surroundings.c)
  threads     one core, and many
"""
import argparse
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
OPTIONAL = {"dot", "cmake", "zsh", "fish", "ccache", "git", "nvcc", "gdb"}  # programs that may be missing
AVX2 = "avx2 fma f16c bmi2"
AVX512 = AVX2 + " avx512f avx512dq avx512bw avx512vl avx512cd"
NO_AVX512 = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD"
EVERYTHING = "layers,docs,unit,ir,cli,corpus,cuda,passes,lang,examples,source,demo,serve,diff,threads,trace,install,sample"
NUMBERS = "unit,corpus,lang,source,examples,demo,trace"  # where products, factorisations and functions of libm reach
FILES = "unit:api+api_errors+archive+base+codegen+compile_faults+cuda_device+cuda_emit+export+library+pickle+quantized+serve+trace"  # unit tests with files
OUTSIDE = "docs,ir,cli,lang,examples,demo,serve,trace,install," + FILES  # where files, users, folders and texts come in


class Cannot(Exception):
    """Why this machine cannot be played here."""


def above(path):
    """The folders that lead to a folder, and itself, as far as they are there."""
    ups = [os.path.realpath(path)]
    while os.path.dirname(ups[-1]) != ups[-1]:
        ups.append(os.path.dirname(ups[-1]))
    return [up for up in ups if os.path.isdir(up)]


class Playing:
    """What a row changes, for one run of tests/run.py: environment, command before it, checkout."""

    def __init__(self, world):
        self.world = world
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        self.before, self.root, self.build, self.umask, self.jobs = [], ROOT, world.build, None, world.jobs
        self.python = sys.executable

    # ---- processors

    def needs(self, features):
        missing = set(features.split()) - self.world.features
        if missing:
            raise Cannot("this processor has no %s" % " ".join(sorted(missing)))

    def blas(self, core, features):
        self.needs(features)
        self.env["OPENBLAS_CORETYPE"] = core

    def blas_library(self, threading):
        folders = glob.glob("/usr/lib/*/openblas-%s" % threading)
        if not folders:
            raise Cannot("there is no OpenBLAS with %s" % threading)
        self.env["LD_LIBRARY_PATH"] = folders[0]

    def processor(self, name, features, core, libm):
        self.needs(features)
        self.env.update(CTSC_MAX_ISA=name, OPENBLAS_CORETYPE=core, GLIBC_TUNABLES="glibc.cpu.hwcaps=" + libm)

    # ---- users and folders

    def checkout(self, name):
        self.root, self.build = self.world.copy(name)

    def user(self):
        """Someone who is not root, owns the build folder and can only read the rest."""
        if os.geteuid() != 0:
            return
        if not shutil.which("setpriv"):
            raise Cannot("there is no setpriv")
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            raise Cannot("there is no user nobody")
        if self.root == ROOT:
            self.checkout("checkout")
        become = ["setpriv", "--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups"]
        reached = lambda path: subprocess.run(become + ["test", "-x", path]).returncode == 0
        pythons = [path for path in (sys.executable, os.path.realpath(sys.executable), "/usr/bin/python3") if reached(path)]
        if not pythons or not reached(self.root):
            raise Cannot("%s is out of reach of nobody" % (self.root if pythons else sys.executable))
        self.python = pythons[0]
        subprocess.run(["chown", "-R", "%d:%d" % (nobody.pw_uid, nobody.pw_gid), self.build], check=True)
        self.before = become + self.before
        self.env.pop("HOME", None)

    def root_user(self):
        if os.geteuid() != 0:
            raise Cannot("this is not root")

    def temporary(self, name):
        folder = self.world.folder(name)
        os.chmod(folder, 0o1777)
        self.env["TMPDIR"] = folder

    def without(self, *names):
        for name in names:
            self.env.pop(name, None)

    def cache(self, mode):
        """A folder of kernels that can be read at most; or, for root too, one that cannot be made."""
        if mode is None:
            self.env["XDG_CACHE_HOME"] = "/proc/ctsc"
        else:
            folder = self.world.folder("cache-%o" % mode)
            os.makedirs(os.path.join(folder, "ctsc"), exist_ok=True)
            os.chmod(os.path.join(folder, "ctsc"), mode)
            self.env["XDG_CACHE_HOME"] = folder

    # ---- programs, locales, cores

    def bare_path(self):
        """A PATH that leads to everything but what is optional."""
        folder = self.world.folder("programs")
        for place in self.env.get("PATH", "").split(":"):
            private = any(not os.stat(up).st_mode & 0o001 for up in above(place)) # root's own, out of reach of others
            for name in os.listdir(place) if os.path.isdir(place) and not private else []:
                if name not in OPTIONAL and not os.path.lexists(os.path.join(folder, name)) and "ccache" not in place:
                    os.symlink(os.path.join(place, name), os.path.join(folder, name))
        self.env["PATH"] = folder

    def program(self, name):
        if not shutil.which(name):
            raise Cannot("there is no %s" % name)

    def locale(self, name, charset, inside=False):
        """inside: the program under test takes it over itself."""
        folder = self.world.folder("locales")
        full = "%s.%s" % (name, charset)
        if not os.path.exists(os.path.join(folder, full)):
            if not shutil.which("localedef") or not os.path.exists("/usr/share/i18n/locales/" + name):
                raise Cannot("%s cannot be made (localedef, and Debian's package locales)" % full)
            done = subprocess.run(["localedef", "-i", name, "-f", charset, os.path.join(folder, full)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if not os.path.exists(os.path.join(folder, full)):
                raise Cannot("%s cannot be made: %s" % (full, done.stdout.decode()[-200:]))
        self.env.update(LOCPATH=folder, LC_ALL=full)
        self.without("LANG", "LANGUAGE")
        if inside:
            self.surroundings(MACHINE_LOCALE="1")

    def surroundings(self, **what):
        if not os.path.exists(self.world.preload):
            raise Cannot("there is no %s" % self.world.preload)
        self.env.update(what, LD_PRELOAD=os.path.join(self.world.folder("preload"), os.path.basename(self.world.preload)))
        shutil.copy(self.world.preload, self.env["LD_PRELOAD"]) # its path must have no space

    def one_core(self):
        if not shutil.which("taskset"):
            raise Cannot("there is no taskset")
        core = min(os.sched_getaffinity(0))
        self.before = ["taskset", "-c", str(core)] + self.before
        self.jobs = 1


def several(p):
    """What a careful administrator's machine has, all at once."""
    p.checkout("check out")
    p.user()
    p.temporary("t m p")
    p.without("HOME", "LANG", "LANGUAGE")
    p.env["XDG_CACHE_HOME"] = os.path.join(p.env["TMPDIR"], "kernels") # without any, compiling takes most of the time
    p.bare_path()
    p.umask = 0o077


# name, by default, groups, what is changed
MACHINES = [
    ("as-it-is", True, EVERYTHING, lambda p: None),
    ("blas-haswell", True, NUMBERS, lambda p: p.blas("Haswell", AVX2)),
    ("blas-zen", True, NUMBERS, lambda p: p.blas("Zen", AVX2)),
    ("blas-skylakex", True, NUMBERS, lambda p: p.blas("SkylakeX", AVX512)),
    ("blas-cooperlake", True, NUMBERS, lambda p: p.blas("Cooperlake", AVX512 + " avx512_bf16")),
    ("blas-sandybridge", False, NUMBERS, lambda p: p.blas("Sandybridge", "avx")),
    ("blas-nehalem", False, NUMBERS, lambda p: p.blas("Nehalem", "sse4_2")),
    ("blas-prescott", False, NUMBERS, lambda p: p.blas("Prescott", "sse2")),
    ("blas-openmp", False, NUMBERS, lambda p: p.blas_library("openmp")),
    ("blas-serial", False, NUMBERS, lambda p: p.blas_library("serial")),
    ("processor-avx2", True, NUMBERS + ",cli,passes,diff", lambda p: p.processor("avx2", AVX2, "Haswell", NO_AVX512)),
    ("processor-sse2", True, NUMBERS + ",cli,passes,diff", lambda p: p.processor("sse2", "", "Prescott", NO_AVX512 + ",-AVX2,-AVX,-FMA,-FMA4")),
    ("levels", False, "levels", lambda p: None),
    ("several", True, "layers,docs,ir,cli,corpus,lang,examples,demo,serve,threads,trace,install,"
     "unit:api+api_errors+archive+base+codegen+export+library+pickle+quantized+serve+trace", several), # the others compile long without a cache
    ("root", False, OUTSIDE, lambda p: p.root_user()),
    ("user", False, OUTSIDE, lambda p: p.user()),
    ("space", False, EVERYTHING, lambda p: p.checkout("check out")),
    ("tmpdir-space", False, OUTSIDE, lambda p: p.temporary("t m p")),
    ("no-home", False, OUTSIDE, lambda p: p.without("HOME", "XDG_CACHE_HOME")),
    ("umask-077", False, OUTSIDE, lambda p: setattr(p, "umask", 0o077)),
    ("umask-000", True, "cli,serve," + FILES, lambda p: setattr(p, "umask", 0)),
    ("cache-nowhere", True, "cli,lang,serve,unit:api+codegen+library", lambda p: p.cache(None)),
    ("cache-read-only", True, "cli,lang,serve,unit:api+codegen+library", lambda p: (p.user(), p.cache(0o555))),
    ("graphviz", False, "cli", lambda p: p.program("dot")),
    ("no-graphviz", False, "cli,ir,docs,install", lambda p: p.bare_path()),
    ("locale-c", False, OUTSIDE, lambda p: p.env.update(LC_ALL="C")),
    ("locale-latin1", True, OUTSIDE, lambda p: p.locale("de_DE", "ISO-8859-1")),
    ("locale-comma", True, "corpus,lang,cli,source,trace,docs", lambda p: p.locale("de_DE", "UTF-8", inside=True)),
    ("locale-turkish", True, "corpus,lang,cli,docs,ir", lambda p: p.locale("tr_TR", "UTF-8", inside=True)),
    ("one-core", True, "unit:base+forks+gemm_block+matmul+api+serve+reduce+conv+rnn,corpus,cli,serve,threads", lambda p: p.one_core()),
    ("many-cores", True, "unit:base+forks+gemm_block+matmul+api+serve+reduce+conv+rnn,corpus,cli,lang,serve,threads", lambda p: p.surroundings(MACHINE_CORES="96")),
]


class World:
    """What rows share: the machine's features, folders that are made once and go in the end."""

    def __init__(self, build, jobs):
        self.build, self.jobs, self.place, self.copied = build, jobs, None, None
        self.preload = os.path.join(build, "tests", "machines", "libsurroundings.so")
        self.features = set()
        try:
            with open("/proc/cpuinfo") as f:
                self.features = set(re.search(r"^flags\s*:(.*)", f.read(), re.M).group(1).split())
        except (OSError, AttributeError):
            pass

    def folder(self, name=""):
        if not self.place:
            self.place = tempfile.mkdtemp(prefix="ctsc-machines-")
            os.chmod(self.place, 0o755)
        path = os.path.join(self.place, name)
        os.makedirs(path, exist_ok=True)
        return path

    def copy(self, name):
        """The checkout and the build folder, with their times, so that make finds nothing to do. One copy, which takes the names it is asked for."""
        want = os.path.join(self.folder(), name)
        if not self.copied:
            inside = os.path.commonpath([ROOT, self.build]) == ROOT
            skip = lambda folder, names: [n for n in names if (folder == ROOT and (n in (".git", "build") or n.startswith("build-"))) or n == "__pycache__"]
            shutil.copytree(ROOT, want, symlinks=True, ignore=skip)
            shutil.copytree(self.build, os.path.join(want, "build"), symlinks=True, ignore=shutil.ignore_patterns("lit"))
        elif self.copied != want:
            os.rename(self.copied, want)
        self.copied = want
        return want, os.path.join(want, "build")

    def close(self):
        if self.place:
            subprocess.run(["chmod", "-R", "u+w", self.place])
            shutil.rmtree(self.place, ignore_errors=True)


def play(world, name, groups, change):
    """Passed, failed, and what is to be shown."""
    p = Playing(world)
    change(p)
    command = p.before + [p.python, "-B", os.path.join(p.root, "tests", "run.py"), "--build", p.build, "--only", groups, "-j", str(p.jobs)]
    done = subprocess.run(command, cwd=p.root, env=p.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=(lambda: os.umask(p.umask)) if p.umask is not None else None)
    text = done.stdout.decode("utf-8", "replace")
    counts = re.search(r"^(\d+) passed, (\d+) failed(?:, \d+ skipped)?\s*\Z", text, re.M)
    if not counts:
        return 0, 1, text
    passed, failed = int(counts.group(1)), int(counts.group(2))
    return passed, failed or int(done.returncode != 0), text


def main():
    ap = argparse.ArgumentParser(description="Run the tests as other machines would.")
    ap.add_argument("--build", default="build")
    ap.add_argument("--machines", default="", help="names separated by commas, or all")
    ap.add_argument("--groups", default="", help="these groups of tests/run.py instead of the rows' own, or all")
    ap.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("-v", "--verbose", action="store_true", help="show the groups")
    ap.add_argument("--list", action="store_true")
    args = ap.parse_args()
    names = [row[0] for row in MACHINES]
    wanted = [row[0] for row in MACHINES if row[1] or args.machines == "all"] if args.machines in ("", "all") else args.machines.split(",")
    for name in wanted:
        if name not in names:
            print("there is no machine '%s', only %s" % (name, ", ".join(names)), file=sys.stderr)
            return 2
    if args.list:
        for name, default, groups, _ in MACHINES:
            print("%-17s %s%s" % (name, groups, "" if default else "  (only where named)"))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    world, passed, failed, cannot = World(os.path.abspath(args.build), args.jobs), 0, 0, []
    try:
        for name, _, groups, change in (row for row in MACHINES if row[0] in wanted):
            start = time.monotonic()
            groups = (EVERYTHING if args.groups == "all" else args.groups) or groups
            try:
                good, bad, text = play(world, name, groups, change)
            except Cannot as why:
                cannot.append(name)
                print("%-17s cannot be run here: %s" % (name, why), flush=True)
                continue
            if bad or args.verbose:
                print(text.rstrip())
            print("%-17s %5d passed %4d failed  %.0f s" % (name, good, bad, time.monotonic() - start), flush=True)
            passed, failed = passed + good, failed + bad
    finally:
        world.close()
    if cannot:
        print("not run, since this machine cannot: %s" % ", ".join(cannot))
    print("%d passed, %d failed" % (passed, failed))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
