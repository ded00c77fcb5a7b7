#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks compiled ahead of time, by ctsc compile --aot and by PyTorch's AOTInductor: size, start, time of a call.

    python3 bench/aot.py --build build [--torch-python /path/python] [--only resnet18]

One thread. `size`: the stripped program with all that it has of the network, and its weights; AOTInductor's is the package, which is loaded by libtorch. `start`:
from the start of a process to the first result, the best of five; `call`: the best of thirty. AOTInductor's process is Python, with torch imported; `load` is what
loading the package and the first call take in it.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NETWORKS = [("digits_cnn", "models/digits_cnn.pt", (1, 1, 8, 8)), ("resnet18", "examples/models/resnet18.py", (1, 3, 224, 224)),
            ("mobilenet_v2", "examples/models/mobilenet_v2.py", (1, 3, 224, 224))]

MAIN = r"""
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
int main(int argc, char **argv) {
    float *x = malloc(NET_IN0_BYTES), *y = malloc(NET_OUT0_BYTES);
    const void *in[] = {x};
    void *out[] = {y}, *workspace = malloc(NET_WORKSPACE);
    for (size_t i = 0; i < NET_IN0_BYTES / 4; i++) x[i] = (float)(i % 17) / 17 - 0.5f;
    double best = 1e9;
    (void)argv;
    for (int k = 0; k < (argc > 1 ? 30 : 1); k++) {
        double start = now();
        if (net(in, out, workspace)) return 1;
        if (now() - start < best) best = now() - start;
    }
    printf("%f\n", best);
    return 0;
}
"""

WORKER = r"""
import sys, time
import torch
path, calls, sizes = sys.argv[1], int(sys.argv[2]), [int(n) for n in sys.argv[3].split(",")]
torch.set_num_threads(1)
start = time.perf_counter()
net = torch._inductor.aoti_load_package(path)
x = torch.rand(sizes) - 0.5
with torch.inference_mode():
    net(x)
    load = time.perf_counter() - start
    best = 1e9
    for _ in range(calls):
        start = time.perf_counter()
        net(x)
        best = min(best, time.perf_counter() - start)
print(load * 1e3, best * 1e3)
"""

COMPILER = r"""
import importlib.util, sys
import torch
path, package, sizes = sys.argv[1], sys.argv[2], [int(n) for n in sys.argv[3].split(",")]
torch.set_num_threads(1)
torch.manual_seed(0)
if path.endswith(".pt"):
    source = open(sys.argv[4], encoding="utf-8").read()  # the class alone: the file trains
    exec("import torch\nfrom torch import nn\nfrom torch.nn import functional as F\nclass DigitsNet" + source.split("class DigitsNet")[1].split("def main")[0])
    Main = DigitsNet
    net = Main()
    net.load_state_dict(torch.jit.load(path).state_dict())
else:
    spec = importlib.util.spec_from_file_location("net", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.Main()
net.eval()
torch._inductor.config.cpp.threads = 1
torch._inductor.config.freezing = True
with torch.no_grad():
    torch._inductor.aoti_compile_and_package(torch.export.export(net, (torch.rand(sizes),)), package_path=package)
"""


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit("%s: %s" % (command[0], (done.stderr or done.stdout)[-2000:]))
    return done


def start_of(command, env=None):
    """Milliseconds of the quickest of five processes."""
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        run(command, env=env)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def ours(build, model, sizes, work):
    path = os.path.join(ROOT, model)
    if model.endswith(".py"):
        run([build + "/ctsc", "compile", path, "-o", work + "/net.pt"])
        path = work + "/net.pt"
    start = time.perf_counter()
    said = run([build + "/ctsc", "compile", path, "--aot", work + "/net.o", "--input", "float32[%s]:rand" % ",".join(map(str, sizes))]).stderr
    took = time.perf_counter() - start
    library = os.path.join(build, "rt", re.search(r" for (\w+): net,", said).group(1))
    with open(work + "/main.c", "w", encoding="utf-8") as f:
        f.write(MAIN)
    run(["cc", "-O2", "-I" + work, work + "/main.c", work + "/net.o", "-o", work + "/net", "-L" + library, "-lctsc-rt-more", "-lctsc-rt", "-lctsc-rt-cpu", "-lm",
         "-Wl,--gc-sections", "-s"])
    return os.path.getsize(work + "/net"), start_of([work + "/net"]), None, float(run([work + "/net", "calls"]).stdout), took


def theirs(python, model, sizes, work):
    env = dict(os.environ, OMP_NUM_THREADS="1", TORCHINDUCTOR_CACHE_DIR=work + "/inductor")
    shape, package = ",".join(map(str, sizes)), work + "/net.pt2"
    start = time.perf_counter()
    run([python, "-c", COMPILER, os.path.join(ROOT, model), package, shape, os.path.join(ROOT, "models", "train_digits.py")], env=env)
    took = time.perf_counter() - start
    once = [python, "-c", WORKER, package, "0", shape]
    load, call = map(float, run(once[:-2] + ["30", shape], env=env).stdout.split())
    return os.path.getsize(package), start_of(once, env), load, call, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--torch-python")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print("| network | compiled by | size, bytes | start, ms | load, ms | call, ms | compilation, s |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, model, sizes in NETWORKS:
        if args.only not in name:
            continue
        for who in ("ctsc",) + (("AOTInductor",) if args.torch_python else ()):
            with tempfile.TemporaryDirectory(prefix="ctsc-bench-") as work:
                size, start, load, call, took = (ours(os.path.join(ROOT, args.build), model, sizes, work) if who == "ctsc" else
                                                 theirs(args.torch_python, model, sizes, work))
            print("| %s | %s | %s | %.1f | %s | %.3f | %.1f |" % (name, who, format(size, ","), start, "" if load is None else "%.1f" % load, call, took), flush=True)


if __name__ == "__main__":
    main()
