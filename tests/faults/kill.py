#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments of what writes files: afterwards each file is the old one or the new one, never a part of one.

    python3 tests/faults/kill.py --ctsc build/ctsc [--count 1000] [--seed 1] [--only save,checkpoint,kernels]          (make test-kill)

save: ctsc compile overwrites one archive with another. checkpoint: ctsc train writes a checkpoint after each batch; it resumes from what is left. kernels: a
call compiles kernels into a folder; a call with what is left gives the same result. Each kind learns first how long it takes, and is killed within that time.
The exit status is 1 if a file was damaged, or if no attempt was killed in the middle.
"""
import argparse
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NET = "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = torch.nn.Linear(%d, 400)\n" \
      "        self.b = torch.nn.Linear(400, 10)\n\n    def forward(self, x):\n        return self.b(torch.relu(self.a(x) * 2 + 1).tanh() * 0.5)\n"
# The loop makes kernels in the first call.
LOOP = "import torch\n\ndef forward(x, n: int):\n    for i in range(n):\n        x = ((x * 1.5 + 0.25).tanh() * x + i).sigmoid()\n    return x.sum()\n"


class Kind:
    """What is written (start), and what must hold afterwards (check: None, or what is wrong)."""

    def __init__(self, ctsc, folder):
        self.ctsc, self.folder = ctsc, folder
        self.env = dict(os.environ, CTSC_CACHE=os.path.join(folder, "cache"), XDG_STATE_HOME=os.path.join(folder, "state"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *args, **more):
        return subprocess.run([self.ctsc, *args], env=self.env, capture_output=True, text=True, **more)

    def begin(self):
        pass

    def start(self):
        return subprocess.Popen([self.ctsc, *self.command()], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Save(Kind):
    def begin(self):
        self.sums = {}
        for width in 600, 500:
            with open(self.path("net%d.py" % width), "w") as f:
                f.write(NET % width)
            self.run("compile", self.path("net%d.py" % width), "-o", self.path("net.pt"), check=True)
            self.sums[self.sum()] = width
        self.turn = 0

    def sum(self):
        r = self.run("inspect", self.path("net.pt"))
        return re.sub(r"net\d+", "net", r.stdout) if r.returncode == 0 else r.stderr

    def command(self):
        self.turn ^= 1
        return ["compile", self.path("net%d.py" % (600 if self.turn else 500)), "-o", self.path("net.pt")]

    def check(self):
        found = self.sum()
        return None if found in self.sums else found


class Checkpoint(Kind):
    def begin(self):
        with open(self.path("net.py"), "w") as f:
            f.write(NET % 64)
        with open(self.path("train.csv"), "w") as f:
            f.write(",".join("x%d" % i for i in range(64)) + ",y\n")
            for row in range(40):
                f.write(",".join("%d" % ((row * 7 + i * 3) % 11) for i in range(64)) + ",%d\n" % (row % 10))

    def command(self):
        resume = ["--resume", self.path("state")] if os.path.exists(self.path("state")) else []
        return ["train", self.path("net.py"), "--data", self.path("train.csv"), "--target", "y", "--loss", "cross_entropy", "--epochs", "3", "--batch", "2",
                "--checkpoint", self.path("state"), "--checkpoint-every", "1", "-o", self.path("out.pt"), *resume]

    def check(self):
        if not os.path.exists(self.path("state")):
            return None
        r = self.run(*self.command())
        for name in "state", "out.pt":
            if r.returncode == 0 and os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        return None if r.returncode == 0 else r.stderr


class Kernels(Kind):
    def begin(self):
        with open(self.path("loop.py"), "w") as f:
            f.write(LOOP)
        self.want = self.result()

    def command(self):
        return ["run", self.path("loop.py"), "--input", "float32[64,64]:ones", "--input", "50"]

    def result(self):
        r = self.run(*self.command())
        return r.stdout if r.returncode == 0 else r.stderr

    def start(self):
        for name in ("CTSC_CACHE", "XDG_STATE_HOME"): # the secret is made anew as well
            shutil.rmtree(self.env[name], ignore_errors=True)
        return super().start()

    def check(self):
        got = self.result()
        return None if got == self.want else got


KINDS = {"save": Save, "checkpoint": Checkpoint, "kernels": Kernels}


def length(kind):
    """Seconds of a whole run; the slowest of a few."""
    times = []
    for _ in range(5):
        start = time.monotonic()
        if kind.start().wait() != 0:
            raise SystemExit("it fails undisturbed: " + " ".join(kind.command()))
        times.append(time.monotonic() - start)
    return max(times)


def campaign(name, ctsc, count, rng):
    """(damaged, killed)"""
    damaged = killed = 0
    with tempfile.TemporaryDirectory() as folder:
        kind = KINDS[name](ctsc, folder)
        kind.begin()
        most = length(kind)
        for n in range(count):
            p = kind.start()
            time.sleep(rng.random() * most)
            p.kill()
            killed += p.wait() < 0
            wrong = kind.check()
            if wrong is not None:
                damaged += 1
                print("%s, attempt %d: %s" % (name, n, wrong.strip()[-500:]), flush=True)
        left = [p for p in glob.glob(os.path.join(folder, "**"), recursive=True) if os.path.isfile(p)]
        print("%s: %d attempts, %d killed in the middle, %d damaged, %d files at the end" % (name, count, killed, damaged, len(left)), flush=True)
    return damaged, killed


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    ap.add_argument("--count", type=int, default=1000, help="attempts of each kind")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only", default=",".join(KINDS))
    args = ap.parse_args()
    bad = False
    for name in args.only.split(","):
        if name not in KINDS:
            ap.error("'%s' is none of %s" % (name, ", ".join(KINDS)))
        damaged, killed = campaign(name, os.path.abspath(args.ctsc), args.count, random.Random("%s %d" % (name, args.seed)))
        bad |= damaged > 0 or killed == 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
