#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package in figures (docs/python.md).

    python3 bench/python.py --python PYTHON [--ctsc build/ctsc] [--torch-python PYTHON] [--onnxruntime-python PYTHON] [--only import,start,call,threads,net]
                            [--net FILE --input SPEC]

PYTHON has the wheel installed, or finds the package by PYTHONPATH. Each figure is the best of some rounds, those that are compared taken in turn.
  import   what `import ctsc` adds to a Python that does nothing
  start    from the start of a process to the first result of models/digits_cnn.pt, and the peak of its memory; the same by torch and by onnxruntime
  call     one call of x * x ten times, 5 elements, from Python; torch.jit's
  threads  calls of the same network by two threads of Python, over those by one; operators one thread each
  net      a network's call from Python, and by the C interface (`ctsc bench`)
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS = os.path.join(ROOT, "models", "digits_cnn.pt")
START = {
    "ctsc": "import sys, ctsc\nm = ctsc.load(sys.argv[1])\nprint(m(ctsc.zeros(1, 1, 8, 8)).argmax(1).tolist())",
    "torch": "import sys, torch\nm = torch.jit.load(sys.argv[1])\nwith torch.no_grad(): print(m(torch.zeros(1, 1, 8, 8)).argmax(1).tolist())",
    "onnxruntime": "import sys, numpy, onnxruntime as ort\ns = ort.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\n"
                   "print(s.run(None, {s.get_inputs()[0].name: numpy.zeros((1, 1, 8, 8), 'f')})[0].argmax(1).tolist())",
}
CHAIN = """
import sys, time
if sys.argv[1] == "ctsc":
    import ctsc
    f, x = ctsc.compile("import torch\\ndef forward(x: torch.Tensor):\\n" + "    x = x * x\\n" * 10 + "    return x\\n"), ctsc.ones(5)
    for _ in range(20): f(x)
    ctsc.wait_for_kernels(20)
else:
    import os, tempfile, torch
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/chain.py", "w") as out: out.write("import torch\\ndef forward(x: torch.Tensor):\\n" + "    x = x * x\\n" * 10 + "    return x\\n")
        sys.path.insert(0, folder)
        import chain
        f, x = torch.jit.script(chain.forward), torch.ones(5)
    torch.set_num_threads(1)
best = 1e9
def many(n):
    for _ in range(n): f(x)
many(2000)
for _ in range(15):
    start = time.perf_counter()
    many(20000)
    best = min(best, (time.perf_counter() - start) / 20000)
print(best * 1e6)
"""
THREADS = """
import sys, threading, time
import ctsc
ctsc.set_num_threads(1)
m, x = ctsc.load(sys.argv[1]), ctsc.zeros(64, 1, 8, 8)
for _ in range(20): m(x)
ctsc.wait_for_kernels(20)
def work(n):
    for _ in range(n): m(x)
def seconds(threads, n):
    ts = [threading.Thread(target=work, args=(n,)) for _ in range(threads)]
    start = time.perf_counter()
    for t in ts: t.start()
    for t in ts: t.join()
    return time.perf_counter() - start
work(200)
one, two = 1e9, 1e9
for _ in range(8):
    one, two = min(one, seconds(1, 1000)), min(two, seconds(2, 1000))
print(2 * one / two)
"""
NET = """
import sys, time
import ctsc
ctsc.set_num_threads(int(sys.argv[3]))
m, x = ctsc.load(sys.argv[1]), ctsc.rand(*eval(sys.argv[2]))
for _ in range(3): m(x)
ctsc.wait_for_kernels(60)
best = 1e9
for _ in range(30):
    start = time.perf_counter()
    m(x)
    best = min(best, time.perf_counter() - start)
print(best * 1e3)
"""


def process(command, env=None):
    """One process: (milliseconds, peak memory in MB)"""
    start = time.monotonic()
    pid = os.posix_spawn(command[0], command, env or os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("%s: exit %d" % (" ".join(command)[:200], os.waitstatus_to_exitcode(status)))
    return (time.monotonic() - start) * 1e3, usage.ru_maxrss * 1024 / 1e6


def figure(python, code, *args):
    return float(subprocess.run([python, "-c", code, *args], check=True, stdout=subprocess.PIPE, text=True).stdout)


def others(args):
    return [(name, python) for name, python in (("torch", args.torch_python), ("onnxruntime", args.onnxruntime_python)) if python]


def imports(args):
    plain, with_it = [], []
    for _ in range(args.rounds):
        plain.append(process([args.python, "-c", "pass"])[0])
        with_it.append(process([args.python, "-c", "import ctsc"])[0])
    print("import ctsc: %.1f ms (Python alone: %.1f ms)" % (min(with_it) - min(plain), min(plain)))


def start(args):
    with tempfile.TemporaryDirectory() as folder:
        models = {"ctsc": DIGITS, "torch": DIGITS, "onnxruntime": os.path.join(folder, "digits.onnx")}
        if args.onnxruntime_python:
            subprocess.run([args.ctsc, "convert", DIGITS, models["onnxruntime"], "--input=float32[1,1,8,8]"], check=True, stdout=subprocess.DEVNULL)
        found = {}
        for _ in range(args.rounds):
            for name, python in [("ctsc", args.python)] + others(args):
                found.setdefault(name, []).append(process([python, "-c", START[name], models[name]]))
    for name, rows in found.items():
        print("first result of digits_cnn, %-12s %7.1f ms, %6.1f MB" % (name + ":", min(r[0] for r in rows), min(r[1] for r in rows)))


def call(args):
    rows = {"ctsc": [], "torch": []}
    for _ in range(3):
        rows["ctsc"].append(figure(args.python, CHAIN, "ctsc"))
        if args.torch_python:
            rows["torch"].append(figure(args.torch_python, CHAIN, "torch"))
    for name, values in rows.items():
        if values:
            print("x * x ten times, 5 elements, %-6s %.2f us" % (name + ":", min(values)))


def threads(args):
    values = [figure(args.python, THREADS, DIGITS) for _ in range(3)]
    print("two threads of Python: %.2f times one; the machine: two processes %.2f times one" % (max(values), processes()))


def processes():
    """What two processes do of pure Python, over one: less than 2 where others use the machine."""
    spin = [sys.executable, "-c", "for i in range(10 ** 7): pass"]

    def seconds(n):
        start = time.perf_counter()
        for p in [subprocess.Popen(spin) for _ in range(n)]:
            p.wait()
        return time.perf_counter() - start
    return 2 * min(seconds(1) for _ in range(3)) / min(seconds(2) for _ in range(3))


def net(args):
    if not args.net:
        return
    sizes = args.input[args.input.index("[") + 1:args.input.index("]")]
    for n in (1, 2):
        python, c = [], []
        for _ in range(3):
            python.append(figure(args.python, NET, args.net, sizes, str(n)))
            out = subprocess.run([args.ctsc, "bench", args.net, "--opt", "2", "--calls", "30", "--seconds", "0.1", "--threads", str(n), "--json", "--input=" + args.input],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
            c.append(json.loads(out)["fused"]["min_us"] / 1e3)
        print("%s, %d thread%s: %.2f ms from Python, %.2f ms from C: %+.1f %%" % (
            os.path.basename(args.net), n, "s" * (n > 1), min(python), min(c), 100 * (min(python) / min(c) - 1)))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("--torch-python", default="")
    ap.add_argument("--onnxruntime-python", default="")
    ap.add_argument("--only", default="import,start,call,threads,net")
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--net", default="")
    ap.add_argument("--input", default="float32[1,3,224,224]:rand")
    args = ap.parse_args()
    for name, f in (("import", imports), ("start", start), ("call", call), ("threads", threads), ("net", net)):
        if name in args.only.split(","):
            f(args)


if __name__ == "__main__":
    main()
