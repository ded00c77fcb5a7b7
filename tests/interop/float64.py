#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Of results in float32 that differ: whose are nearer to float64's, PyTorch's or ctsc's?

    tests/interop/float64.py [--ctsc build/ctsc] [--opt N]... [--times 4] FOLDER|NAME.pt...

Networks with random weights make much of little: a rounding of the first layer can be a hundredth of the result, and two sums of the same
numbers in two orders differ by more than any tolerance that would still find a mistake. A case is an archive with arguments and PyTorch's result (NAME.pt,
NAME.in.pt, NAME.out.pt; or model.pt, inputs.pt, expected.pt in a folder; all of a folder that holds such). PyTorch runs it again in float64, which stands for
the truth, and for each tensor of the result the largest error of PyTorch's float32 and of ctsc's at each level is printed. A case fails where ctsc's is
more than --times PyTorch's (and more than an ulp of the largest value); what PyTorch cannot run in float64 is said and counted apart.

Exits 77 without PyTorch or without cases.
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

ULP = 2.0**-23


def cases(paths):
    """(name, archive, arguments, result) of each case."""
    for path in paths:
        if os.path.isdir(path) and not os.path.exists(os.path.join(path, "model.pt")):
            below = sorted(glob.glob(os.path.join(path, "*"))) + sorted(glob.glob(os.path.join(path, "**", "model.pt"), recursive=True))
            yield from cases([os.path.dirname(p) if p.endswith("/model.pt") else p for p in below if p.endswith("/model.pt") or os.path.exists(p[:-3] + ".out.pt")])
        elif os.path.isdir(path):
            yield os.path.basename(os.path.normpath(path)), *(os.path.join(path, f) for f in ("model.pt", "inputs.pt", "expected.pt"))
        elif path.endswith(".pt"):
            yield os.path.basename(path)[:-3], path, path[:-3] + ".in.pt", path[:-3] + ".out.pt"


def load(path):
    """What torch.save wrote, objects of any class included: newer PyTorch asks for that."""
    try:
        return torch.load(path, weights_only=False)
    except TypeError:
        return torch.load(path)


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else []
    return [t for part in parts for t in tensors(part)]


def widened(value):
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(widened(part) for part in value)
    return {k: widened(part) for k, part in value.items()} if isinstance(value, dict) else value


def truth(archive, inputs):
    module = torch.jit.load(archive, map_location="cpu").eval().double()
    with torch.no_grad():
        return tensors(module(*widened(inputs)))


def error(result, exact):
    """The largest one; infinite where shapes differ, or where one is a number and the other is none."""
    if result.shape != exact.shape:
        return float("inf")
    result, odd = result.double(), ~torch.isfinite(exact)
    same = (result == exact) | (torch.isnan(result) & torch.isnan(exact))
    if not same[odd].all() or not torch.isfinite(result[~odd]).all():
        return float("inf")
    return (result - exact)[~odd].abs().max().item() if (~odd).any() else 0.0


def main():
    ap = support.arguments(__doc__)
    ap.add_argument("--opt", action="append", help="levels (0 and 3)")
    ap.add_argument("--times", type=float, default=4.0, help="as large as PyTorch's error may ctsc's be")
    ap.add_argument("paths", nargs="*")
    args = ap.parse_args()
    levels, passed, failed, unknown = args.opt or ["0", "3"], 0, 0, 0
    for name, archive, inputs, expected in cases(args.paths):
        if args.k not in name:
            continue
        try:
            exact = truth(archive, load(inputs))
        except Exception as e:
            unknown += 1
            print("%s: PyTorch does not run it in float64: %s" % (name, str(e).strip().splitlines()[-1] if str(e).strip() else type(e).__name__))
            continue
        theirs, ours = tensors(load(expected)), {}
        with tempfile.TemporaryDirectory() as folder:
            for level in levels:
                out = os.path.join(folder, level + ".pt")
                r = support.run(args.ctsc, "run", archive, "--inputs", inputs, "--opt", level, "--output", out)
                ours[level] = tensors(load(out)) if r.returncode == 0 else r.stderr.strip()
        wrong = ["at level %s: %s" % (level, got) for level, got in ours.items() if isinstance(got, str)]
        for i, (e, t) in enumerate(zip(exact, theirs)):
            if wrong or not t.is_floating_point():
                continue
            scale = e[torch.isfinite(e)].abs().max().item() if torch.isfinite(e).any() else 0.0
            limit = args.times * error(t, e) + ULP * scale
            errors = {level: error(got[i], e) if i < len(got) else float("inf") for level, got in ours.items()}
            print("%s [%d] %s: largest value %.3g, error of PyTorch %.3g, of ctsc %s" % (
                name, i, list(t.shape), scale, error(t, e), ", ".join("%.3g (level %s)" % (errors[level], level) for level in levels)))
            wrong += ["result %d at level %s" % (i, level) for level in levels if not errors[level] <= limit]
        failed, passed = failed + bool(wrong), passed + (not wrong)
        if wrong:
            print("FAIL %s: %s" % (name, "; ".join(wrong)))
    if passed + failed + unknown == 0:
        print("no cases: name folders or archives")
        return 77
    print("%d passed, %d failed, %d that PyTorch does not run in float64" % (passed, failed, unknown))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
