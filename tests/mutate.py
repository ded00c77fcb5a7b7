#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py - do the tests notice a bug in the lowering of fusion groups? Plants one at a time and looks.

    python3 tests/mutate.py [--count 60] [--seed 1] [--only group_rows.c] [--work DIR] [--again FILE]

A mutant is one small change of one line of src/codegen/lower (group*.c, lazy*.c, loops): an operator replaced, a condition turned round or left out, a
relation of the plan forgotten. It is built in a copy of the checkout, and met by the unit tests of groups and by short runs of the differential
fuzzer. A mutant that nothing notices has survived: it is printed, for somebody to say whether it changes anything at all (a threshold that
chooses between two right schedules does not). --again tries only those that an earlier run, whose output is in FILE, has printed.
"""
import argparse
import glob
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LOWERING = os.path.join(ROOT, "src", "codegen", "lower")

# Patterns and what takes their place, on a line of code.
SWAPS = [
    (r"\bNEST_ADD\b", "NEST_SUB"), (r"\bNEST_SUB\b", "NEST_ADD"), (r"\bNEST_MUL\b", "NEST_ADD"), (r"\bNEST_DIV_INDEX\b", "NEST_MUL"),
    (r"\bNEST_MIN\b", "NEST_MAX"), (r"\bNEST_MAX\b", "NEST_MIN"), (r"\bNEST_LT\b", "NEST_LE"), (r"\bNEST_GT\b", "NEST_GE"),
    (r"\bNEST_EQ\b", "NEST_NE"), (r"\bNEST_AND\b", "NEST_OR"), (r"\bnest_add\(", "nest_sub("), (r"\bnest_sub\(", "nest_add("),
    (r"\bnest_mul\(", "nest_add("), (r"\bnest_div_index\(", "nest_mod_index("), (r"\bnest_mod_index\(", "nest_div_index("),
    (r"\blazy_zero\(", "lazy_one("), (r"\blazy_one\(", "lazy_zero("), (r"\bNEST_ACC_MAX\b", "NEST_ACC_MIN"),
    (r"\bDT_FLOAT32\b", "DT_FLOAT64"), (r"(?<![=!<>])==(?!=)", "!="), (r"!=", "=="), (r"(?<= )<(?= )", "<="), (r"(?<= )>(?= )", ">="), (r"\+ 1\b", "+ 2"),
    (r"- 1\b", "- 0"), (r"&&", "||"), (r"\|\|", "&&"), (r"\bx\[reversed\]", "x[!reversed]"), (r"\bindex\[d\]", "index[0]"),
    (r"\bsizes\[d\]", "sizes[0]"), (r"\bstep\[d\]", "step[0]"), (r"\bstart\[d\]", "start[0]"), (r"\bkeepdim\b", "!keepdim"),
]
DROPS = [
    r"^\s*plan_relate\(.*\);$",
    r"^\s*if \([^{]*\) (return (false|NULL|-1)|continue);$",
    r"^\s*(group_phases_bind|group_bind_kept|group_bind_reduction|lazy_forget|nest_store|nest_accumulate|nest_set)\(.*\);$",
]
# Lines whose numbers only choose among right answers.
TASTE = re.compile(r"cost|COST|FEW|TINY|ALONE|AHEAD|LITTLE|SHARED|grain|GRAIN|schedule =|MAX_|LIMIT|snprintf|arena_|assert|^\s*(/?\*|#|//)|enum|static const|\bfor \(int")


def files():
    """The files of the lowering, as LOWERING has them."""
    found = glob.glob(os.path.join(LOWERING, "**", "*.c"), recursive=True)
    return sorted(os.path.relpath(path, LOWERING) for path in found if re.match(r"(group|lazy)\w*\.c$", os.path.basename(path)))


def candidates(only):
    for name in files():
        if only and os.path.basename(name) != only:
            continue
        with open(os.path.join(LOWERING, name)) as f:
            lines = f.read().split("\n")
        for number, line in enumerate(lines):
            if TASTE.search(line) or not line.startswith(" "):
                continue
            for pattern, by in SWAPS:
                for m in re.finditer(pattern, line):
                    yield name, number, line[: m.start()] + by + line[m.end():]
            if any(re.match(p, line) for p in DROPS):
                yield name, number, "    ;"


def again(path):
    """The survivors that an earlier run printed, wherever their lines are now."""
    with open(path) as f:
        text = f.read()
    for name, was, changed in re.findall(r"^([\w/]+\.c):\d+ SURVIVED\n  - (.*)\n  \+ (.*)$", text, re.M):
        with open(os.path.join(LOWERING, name)) as f:
            for number, line in enumerate(f.read().split("\n")):
                if line.strip() == was:
                    yield name, number, line.replace(was, changed)
                    break
            else:
                print("%s: the line is gone: %s" % (name, was))


def sh(command, cwd, seconds):
    try:
        return subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        return -1


TARGETS = ["build/diff", "build/tests/unit/test_group", "build/tests/unit/test_group_blocks", "build/tests/unit/test_group_loop",
           "build/tests/unit/test_cuda_emit", "build/tests/unit/test_scalar_text"]


def notices(work):
    """The name of what fails; None: nothing does."""
    runs = [[os.path.join("build", "tests", "unit", t.rsplit("/", 1)[1])] for t in TARGETS[1:]]
    runs += [["build/diff", "--nests", "--seed", "100000", "--count", "5000", "--vary", "4", "--jobs", "2", "--most", "1"],
             ["build/diff", "--coverage=1", "--vary", "2", "--count", "30000", "--jobs", "2", "--most", "1"],
             ["build/diff", "--level", "3", "--seed", "20000", "--count", "500", "--jobs", "2", "--most", "1"]]
    for run in runs:
        if sh(run, work, 600) != 0:
            return " ".join(run)
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--again")
    p.add_argument("--work", default=os.path.join(ROOT, "build", "mutants"))
    args = p.parse_args()
    work = os.path.abspath(args.work)
    if not os.path.isdir(work):
        build = os.path.join(ROOT, "build")
        shutil.copytree(ROOT, work, ignore=lambda folder, names: [
            n for n in names if n == ".git" or (folder == build and n in ("cache", "mutants"))])
    make = ["make", "-j%d" % (os.cpu_count() or 1), "jit"] + TARGETS
    if sh(make, work, 1800) != 0:
        sys.exit("mutate: the copy in %s does not build" % work)
    by = notices(work)
    if by:
        sys.exit("mutate: fails without a mutant: %s" % by)
    every = list(again(args.again) if args.again else candidates(args.only))
    if not args.again:
        random.Random(args.seed).shuffle(every)
    found, survived, unbuilt = 0, [], 0
    for name, number, changed in every:
        if found + len(survived) == args.count:
            break
        path = os.path.join(work, os.path.relpath(LOWERING, ROOT), name)
        with open(path) as f:
            text = f.read()
        lines = text.split("\n")
        was, lines[number] = lines[number], changed
        with open(path, "w") as f:
            f.write("\n".join(lines))
        built = sh(make, work, 600) == 0
        by = notices(work) if built else None
        with open(path, "w") as f:
            f.write(text)
        if not built:
            unbuilt += 1
        elif by:
            found += 1
        else:
            survived.append((name, number, was, changed))
        state = "does not build" if not built else "found by %s" % by if by else "SURVIVED"
        print("%s:%d %s\n  - %s\n  + %s" % (name, number + 1, state, was.strip(), changed.strip()), flush=True)
    print("\n%d mutants found, %d survived, %d did not build" % (found, len(survived), unbuilt))
    return 0


if __name__ == "__main__":
    sys.exit(main())
