#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All fuzz targets in turn, and a table of what they did.

    python3 tests/fuzz/all.py --build build-fuzz [--seconds 60] [--only call,source] [--keep build-fuzz/corpora] [--markdown FILE]          (make fuzz-all)

Each target starts from its seeds and from what earlier runs kept in --keep, which is then reduced to the inputs that add coverage. An input that ends the
process, takes more than 20 s or 2 GiB is written to --keep and makes the exit status 1.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
LARGEST_SEED = 100000
# target: (patterns of seeds below the root, bytes before each: fuzz_values.c)
SEEDS = {
    "archive": [("tests/corpus/**/*.pt", b""), ("models/*.pt", b"")],
    "call": [],
    "ir": [("tests/ir/**/*.ir", b"")],
    "onnx": [("tests/onnx/**/*.onnx", b"")],
    "request": [],
    "safetensors": [("tests/**/*.safetensors", b"")],
    "source": [("examples/models/*.py", b""), ("tests/corpus/**/source.py", b""), ("tests/lang/**/*.py", b"")],
    "wire": [],
    "values": [("tests/cli/Inputs/*.npy", b"\0"), ("tests/corpus/**/inputs.pt", b"\0"), ("tests/**/*.safetensors", b"\1"), ("tests/pt2/archives/**/*.pt2", b"\2"),
               ("tests/**/config.json", b"\3"), ("examples/serve/**/*.json", b"\3")],
}
LIMITS = ["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-use_value_profile=0"]


def make_seeds(target, folder):
    os.makedirs(folder, exist_ok=True)
    for pattern, prefix in SEEDS.get(target, []):
        for path in glob.glob(os.path.join(ROOT, pattern), recursive=True):
            if os.path.getsize(path) <= LARGEST_SEED:
                with open(path, "rb") as f, open(os.path.join(folder, re.sub(r"\W+", "_", os.path.relpath(path, ROOT))), "wb") as out:
                    out.write(prefix + f.read())


def run(program, args, log):
    with open(log, "w+") as f:
        code = subprocess.run([program, *args], stdout=f, stderr=subprocess.STDOUT, cwd=os.path.dirname(log)).returncode
        f.seek(0)
        return code, f.read()


def fuzz(build, target, seconds, keep):
    """(exit status, row of the table)"""
    program = os.path.join(build, "fuzz_" + target)
    corpus, seeds = os.path.join(keep, target), os.path.join(keep, target + "-seeds")
    os.makedirs(corpus, exist_ok=True)
    make_seeds(target, seeds)
    code, text = run(program, [*LIMITS, "-max_total_time=%d" % seconds, "-artifact_prefix=%s/%s-" % (keep, target), corpus, seeds], os.path.join(keep, target + ".log"))
    if code:
        print(text[-4000:], flush=True)
    least = corpus + "-least"
    os.makedirs(least, exist_ok=True)
    if not code and run(program, [*LIMITS, "-merge=1", least, corpus, seeds], os.path.join(keep, target + "-merge.log"))[0] == 0:
        for path in glob.glob(os.path.join(corpus, "*")):
            os.unlink(path)
        for path in glob.glob(os.path.join(least, "*")):
            os.replace(path, os.path.join(corpus, os.path.basename(path)))
    for folder in least, seeds:
        for path in glob.glob(os.path.join(folder, "*")):
            os.unlink(path)
        os.rmdir(folder)
    done = re.search(r"number_of_executed_units: *(\d+)", text)
    rate = re.search(r"average_exec_per_sec: *(\d+)", text)
    edges = re.findall(r"\bcov: (\d+)", text)
    kept = os.listdir(corpus)
    size = sum(os.path.getsize(os.path.join(corpus, name)) for name in kept)
    return code, "| %s | %s | %s | %s | %d, %.1f KiB | %s |" % (
        target, "{:,}".format(int(done.group(1))) if done else "", rate.group(1) if rate else "", edges[-1] if edges else "", len(kept), size / 1024,
        "none" if code == 0 else "**found**")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build-fuzz"))
    ap.add_argument("--seconds", type=int, default=60)
    ap.add_argument("--only", default="", help="targets, comma between")
    ap.add_argument("--keep", default="")
    ap.add_argument("--markdown", default="", help="the table goes to this file too")
    args = ap.parse_args()
    keep = os.path.abspath(args.keep or os.path.join(args.build, "corpora"))
    os.makedirs(keep, exist_ok=True)
    targets = args.only.split(",") if args.only else sorted(os.path.basename(p)[5:-2] for p in glob.glob(os.path.join(HERE, "fuzz_*.c")))
    unknown = [t for t in targets if not os.path.exists(os.path.join(args.build, "fuzz_" + t))]
    if unknown:
        print("no such program in %s: %s" % (args.build, ", ".join("fuzz_" + t for t in unknown)), file=sys.stderr)
        return 2
    rows = ["| target | executions | per second | edges | corpus | findings |", "| --- | --- | --- | --- | --- | --- |"]
    print("\n".join(rows), flush=True)
    worst = 0
    for target in targets:
        code, row = fuzz(os.path.abspath(args.build), target, args.seconds, keep)
        worst = worst or code
        rows.append(row)
        print(row, flush=True)
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write("\n".join(rows) + "\n")
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
