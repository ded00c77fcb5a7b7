#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own test files, run with PyTorch and with ctsc in its place.

    PYTHONPATH=build/python PYTHON tests/interop/torch_tests.py --tests DIR [--files nn/test_init.py,...] [-k GLOB] [-v] [--keep DIR]

PYTHON has PyTorch; DIR is the folder test/ of its sources, about its version; nothing of it is kept here. Every file runs in a process of its own, first
with PyTorch: what fails or is skipped there (no GPU, another version) does not concern ctsc. What passes has to pass with ctsc, too. The helpers of the
tests, `torch.testing._internal`, are those of the installed PyTorch; of what they import and ctsc lacks they get placeholders that raise when they are
called. Prints a row for each file, with -v the errors. Exits 77 without PyTorch or --tests, 1 if less than 95 % of what concerns it passes.
"""
import argparse
import collections
import fnmatch
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest

FILES = """nn/test_pruning.py nn/test_module_hooks.py nn/test_init.py nn/test_parametrization.py nn/test_packed_sequence.py nn/test_dropout.py
nn/test_embedding.py nn/test_pooling.py nn/test_lazy_modules.py nn/test_multihead_attention.py optim/test_swa_utils.py optim/test_lrscheduler.py
optim/test_optim.py test_dataloader.py test_utils.py functorch/test_eager_transforms.py autograd/test_functional.py autograd/test_complex.py
test_autograd.py test_indexing.py test_flop_counter.py test_sparse.py test_fake_tensor.py""".split()
HELPERS = ("torch.testing._internal", "torch.testing._comparison", "torch.testing._creation", "torch.testing._utils")
# What the helpers ask PyTorch's insides, and the answers of a build for the CPU alone.
ANSWERS = {
    "_is_privateuse1_backend_available": lambda: False,
    "_get_privateuse1_backend_name": lambda: "privateuseone",
    "_check_module_exists": lambda name: importlib.util.find_spec(name.partition(".")[0]) is not None,
    "get_capabilities": lambda: {},
    "open_source_signpost": lambda *args, **kwargs: None,
}
TEST_SECONDS = 60
FILE_SECONDS = 1500


# ---- one file, in a process of its own ----------------------------------------------------------


class Placeholder:
    """What helpers name and ctsc has not."""
    loading = True

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        return placeholder("%s.%s" % (self._name, name))

    def __call__(self, *args, **kwargs):
        if Placeholder.loading and sys._getframe(1).f_globals.get("__name__", "").startswith(HELPERS):
            return Placeholder(self._name + "()")
        raise NotImplementedError("ctsc has no %s" % self._name)

    def __mro_entries__(self, bases):
        return (type(self._name.rpartition(".")[2], (), {"__init__": lambda self, *args, **kwargs: Placeholder(type(self).__name__)()}),)

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())

    def __or__(self, other):
        return self

    __ror__ = __or__


class PlaceholderType(type):
    """Of classes, for isinstance."""

    def __getattr__(cls, name):
        return placeholder(cls.__name__ + "." + name)


def placeholder(name):
    last = name.rpartition(".")[2]
    if last.startswith("__") or last.startswith("_foreach_") or last == "parametrize_fn": # which marks the tests of a class
        raise AttributeError(name)
    if last in ANSWERS:
        return ANSWERS[last]
    if last[:1].isupper() and not last.isupper():
        return PlaceholderType(name, (), {"__init__": lambda self, *args, **kwargs: Placeholder(name)(*args, **kwargs)})
    return Placeholder(name)


class PlaceholderModule(type(sys)):
    __path__ = []

    def __getattr__(self, name):
        return placeholder("%s.%s" % (self.__name__, name))


class Helpers(importlib.abc.MetaPathFinder):
    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name.startswith(HELPERS):
            at = os.path.join(self.folder, *name.split(".")[1:])
            if os.path.isdir(at):
                return importlib.util.spec_from_file_location(name, os.path.join(at, "__init__.py"), submodule_search_locations=[at])
            if os.path.exists(at + ".py"):
                return importlib.util.spec_from_file_location(name, at + ".py")
        return None


def be_lenient(module):
    """Helpers get placeholders for the attributes that the module has not; all others get its error."""
    plain = module.__dict__.get("__getattr__")
    if plain is not None and plain.__name__ == "lenient":
        return

    def lenient(name):
        try:
            if plain is not None:
                return plain(name)
            raise AttributeError("module '%s' has no attribute '%s'" % (module.__name__, name))
        except (AttributeError, NotImplementedError):
            if sys._getframe(1).f_globals.get("__name__", "").startswith(HELPERS) and not name.startswith("__"):
                return placeholder("%s.%s" % (module.__name__, name))
            raise
    module.__getattr__ = lenient


class Lacking(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Behind ctsc's own finder."""

    def __init__(self, ours):
        self.ours = ours

    def find_spec(self, name, path=None, target=None):
        if name.startswith("ctsc."):
            found = importlib.machinery.PathFinder.find_spec(name, path)
            if found is not None and found.loader is not None:
                plain = found.loader.exec_module
                found.loader.exec_module = lambda module: (plain(module), be_lenient(module))
            return None if name.startswith(("ctsc.nn.modules", "ctsc.nn.parameter")) else found
        try:
            return self.ours.find_spec(name, path, target)
        except ModuleNotFoundError:
            if not Placeholder.loading and not name.startswith(("torch._", "torch.testing")):
                raise
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = PlaceholderModule(spec.name)
        parent, _, last = spec.name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, module)
        return module

    def exec_module(self, module):
        pass

    def find_distributions(self, context=None):
        return self.ours.find_distributions(context)


def with_ctsc(folder):
    from ctsc import _as_torch
    _as_torch.install()
    at = next(i for i, f in enumerate(sys.meta_path) if isinstance(f, _as_torch.TorchIsCtsc))
    sys.meta_path[at] = Lacking(sys.meta_path[at])
    sys.meta_path.insert(0, Helpers(folder))
    import torch
    for name, module in [*sys.modules.items()]:
        if name.split(".")[0] == "ctsc":
            be_lenient(module)
    from torch.testing._internal import common_utils
    common_utils.TestCase.run = unittest.TestCase.run # without resetting compilers
    common_utils.TestCase.setUp = lambda self: common_utils.set_rng_seed()
    common_utils.TestCase.tearDown = lambda self: torch.set_default_dtype(torch.float32)


class Stop(BaseException):
    pass


def one(args):
    if args.with_ctsc:
        with_ctsc(args.with_ctsc)
    path = os.path.join(args.tests, args.one)
    sys.path[:0] = [os.path.dirname(path), args.tests]
    os.chdir(args.tests)
    sys.argv = [path]
    done = set()
    if os.path.exists(args.out):
        done = {json.loads(line)[0] for line in open(args.out)}
    out = open(args.out, "a", buffering=1)

    def say(*row):
        out.write(json.dumps(row) + "\n")

    import torch
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("__main__", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["__main__"] = module
    name, module.__name__ = module.__name__, os.path.basename(path)[:-3] # not run_tests()
    sys.modules[module.__name__] = module
    spec.loader.name = module.__name__
    spec.loader.exec_module(module)
    Placeholder.loading = False
    tests = []

    def flatten(suite):
        for t in suite:
            flatten(t) if isinstance(t, unittest.TestSuite) else tests.append(t)

    flatten(unittest.defaultTestLoader.loadTestsFromModule(module))

    def expired(*_):
        raise Stop()

    signal.signal(signal.SIGALRM, expired)
    only = set(open(args.only).read().split()) if args.only else None
    for t in tests:
        name = t.id().split(".", 1)[1]
        if name in done or (only is not None and name not in only) or (args.k and not fnmatch.fnmatch(name, args.k)):
            continue
        say(name, "began", "")
        result = unittest.TestResult()
        signal.alarm(TEST_SECONDS)
        try:
            t.run(result)
            bad = result.failures + result.errors
            state, why = ("failed", bad[0][1]) if bad else ("skipped", result.skipped[0][1]) if result.skipped else ("passed", "")
        except Stop:
            state, why = "failed", "TimeoutError: more than %d seconds" % TEST_SECONDS
        except Exception:
            state, why = "failed", traceback.format_exc()
        finally:
            signal.alarm(0)
        say(name, state, why[-3000:])
    say("", "end", "")


# ---- all files ----------------------------------------------------------------------------------


def run_file(args, file, who, only):
    """{test: (state, why)}; a second process goes on behind a test that ended the first."""
    out = os.path.join(args.keep, file.replace("/", ".") + "." + who)
    if os.path.exists(out):
        os.remove(out)
    command = [sys.executable, os.path.abspath(__file__), "--tests", args.tests, "--one", file, "--out", out] + (["-k", args.k] if args.k else [])
    if only is not None:
        with open(out + ".only", "w") as f:
            f.write("\n".join(only))
        command += ["--only", out + ".only"]
    if who == "ctsc":
        command += ["--with-ctsc", os.path.dirname(importlib.util.find_spec("torch").origin)]
    error = ""
    for _ in range(20):
        with open(out + ".err", "w") as err:
            try:
                code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, timeout=FILE_SECONDS).returncode
            except subprocess.TimeoutExpired:
                code, error = -9, "TimeoutError: the file takes too long"
        rows = [json.loads(line) for line in open(out)] if os.path.exists(out) else []
        if rows and rows[-1][1] == "end":
            break
        if not rows or rows[-1][1] != "began" or error:
            error = error or (open(out + ".err").read().strip() or "exit %d" % code)
            break
        with open(out, "a") as f:
            f.write(json.dumps((rows[-1][0], "failed", "exit %d: %s" % (code, open(out + ".err").read().strip()[-500:]))) + "\n")
    return {r[0]: (r[1], r[2]) for r in rows if r[0]}, error


def reason(why):
    """The last line of an error, without numbers and addresses: kinds of reasons are counted."""
    lines = [s for s in why.strip().splitlines() if re.match(r"[\w.]+(Error|Exception|Exit|Warning)\b|exit", s)]
    return re.sub(r"0x[0-9a-f]+|\b\d+(\.\d+)?(e-?\d+)?\b", "N", (lines or why.strip().splitlines() or [""])[-1])[:150]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tests")
    p.add_argument("--files")
    p.add_argument("-k")
    p.add_argument("-v", action="store_true")
    p.add_argument("--keep")
    p.add_argument("--reuse", action="store_true", help="take PyTorch's results from an earlier run's --keep")
    p.add_argument("--one", help=argparse.SUPPRESS)
    p.add_argument("--out", help=argparse.SUPPRESS)
    p.add_argument("--only", help=argparse.SUPPRESS)
    p.add_argument("--with-ctsc", help=argparse.SUPPRESS)
    args = p.parse_args()
    if not args.tests or importlib.util.find_spec("torch") is None:
        print("no PyTorch or no --tests: nothing to run")
        return 77
    args.tests = os.path.abspath(args.tests)
    if args.one:
        return one(args)
    args.keep = os.path.abspath(args.keep or tempfile.mkdtemp())
    os.makedirs(args.keep, exist_ok=True)
    concern = passing = 0
    print("| file | concern the CPU | pass | fail | fail or are skipped with PyTorch |\n| --- | --- | --- | --- | --- |")
    for file in args.files.split(",") if args.files else FILES:
        known = os.path.join(args.keep, file.replace("/", ".") + ".torch.json")
        if args.reuse and os.path.exists(known):
            theirs, error = json.load(open(known))
        else:
            theirs, error = run_file(args, file, "torch", None)
            if not args.k:
                json.dump((theirs, error), open(known, "w"))
        if error:
            print("| %s | with PyTorch: %s |" % (file, error.splitlines()[-1][:200]), flush=True)
        wanted = [n for n, (state, _) in theirs.items() if state == "passed" and (not args.k or fnmatch.fnmatch(n, args.k))]
        ours, error = run_file(args, file, "ctsc", wanted)
        states = collections.Counter(ours.get(n, ("missing", error))[0] for n in wanted)
        concern, passing = concern + len(wanted), passing + states["passed"]
        print("| %s | %d | %d | %d | %d |" % (file, len(wanted), states["passed"], len(wanted) - states["passed"], len(theirs) - len(wanted)), flush=True)
        if error:
            print("  " + "\n  ".join(error.splitlines()[-4:]))
        kinds = collections.defaultdict(list)
        for n in wanted:
            state, why = ours.get(n, ("missing", error))
            if state != "passed":
                kinds[state + ": " + reason(why)].append(n)
        if args.v:
            for kind, names in sorted(kinds.items(), key=lambda k: -len(k[1])):
                print("  %4d %s\n       %s" % (len(names), kind, " ".join(names[:4])))
    print("%d of %d pass" % (passing, concern))
    return 0 if passing >= 0.95 * concern else 1


if __name__ == "__main__":
    sys.exit(main())
