#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""array_api.py - runs data-apis/array-api-tests on ctsc.array_api, without what array_api_skips.txt names, and fails where something else fails (make test-array-api).

    python3 tests/python/array_api.py --python PYTHON --build build --suite CHECKOUT [--examples 20] [--only test_linalg] [-- pytest's arguments]

A row of the file is the name of a test, as the suite names it from array_api_tests/ on, or its beginning, and a reason.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def skips():
    with open(os.path.join(HERE, "array_api_skips.txt"), encoding="utf-8") as f:
        return [line.split("\t")[0].strip() for line in f if line.strip() and not line.startswith("#")]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--build", default="build")
    ap.add_argument("--suite", required=True)
    ap.add_argument("--examples", type=int, default=20)
    ap.add_argument("--only", default="")
    ap.add_argument("more", nargs="*")
    args = ap.parse_args()
    env = dict(os.environ, ARRAY_API_TESTS_MODULE="ctsc.array_api", ARRAY_API_TESTS_VERSION="2024.12", PYTHONPATH=os.path.abspath(os.path.join(args.build, "python")))
    target = "array_api_tests/" + (args.only + ".py" if args.only else "")
    command = [os.path.abspath(args.python), "-m", "pytest", target, "-q", "-p", "no:cacheprovider", "--max-examples", str(args.examples), "--derandomize", "--disable-deadline"]
    return subprocess.run(command + ["--deselect=array_api_tests/" + row for row in skips()] + args.more, cwd=args.suite, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
