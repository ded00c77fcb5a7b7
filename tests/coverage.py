#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines and branches of the library the tests run, by gcov: a table per folder, and what is not run.

    python3 tests/coverage.py --build build-coverage [--groups unit,lang,source,corpus,cli] [--markdown FILE] [--uncovered FILE]     (make coverage)

The build folder is of `make SAN=coverage`. Counters of earlier runs are kept with --add. A function that a header defines counts where it was run in any
file that includes it. Processes that end by a signal or by _exit leave no counters: models' processes of the server, programs under --sandbox.
--uncovered writes, per source file, each range of lines that nothing ran.
"""
import argparse
import collections
import concurrent.futures
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
GROUPS = "unit,ir,lang,source,corpus,exported,onnx,cli,serve"


def counters(build):
    return glob.glob(os.path.join(build, "src", "**", "*.gcda"), recursive=True)


def read(build, data):
    """What gcov says of one object: [(source file, {line: times}, {line: [times of each branch]})]"""
    with tempfile.TemporaryDirectory() as d:
        done = subprocess.run(["gcov", "--json-format", "--branch-probabilities", os.path.abspath(data)], cwd=d, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        found = []
        for path in glob.glob(os.path.join(d, "*.gcov.json.gz")):
            with gzip.open(path, "rt") as f:
                of = json.load(f)
            for file in of["files"]:
                name = os.path.relpath(os.path.join(of["current_working_directory"], file["file"]), ROOT)
                if not name.startswith("src" + os.sep):
                    continue
                lines, branches = collections.Counter(), {}
                for line in file["lines"]:
                    lines[line["line_number"]] += line["count"]
                    if line["branches"]:
                        branches.setdefault(line["line_number"], []).extend(b["count"] for b in line["branches"])
                found.append((name, lines, branches))
        if not found and done.returncode:
            print(done.stderr, file=sys.stderr)
        return found


def gather(build, jobs):
    """{source file: ({line: times}, {line: [times of each branch]})}; branches of a header only as far as its objects agree about them."""
    every = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda data: read(build, data), counters(build)):
            for name, lines, branches in found:
                have = every.setdefault(name, (collections.Counter(), {}))
                have[0].update(lines)
                for number in lines:
                    have[0].setdefault(number, 0)
                for number, times in branches.items():
                    old = have[1].get(number)
                    have[1][number] = [a + b for a, b in zip(old, times)] if old else times
    return every


def ranges(numbers, code):
    """Numbers as ranges; lines without code between two do not part them."""
    out = []
    for n in sorted(numbers):
        if out and not any(k in code for k in range(out[-1][1] + 1, n)):
            out[-1][1] = n
        else:
            out.append([n, n])
    return out


def folder_of(name):
    parts = os.path.dirname(name).split(os.sep)
    return "/".join(parts[:3] if parts[1] in ("runtime", "frontend") else parts[:2])


def percent(part, whole):
    return "%.1f" % (100.0 * part / whole) if whole else ""


def table(every):
    sums = {}
    for name, (lines, branches) in every.items():
        add = (sum(1 for v in lines.values() if v), len(lines), sum(1 for b in branches.values() for v in b if v), sum(len(b) for b in branches.values()))
        for key in folder_of(name), "all":
            sums[key] = [a + b for a, b in zip(sums.get(key, (0, 0, 0, 0)), add)]
    rows = ["| folder | lines | of them run, % | branches | of them taken, % |", "| --- | --- | --- | --- | --- |"]
    for key in sorted(sums, key=lambda k: (k == "all", k)):
        run, lines, taken, branches = sums[key]
        rows.append("| %s | %s | %s | %s | %s |" % ("`%s/`" % key if key != "all" else "all", "{:,}".format(lines), percent(run, lines), "{:,}".format(branches), percent(taken, branches)))
    return "\n".join(rows) + "\n"


def write_uncovered(every, path):
    with open(path, "w") as out:
        for name in sorted(every):
            lines, _ = every[name]
            missing = {n for n, v in lines.items() if not v}
            code = {n for n, v in lines.items() if v}
            out.write("%s: %d of %d lines not run\n" % (name, len(missing), len(lines)))
            for a, b in ranges(missing, code):
                out.write("  %s\n" % (a if a == b else "%d-%d" % (a, b)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build-coverage"))
    ap.add_argument("--groups", default=GROUPS, help="of tests/run.py; empty: what the counters say already")
    ap.add_argument("--add", action="store_true", help="to what earlier runs counted")
    ap.add_argument("--markdown", help="the table goes to this file too")
    ap.add_argument("--uncovered", help="the file for ranges of lines that were not run")
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = ap.parse_args()
    status = 0
    if args.groups:
        if not args.add:
            for data in counters(args.build):
                os.unlink(data)
        status = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--build", args.build, "--only", args.groups, "--jobs", str(args.jobs), "--sanitizer", "coverage"]).returncode
    every = gather(args.build, args.jobs)
    if not every:
        print("no counters in %s" % args.build, file=sys.stderr)
        return 2
    text = table(every)
    print(text, end="")
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(text)
    if args.uncovered:
        write_uncovered(every, args.uncovered)
    return status


if __name__ == "__main__":
    sys.exit(main())
