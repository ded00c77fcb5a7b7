#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gradient checkpointing in figures (docs/training.md): a training step of a transformer, with and without checkpoint_sequential.

    python3 bench/checkpoint.py [--python PYTHON] [--torch-python PYTHON] [--layers 24] [--segments 1,4,6,12,24] [--width 256] [--rows 16] [--tokens 256] [--rounds 3]

Each way is a process of its own, since a process's peak of memory cannot be reset: the peak is its resident memory's, less what it was before the first step (weights
and optimiser's state are there by then). Times are the processor's, the best of the steps; the processes take turns.
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STEP = """
import json, resource, sys, time
name, layers, segments, width, rows, tokens = sys.argv[1], *map(int, sys.argv[2:7])
if name == "ctsc":
    import ctsc as torch
    from ctsc.utils.checkpoint import checkpoint_sequential
else:
    import torch
    from torch.utils.checkpoint import checkpoint_sequential
from importlib import import_module
nn = import_module(torch.__name__ + ".nn")
torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(*(nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True) for _ in range(layers)))
optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
x = torch.randn(rows, tokens, width)
for p in net.parameters():
    p.grad = torch.zeros_like(p)
optimizer.step()

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()

def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))

def step():
    y = net(x) if segments < 2 else checkpoint_sequential(net, segments, x, use_reentrant=False)
    loss = y.pow(2).mean()
    loss.backward()
    optimizer.step()
    return float(loss)

before, times, loss = resident(), [], 0
for _ in range(2):
    start = time.process_time()
    loss = step()
    times.append(time.process_time() - start)
print(json.dumps({"time": min(times), "bytes": peak() - before, "loss": loss}))
"""


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--torch-python", default=None)
    ap.add_argument("--segments", default="1,4,6,12,24")
    for name, value in (("layers", 24), ("width", 256), ("rows", 16), ("tokens", 256), ("rounds", 3)):
        ap.add_argument("--" + name, type=int, default=value)
    args = ap.parse_args()
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "build", "python"))
    ways = [(peer, python, int(s)) for peer, python in (("ctsc", args.python), ("torch", args.torch_python)) if python for s in args.segments.split(",")]
    best = {}
    for _ in range(args.rounds):
        for peer, python, segments in ways:
            out = subprocess.check_output([python, "-c", STEP, peer, str(args.layers), str(segments), str(args.width), str(args.rows), str(args.tokens)], env=env, text=True)
            now = json.loads(out.splitlines()[-1])
            was = best.setdefault((peer, segments), now)
            was["time"], was["bytes"] = min(was["time"], now["time"]), min(was["bytes"], now["bytes"])
    print("| | segments | seconds | of without | peak, MB | of without |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for peer, _, segments in ways:
        one, this = best[peer, int(args.segments.split(",")[0])], best[peer, segments]
        print("| %s | %s | %.2f | %.2f | %.0f | %.2f |" % (peer, segments if segments > 1 else "-", this["time"], this["time"] / one["time"], this["bytes"] / 1e6, this["bytes"] / one["bytes"]))
    losses = {round(v["loss"], 4) for (peer, _), v in best.items() if peer == "ctsc"}
    print("\nThe loss after two steps is %s." % ("the same in all ways" if len(losses) == 1 else "not the same: %s" % losses))


if __name__ == "__main__":
    main()
