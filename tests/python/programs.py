#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.py - programs of PyTorch's users print under ctsc what they print under PyTorch.

    PYTHONPATH=build/python python3 tests/python/programs.py [NAME...]          # compare with NAME.txt
    TORCH_PYTHON tests/python/programs.py --write [NAME...]                     # what PyTorch prints becomes NAME.txt

tests/python/programs has NAME.py and NAME.txt. Text must be equal, but for the name of the package; numbers may differ by 1 in 1,000, as rounding does.
"""
import argparse
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "programs")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf\b|nan\b)")
TOLERANCE = 1e-3


def names():
    return sorted(n[:-3] for n in os.listdir(FOLDER) if n.endswith(".py"))


def output(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"})
    return done.stdout, done.returncode, done.stderr


def same_line(got, want):
    got, want = (re.sub(r"\bctsc\b", "torch", t) for t in (got, want))
    if NUMBER.split(got) != NUMBER.split(want):
        return False
    for a, b in zip(NUMBER.findall(got), NUMBER.findall(want)):
        a, b = float(a), float(b)
        if a != b and not (math.isnan(a) and math.isnan(b)) and not abs(a - b) <= TOLERANCE * max(1, abs(b)):
            return False
    return True


def check(name, python=sys.executable):
    """A text that says what differs; None: nothing."""
    out, code, err = output([python, "-m", "ctsc", os.path.join(FOLDER, name + ".py")])
    with open(os.path.join(FOLDER, name + ".txt"), encoding="utf-8") as f:
        want = f.read().split("\n")
    got = out.split("\n")
    wrong = ["line %d:\n  got  %s\n  want %s" % (i + 1, g, w) for i, (g, w) in enumerate(zip(got, want)) if not same_line(g, w)]
    if code:
        wrong.append("ended with %d: %s" % (code, err[-1500:]))
    elif len(got) != len(want):
        wrong.append("%d lines, %d wanted" % (len(got), len(want)))
    return "\n".join(wrong) or None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("names", nargs="*")
    ap.add_argument("--write", action="store_true")
    args = ap.parse_args()
    failed = 0
    chosen = args.names or names()
    for name in chosen:
        if args.write:
            out, code, err = output([sys.executable, os.path.join(FOLDER, name + ".py")])
            if code:
                print("%s: %s" % (name, err), flush=True)
                failed += 1
            else:
                with open(os.path.join(FOLDER, name + ".txt"), "w", encoding="utf-8") as f:
                    f.write(out)
            continue
        wrong = check(name)
        failed += wrong is not None
        if wrong:
            print("%s: %s" % (name, wrong), flush=True)
    print("%d of %d programs" % (len(chosen) - failed, len(chosen)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
