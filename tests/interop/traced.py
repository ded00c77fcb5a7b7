#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets PyTorch run what C programs traced and saved.

    /usr/bin/python3 tests/interop/traced.py --ctsc build/ctsc [-k NAME]

tests/unit/test_trace (built beside ctsc, made here if it is missing) traces the programs of tests/unit/trace_cases.h and saves each with
inputs of two sizes and what the C program computed from them. torch.jit.load reads the archive; its outputs, also of the frozen module, equal the
program's; PyTorch saves it again, and `ctsc run --expect` agrees. examples/trace is taken along.
"""
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402


def copied(v):
    return v.clone() if isinstance(v, torch.Tensor) else type(v)(copied(x) for x in v) if isinstance(v, (list, tuple)) else v


def check(ctsc, folder, name):
    """What is wrong; "": nothing."""
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
                if not support.same(got, expected, 1e-5, 1e-5):
                    return "%s, inputs%s, call %d: %s, not %s" % (what, suffix, turn + 1, got, expected)
        p = support.run(ctsc, "run", again, "--inputs", os.path.join(folder, "%s.inputs%s.pt" % (name, suffix)),
                        "--expect", os.path.join(folder, "%s.result%s.pt" % (name, suffix)), "--rtol", "1e-4", "--atol", "1e-5")
        if p.returncode:
            return "saved again by PyTorch, ctsc: " + p.stderr.strip()
    if "prim::Loop" not in str(module.inlined_graph) and name == "scripts":
        return "the script lost its loop"
    return ""


def save_programs(build, folder):
    """What the C programs trace; their names."""
    tools = [os.path.join(build, "tests/unit/test_trace"), os.path.join(build, "examples/trace")]
    missing = [t for t in tools if not os.path.exists(t)]
    if missing:
        subprocess.run(["make", "-s", "-C", support.ROOT, "BUILD=" + build] + missing, stdout=sys.stderr, check=True)
    subprocess.run([tools[0], "--save", folder], check=True, cwd=support.ROOT)
    names = sorted(n for n in (os.path.basename(f)[:-3] for f in glob.glob(os.path.join(folder, "*.pt"))) if "." not in n)
    models = os.path.join(support.ROOT, "models")
    subprocess.run([tools[1], models, os.path.join(folder, "digits.pt")], check=True, stdout=subprocess.DEVNULL)
    images, scores = torch.load(os.path.join(models, "digits_test.pt")), torch.load(os.path.join(models, "digits_expected.pt"))
    for suffix, n in (("", len(scores)), ("2", 1)):
        torch.save((images[0][:n],), os.path.join(folder, "digits.inputs%s.pt" % suffix))
        torch.save((scores[:n],), os.path.join(folder, "digits.expected%s.pt" % suffix))
    names.append("digits")
    for name in names:
        for suffix in ("", "2"):  # what --expect takes: the result itself
            torch.save(torch.load(os.path.join(folder, "%s.expected%s.pt" % (name, suffix)))[0],
                       os.path.join(folder, "%s.result%s.pt" % (name, suffix)))
    return names


def main():
    args = support.arguments(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = save_programs(os.path.dirname(args.ctsc), folder)
        return support.tally(((n, n) for n in names if args.k in n), lambda name: check(args.ctsc, folder, name))


if __name__ == "__main__":
    sys.exit(main())
