#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that PyTorch can only trace (tests/interop/traced), traced by ctsc and by PyTorch.

    /usr/bin/python3 tests/interop/traces.py [--ctsc build/ctsc] [-k NAME]

For each: what ctsc compile --trace writes is loaded by PyTorch. It has the parameters and buffers of torch.jit.trace's module, and gives its results, for the
example inputs and for others; so does ctsc, which runs the archive. Programs with FOLLOWED compute with numbers that PyTorch's trace makes constants:
results are those of the program itself.
"""
import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traced")


def build(path):
    """The program's net, and sets of inputs: the example first."""
    torch.manual_seed(0)
    source = support.load_source(path, os.path.basename(path)[:-3])
    torch.manual_seed(0)
    net = source.Net().eval() if isinstance(source.Net, type) else source.Net
    return net, source.examples()


def traced(path, example):
    net, _ = build(path)
    state = {k: v.clone() for k, v in net.state_dict().items()} if isinstance(net, torch.nn.Module) else {}
    out = torch.jit.trace(net, example, strict=False, check_trace=False)
    if state:
        out.load_state_dict(state)
    return out


def wanted(path, example, inputs):
    net, _ = build(path)
    if not getattr(sys.modules[os.path.basename(path)[:-3]], "FOLLOWED", False):
        return traced(path, example)(*inputs)
    return tuple(torch.tensor(v) if isinstance(v, int) else v for v in net(*inputs))


def check(ctsc, path):
    net, examples = build(path)
    with tempfile.TemporaryDirectory() as work, torch.no_grad():
        inputs, ours, expected = (os.path.join(work, n) for n in ("inputs.pt", "ours.pt", "expected.pt"))
        torch.save(examples[0], inputs)
        p = support.run(ctsc, "compile", "--trace", "--entry", "Net", "--inputs", inputs, path, "-o", ours)
        if p.returncode:
            return "ctsc compile: " + p.stderr
        theirs = traced(path, examples[0])
        if isinstance(net, torch.nn.Module):
            a, b = theirs.state_dict(), torch.jit.load(ours).state_dict()
            if list(a) != list(b) or not all(support.same(a[k], b[k], 0, 0) for k in a):
                return "the state_dict is %s, not %s" % (list(b), list(a))
        for i, example in enumerate(examples):
            module = torch.jit.load(ours)
            want = wanted(path, examples[0], example)
            if not support.same(module(*example), want, 1e-4, 1e-5):
                return "PyTorch gets\n%s\nof it for inputs %d, not\n%s" % (torch.jit.load(ours)(*example), i, want)
            torch.save(example, inputs)
            torch.save(want, expected)
            p = support.run(ctsc, "run", ours, "--inputs", inputs, "--expect", expected, "--rtol", "1e-4", "--atol", "1e-5")
            if p.returncode:
                return "ctsc run, inputs %d: %s" % (i, p.stderr or p.stdout)
    return None


def main():
    args = support.arguments(__doc__).parse_args()
    failed = total = 0
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.py"))):
        if args.k not in path:
            continue
        total += 1
        why = check(args.ctsc, path)
        failed += why is not None
        if why:
            print("%s: %s" % (os.path.relpath(path), why))
    print("%d programs, %d failed" % (total, failed))
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
