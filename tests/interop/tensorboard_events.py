#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ctsc train --tensorboard writes, read by TensorBoard itself: the scalars and steps of the log that --log writes.

    python3 tests/interop/tensorboard_events.py --ctsc build/ctsc

Needs TensorBoard (pip install tensorboard); exits 77 without it. Closes with "N passed, N failed".
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing import event_accumulator
except ImportError:
    print("no TensorBoard: nothing to read with")
    sys.exit(77)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NET = os.path.join(ROOT, "tests/cli/Inputs/digits_net.py")
DATA = [os.path.join(ROOT, "models", name) for name in ("digits_test.pt", "digits_labels.pt")]


def train(ctsc, folder, options, epochs):
    files = [part for path in DATA for part in ("--data", path, "--valid", path)]
    command = [ctsc, "train", NET, *files, "--loss", "nll", "--epochs", str(epochs), "--log", os.path.join(folder, "log.jsonl"), "--tensorboard",
               os.path.join(folder, "events"), "-o", os.path.join(folder, "net.pt"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return "ctsc train failed: " + done.stderr.strip()
    with open(os.path.join(folder, "log.jsonl")) as f:
        logged = [line for line in map(json.loads, f) if "loss" in line]
    events = event_accumulator.EventAccumulator(os.path.join(folder, "events"))
    events.Reload()
    tags = events.Tags()["scalars"]
    if not {"loss", "loss/validation", "accuracy"} <= set(tags):
        return "scalars are " + ", ".join(tags)
    for tag in tags:
        seen = events.Scalars(tag)
        wanted = [line[tag] for line in logged if tag in line]
        if len(seen) != len(wanted) or len(wanted) != epochs:
            return f"{tag}: {len(seen)} events, {len(wanted)} lines in the log, {epochs} epochs"
        if any(not math.isclose(e.value, w, rel_tol=2e-6, abs_tol=1e-6) for e, w in zip(seen, wanted)):
            return f"{tag}: {[e.value for e in seen]}, in the log {wanted}"
        if any(b.step <= a.step or b.wall_time < a.wall_time for a, b in zip(seen, seen[1:])):
            return f"{tag}: steps {[e.step for e in seen]} do not rise"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ctsc", default="build/ctsc")
    args = parser.parse_args()
    passed = failed = 0
    for name, options, epochs in (("adam", ["--optimizer", "adam", "--schedule", "cosine"], 3), ("sgd", ["--optimizer", "sgd", "--lr", "0.05"], 5)):
        with tempfile.TemporaryDirectory() as folder:
            wrong = train(args.ctsc, folder, options, epochs)
        passed += wrong is None
        failed += wrong is not None
        if wrong:
            print(f"FAIL {name}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
