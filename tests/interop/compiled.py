#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles source with ctsc and with PyTorch and lets each run what the other wrote.

    /usr/bin/python3 tests/interop/compiled.py --ctsc build/ctsc [-k NAME] [--corpus FOLDER]

For every program of tests/corpus (or FOLDER) that has a source.py, and for examples/models:
  1. `ctsc compile` writes an archive; torch.jit.load reads it; its parameters equal those of torch.jit.script(Main()) under the
     same seed, and its outputs those of PyTorch's own compilation, printed text and error included
  2. PyTorch saves what it compiled; `ctsc run --expect` gives PyTorch's outputs
Closes with "N passed, N failed"; without PyTorch nothing is run and nothing fails.
"""
import argparse
import contextlib
import glob
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
try:
    import torch
except ImportError:
    torch = None


def load_source(path, name):
    """Imports a program as a module of its file's name, as its user would."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def script(module):
    torch.manual_seed(0)
    if hasattr(module, "forward"):
        fn = module.forward
        return fn if isinstance(fn, torch.jit.ScriptFunction) else torch.jit.script(fn)
    names = [k for k, v in vars(module).items() if isinstance(v, type) and issubclass(v, torch.nn.Module) and v.__module__ == module.__name__]
    main = getattr(module, "Main" if "Main" in names else names[-1])()
    return main if isinstance(main, torch.jit.ScriptModule) else torch.jit.script(main)


def example_inputs(path):
    """Tensors for the input specifications in the comment at the top of an example."""
    torch.manual_seed(1)
    made = []
    with open(path, encoding="utf-8") as f:
        text = f.read()
    line = re.search(r"ctsc run .*", text)
    for spec in re.findall(r"--input '([^']*)'", line.group(0) if line else ""):
        m = re.match(r"(\w+)\[([\d,]*)\]:(\w+)", spec)
        if not m:
            made.append(eval(spec, {"__builtins__": {}}))
            continue
        dtype, sizes = getattr(torch, m.group(1)), [int(n) for n in m.group(2).split(",") if n]
        if m.group(3) == "rand":
            made.append(torch.rand(sizes).to(dtype))
        else:
            made.append(getattr(torch, "arange")(torch.Size(sizes).numel()).reshape(sizes).to(dtype)
                        if m.group(3) == "arange" else getattr(torch, m.group(3))(sizes, dtype=dtype))
    return tuple(made)


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


def call(fn, inputs):
    """What a call gives: ("value", result, what it printed) or ("error", last line of the message, what it printed)."""
    out = io.StringIO()
    torch.manual_seed(7)
    try:
        with contextlib.redirect_stdout(out), torch.no_grad():
            return "value", fn(*inputs), out.getvalue()
    except Exception as e:  # whatever the program raises
        return "error", str(e).strip().split("\n")[-1], out.getvalue()


def same_call(a, b, rtol, atol):
    if a[0] != b[0]:
        return "%s instead of %s: %s / %s" % (a[0], b[0], a[1], b[1])
    if a[0] == "error":
        return "" if a[1].split(":")[-1].strip() == b[1].split(":")[-1].strip() else "error %r, not %r" % (a[1], b[1])
    return "" if same(a[1], b[1], rtol, atol) else "results differ"


def inputs_of(case):
    return example_inputs(case["source"]) if case["inputs"] is None else torch.load(case["inputs"])


def check(case, ctsc, work):
    """"" or what is wrong."""
    theirs = script(load_source(case["source"], case["name"]))
    ours = os.path.join(work, "ours.pt")
    p = subprocess.run([ctsc, "compile", case["source"], "-o", ours], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        return "ctsc compile: exit %d\n%s" % (p.returncode, p.stdout)
    loaded = torch.jit.load(ours)
    if isinstance(theirs, torch.jit.ScriptModule):
        a, b = loaded.state_dict(), theirs.state_dict()
        if sorted(a) != sorted(b):
            return "parameters %s instead of %s" % (sorted(a), sorted(b))
        bad = [k for k in a if not same(a[k], b[k], 1e-6, 1e-7)]
        if bad:
            return "initial values differ: %s" % ", ".join(bad)
    if isinstance(theirs, torch.nn.Module):
        theirs.eval()
        loaded.eval()
    why = same_call(call(loaded, inputs_of(case)), call(theirs, inputs_of(case)), case["rtol"], case["atol"])
    if why:
        return "PyTorch runs ctsc's archive: " + why
    theirs = script(load_source(case["source"], case["name"] + "_again"))  # the first has changed its state
    if isinstance(theirs, torch.nn.Module):
        theirs.eval()
    saved, given, expected = (os.path.join(work, n) for n in ("theirs.pt", "in.pt", "out.pt"))
    try:
        torch.jit.save(theirs, saved)
        result = call(theirs, inputs_of(case))
        torch.save(tuple(inputs_of(case)), given)
        if result[0] == "value":
            torch.save(result[1], expected)
    except Exception:  # what PyTorch itself cannot save, it cannot hand over
        return ""
    cmd = [ctsc, "run", saved, "--inputs", given]
    if result[0] == "value":
        cmd += ["--expect", expected, "--rtol", repr(case["rtol"]), "--atol", repr(case["atol"])]
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if (p.returncode == 0) != (result[0] == "value"):
        return "ctsc runs PyTorch's archive: exit %d\n%s" % (p.returncode, p.stderr)
    return ""


def cases(corpus):
    for folder in sorted(os.path.dirname(p) for p in glob.glob(os.path.join(corpus, "*", "*", "source.py"))):
        with open(os.path.join(folder, "case.json")) as f:
            about = json.load(f)
        yield {"label": os.path.relpath(folder, corpus), "name": "case_" + os.path.basename(folder),
               "source": os.path.join(folder, "source.py"), "inputs": os.path.join(folder, "inputs.pt"),
               "rtol": max(about["rtol"], 1e-5), "atol": max(about["atol"], 1e-6)}
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "models", "*.py"))):
        yield {"label": os.path.relpath(path, ROOT), "name": os.path.basename(path)[:-3], "source": path, "inputs": None,
               "rtol": 1e-4, "atol": 1e-5}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    ap.add_argument("--corpus", default=os.path.join(ROOT, "tests", "corpus"))
    ap.add_argument("-k", default="", help="only programs whose name contains this")
    args = ap.parse_args()
    if torch is None:
        print("PyTorch is not installed: nothing to compare with")
        print("0 passed, 0 failed")
        return 0
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    passed = failed = 0
    for case in cases(args.corpus):
        if args.k not in case["label"]:
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                why = check(case, os.path.abspath(args.ctsc), work)
            except Exception as e:  # a case that cannot be set up is a failure of that case
                why = "%s: %s" % (type(e).__name__, e)
        passed += not why
        failed += bool(why)
        if why:
            print("FAIL %s: %s" % (case["label"], why[:3000]), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
