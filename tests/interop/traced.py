#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets PyTorch run what C programs traced and saved.

    /usr/bin/python3 tests/interop/traced.py --ctsc build/ctsc [-k NAME]

tests/unit/test_trace (built beside ctsc, made here if it is missing) traces the programs of tests/unit/trace_cases.h and saves each with
inputs of two sizes and what the C program computed from them. torch.jit.load reads the archive; its outputs, also of the frozen module, equal the
program's; PyTorch saves it again, and `ctsc run --expect` agrees. examples/trace is taken along.
Closes with "N passed, N failed"; without PyTorch nothing is run and nothing fails.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
try:
    import torch
except ImportError:
    torch = None


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return (a.dtype == b.dtype and a.shape == b.shape and
                (torch.allclose(a, b, 1e-5, 1e-5, equal_nan=True) if a.is_floating_point() else torch.equal(a, b)))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return type(a) == type(b) and a == b


def copied(v):
    return v.clone() if isinstance(v, torch.Tensor) else type(v)(copied(x) for x in v) if isinstance(v, (list, tuple)) else v


def check(ctsc, folder, name):
    """None, or what is wrong."""
    path = os.path.join(folder, name + ".pt")
    load = lambda what: torch.load(os.path.join(folder, "%s.%s.pt" % (name, what)))
    module = torch.jit.load(path)
    module.eval()
    frozen = torch.jit.freeze(torch.jit.load(path).eval())
    again = os.path.join(folder, name + ".again")
    torch.jit.save(module, again)
    for suffix in ("", "2"):
        # the program may change its inputs: those saved are as it found them
        inputs, expected = load("inputs" + suffix), load("expected" + suffix)[0]
        for what, m in (("loaded", module), ("frozen", frozen)):
            for turn in range(3):  # PyTorch optimises at the second call
                with torch.no_grad():
                    got = m(*copied(inputs))
                if not same(got, expected):
                    return "%s, inputs%s, call %d: %s, not %s" % (what, suffix, turn + 1, got, expected)
        p = subprocess.run([ctsc, "run", again, "--inputs", os.path.join(folder, "%s.inputs%s.pt" % (name, suffix)),
                            "--expect", os.path.join(folder, "%s.result%s.pt" % (name, suffix)), "--rtol", "1e-4", "--atol", "1e-5"], capture_output=True, text=True)
        if p.returncode:
            return "saved again by PyTorch, ctsc: " + p.stderr.strip()
    if "prim::Loop" not in str(module.inlined_graph) and name == "scripts":
        return "the script lost its loop"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ctsc", required=True)
    p.add_argument("-k", default="", help="only programs whose name contains this")
    args = p.parse_args()
    if torch is None:
        print("skipped: no PyTorch here\n0 passed, 0 failed")
        return 0
    warnings.simplefilter("ignore")
    ctsc = os.path.abspath(args.ctsc)
    build = os.path.dirname(ctsc)
    tools = [os.path.join(build, "tests/unit/test_trace"), os.path.join(build, "examples/trace")]
    missing = [t for t in tools if not os.path.exists(t)]
    if missing and subprocess.run(["make", "-s", "-C", ROOT, "BUILD=" + build] + missing, stdout=sys.stderr).returncode:
        print("FAIL the programs that trace do not build\n0 passed, 1 failed")
        return 1
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tools[0], "--save", folder], check=True, cwd=ROOT)
        names = sorted(n for n in (os.path.basename(f)[:-3] for f in glob.glob(os.path.join(folder, "*.pt"))) if "." not in n)
        models = os.path.join(ROOT, "models")
        subprocess.run([tools[1], models, os.path.join(folder, "digits.pt")], check=True, stdout=subprocess.DEVNULL)
        images, scores = torch.load(os.path.join(models, "digits_test.pt")), torch.load(os.path.join(models, "digits_expected.pt"))
        for suffix, n in (("", len(scores)), ("2", 1)):
            torch.save((images[0][:n],), os.path.join(folder, "digits.inputs%s.pt" % suffix))
            torch.save((scores[:n],), os.path.join(folder, "digits.expected%s.pt" % suffix))
        for name in names + ["digits"]:
            if args.k not in name:
                continue
            for suffix in ("", "2"):  # what --expect takes: the result itself
                torch.save(torch.load(os.path.join(folder, "%s.expected%s.pt" % (name, suffix)))[0],
                           os.path.join(folder, "%s.result%s.pt" % (name, suffix)))
            try:
                why = check(ctsc, folder, name)
            except Exception as e:  # what PyTorch says of an archive is part of the result
                why = "%s: %s" % (type(e).__name__, e)
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print("FAIL %s: %s" % (name, why))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
