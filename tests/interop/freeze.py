#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Freezes every module of the corpus with ctsc, and compares with torch.jit.freeze.

    tests/interop/freeze.py [--ctsc build/ctsc] [--corpus DIR] [-v] [NAME ...]

For each module in eval mode: PyTorch loads what `ctsc compile --freeze` wrote, and gets the results of its own frozen module, within the
tolerance of the case. Attributes that are left in one and not in the other are listed with -v.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("freeze: PyTorch is not installed")
    sys.exit(77)

try:
    import torchvision  # noqa: F401  registers operators
except ImportError:
    torchvision = None

HERE = os.path.dirname(os.path.abspath(__file__))


def same(a, b, rtol, atol):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.shape == b.shape and a.dtype == b.dtype and (
            torch.allclose(a, b, rtol, atol, equal_nan=True) if a.dtype.is_floating_point or a.dtype.is_complex else torch.equal(a, b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, rtol, atol) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], rtol, atol) for k in a)
    if isinstance(a, float):
        return abs(a - b) <= atol + rtol * abs(b) or (a != a and b != b)
    return a == b


def check(folder, args):
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    if case["raises"] is not None:
        return None
    model = os.path.join(folder, "model.pt")
    module = torch.jit.load(model)
    if getattr(module, "training", True):
        return None
    inputs = torch.load(os.path.join(folder, "inputs.pt"))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "frozen.pt")
        p = subprocess.run([args.ctsc, "compile", "--freeze", model, "-o", path], stderr=subprocess.PIPE)
        if p.returncode:
            return p.stderr.decode()
        ours = torch.jit.load(path)
    theirs = torch.jit.freeze(module)
    if args.verbose:
        left = [sorted(n for n, _ in list(m.named_parameters()) + list(m.named_buffers())) for m in (ours, theirs)]
        if left[0] != left[1]:
            print("  %s keeps %s, PyTorch %s" % (case["name"], left[0], left[1]))
        count = lambda m: sum(1 for n in m.graph.nodes() if n.kind() != "prim::Constant")
        print("  %s: %d nodes, PyTorch %d" % (case["name"], count(ours), count(theirs)))
    with torch.no_grad():
        torch.manual_seed(0)
        a = ours(*inputs)
        torch.manual_seed(0)
        b = theirs(*inputs)
    return "" if same(a, b, max(case["rtol"], 1e-4), max(case["atol"], 1e-5)) else "the results differ"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ctsc", default=os.path.join(HERE, "..", "..", "build", "ctsc"))
    p.add_argument("--corpus", default=os.path.join(HERE, "..", "corpus"))
    p.add_argument("-v", "--verbose", action="store_true")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    passed = failed = 0
    for case in sorted(glob.glob(os.path.join(args.corpus, "models", "*", "case.json"))):
        folder = os.path.dirname(case)
        if args.names and os.path.basename(folder) not in args.names:
            continue
        try:
            why = check(folder, args)
        except Exception as e:  # of PyTorch: the archive does not load or run
            why = "%s: %s" % (type(e).__name__, e)
        if why is None:
            continue
        passed += why == ""
        failed += why != ""
        if why:
            print("FAIL %s: %s" % (os.path.basename(folder), why.strip()[:1500]))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
