#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer of ctsc in the benchmark suite: PyTorch, or ONNX Runtime, kept running between measurements.

    peer.py torch | onnxruntime

Reads one JSON object per line and answers each with one:
    {"do": "load", "model": "x.py", "inputs": ["float32[5]:rand", ...], "threads": 1}   {"version": "..."} or {"error": "..."}
         torch: "device": "cuda" and "how": "eager" or "compile" as well, instead of a script on the CPU
    {"do": "run", "seconds": 0.5}                                                        {"min_us": ..., "median_us": ...}
    {"do": "export", "model": ..., "inputs": ..., "to": "x.onnx"}   (torch)              {} or {"error": "..."}

Samples are batches of calls of 20 microseconds at least, as in `ctsc bench`; on a device they end with a wait. The call is Python's, some tenths of a microsecond; there is
no other way to call either.
"""
import importlib.util
import json
import re
import sys
import time

BATCH_SECONDS = 20e-6
SPEC = re.compile(r"(\w+)\[([\d,]*)\](?::(\w+))?$")


def measure(call, seconds, wait=lambda: None):
    for _ in range(3):
        call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = max(time.perf_counter() - start, 1e-9)
    batch = max(1, min(100000, int(BATCH_SECONDS / once) + 1))
    samples = []
    begin = time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(batch):
            call()
        wait()
        samples.append((time.perf_counter() - start) / batch)
    samples.sort()
    return {"min_us": samples[0] * 1e6, "median_us": samples[len(samples) // 2] * 1e6}


def parse(spec):
    dtype, sizes, fill = SPEC.match(spec).groups()
    return dtype, [int(n) for n in sizes.split(",") if n], fill or "rand"


class Torch:
    def __init__(self):
        import torch
        self.torch, self.wait = torch, lambda: None

    def inputs(self, specs):
        made = []
        self.torch.manual_seed(0)
        for spec in specs:
            dtype, sizes, fill = parse(spec)
            made.append(getattr(self.torch, fill)(*sizes, dtype=getattr(self.torch, dtype)))
        return made

    def function(self, path, how=None, device="cpu"):
        spec = importlib.util.spec_from_file_location("model", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if how:
            f = module.Main().eval() if hasattr(module, "Main") else module.forward
            f = f.to(device) if hasattr(module, "Main") else f
            return self.torch.compile(f) if how == "compile" else f
        if hasattr(module, "Main"):
            return self.torch.jit.script(module.Main().eval())
        return self.torch.jit.script(module.forward)

    def load(self, q):
        self.torch.set_num_threads(q["threads"])
        device = q.get("device", "cpu")
        f, args = self.function(q["model"], q.get("how"), device), [x.to(device) for x in self.inputs(q["inputs"])]
        self.wait = self.torch.cuda.synchronize if device != "cpu" else lambda: None
        with self.torch.no_grad():
            for _ in range(5):  # the first calls profile and compile
                f(*args)
        self.call = lambda: f(*args)
        return {"version": self.torch.__version__}

    def export(self, q):
        f, args = self.function(q["model"]), self.inputs(q["inputs"])

        class Main(self.torch.nn.Module):
            def forward(self, *x):
                return f(*x)

        module = self.torch.jit.trace(Main(), tuple(args), check_trace=False)
        self.torch.onnx.export(module, tuple(args), q["to"], opset_version=16)
        return {}

    def run(self, q):
        with self.torch.no_grad():
            return measure(self.call, q["seconds"], self.wait)


class Onnxruntime:
    def __init__(self):
        import numpy
        import onnxruntime
        self.numpy, self.ort = numpy, onnxruntime

    def load(self, q):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = q["threads"]
        options.inter_op_num_threads = 1
        session = self.ort.InferenceSession(q["model"], options, providers=["CPUExecutionProvider"])
        random = self.numpy.random.default_rng(0)
        feed = {}
        for node, spec in zip(session.get_inputs(), q["inputs"]):
            dtype, sizes, fill = parse(spec)
            data = random.random(sizes) if fill == "rand" else getattr(self.numpy, fill)(sizes)
            feed[node.name] = data.astype(dtype)
        session.run(None, feed)
        self.call = lambda: session.run(None, feed)
        return {"version": self.ort.__version__}

    def run(self, q):
        return measure(self.call, q["seconds"])


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print goes elsewhere
    try:
        peer = {"torch": Torch, "onnxruntime": Onnxruntime}[sys.argv[1]]()
        answer = {"ready": True}
    except ImportError as e:
        peer, answer = None, {"error": str(e)}
    print(json.dumps(answer), file=answers, flush=True)
    for line in sys.stdin if peer else ():
        q = json.loads(line)
        try:
            answer = getattr(peer, q["do"])(q)
        except Exception as e:  # the suite leaves this row out and says why
            answer = {"error": "%s: %s" % (type(e).__name__, str(e).split("\n")[0][:200])}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
