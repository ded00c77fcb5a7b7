#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many inferences a second `ctsc serve` does: wrk on the same machine, keep-alive, 32 connections.

    python3 bench/serve.py --ctsc build/ctsc [--seconds 10] [--connections 32] [--only digits]

For each row: requests per second, latency at 50 % and 99 %, processor time per request of the server and of wrk, how much of the machine other
programs took meanwhile (in processors: figures with more than a tenth are not the server's), and the mean number of rows of a call.
"""
import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
import client  # noqa: E402

DIGITS = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 1, 8, 8]}], "outputs": [{"name": "logp", "datatype": "FP32", "shape": [-1, 10]}]}
CHARGPT = {"inputs": [{"name": "ids", "datatype": "INT64", "shape": [-1, -1]}]}
BATCHES = {"max_batch_size": 32}


def image():
    return {"inputs": [client.tensor("x", [1, 1, 8, 8], [round((i % 17) / 16, 4) for i in range(64)])]}


def tokens(n):
    return {"inputs": [client.tensor("ids", [1, n], [i * 7 % 80 for i in range(n)], "INT64")]}


# name, archive, settings, request
ROWS = [("digits", "digits_cnn.pt", DIGITS, image()), ("digits, batches", "digits_cnn.pt", dict(DIGITS, **BATCHES), image())]
for n in (1, 8, 32):
    ROWS += [("chargpt, %d tokens" % n, "chargpt.pt", CHARGPT, tokens(n)), ("chargpt, %d tokens, batches" % n, "chargpt.pt", dict(CHARGPT, **BATCHES), tokens(n))]


def busy():
    """Processor seconds that the machine has spent."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    return (sum(v) - v[3] - v[4]) / os.sysconf("SC_CLK_TCK")


def cpu(pid):
    with open("/proc/%d/stat" % pid) as f:
        v = f.read().rsplit(")", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def measure(s, scratch, body, args):
    script = os.path.join(scratch, "request.lua")
    with open(script, "w") as f:
        f.write("wrk.method = 'POST'\nwrk.body = [==[%s]==]\n" % json.dumps(body))
    before, children, all_before = cpu(s.process.pid), resource.getrusage(resource.RUSAGE_CHILDREN), busy()
    out = subprocess.run(["wrk", "-t1", "-c%d" % args.connections, "-d%ds" % args.seconds, "--latency", "-s", script,
                          "http://127.0.0.1:%d/v2/models/model/infer" % s.port], capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    server, all_of_it = cpu(s.process.pid) - before, busy() - all_before
    wrk = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    count = int(re.search(r"(\d+) requests in", out).group(1)) or 1
    bad = re.search(r"Non-2xx.*|Socket errors.*", out)
    time_of = lambda q: re.search(r"^\s+%s%%\s+(\S+)" % q, out, re.M).group(1)
    rate = float(re.search(r"Requests/sec:\s+(\S+)", out).group(1))
    stats = client.stats(s, "model")
    return "%9.0f %9s %9s %9.1f %8.1f %8.2f %7.1f  %s" % (
        rate, time_of(50), time_of(99), 1e6 * server / count, 1e6 * wrk / count, (all_of_it - server - wrk) / args.seconds,
        stats["inference_count"] / max(1, stats["execution_count"]), bad.group(0) if bad else "")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    ap.add_argument("--seconds", type=int, default=10)
    ap.add_argument("--connections", type=int, default=32)
    ap.add_argument("--only", default="")
    args = ap.parse_args()
    if not shutil.which("wrk"):
        print("bench/serve.py needs wrk")
        return 6
    print("%-28s %9s %9s %9s %9s %8s %8s %7s" % ("", "per s", "50 %", "99 %", "server us", "wrk us", "others", "rows"))
    for name, archive, config, body in ROWS:
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "models")
            os.makedirs(folder)
            shutil.copy(os.path.join(ROOT, "models", archive), os.path.join(folder, "model.pt"))
            with open(os.path.join(folder, "model.json"), "w") as f:
                json.dump(config, f)
            s = client.Server(os.path.abspath(args.ctsc), folder)
            try:
                for _ in range(50):
                    s.json("POST", "/v2/models/model/infer", body)
                time.sleep(0.2)
                print("%-28s %s" % (name, measure(s, scratch, body, args)), flush=True)
            finally:
                s.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
