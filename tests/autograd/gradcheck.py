#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the first and second order against finite differences, both computed by ctsc in float64.

    python3 tests/autograd/gradcheck.py --ctsc build/ctsc [--only GLOB] [--jobs N] [--keep DIR] [--vary SEED] [-v]

Each row of calls_*.py becomes a program: its inputs are random numbers from a fixed seed; the call's results are summed with fixed weights. The
program compares what torch.autograd.grad says with central differences of that sum, then does the same with a weighted sum of the
gradients, and answers with the largest relative errors. Nothing but ctsc is needed. It closes with "N passed, N failed". --vary: other numbers,
other sizes (each size of a row becomes another one, wherever it stands; where the call does not run so, the row's own), leaves with strides in any order.

A row is (call, inputs) or (call, inputs, options). Inputs are named a, b, c, ... in the call; each is a shape, "2,3" (or "s" for no
dims), with marks behind it: + for positive numbers, c for a complex tensor, i for integers 0, 1, 2, ... that no gradient is taken of. Options:
"first": no second order; "own": --vary changes numbers only; a statement in front of the call ("x = a @ a.mT").
"""
import argparse
import concurrent.futures
import fnmatch
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = '''
import torch
from torch import Tensor
from typing import List, Optional, Tuple


def made(leaves: List[Tensor]) -> List[Tensor]:
{before}
    out = {call}
    results: List[Tensor] = []
{collect}
    return results


def loss(leaves: List[Tensor]) -> Tensor:
    total = torch.zeros([], dtype=torch.float64)
    for k, r in enumerate(made(leaves)):
        if r.is_complex():
            r = torch.view_as_real(r)
        if r.is_floating_point():
            r = r.to(torch.float64).reshape([-1])
            total = total + (r * torch.cos(torch.arange(r.numel(), dtype=torch.float64) * 0.7 + 0.3 + k)).sum()
    return total


def gradients(leaves: List[Tensor], again: bool) -> List[Tensor]:
    found: List[Tensor] = []
    grads = torch.autograd.grad([loss(leaves)], [x for x in leaves if x.requires_grad], create_graph=again, allow_unused=True)
    k = 0
    for x in leaves:
        if x.requires_grad:
            g = grads[k]
            found.append(torch.zeros_like(x) if g is None else g)
            k += 1
    return found


def slope(leaves: List[Tensor], again: bool) -> Tensor:
    total = torch.zeros([], dtype=torch.float64)
    for k, g in enumerate(gradients(leaves, again)):
        total = total + (g.reshape([-1]) * torch.sin(torch.arange(g.numel(), dtype=torch.float64) * 1.3 + 0.9 + k)).sum()
    return total


def moved(leaves: List[Tensor], which: int, element: int, by: float) -> List[Tensor]:
    out: List[Tensor] = []
    for k, x in enumerate(leaves):
        t = x.detach().clone()
        if k == which:
            step = torch.zeros([x.numel()], dtype=torch.float64)
            step[element] = by
            t += step.reshape(x.shape)
        out.append(t.requires_grad_(x.requires_grad))
    return out


def error(exact: Tensor, estimates: Tensor) -> float:
    if exact.numel() == 0:
        return 0.0
    scale = 1.0 + float(estimates.abs().max())
    return float((exact.reshape([-1]) - estimates).abs().max()) / scale


def forward() -> Tuple[float, float, List[Tensor], List[Tensor]]:
    torch.manual_seed({seed})
    leaves: List[Tensor] = [{leaves}]
    first = gradients(leaves, False)
    worst = 0.0
    k = 0
    for which, x in enumerate(leaves):
        if x.requires_grad:
            estimates = torch.zeros([x.numel()], dtype=torch.float64)
            for i in range(x.numel()):
                above = float(loss(moved(leaves, which, i, 1e-6)))
                estimates[i] = (above - float(loss(moved(leaves, which, i, -1e-6)))) / 2e-6
            worst = max(worst, error(first[k], estimates))
            k += 1
    second: List[Tensor] = []
    worst2 = 0.0
    if {order} == 2:
        total = slope(leaves, True)
        if total.requires_grad:
            for which, x in enumerate(leaves):
                if x.requires_grad:
                    g = torch.autograd.grad([total], [x], retain_graph=True, allow_unused=True)[0]
                    exact = torch.zeros_like(x) if g is None else g
                    second.append(exact)
                    estimates = torch.zeros([x.numel()], dtype=torch.float64)
                    for i in range(x.numel()):
                        above = float(slope(moved(leaves, which, i, 1e-5), False))
                        estimates[i] = (above - float(slope(moved(leaves, which, i, -1e-5), False))) / 2e-5
                    worst2 = max(worst2, error(exact, estimates))
    return worst, worst2, first, second
'''


def resized(inputs, r):
    others = {}
    words = []
    for spec in inputs.split():
        shape = spec.rstrip("+ci")
        sizes = [n if n in ("s", "0", "1") else others.setdefault(n, str(r.randint(2, 5))) for n in shape.split(",")]
        words.append(",".join(sizes) + spec[len(shape):])
    return " ".join(words)


def leaf(spec, r=None):
    marks = spec[len(spec.rstrip("+ci")):]
    shape = spec[:len(spec) - len(marks)]
    sizes = [] if shape == "s" else [int(n) for n in shape.split(",")]
    if "i" in marks:
        return f"torch.arange({_numel(sizes)}).reshape({sizes})"
    order = list(range(len(sizes)))
    if r:
        r.shuffle(order)
    sizes = [sizes[i] for i in order] + [2] * ("c" in marks)
    back = f".permute({[order.index(i) for i in range(len(order))] + [len(order)] * ('c' in marks)})" if order != sorted(order) else ""
    if "+" in marks:
        return f"(torch.rand({sizes}, dtype=torch.float64) + 0.5){back}.requires_grad_()"
    return f"torch.randn({sizes}, dtype=torch.float64){back}.requires_grad_()"


def _numel(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def program(call, inputs, options, seed=11, r=None):
    specs = inputs.split()
    names = "abcdefghij"[:len(specs)]
    before = [f"{n} = leaves[{i}]" for i, n in enumerate(names)]
    before += [f"{n} = torch.view_as_complex({n})" for n, s in zip(names, specs) if s.endswith("c")]
    before += [o for o in options if o not in ("first", "list", "own") and not o.isdigit()]
    several = next((int(o) for o in options if o.isdigit()), 1)
    collect = ["results.append(out)"] if several == 1 else [f"results.append(out[{i}])" for i in range(several)]
    if "list" in options:
        collect = ["results += out"]
    return PROGRAM.format(
        before=_indented(before), call=call, collect=_indented(collect), seed=seed, leaves=", ".join(leaf(s, r) for s in specs), order=1 if "first" in options else 2)


def _indented(lines):
    return "\n".join("    " + line for line in lines)


def rows():
    sys.path.insert(0, HERE)
    found = []
    for name in sorted(os.listdir(HERE)):
        if name.startswith("calls_") and name.endswith(".py"):
            module = __import__(name[:-3])
            for row in module.CALLS:
                call, inputs, *options = row
                found.append((name[6:-3], call, inputs, options))
    return found


def run(ctsc, path, text):
    with open(path, "w") as f:
        f.write(text)
    return subprocess.run([ctsc, "run", "--opt=0", path], capture_output=True, text=True, timeout=300)


def check(ctsc, folder, number, row, vary):
    group, call, inputs, options = row
    path = os.path.join(folder, f"{group}_{number}.py")
    if vary is None:
        done = run(ctsc, path, program(call, inputs, options))
    else:
        r = None if "own" in options else random.Random(f"{vary} {number}")
        done = run(ctsc, path, program(call, resized(inputs, r) if r else inputs, options, vary, r))
        if done.returncode and r:
            done = run(ctsc, path, program(call, inputs, options, vary, r))
        if done.returncode and r:  # a call that wants its own strides
            done = run(ctsc, path, program(call, inputs, options, vary))
    if done.returncode:
        return f"status {done.returncode}: " + done.stderr.strip().replace("\n", "\n    ")
    first, second = (float(n) for n in done.stdout.lstrip("(").split(",")[:2])
    if not first < 1e-6 or not second < 1e-5:
        return f"first order differs by {first:g}, second by {second:g}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ctsc", default="build/ctsc")
    parser.add_argument("--only", metavar="GLOB", default="*", help="rows whose call, or group, matches")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR", help="leave the programs here")
    parser.add_argument("--vary", type=int, metavar="SEED", help="other numbers, sizes and strides")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    chosen = [r for r in rows() if fnmatch.fnmatch(r[1], args.only) or fnmatch.fnmatch(r[0], args.only)]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        work = [pool.submit(check, args.ctsc, folder, i, row, args.vary) for i, row in enumerate(chosen)]
        for row, future in zip(chosen, work):
            wrong = future.result()
            passed += wrong is None
            failed += wrong is not None
            if wrong or args.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} {row[0]}: {row[1]}  [{row[2]}]" + (f"\n    {wrong}" if wrong else ""))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
