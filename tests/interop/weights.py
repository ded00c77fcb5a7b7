#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Archives taken apart into weights and source, and put together again, against real PyTorch.

    tests/interop/weights.py --ctsc build/ctsc

Each program of examples/models is compiled; PyTorch draws other weights for it and saves it; ctsc writes those as safetensors, and makes an archive of the source and these. PyTorch
loads that: its state and its results are those of the archive that PyTorch saved. The weights written once more are the same bytes. Exits 77 without PyTorch.
"""
import argparse
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    import torch
except ImportError:
    print("weights: PyTorch is not installed")
    sys.exit(77)


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    return a == b


def arguments(path):
    """Those of the command at the top of the file, with numbers drawn anew."""
    with open(path, encoding="utf-8") as f:
        command = shlex.split(re.search(r"# +ctsc (run .*)", f.read()).group(1))
    specs = [command[i + 1] for i, word in enumerate(command) if word == "--input"]
    made = []
    for spec in specs:
        dtype, sizes, how = re.fullmatch(r"(\w+)\[([\d,]*)\]:(\w+)", spec).groups()
        sizes = [int(n) for n in sizes.split(",") if n]
        made.append(torch.rand(sizes) if dtype == "float32" else torch.randint(0, 2, sizes) if how == "ones" else torch.arange(sizes[-1]).expand(sizes).clone())
    return made


def check(ctsc, path, folder):
    first, drawn, back = (os.path.join(folder, n) for n in ("first.pt", "drawn.pt", "back.pt"))
    weights, again = (os.path.join(folder, n) for n in ("w.safetensors", "again.safetensors"))
    torch.manual_seed(0)
    subprocess.run([ctsc, "compile", path, "-o", first], check=True, capture_output=True)
    module = torch.jit.load(first)
    with torch.no_grad():
        for name, t in list(module.named_parameters()) + list(module.named_buffers()):
            if t.is_floating_point():
                t.copy_(torch.rand_like(t) * 0.2 + 0.1 if "var" in name else torch.randn_like(t) * 0.1)
    torch.jit.save(module, drawn)
    subprocess.run([ctsc, "convert", drawn, weights], check=True, capture_output=True)
    subprocess.run([ctsc, "convert", path, back, "--weights", weights, "--seed", "5"], check=True, capture_output=True)
    subprocess.run([ctsc, "convert", back, again], check=True, capture_output=True)
    with open(weights, "rb") as f, open(again, "rb") as g:
        if f.read() != g.read():
            return "the weights written again differ"
    made, args = torch.jit.load(back), arguments(path)
    state, want = made.state_dict(), module.state_dict()
    if list(state) != list(want) or not all(equal(state[k], want[k]) for k in want):
        return "another state"
    with torch.no_grad():
        results = []
        for m in (module, made):
            torch.manual_seed(1)
            results.append(m(*[a.clone() for a in args]))
    return "" if equal(*results) else "other results"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", required=True)
    ap.add_argument("-k", default="", help="only programs with this in their names")
    args = ap.parse_args()
    failed = 0
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "models", "*" + args.k + "*.py"))):
        with tempfile.TemporaryDirectory() as folder:
            try:
                why = check(os.path.abspath(args.ctsc), path, folder)
            except subprocess.CalledProcessError as e:
                why = e.stderr.decode()[-500:]
        failed += bool(why)
        print("%-28s %s" % (os.path.basename(path), why or "ok"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
