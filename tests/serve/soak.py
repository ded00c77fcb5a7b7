#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ctsc serve` for long: clients that ask all the time, hostile ones beside them, and a model that changes.

    python3 tests/serve/soak.py --ctsc build/ctsc [--seconds 600] [--hostile 1000]

Fails if a request fails that should not, if the server ends, or if its resident memory grows by more than 1 % between the end of a warm-up
(a fifth of the time) and the end. With `wrk` installed the load is its, 32 connections; else a few Python threads.
"""
import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import client  # noqa: E402

DIGITS = {"max_batch_size": 16, "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
          "outputs": [{"name": "logp", "datatype": "FP32", "shape": [-1, 10]}]}


def resident(s):
    with open("/proc/%d/status" % s.process.pid) as f:
        return [int(line.split()[1]) for line in f if line.startswith("VmRSS")][0]


def hostile(s, count, seed, done):
    """Malformed, oversized, slow and half-closed requests."""
    rng = random.Random(seed)
    body = json.dumps({"inputs": [client.tensor("x", [1, 1, 8, 8], [0.5] * 64)]}).encode()
    good = b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    kept = []
    for i in range(count):
        if done.is_set():
            break
        data = bytearray(good)
        kind = rng.randrange(6)
        if kind == 0:  # damaged
            for _ in range(rng.randrange(1, 12)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 1:  # cut
            data = data[:rng.randrange(len(data))]
        elif kind == 2:  # oversized
            data = bytearray(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n" + b"a" * 1000)
        elif kind == 3:  # too much header
            data = bytearray(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * rng.randrange(100, 100000) + b"\r\n\r\n")
        elif kind == 4:  # noise
            data = bytearray(rng.randbytes(rng.randrange(2000)))
        try:
            c = socket.create_connection(("127.0.0.1", s.port), timeout=5)
            c.sendall(data)
            if kind == 5 or rng.random() < 0.1:  # slow: says a part and stays
                kept.append(c)
                if len(kept) > 50:
                    kept.pop(0).close()
                continue
            if rng.random() < 0.5:
                c.shutdown(socket.SHUT_WR)
                c.settimeout(0.05)
                c.recv(1000)
            c.close()
        except OSError:
            pass
        time.sleep(0.002)
    for c in kept:
        c.close()


def load(s, scratch, seconds, failures):
    """Requests per second and the 99th percentile, as far as known."""
    body = json.dumps({"inputs": [client.tensor("x", [1, 1, 8, 8], [round((i % 17) / 16, 4) for i in range(64)])]})
    if shutil.which("wrk"):
        script = os.path.join(scratch, "digits.lua")
        with open(script, "w") as f:
            f.write("wrk.method = 'POST'\nwrk.body = [==[%s]==]\n" % body)
        out = subprocess.run(["wrk", "-t1", "-c32", "-d%ds" % seconds, "--latency", "-s", script,
                              "http://127.0.0.1:%d/v2/models/digits/infer" % s.port], capture_output=True, text=True).stdout
        for line in out.splitlines():
            if "Non-2xx" in line or ("Socket errors" in line):
                failures.append(line.strip())
        return out
    count, end = [0] * 4, time.time() + seconds

    def one(i):
        c = s.connect()
        while time.time() < end:
            status, _, data = s.ask("POST", "/v2/models/digits/infer", body, connection=c)
            count[i] += 1
            if status != 200:
                failures.append("%d %r" % (status, data[:100]))
        c.close()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return "%d requests" % sum(count)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(client.ROOT, "build", "ctsc"))
    ap.add_argument("--seconds", type=int, default=600)
    ap.add_argument("--hostile", type=int, default=1000)
    args = ap.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = client.make_models(os.path.abspath(args.ctsc), scratch, ["double"])
        shutil.copy(os.path.join(client.ROOT, "models", "digits_cnn.pt"), os.path.join(folder, "digits.pt"))
        with open(os.path.join(folder, "digits.json"), "w") as f:
            json.dump(DIGITS, f)
        s = client.Server(os.path.abspath(args.ctsc), folder, "--receive", "5", "--idle", "5", "--access-log", os.path.join(scratch, "log"))
        s.ctsc, s.folder, s.scratch = args.ctsc, folder, scratch
        done, sizes = threading.Event(), []

        def change():  # the model of the load is replaced by itself, as a new file
            while not done.wait(max(1, args.seconds / 60)):
                client.put(s, os.path.join(client.ROOT, "models", "digits_cnn.pt"), "digits.pt")

        def watch():
            while not done.wait(max(0.5, args.seconds / 200)):
                sizes.append(resident(s))
        threads = [threading.Thread(target=change), threading.Thread(target=watch),
                   threading.Thread(target=hostile, args=(s, args.hostile, 1, done))]
        for t in threads:
            t.start()
        print(load(s, scratch, args.seconds, failures).strip())
        done.set()
        for t in threads:
            t.join()
        client.is_alive(s)
        text = s.ask("GET", "/metrics")[2].decode()
        print("\n".join(line for line in text.splitlines() if re_wanted(line)))
        # medians: while a model is replaced there are two of them
        warm, last = (statistics.median(part) for part in (sizes[len(sizes) // 5:len(sizes) * 2 // 5], sizes[-len(sizes) // 5:]))
        growth = last / warm - 1
        print("resident memory %d kB after the warm-up, %d kB at the end: %+.2f %%" % (warm, last, 100 * growth))
        if growth > 0.01 and args.seconds >= 120:
            failures.append("memory grew by %.2f %%" % (100 * growth))
        code, errors = s.stop()
        if code != 0 or "Sanitizer" in errors:
            failures.append("the server ended with %d: %s" % (code, errors[-1000:]))
    for f in failures:
        print("FAIL", f)
    print("failed" if failures else "ok")
    return 1 if failures else 0


def re_wanted(line):
    return line.startswith(("ctsc_http_", "ctsc_model_reloads", "ctsc_requests_total")) and not line.startswith("#")


if __name__ == "__main__":
    sys.exit(main())
