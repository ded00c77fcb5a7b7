#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py - do the tests notice a bug? Plants one at a time and looks.

    python3 tests/mutate.py [--area lowering] [--count 60] [--seed 1] [--only group_rows.c] [--work DIR] [--again FILE]

A mutant is one small change of one line: an operator replaced, a condition turned round or left out, a statement forgotten. It is built in a copy of the
checkout, and met by the tests of its area (AREAS): of the lowering of fusion groups (src/codegen/lower: group*.c, lazy*.c, loops) the unit tests of groups
and short runs of the differential fuzzer; of archives, pickles, aliasing and passes their unit tests and those of tests/ir. A mutant that nothing notices has survived: it is printed, for somebody to say whether it changes anything at all (a threshold that
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
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

# Patterns and what takes their place, on a line of code: of any code, and of the lowering.
PLAIN = [
    (r"(?<![=!<>])==(?!=)", "!="), (r"!=", "=="), (r"(?<= )<(?= )", "<="), (r"(?<= )>(?= )", ">="), (r"(?<= )<=(?= )", "<"), (r"(?<= )>=(?= )", ">"),
    (r"\+ 1\b", "+ 2"), (r"- 1\b", "- 0"), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=[( ])!(?=\w)", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<=\w) \+ (?=\w)", " - "), (r"(?<=\w) - (?=\w)", " + "), (r"\bcontinue;", "break;"), (r"\bbreak;", "continue;"),
]
PLAIN_DROPS = [
    r"^\s*if \([^{]*\) (return [\w()., \"]*;|continue;|break;|goto \w+;)$",
    r"^\s*(?!return|free|mem_free|vec_free|arena_free|diag_clear|sb_free|goto|break|continue|else|case)\w+(->\w+|\.\w+)*(\(.*\)| [+|&-]?= [^{]*|\+\+|--);$",
]
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


class Area:
    """What is changed, by which patterns, and the runs that may notice: programs of the build folder, each built first if it is named."""

    def __init__(self, folder, files, swaps, drops, targets, runs):
        self.folder, self.pattern, self.swaps, self.drops, self.targets, self.runs = os.path.join(ROOT, folder), files, swaps, drops, targets, runs

    def files(self):
        found = glob.glob(os.path.join(self.folder, "**", "*.c"), recursive=True)
        return sorted(os.path.relpath(path, self.folder) for path in found if re.match(self.pattern, os.path.basename(path)))


def units(*names):
    return ["build/tests/unit/test_" + n for n in names]


def unit_area(folder, files, *names, ir=False, more=()):
    """An area with the plain changes, whose tests are unit tests and, if so, tests/ir."""
    targets = units(*names)
    runs = [[t] for t in targets]
    if ir:
        runs.insert(0, [sys.executable, "tests/run.py", "--build", "build", "--only", "ir"])
    return Area(folder, files, PLAIN, PLAIN_DROPS, targets + (["build/ctsc"] if ir else []) + [t for t, _ in more], runs + [run for _, run in more])


LOWERING_UNITS = units("group", "group_blocks", "group_loop", "cuda_emit", "scalar_text")
DIFF = [("build/diff", ["build/diff", "--seed", "5000", "--count", "4000", "--jobs", "2", "--most", "1"])]
AREAS = {
    "lowering": Area("src/codegen/lower", r"(group|lazy)\w*\.c$", SWAPS, DROPS, ["build/diff"] + LOWERING_UNITS, [[t] for t in LOWERING_UNITS] + [
        ["build/diff", "--nests", "--seed", "100000", "--count", "5000", "--vary", "4", "--jobs", "2", "--most", "1"],
        ["build/diff", "--coverage=1", "--vary", "2", "--count", "30000", "--jobs", "2", "--most", "1"],
        ["build/diff", "--level", "3", "--seed", "20000", "--count", "500", "--jobs", "2", "--most", "1"]]),
    "archive": unit_area("src/runtime/archive", r"(zip|zipdir|reader|numpy|torchfile|file_write)\.c$", "archive", "formats", "file_write", "py_torch"),
    "pickle": unit_area("src/runtime/archive", r"pickle\w*\.c$", "pickle", "archive", "formats"),
    "alias": unit_area("src/ir/graph", r"alias\w*\.c$", "alias", "pipeline", ir=True, more=DIFF),
    "passes": unit_area("src/passes", r"\w+\.c$", "pipeline", "optimize", "alias", ir=True, more=DIFF),
}


def candidates(area, only):
    for name in area.files():
        if only and os.path.basename(name) != only:
            continue
        with open(os.path.join(area.folder, name)) as f:
            lines = f.read().split("\n")
        for number, line in enumerate(lines):
            if TASTE.search(line) or not line.startswith(" "):
                continue
            for pattern, by in area.swaps:
                for m in re.finditer(pattern, line):
                    yield name, number, line[: m.start()] + by + line[m.end():]
            if any(re.match(p, line) for p in area.drops):
                yield name, number, "    ;"


def again(area, path):
    """The survivors that an earlier run printed, wherever their lines are now."""
    with open(path) as f:
        text = f.read()
    for name, was, changed in re.findall(r"^([\w/]+\.c):\d+ SURVIVED\n  - (.*)\n  \+ (.*)$", text, re.M):
        with open(os.path.join(area.folder, name)) as f:
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


def notices(area, work, seconds):
    """The name of what fails, or takes ten times as long as it does without a mutant; None: nothing does. seconds: of each run; empty: to be filled."""
    for i, run in enumerate(area.runs):
        start = time.monotonic()
        if sh(run, work, 10 * seconds[i] + 10 if i < len(seconds) else 600) != 0:
            return " ".join(run[1:] if run[0] == sys.executable else run)
        if i == len(seconds):
            seconds.append(time.monotonic() - start)
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--area", choices=sorted(AREAS), default="lowering")
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--again")
    p.add_argument("--work", default=os.path.join(ROOT, "build", "mutants"))
    args = p.parse_args()
    work, area = os.path.abspath(args.work), AREAS[args.area]
    if not os.path.isdir(work):
        build = os.path.join(ROOT, "build")
        shutil.copytree(ROOT, work, ignore=lambda folder, names: [
            n for n in names if n == ".git" or (folder == ROOT and n.startswith("build-")) or (folder == build and n in ("cache", "mutants", "triton", "python", "deb"))])
    make = ["make", "-j%d" % (os.cpu_count() or 1), "jit"] + area.targets
    if sh(make, work, 1800) != 0:
        sys.exit("mutate: the copy in %s does not build" % work)
    seconds = []
    by = notices(area, work, seconds)
    if by:
        sys.exit("mutate: fails without a mutant: %s" % by)
    every = list(again(area, args.again) if args.again else candidates(area, args.only))
    if not args.again:
        random.Random(args.seed).shuffle(every)
    found, survived, unbuilt = 0, [], 0
    for name, number, changed in every:
        if found + len(survived) == args.count:
            break
        path = os.path.join(work, os.path.relpath(area.folder, ROOT), name)
        with open(path) as f:
            text = f.read()
        lines = text.split("\n")
        was, lines[number] = lines[number], changed
        with open(path, "w") as f:
            f.write("\n".join(lines))
        built = sh(make, work, 600) == 0
        by = notices(area, work, seconds) if built else None
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
