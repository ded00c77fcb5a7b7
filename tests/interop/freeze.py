#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Freezes every module of the corpus with ctsc, and compares with torch.jit.freeze.

    tests/interop/freeze.py [--ctsc build/ctsc] [--corpus DIR] [-v] [-k NAME]

For each module in eval mode: PyTorch loads what `ctsc compile --freeze` wrote, and gets the results of its own frozen module, within the
tolerance of the case. Attributes that are left in one and not in the other are listed with -v.
"""
import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

try:
    import torchvision  # noqa: F401  registers operators
except ImportError:
    torchvision = None


def check(folder, args):
    case = support.read_case(folder)
    if case["raises"] is not None:
        return None
    model = os.path.join(folder, "model.pt")
    module = torch.jit.load(model)
    if getattr(module, "training", True):
        return None
    inputs = torch.load(os.path.join(folder, "inputs.pt"))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "frozen.pt")
        p = support.run(args.ctsc, "compile", "--freeze", model, "-o", path)
        if p.returncode:
            return p.stderr
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
    return "" if support.same(a, b, max(case["rtol"], 1e-4), max(case["atol"], 1e-5)) else "the results differ"


def main():
    ap = support.arguments(__doc__)
    ap.add_argument("--corpus", default=support.CORPUS)
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    folders = sorted(os.path.dirname(p) for p in glob.glob(os.path.join(args.corpus, "models", "*", "case.json")))
    return support.tally(((os.path.basename(f), f) for f in folders if args.k in os.path.basename(f)), lambda folder: check(folder, args))


if __name__ == "__main__":
    sys.exit(main())
