#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles source with ctsc and with PyTorch and lets each run what the other wrote.

    /usr/bin/python3 tests/interop/compiled.py --ctsc build/ctsc [-k NAME] [--corpus FOLDER]

For every program of tests/corpus (or FOLDER) that has a source.py, and for examples/models:
  1. `ctsc compile` writes an archive; torch.jit.load reads it; its parameters equal those of torch.jit.script(Main()) under the
     same seed, and its outputs those of PyTorch's own compilation, printed text and error included
  2. PyTorch saves what it compiled; `ctsc run --expect` gives PyTorch's outputs
"""
import contextlib
import glob
import io
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402


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
    return "" if support.same(a[1], b[1], rtol, atol) else "results differ"


def inputs_of(case):
    return example_inputs(case["source"]) if case["inputs"] is None else torch.load(case["inputs"])


def check(ctsc, case, work):
    """"" or what is wrong."""
    theirs = script(support.load_source(case["source"], case["name"]))
    ours = os.path.join(work, "ours.pt")
    p = support.run(ctsc, "compile", case["source"], "-o", ours)
    if p.returncode:
        return "ctsc compile: exit %d\n%s" % (p.returncode, p.stderr)
    loaded = torch.jit.load(ours)
    if isinstance(theirs, torch.jit.ScriptModule):
        a, b = loaded.state_dict(), theirs.state_dict()
        if sorted(a) != sorted(b):
            return "parameters %s instead of %s" % (sorted(a), sorted(b))
        bad = [k for k in a if not support.same(a[k], b[k], 1e-6, 1e-7)]
        if bad:
            return "initial values differ: %s" % ", ".join(bad)
    if isinstance(theirs, torch.nn.Module):
        theirs.eval()
        loaded.eval()
    why = same_call(call(loaded, inputs_of(case)), call(theirs, inputs_of(case)), case["rtol"], case["atol"])
    if why:
        return "PyTorch runs ctsc's archive: " + why
    theirs = script(support.load_source(case["source"], case["name"] + "_again"))  # the first has changed its state
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
    p = support.run(*cmd)
    if (p.returncode == 0) != (result[0] == "value"):
        return "ctsc runs PyTorch's archive: exit %d\n%s" % (p.returncode, p.stderr)
    return ""


def cases(corpus):
    for folder in sorted(os.path.dirname(p) for p in glob.glob(os.path.join(corpus, "*", "*", "source.py"))):
        about = support.read_case(folder)
        yield os.path.relpath(folder, corpus), {"name": "case_" + os.path.basename(folder),
               "source": os.path.join(folder, "source.py"), "inputs": os.path.join(folder, "inputs.pt"),
               "rtol": max(about["rtol"], 1e-5), "atol": max(about["atol"], 1e-6)}
    for path in sorted(glob.glob(os.path.join(support.ROOT, "examples", "models", "*.py"))):
        yield os.path.relpath(path, support.ROOT), {"name": os.path.basename(path)[:-3], "source": path, "inputs": None,
               "rtol": 1e-4, "atol": 1e-5}


def main():
    ap = support.arguments(__doc__)
    ap.add_argument("--corpus", default=support.CORPUS)
    args = ap.parse_args()
    torch.set_num_threads(1)

    def check_one(case):
        with tempfile.TemporaryDirectory() as work:
            return check(args.ctsc, case, work)

    return support.tally((c for c in cases(args.corpus) if args.k in c[0]), check_one, "compiled")


if __name__ == "__main__":
    sys.exit(main())
