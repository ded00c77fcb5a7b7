#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark suite: ctsc as written, optimised and fused; where they are installed, PyTorch and ONNX Runtime, in the same run.

    python3 bench/suite.py [--threads 1,2] [--only softmax] [--json FILE]        (make bench)

Without --ctsc, ctsc is built first, in build/; so is the program that measures copies, where it is missing.

Every row is measured in rounds; in each round every contender has its turn, so that they meet the same disturbances. The figures are
medians over the rounds of the medians within a turn. "x peer" is how many times faster than PyTorch the fused code is; where the yardstick
of a row is memory, "x copy" is its time over that of one memcpy of as many bytes, with as many threads. Needs nothing but Python.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Settings for another machine would slow the matrix products of everybody down.
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)


class Row:
    """One line of the table. wanted: what the fused code is to be, in terms of PyTorch's time or of a copy's."""

    def __init__(self, name, model, inputs, faster=None, copies=None, copy_bytes=0):
        self.name, self.model, self.inputs = name, os.path.join(HERE, "models", model + ".py"), inputs
        self.faster, self.copies, self.copy_bytes = faster, copies, copy_bytes


LSTM = lambda batch, size: ["float32[%d,%d]:rand" % s for s in
                            ((batch, size), (batch, size), (batch, size), (4 * size, size), (4 * size, size))] + \
                           ["float32[%d]:rand" % (4 * size)] * 2
# Squares of numbers below 1 become denormal, on which multiplying takes longer: these rows start from ones.
ROWS = [
    Row("x*x ten times, 5 elements", "power_chain", ["float32[5]:ones"], faster=26),
    Row("x*x ten times, 1 M elements", "power_chain", ["float32[1048576]:ones"], copies=1.2, copy_bytes=4 << 20),
    Row("x*x ten times, 4 M elements", "power_chain", ["float32[4194304]:ones"], copies=1.1, copy_bytes=16 << 20),
    Row("pairwise_distance batched 100x200x2", "pairwise_batched", ["float32[100,2]:rand", "float32[200,2]:rand"], faster=12.4),
    Row("pairwise_distance batched 1000x2000x10", "pairwise_batched", ["float32[1000,10]:rand", "float32[2000,10]:rand"], faster=37),
    Row("pairwise_distance, naive loops, 100x200x2", "pairwise_loops", ["float32[100,2]:rand", "float32[200,2]:rand"], faster=1867),
    Row("LSTM cell 3x20 (chunk form)", "lstm_cell", LSTM(3, 20), faster=5.9),
    Row("LSTM cell 64x512", "lstm_cell", LSTM(64, 512), faster=1.4),
    Row("tanh-gelu + layer_norm 2048x768", "gelu_layer_norm",
        ["float32[2048,768]:rand", "float32[768]:rand", "float32[768]:rand"], faster=8.1),
    Row("softmax 2048x1024", "softmax", ["float32[2048,1024]:rand"], faster=2.15),
]


class Peer:
    """A peer.py that is kept running; `there` is False where the library is not installed.

    A process per number of threads: PyTorch's set_num_threads does not reach an OpenBLAS with threads of its own, its environment does.
    """

    def __init__(self, python, library, threads):
        self.library, self.there, self.version, self.threads = library, False, "", threads
        env = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
        try:
            self.process = subprocess.Popen([python, os.path.join(HERE, "peer.py"), library], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
            self.there = "ready" in json.loads(self.process.stdout.readline() or "{}")
        except OSError:
            pass

    def ask(self, **question):
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        except OSError:
            self.there = False
            return {"error": "it ended"}

    def load(self, model, row):
        answer = self.ask(do="load", model=model, inputs=row.inputs, threads=self.threads) if self.there else {"error": "not installed"}
        self.version = answer.get("version", self.version)
        return answer.get("error")


def run_json(command):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode != 0:
        return {"error": p.stderr.strip().split("\n")[0] or "exit code %d" % p.returncode}
    return json.loads(p.stdout)


def ctsc_command(args, row, threads):
    command = [args.ctsc, "bench", row.model, "--json", "--threads", str(threads), "--seconds", str(3 * args.seconds)]
    for spec in row.inputs:
        command += ["--input", spec]
    return command


def measure(args, row, threads, torch, ort, folder):
    """{contender: [medians]}, {contender: why not}, the last object of ctsc bench."""
    times, missing, last = {}, {}, {}
    missing["torch"] = torch.load(row.model, row)
    missing["onnxruntime"] = "not installed"
    if ort.there and torch.there:
        onnx = os.path.join(folder, "model.onnx")
        missing["onnxruntime"] = torch.ask(do="export", model=row.model, inputs=row.inputs, to=onnx).get("error") or \
            ort.load(onnx, row)
        torch.load(row.model, row)
    for _ in range(args.rounds):
        got = run_json(ctsc_command(args, row, threads))
        if "error" in got:
            missing["ctsc"] = got["error"]
        else:
            last = got
            for level in ("eager", "optimised", "fused"):
                times.setdefault(level, []).append(got[level]["median_us"])
        for peer in (torch, ort):
            if missing[peer.library]:
                continue
            got = peer.ask(do="run", seconds=args.seconds)
            if "error" in got:
                missing[peer.library] = got["error"]
            else:
                times.setdefault(peer.library, []).append(got["median_us"])
        if row.copies:
            got = run_json([args.copy, str(row.copy_bytes), str(threads), str(args.seconds)])
            if "error" not in got:
                times.setdefault("copy", []).append(got["median_us"])
    return times, missing, last


def result(row, threads, measured):
    times, missing, last = measured
    r = {"work": row.name, "threads": threads, "wanted_faster": row.faster, "wanted_copies": row.copies}
    for who in ("eager", "optimised", "fused", "torch", "onnxruntime", "copy"):
        r[who + "_us"] = statistics.median(times[who]) if times.get(who) else None
    for who in ("torch", "onnxruntime"):
        r["x_" + who] = r[who + "_us"] / r["fused_us"] if r[who + "_us"] and r["fused_us"] else None
    r["x_copy"] = r["fused_us"] / r["copy_us"] if r["fused_us"] and r["copy_us"] else None
    r["missing"] = {who: why for who, why in missing.items() if why}
    for name in ("kernels", "compile_us", "first_call_us", "bytes", "flops", "copy_gbps", "fma_gflops"):
        r[name] = last.get(name)
    return r


def number(x, form="%.4g"):
    return "-" if x is None else form % x


def us(x):
    return number(x, "%.3f" if x is not None and x < 10 else "%.1f")


def wanted(r):
    if r["wanted_copies"]:
        return "<= %.3g copies" % r["wanted_copies"]
    return ">= %.4g x" % r["wanted_faster"]


def print_row(r):
    print("%-42s %2d %10s %10s %10s %10s %10s %9s %9s %9s  %s" %
          (r["work"], r["threads"], us(r["eager_us"]), us(r["optimised_us"]), us(r["fused_us"]), us(r["torch_us"]),
           us(r["onnxruntime_us"]), number(r["x_torch"], "%.2f"), number(r["x_onnxruntime"], "%.2f"), number(r["x_copy"], "%.2f"),
           wanted(r)), flush=True)
    if "ctsc" in r["missing"]:
        print("    ctsc: %s" % r["missing"]["ctsc"])


def build(ctsc):
    """ctsc, by default that of build/, and bench/copy.c beside it: made where they have to be. Their paths."""
    root = os.path.dirname(HERE)
    folder = os.path.dirname(os.path.abspath(ctsc)) if ctsc else os.path.join(root, "build")
    copy = os.path.join(folder, "bench", "copy")
    if not ctsc or not os.path.exists(copy):
        print("building in %s" % folder, file=sys.stderr)
        if os.path.commonpath([root, folder]) == root: # as make calls it by default
            folder = os.path.relpath(folder, root)
        built = folder + "/bench/copy"
        targets = [built] if ctsc else ["deps-build", "build-all", built]
        for target in targets: # one after the other: what is built needs the packages
            if subprocess.run(["make", "-s", "-C", root, "-j%d" % (os.cpu_count() or 1), "BUILD=" + folder, target], stdout=sys.stderr).returncode:
                sys.exit("suite.py: make failed")
    return ctsc or os.path.join(root, "build", "ctsc"), copy


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ctsc", help="the command (that of build/, which is built)")
    p.add_argument("--copy", help="bench/copy.c, built (beside ctsc, in bench/)")
    p.add_argument("--threads", default="1,2", help="numbers of threads (1,2)")
    p.add_argument("--rounds", type=int, default=3, help="turns of each contender per row (3)")
    p.add_argument("--seconds", type=float, default=0.4, help="length of a turn, and of each level of ctsc's (0.4)")
    p.add_argument("--only", default="", help="rows whose name contains this")
    p.add_argument("--torch-python", default="/usr/bin/python3", help="a Python that has PyTorch")
    p.add_argument("--onnxruntime-python", default=sys.executable, help="a Python that has ONNX Runtime")
    p.add_argument("--json", metavar="FILE", help="write all figures there as well")
    args = p.parse_args()
    if not args.ctsc or not args.copy:
        args.ctsc, copy = build(args.ctsc)
        args.copy = args.copy or copy
    counts = [int(t) for t in args.threads.split(",")]
    peers = {t: (Peer(args.torch_python, "torch", t), Peer(args.onnxruntime_python, "onnxruntime", t)) for t in counts}
    print("microseconds a call; \"x torch\", \"x onnx\": times faster than they; \"x copy\": times the time of one memcpy of the bytes")
    print("%-42s %2s %10s %10s %10s %10s %10s %9s %9s %9s  %s" %
          ("work", "th", "eager", "optimised", "fused", "torch", "onnx", "x torch", "x onnx", "x copy", "wanted"))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            for threads in counts if args.only in row.name else ():
                results.append(result(row, threads, measure(args, row, threads, *peers[threads], folder)))
                print_row(results[-1])
    torch, ort = peers[counts[0]]
    for peer, name in ((torch, "PyTorch"), (ort, "ONNX Runtime")):
        print("%s %s" % (name, peer.version if peer.there else "is not installed here, and was left out"))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"torch": torch.version, "onnxruntime": ort.version, "rows": results}, f, indent=1)
    return 1 if any("ctsc" in r["missing"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
