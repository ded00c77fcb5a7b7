# SPDX-License-Identifier: Apache-2.0
"""Training steps against PyTorch, in turns, one thread:

    python3 bench/training/training.py --ctsc build/ctsc --python /usr/bin/python3 [--python OTHER] [--only mlp,gpt] [--rounds 3] [--precision bf16]

--precision bf16: ctsc within autocast (ctsc bench --precision autocast), PyTorch within torch.autocast("cpu", torch.bfloat16), parameters float32; both run the steps' forward and
backward passes there. PyTorch's scripts have other lists for autocast, so it runs eagerly only.

Each --python has torch. The steps stand in steps.py; PyTorch runs them eagerly and scripted, and the faster counts, ctsc at its default level. Microseconds a step, the least of all
rounds, and MiB that each process had in memory at most."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = ["mlp_small", "mlp", "cnn", "lstm", "gpt", "potential_5", "potential_100"]

INPUTS = r"""
import sys, torch
torch.manual_seed(0)
name, path = sys.argv[1:]
r = lambda *s: torch.randn(*s) * 0.1
if name == "mlp_small":
    args = (torch.randn(8, 8), torch.randint(0, 4, (8,)), [r(16, 8), r(16), r(4, 16), r(4)])
elif name == "mlp":
    args = (torch.randn(64, 784), torch.randint(0, 10, (64,)), [r(1024, 784), r(1024), r(1024, 1024), r(1024), r(10, 1024), r(10)])
elif name == "cnn":
    ps = [r(16, 1, 3, 3), r(16), r(16) + 1, r(16), r(32, 16, 3, 3), r(32), r(32) + 1, r(32), r(10, 128), r(10)]
    args = (torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,)), ps, [torch.zeros_like(p) for p in ps], [torch.zeros_like(p) for p in ps])
elif name == "lstm":
    ps = [r(1024, 256), r(1024, 256), r(1024), r(1024)] * 2
    args = (torch.randn(16, 32, 256), torch.randn(16, 32, 256), torch.zeros(2, 16, 256), [p.clone() for p in ps])
elif name.startswith("potential"):
    n = int(name.split("_")[1])
    args = (torch.randint(0, 4, (n,)), torch.rand(n, 3) * 3 * n ** (1 / 3), [r(4, 8), torch.linspace(0.5, 5, 16), r(16, 16), r(16), r(1, 16), r(1)])
else:
    d = 128
    ps = [r(256, d), r(64, d)]
    for i in range(4):
        ps += [torch.ones(d), r(d), r(3 * d, d), r(3 * d), r(d, d), r(d), torch.ones(d), r(d), r(4 * d, d), r(4 * d), r(d, 4 * d), r(d)]
    ps += [torch.ones(d), r(d)]
    args = (torch.randint(0, 256, (8, 64)), torch.randint(0, 256, (8, 64)), torch.full((64, 64), float("-inf")).triu(1), ps,
            [torch.zeros_like(p) for p in ps], [torch.zeros_like(p) for p in ps])
torch.save(args, path)
"""

EAGER = r"""
import sys, time, torch
sys.path.insert(0, sys.argv[1])
import steps
torch.set_num_threads(1)
eager = getattr(steps, sys.argv[2].split("_")[0])
args = torch.load(sys.argv[3])
bf16 = sys.argv[5] == "bf16"
if bf16:
    plain = eager
    def eager(*args):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return plain(*args)
best = 1e9
def scripted():
    try: return torch.jit.script(eager)
    except Exception: return eager
for make in (lambda: eager,) if bf16 else (lambda: eager, scripted):
    f = make()
    end = time.perf_counter() + float(sys.argv[4]) / 2
    for i in range(5): f(*args)
    while time.perf_counter() < end:
        since = time.perf_counter()
        f(*args)
        best = min(best, time.perf_counter() - since)
print(torch.__version__.split("+")[0].split("a")[0], best * 1e6)
"""


def run(command):
    """What it printed, and the MiB that it had in memory at most."""
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("failed: " + " ".join(command))
    return text, usage.ru_maxrss / 1024


def time_ctsc(ctsc, name, path, precision):
    """bench also measures the machine, which takes memory of its own: so profile's counts."""
    step = [os.path.join(HERE, "steps.py"), "--entry", name.split("_")[0], "--threads", "1", "--inputs", path, "--json"]
    step += ["--precision", "autocast"] if precision == "bf16" else []
    text, _ = run([ctsc, "bench"] + step)
    return json.loads(text)["fused"]["min_us"], run([ctsc, "profile", "--calls", "20"] + step)[1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ctsc", default="build/ctsc")
    p.add_argument("--python", action="append", default=[])
    p.add_argument("--only", default=",".join(STEPS))
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    p.add_argument("--seconds", type=float, default=2.0)
    a = p.parse_args()
    pythons = a.python or [sys.executable]
    with tempfile.TemporaryDirectory() as work:
        for name in a.only.split(","):
            path = os.path.join(work, name + ".pt")
            run([pythons[0], "-c", INPUTS, name, path])
            best, peaks = {}, {}
            for _ in range(a.rounds):
                for python in pythons:
                    text, peak = run([python, "-c", EAGER, HERE, name, path, str(a.seconds), a.precision])
                    version, us = text.split()
                    best[version], peaks[version] = min(best.get(version, 1e12), float(us)), peak
                us, peaks["ctsc"] = time_ctsc(a.ctsc, name, path, a.precision)
                best["ctsc"] = min(best.get("ctsc", 1e12), us)
            peer = min(v for k, v in best.items() if k != "ctsc")
            print("%-13s %s  ratio %.2f" % (name, "  ".join("%s %.1f (%.0f MiB)" % (k, v, peaks[k]) for k, v in best.items()), peer / best["ctsc"]), flush=True)


main()
