#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From process start to result: `ctsc run MODEL`, beyond the inference itself, and the memory it takes.

    python3 bench/coldstart.py --ctsc build/ctsc [--model FILE --input SPEC] [--rounds N] [--threads N] [--torch-python PYTHON]
                                                                                              (make bench-coldstart)

In each round one process runs the model once, with a warm cache of kernels, and another measures the inference alone (`ctsc bench`, the same
number of threads). Printed are the best and the median of the rounds: elapsed and processor time of the first, the inference, and the difference
of both. Peak memory is that of the process; the file's mapping is a part of it. Where PyTorch is installed, the same in Python.
Without --model: examples/models/resnet18.py, compiled to an archive first.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTORCH = """
import sys, torch
torch.set_num_threads(int(sys.argv[3]))
m = torch.jit.load(sys.argv[1])
with torch.no_grad():
    m(*[torch.rand(eval(s[s.index('['):s.index(']') + 1])) for s in sys.argv[2].split()])
"""


def process(command, env):
    """One process: elapsed and processor time in ms, peak memory in MiB."""
    start = time.monotonic()
    pid = os.posix_spawn(command[0], command, env, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    elapsed = time.monotonic() - start
    if status:
        sys.exit("%s: exit %d" % (" ".join(command), os.waitstatus_to_exitcode(status)))
    return {"elapsed": elapsed * 1e3, "processor": (usage.ru_utime + usage.ru_stime) * 1e3, "peak": usage.ru_maxrss / 1024}


def inference(args, model, env):
    out = subprocess.run([args.ctsc, "bench", model, "--opt", "2", "--calls", "5", "--seconds", "0.1", "--threads", str(args.threads), "--json"]
                         + inputs(args), env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(out.stdout)["fused"]["min_us"] / 1e3


def inputs(args):
    return ["--input=" + spec for spec in args.input]


def row(name, values, unit):
    print("  %-34s best %8.1f %s   median %8.1f %s" % (name, min(values), unit, statistics.median(values), unit))


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    ap.add_argument("--model", help="an archive")
    ap.add_argument("--input", action="append", help="as ctsc run takes it (float32[1,3,224,224]:rand)")
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--torch-python", default="python3")
    args = ap.parse_args()
    args.ctsc = os.path.abspath(args.ctsc)
    args.input = args.input or ["float32[1,3,224,224]:rand"]
    with tempfile.TemporaryDirectory() as work:
        env = dict(os.environ, XDG_CACHE_HOME=work, OMP_NUM_THREADS=str(args.threads), OPENBLAS_NUM_THREADS=str(args.threads))
        model = args.model or os.path.join(work, "resnet18.pt")
        if not args.model:
            subprocess.run([args.ctsc, "compile", os.path.join(ROOT, "examples/models/resnet18.py"), "-o", model], check=True, stdout=subprocess.DEVNULL)
        run = [args.ctsc, "run", model, "--threads", str(args.threads)] + inputs(args)
        python = [args.torch_python, "-c", PYTORCH, model, " ".join(args.input), str(args.threads)]
        peer = has_torch(args.torch_python)
        inference(args, model, env)  # fills the cache
        starts, alone, peers = [], [], []
        for _ in range(args.rounds):
            starts.append(process(run, env))
            alone.append(inference(args, model, env))
            if peer:
                peers.append(process(["/usr/bin/env"] + python, env))
        size = os.path.getsize(model) / (1 << 20)
    print("%s, %.1f MiB, %d thread(s), %d rounds" % (os.path.basename(model), size, args.threads, args.rounds))
    row("process start to result", [s["elapsed"] for s in starts], "ms")
    row("  processor time", [s["processor"] for s in starts], "ms")
    row("the inference alone", alone, "ms")
    row("beyond the inference", [s["elapsed"] - a for s, a in zip(starts, alone)], "ms")
    row("peak memory beyond the archive", [s["peak"] - size for s in starts], "MiB")
    if peers:
        row("PyTorch, process start to result", [s["elapsed"] for s in peers], "ms")
        row("  peak memory beyond the archive", [s["peak"] - size for s in peers], "MiB")


if __name__ == "__main__":
    main()
