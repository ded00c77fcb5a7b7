#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a corpus (tests/corpus/README.md describes the folders) on a CUDA device, or with --sim on the simulated one, and compares results
with what is expected of the CPU.

    python3 tests/cuda/run.py --ctsc build/ctsc --sim build/tests/cuda/libcudasim.so
    python3 tests/cuda/run.py --ctsc build/ctsc --group models /path/to/corpus

A device adds in another order than the CPU: the tolerance is that of the case, widened (WIDER). Cases whose operators have no version for CUDA
are counted apart; with --strict they are failures, too. --fallback runs those on the CPU.
Exit status: 0 if nothing failed, 1 if something did.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cases import Differences, raised, read_case  # noqa: E402

UNSUPPORTED = 4  # exit status of ctsc
WIDER = 10
# Text of a device, and of the CPU in its place: what programs print differs by it.
DEVICE_TEXT = [("CUDA", "CPU"), ("cuda:0", "cpu")]
# Traces that moved a constant to the CPU: on a device they fail in PyTorch as well, in these words.
STAYS = {"models/spatial_transformer_trace": "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"}
# Regions of torch.autocast("cpu") leave tensors of a device as they are, in PyTorch as well: their results are others there.
HOST_ONLY = "models/autocast_*"
NUMBER = re.compile(r"(-?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?)")


def find_cases(root, groups, patterns):
    cases = []
    listed = os.path.join(root, "differs.txt")
    differs = Differences(listed) if os.path.exists(listed) else None
    for folder, _, files in os.walk(root):
        if "case.json" not in files:
            continue
        case = read_case(folder)
        case["dir"] = folder
        full = case["group"] + "/" + case["name"]
        case["raises"] = STAYS.get(full, case["raises"])
        case["other words"] = differs is not None and ("words", full) in differs.rows
        if fnmatch.fnmatch(full, HOST_ONLY) or (groups and case["group"] not in groups):
            continue
        if patterns and not any(fnmatch.fnmatch(full, p) for p in patterns):
            continue
        cases.append(case)
    return sorted(cases, key=lambda c: (c["group"], c["name"]))


def tolerance(case):
    return WIDER * case["rtol"], WIDER * case["atol"]


def same_text(got, want, rtol, atol):
    """Equal but for devices and the last digits of numbers. Columns may be wider: blanks do not count."""
    for device, cpu in DEVICE_TEXT:
        got = got.replace(device, cpu)
    a, b = NUMBER.split(" ".join(got.split())), NUMBER.split(" ".join(want.split()))
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y and (i % 2 == 0 or abs(float(x) - float(y)) > atol + 1e-4 + rtol * abs(float(y))):
            return False
    return True


def command(args, case):
    folder = case["dir"]
    line = [args.ctsc, "run", "--device", args.device, "--opt", str(args.opt), os.path.join(folder, "model.pt"),
            "--inputs", os.path.join(folder, "inputs.pt")]
    if args.fallback:
        line.append("--fallback")
    if case["raises"] is None:
        rtol, atol = tolerance(case)
        line += ["--expect", os.path.join(folder, "expected.pt"), "--rtol", repr(rtol), "--atol", repr(atol)]
    return line


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "(nothing on stderr)"


def judge(case, code, out, err):
    """None if the case passed, otherwise the reason."""
    if code < 0:
        return f"killed by signal {-code}: {last_line(err)}"
    if case["raises"] is not None:
        if code == 0:
            return f"no error was reported, expected {case['raises']!r}"
        said = raised(err)
        if not said or (said == case["raises"]) == case["other words"]:
            return f"the error is {said!r}, {'listed as other than' if case['other words'] else 'not'} {case['raises']!r}"
    elif code != 0:
        return f"exit {code}: " + next((line for line in err.splitlines() if line.strip()), "")[:300]
    want = os.path.join(case["dir"], "stdout.txt")
    if os.path.exists(want):
        with open(want, encoding="utf-8") as f:
            if not same_text(out, f.read(), *tolerance(case)):
                return "stdout differs from stdout.txt"
    return None


def run_case(args, env, case):
    start = time.monotonic()
    try:
        p = subprocess.run(command(args, case), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=args.timeout, env=env)
        err = p.stderr.decode("utf-8", "replace")
        reason = judge(case, p.returncode, p.stdout.decode("utf-8", "replace"), err)
        unsupported = reason is not None and p.returncode == UNSUPPORTED
        operator = re.search(r"operator (\S+) is not supported on CUDA", err) if unsupported else None
    except subprocess.TimeoutExpired:
        reason, unsupported, operator = f"timeout after {args.timeout:g} s", False, None
    return {"group": case["group"], "name": case["name"], "passed": reason is None, "unsupported": unsupported, "reason": reason,
            "operator": operator.group(1) if operator else None, "seconds": round(time.monotonic() - start, 3)}


def find_nvrtc():
    """The CUDA toolkit's libnvrtc, or None."""
    nvcc = shutil.which("nvcc")
    roots = [os.environ.get("CUDA_HOME"), os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else None, "/usr/local/cuda"]
    for root in filter(None, roots):
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib"):
            path = os.path.join(root, folder, "libnvrtc.so")
            if os.path.exists(path):
                return path
    return None


def environment(args):
    env = dict(os.environ)
    if args.nvrtc:
        nvrtc = find_nvrtc()
        if nvrtc:
            env["CTSC_SIM_NVRTC"] = nvrtc
        else:
            print("no CUDA toolkit here: kernels are not compiled by NVRTC")
    if args.sim:
        sim = os.path.abspath(args.sim)
        library = sim if args.libraries else "none"
        env.update(CTSC_CUDA_DRIVER=sim, CTSC_NVRTC=sim, CTSC_CUBLASLT=library, CTSC_CUDNN=library)
    if args.cache:
        env["XDG_CACHE_HOME"] = os.path.abspath(args.cache)
    return env


def report(args, results):
    failed = [r for r in results if not r["passed"] and (args.strict or not r["unsupported"])]
    unsupported = [r for r in results if r["unsupported"] and not args.strict]
    for r in failed:
        print(f"FAIL {r['group']}/{r['name']}: {r['reason']}")
    if unsupported:
        missing = collections.Counter(r["operator"] or "?" for r in unsupported)
        print("without a version for CUDA: " + ", ".join(f"{key} ({n})" for key, n in missing.most_common()))
    if args.report:
        with open(args.report, "w") as f:
            json.dump(results, f, indent=1)
    print(f"{sum(r['passed'] for r in results)} passed, {len(failed)} failed, {len(unsupported)} unsupported")
    return 1 if failed or not results else 0


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("corpus", nargs="*", default=[os.path.join(here, "..", "corpus")], help="folders searched for cases (tests/corpus)")
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("--sim", metavar="FILE", help="libcudasim.so, in the place of the driver and of NVRTC")
    ap.add_argument("--nvrtc", action="store_true", help="with --sim: the real NVRTC, where there is one, compiles each kernel as well")
    ap.add_argument("--libraries", action="store_true", help="with --sim: simulated cuBLASLt and cuDNN as well")
    ap.add_argument("--device", default="cuda")
    ap.add_argument("--opt", type=int, default=2)
    ap.add_argument("--group", action="append")
    ap.add_argument("--filter", action="append", metavar="GLOB", help="of group/name")
    ap.add_argument("--fallback", action="store_true")
    ap.add_argument("--strict", action="store_true")
    ap.add_argument("--cache", metavar="DIR", help="where compiled kernels are kept between runs")
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--timeout", type=float, default=300.0)
    ap.add_argument("--report", metavar="FILE", help="all results as JSON")
    args = ap.parse_args()
    cases = [c for root in args.corpus for c in find_cases(root, args.group, args.filter)]
    env = environment(args)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda c: run_case(args, env, c), cases))
    return report(args, results)


if __name__ == "__main__":
    sys.exit(main())
