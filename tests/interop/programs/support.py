# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with PyTorch share. Importing this without PyTorch ends the program with code 77."""
import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
except ImportError:
    print("no PyTorch: nothing to compare with")
    sys.exit(77)

warnings.simplefilter("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from cases import Differences, read_case  # noqa: E402, F401

CORPUS = os.path.join(ROOT, "tests", "corpus")


def arguments(doc):
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", type=os.path.abspath, default=os.path.join(ROOT, "build", "ctsc"))
    ap.add_argument("-k", default="", help="only what has this in its name")
    return ap


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def load_source(path, name):
    """Imports a program as a module of its file's name, as its user would."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_text(folder, name, text):
    path = os.path.join(folder, name + ".py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return load_source(path, name)


def same(a, b, rtol, atol):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return (a.dtype == b.dtype and a.shape == b.shape and
                (torch.allclose(a, b, rtol, atol, equal_nan=True) if a.is_floating_point() or a.is_complex() else torch.equal(a, b)))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, rtol, atol) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k], rtol, atol) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return a == b or a != a and b != b or abs(a - b) <= atol + rtol * abs(b)
    if isinstance(a, torch.jit.RecursiveScriptClass):
        return True  # an object: it has no equality
    return type(a) == type(b) and a == b


def differences():
    return Differences(os.path.join(ROOT, "tests", "interop", "differs.txt"))


def tally(cases, check, kind=None):
    """Checks pairs (name, case); check says what is wrong, "" for nothing, None for a case that does not count. kind: of the rows of differs.txt
    that say for which something has to be. The program's exit code."""
    passed = failed = 0
    listed = differences()
    for name, case in cases:
        try:
            why = check(case)
        except Exception as e:  # what PyTorch says of an archive is part of the result
            why = "%s: %s" % (type(e).__name__, e)
        if kind and why is not None:
            expected, unlisted = listed.check(kind, name, bool(why))
            why = "" if expected else "%s\n%s" % (unlisted, why)
        passed += why == ""
        failed += bool(why)
        if why:
            print("FAIL %s: %s" % (name, why.strip()[:3000]), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


# ---- random cases of functions ---------------------------------------------------------------------------------------


class Function:
    """One function under comparison: `fn` as PyTorch runs it, and a folder with its archive."""

    def __init__(self, ctsc, folder, fn, module):
        self.ctsc, self.fn = ctsc, fn
        self.model, self.given, self.out = (os.path.join(folder, n) for n in ("model.pt", "in.pt", "out.pt"))
        torch.jit.save(module, self.model)

    def expect(self, inputs, reference=None):
        """What PyTorch gives: (result, None), or (None, the error). The inputs are kept for ctsc."""
        torch.save(tuple(inputs), self.given)
        try:
            return (reference or self.fn)(*[v.clone() if isinstance(v, torch.Tensor) else v for v in inputs]), None
        except Exception as e:
            return None, e

    def run(self, *options):
        """ctsc on those inputs: (process, its result or None)."""
        p = run(self.ctsc, "run", self.model, "--inputs", self.given, "--output", self.out, *options)
        return p, None if p.returncode else torch.load(self.out)


def message(e):
    """The line of an error that both sides have."""
    return str(e).split("Error: ")[-1].strip().split("\n")[0].split("  (Could")[0].strip()


def shown(v):
    if isinstance(v, torch.Tensor):
        return "%s%s/%s" % (str(v.dtype)[6:], list(v.shape), list(v.stride()))
    return "[%s]" % ", ".join(map(shown, v)) if isinstance(v, (list, tuple)) else repr(v)


def random_cases(doc, what, names, script, draw, check, count):
    """The whole of such a program. script(name, folder): the function and a module that has it as its forward; draw(rng, name): the inputs of a case;
    check(function, name, inputs): what is wrong ("": nothing), and whether PyTorch refuses the case too. Returns the failures."""
    ap = arguments(doc)
    ap.add_argument("--count", type=int, default=count, help="cases of each function")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(1)
    failed = cases = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(n for n in names if args.k in n):
            function = Function(args.ctsc, folder, *script(name, folder))
            rng = random.Random("%s %d" % (name, args.seed))
            torch.manual_seed(args.seed)
            for _ in range(args.count):
                inputs = draw(rng, name)
                why, error = check(function, name, inputs)
                cases += 1
                refused += error
                failed += bool(why)
                if why:
                    print("FAIL %s(%s): %s" % (name, ", ".join(map(shown, inputs)), why), flush=True)
    print("%s: %d cases (%d of them errors), %d failed" % (what, cases, refused, failed))
    return failed
