#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated calls of operators and small scripted programs, under PyTorch and under ctsc; prints what differs.

    make against-torch PYTHON=/path/to/python [AGAINST="--seed 2 --count 2000 -k 'clamp*'"]
    python3 tests/against/against.py --python PYTHON --package build/python

PYTHON has PyTorch 2.15. against_cases.py makes the cases, against_worker.py runs them in a process of its own, which is started anew where a case
ends it: PyTorch has calls that do. Programs run three times, under ctsc at level 0 (as written) and at level 3 (fused at the first call), and once as Python.
Values, dtypes, shapes, strides and whether there is an error are compared; numbers within what rounding does to the dtype. --words: errors' words, too.
The exit status is 0 if nothing differs, 77 without PyTorch.
"""
import argparse
import fnmatch
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_cases  # noqa: E402
import against_views  # noqa: E402

# relative and absolute; of 16 bits two steps, as an operator may round on the way
TOLERANCE = {"float16": (2e-3, 1e-6), "bfloat16": (1.6e-2, 1e-6), "float32": (2e-5, 1e-6), "float64": (1e-9, 1e-12), "complex64": (2e-5, 1e-6), "complex128": (1e-9, 1e-12)}

# errors of PyTorch where ctsc has more (docs/differs.md)
MORE = ("not implemented for", "must be Tensor, not", "Promotion for uint16", "with a bool tensor is not supported", "Boolean alpha only supported")


def run(python, env, cases, module):
    """The results of all cases, in order; {"crash": status} of one that ended the process."""
    results = []
    while len(results) < len(cases):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(cases[len(results):], f)
            f.flush()
            p = subprocess.run([python, os.path.join(HERE, "against_worker.py"), module, f.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        if p.returncode == 77:
            print("no %s in %s" % (module, python))
            sys.exit(77)
        done = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]
        if not done and p.returncode == 1:
            sys.exit("%s: %s" % (module, p.stderr[-2000:]))
        results += done
        if len(results) < len(cases):
            results.append({"crash": p.returncode})
    return results


def close(a, b, dtype):
    if a == b or (a != a and b != b):
        return True
    if dtype not in TOLERANCE or a != a or b != b or math.isinf(a) or math.isinf(b):
        return False
    rtol, atol = TOLERANCE[dtype]
    return abs(a - b) <= atol + rtol * abs(b)


def number(x):
    return float(x) if isinstance(x, str) else x


def differs(got, want, strides):
    """What differs in one value, or None."""
    if not isinstance(want, dict) or not isinstance(got, dict):
        same = type(got) is type(want) and (got == want or isinstance(want, float) and close(got, want, "float32"))
        return None if same else "%s instead of %s" % (got, want)
    for part in ("dtype", "shape") + (("strides",) if strides else ()):
        if got.get(part) != want.get(part):
            return "%s %s instead of %s" % (part, got.get(part), want.get(part))
    pairs = [(number(a), number(b)) for a, b in zip(got["values"], want["values"])]
    wrong = [i for i, (a, b) in enumerate(pairs) if not close(a, b, want["dtype"])]
    return "%d of %d elements, [%d] is %s instead of %s" % (len(wrong), len(pairs), wrong[0], *pairs[wrong[0]]) if wrong else None


def compare(got, want, args):
    if "crash" in want or want.get("unstable"):
        return None  # nothing to compare with
    if "crash" in got:
        return "ended with status %s" % got["crash"]
    if "error" in want or "error" in got:
        if "error" not in got:  # what PyTorch has for fewer dtypes, or for tensors alone, is no difference
            return None if any(words in want["error"] for words in MORE) else "no error; PyTorch: %s" % want["error"]
        if "error" not in want:
            return "error: %s" % got["error"]
        return "%r instead of %r" % (got["error"], want["error"]) if args.words and got["error"] != want["error"] else None
    if len(got["values"]) != len(want["values"]):
        return "%d results instead of %d" % (len(got["values"]), len(want["values"]))
    for i, (g, w) in enumerate(zip(got["values"], want["values"])):
        what = differs(g, w, not args.no_strides)
        if what:
            return "result %d: %s" % (i, what)
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", required=True, help="a Python that has PyTorch 2.15")
    p.add_argument("--package", default="build/python", help="the folder of the package ctsc")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=1000, help="calls, and a quarter as many programs")
    p.add_argument("-k", metavar="GLOB", help="only cases of operators of such a name")
    p.add_argument("--words", action="store_true", help="compare the words of errors")
    p.add_argument("--no-strides", action="store_true")
    p.add_argument("--summary", action="store_true", help="of each operator the first difference alone")
    args = p.parse_args()
    layouts = against_views.layouts(args.seed, args.count // 4)
    cases = against_cases.calls(args.seed, args.count) + against_cases.programs(args.seed, args.count // 4) + layouts + [{**c, "eager": True} for c in layouts]
    cases = [c for c in cases if not args.k or fnmatch.fnmatch(c["name"], args.k)]
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    want = run(args.python, env, cases, "torch")
    mine = {**env, "PYTHONPATH": os.path.abspath(args.package)}
    wrong, seen = 0, set()
    for level in (0, 3):
        chosen = [i for i, c in enumerate(cases) if level == 0 or c["kind"] == "program" and not c.get("eager")]
        got = run(sys.executable, mine, [{**cases[i], "level": level} for i in chosen], "ctsc")
        for i, g in zip(chosen, got):
            what = compare(g, want[i], args)
            if not what:
                continue
            wrong += 1
            if args.summary and cases[i]["name"] in seen:
                continue
            seen.add(cases[i]["name"])
            print("%s, level %d: %s\n    %s" % (cases[i]["name"], level, what, (cases[i].get("setup", "") + "\n" + cases[i]["text"]).strip().replace("\n", "\n    ")))
    print("%d cases, %d differences" % (len(cases), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
