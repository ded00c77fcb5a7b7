#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctsc on a CUDA device, against what the device can do and against PyTorch: eager and torch.compile, in the same run where it is installed.

    python3 bench/cuda.py --ctsc build/ctsc [--only softmax] [--json FILE]        (make bench-cuda)

The device's limits are measured first, by ctsc itself: GB/s of a clone of 1 GiB (read and written bytes), TFLOP/s of square matrix products for each dtype.
"of limit" is a row's rate over the one that bounds it. Every contender has its turn in each round; the figures are medians over rounds of the
medians within a turn. Times are of calls that follow one another without waiting, and one wait at the end of a sample.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

from suite import Peer, number, run_json, us

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
HALF = 2
COPY = "import torch\n\ndef forward(x):\n    return x.clone()\n"
PRODUCT = "import torch\n\ndef forward(x, y):\n    return torch.mm(x, y)\n"
SOURCES = {
    "chain": "import torch\n\ndef forward(x):\n" + "    x = x * x\n" * 10 + "    return x\n",
    "gelu": "import torch\nimport torch.nn.functional as F\n\ndef forward(x, b):\n    return F.gelu(x + b) * 0.5\n",
    "row_sum": "import torch\n\ndef forward(x):\n    return x.sum(dim=1)\n",
    "softmax": "import torch\n\ndef forward(x):\n    return torch.softmax(x, dim=1)\n",
    "layer_norm": "import torch\nimport torch.nn.functional as F\n\ndef forward(x, w, b):\n    return F.layer_norm(x, [x.size(1)], w, b)\n",
    "transpose": "import torch\n\ndef forward(x):\n    return x + x.t()\n",
    "linear": "import torch\nimport torch.nn.functional as F\n\ndef forward(x, w, b):\n    return F.gelu(F.linear(x, w, b))\n",
    "attention": "import torch\n\ndef forward(q, k, v):\n    return torch.softmax(q @ k.transpose(-2, -1) * 0.125, dim=-1) @ v\n",
}


class Row:
    """moved: bytes that have to be read and written; flops: of a call. What is wanted: a part of the limit, or times faster than PyTorch."""

    def __init__(self, name, source, inputs, moved=0, flops=0, dtype="float32", limit=None, faster=None, compiled=None):
        self.name, self.source, self.inputs, self.moved, self.flops, self.dtype = name, SOURCES.get(source, source), inputs, moved, flops, dtype
        self.limit, self.faster, self.compiled = limit, faster, compiled


def spec(dtype, *sizes, fill="rand"):
    return "%s[%s]:%s" % (dtype, ",".join(map(str, sizes)), fill)


def model(name):
    with open(os.path.join(HERE, "models", name + ".py")) as f:
        return f.read()


def rows():
    n, m = 16384, 4096
    square = n * m
    yield Row("x*x ten times, 5 elements", "chain", [spec("float32", 5, fill="ones")])
    yield Row("x*x ten times, 4 M elements", "chain", [spec("float32", 4 * MIB, fill="ones")], moved=32 * MIB, faster=8)
    yield Row("x*x ten times, 64 M elements", "chain", [spec("float32", 64 * MIB, fill="ones")], moved=512 * MIB, limit=0.9)
    for dtype, size in (("float32", 4), ("float16", HALF), ("bfloat16", HALF)):
        name = " %dx%d %s" % (n, m, dtype)
        yield Row("gelu(x + b)" + name, "gelu", [spec(dtype, n, m), spec(dtype, m)], moved=2 * size * square, limit=0.9)
        yield Row("row sum" + name, "row_sum", [spec(dtype, n, m)], moved=size * square, limit=0.9)
        yield Row("softmax" + name, "softmax", [spec(dtype, n, m)], moved=2 * size * square, limit=0.9)
        yield Row("layer_norm" + name, "layer_norm", [spec(dtype, n, m), spec(dtype, m), spec(dtype, m)], moved=2 * size * square, limit=0.9)
    yield Row("x + x.t() 8192x8192 float32", "transpose", [spec("float32", 8192, 8192)], moved=12 * 8192 * 8192)
    for dtype in ("float16", "bfloat16"):
        yield Row("gelu(linear) 4096x4096x4096 " + dtype, "linear", [spec(dtype, 4096, 4096)] * 2 + [spec(dtype, 4096)],
                  flops=2 * 4096 ** 3, dtype=dtype)
        yield Row("attention 8x16x1024x64 " + dtype, "attention", [spec(dtype, 8, 16, 1024, 64)] * 3, flops=4 * 128 * 1024 * 1024 * 64, dtype=dtype)

    yield Row("ResNet-18, 32 images, float16", model("resnet18"), [spec("float16", 32, 3, 224, 224)], compiled=1)
    yield Row("transformer, 8x512 tokens, bfloat16", model("transformer"), [spec("bfloat16", 8, 512, 768)], compiled=1)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.count = args, folder, 0

    def write(self, source):
        self.count += 1
        path = os.path.join(self.folder, "m%d.py" % self.count)
        with open(path, "w") as f:
            f.write(source)
        return path

    def ctsc(self, path, inputs):
        command = [self.args.ctsc, "bench", path, "--json", "--device", "cuda", "--opt", "2", "--seconds", str(self.args.seconds)]
        for one in inputs:
            command += ["--input", one]
        return run_json(command)

    def rate(self, source, inputs, amount):
        """amount per second of a call, or why it is not known."""
        got = self.ctsc(self.write(source), inputs)
        return got.get("error") if "error" in got else amount / (got["fused"]["median_us"] * 1e-6)


def limits(bench):
    found = {"copy": bench.rate(COPY, [spec("float32", 256 * MIB, fill="ones")], 2048 * MIB)}
    for dtype in ("float32", "float16", "bfloat16"):
        found[dtype] = bench.rate(PRODUCT, [spec(dtype, 8192, 8192)] * 2, 2 * 8192 ** 3)
    return found


def measure(bench, row, limit, eager, compiled):
    path = bench.write(row.source)
    times, missing = {}, {"eager": eager.load_on(path, row), "compile": compiled.load_on(path, row)}
    for _ in range(bench.args.rounds):
        got = bench.ctsc(path, row.inputs)
        if "error" in got:
            missing["ctsc"] = got["error"]
        else:
            times.setdefault("ctsc", []).append(got["fused"]["median_us"])
        for peer, who in ((eager, "eager"), (compiled, "compile")):
            if missing[who]:
                continue
            got = peer.ask(do="run", seconds=bench.args.seconds)
            if "error" in got:
                missing[who] = got["error"]
            else:
                times.setdefault(who, []).append(got["median_us"])
    r = {"work": row.name, "wanted_limit": row.limit, "wanted_faster": row.faster, "wanted_compiled": row.compiled,
         "missing": {w: why for w, why in missing.items() if why}}
    for who in ("ctsc", "eager", "compile"):
        r[who + "_us"] = statistics.median(times[who]) if times.get(who) else None
    bound = limit["copy" if row.moved else row.dtype] if row.moved or row.flops else None
    r["of_limit"] = (row.moved or row.flops) / (r["ctsc_us"] * 1e-6) / bound if r["ctsc_us"] and isinstance(bound, float) else None
    for who in ("eager", "compile"):
        r["x_" + who] = r[who + "_us"] / r["ctsc_us"] if r[who + "_us"] and r["ctsc_us"] else None
    return r


class DevicePeer(Peer):
    def __init__(self, python, how):
        super().__init__(python, "torch", 1)
        self.how = how

    def load_on(self, path, row):
        if not self.there:
            return "not installed"
        answer = self.ask(do="load", model=path, inputs=row.inputs, threads=1, device="cuda", how=self.how)
        self.version = answer.get("version", self.version)
        return answer.get("error")


def wanted(r):
    if r["wanted_limit"]:
        return ">= %.2g of limit" % r["wanted_limit"]
    if r["wanted_compiled"]:
        return ">= %.2g x compile" % r["wanted_compiled"]
    return ">= %.2g x eager" % r["wanted_faster"] if r["wanted_faster"] else ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ctsc", default="build/ctsc")
    p.add_argument("--rounds", type=int, default=3, help="turns of each contender per row (3)")
    p.add_argument("--seconds", type=float, default=0.4, help="length of a turn (0.4)")
    p.add_argument("--only", default="", help="rows whose name contains this")
    p.add_argument("--torch-python", default=sys.executable, help="a Python that has PyTorch with CUDA")
    p.add_argument("--json", metavar="FILE", help="write all figures there as well")
    args = p.parse_args()
    eager, compiled = DevicePeer(args.torch_python, "eager"), DevicePeer(args.torch_python, "compile")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, folder)
        limit = limits(bench)
        if not isinstance(limit["copy"], float):
            print("no CUDA device to measure: %s" % limit["copy"])
            return 1
        print("copy %.0f GB/s" % (limit["copy"] / 1e9) + "".join(
            ", %s product %s" % (d, "%.0f TFLOP/s" % (limit[d] / 1e12) if isinstance(limit[d], float) else limit[d])
            for d in ("float32", "float16", "bfloat16")))
        print("%-42s %10s %10s %10s %9s %9s %9s  %s" % ("microseconds a call", "ctsc", "eager", "compile", "x eager", "x compile", "of limit", "wanted"))
        for row in rows():
            if args.only not in row.name:
                continue
            r = measure(bench, row, limit, eager, compiled)
            results.append(r)
            print("%-42s %10s %10s %10s %9s %9s %9s  %s" % (r["work"], us(r["ctsc_us"]), us(r["eager_us"]), us(r["compile_us"]), number(
                r["x_eager"], "%.2f"), number(r["x_compile"], "%.2f"), number(r["of_limit"], "%.2f"), wanted(r)), flush=True)
            if "ctsc" in r["missing"]:
                print("    ctsc: %s" % r["missing"]["ctsc"])
    print("PyTorch %s" % (eager.version if eager.there else "is not installed here, and was left out"))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"torch": eager.version, "limits": limit, "rows": results}, f, indent=1)
    return 1 if any("ctsc" in r["missing"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
