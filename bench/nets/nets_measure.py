# SPDX-License-Identifier: Apache-2.0
"""What the workers of `make bench-nets` and `make bench-narrow` share: a contender that has loaded a network and runs it when told.

serve(load) answers {"version", "error", "note", "base_kib", "peak_kib"} or {"failed"} once it is warm; then for each line read, a number of seconds, one
{"min_ms", "median_ms", "peak_kib"}. A line on standard output is an answer; what libraries print goes to standard error.
"""
import json
import os
import sys
import time

WARM_CALLS, LEAST_CALLS = 4, 5


def difference(got, want):
    """The largest one relative to the largest value, over all results."""
    if len(got) != len(want) or any(a.shape != b.shape for a, b in zip(got, want)):
        return 1e30
    worst = max(float(abs(a - b).max()) / (float(abs(b).max()) or 1) for a, b in zip(got, want))
    return worst if worst == worst else 1e30


def status_kib(name):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name + ":"))


def peak_reset():
    """From here on VmHWM is the peak since now, where the system can do that."""
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass


def measure(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < LEAST_CALLS or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    return {"min_ms": times[0], "median_ms": times[len(times) // 2], "peak_kib": status_kib("VmHWM")}


def serve(load, measure=measure):
    """load() -> version, run, results, note, the results that are wanted (None: not known), KiB before the network was loaded. measure(run, seconds): of a turn."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer):
        print(json.dumps(answer), file=out, flush=True)

    try:
        version, run, results, note, want, base = load()
        for _ in range(WARM_CALLS):
            got = results()
        say({"version": version, "error": difference(got, want) if want is not None else None, "note": note, "base_kib": base, "peak_kib": status_kib("VmHWM")})
        peak_reset()
        for line in sys.stdin:
            say(measure(run, float(line)))
    except Exception as e:
        say({"failed": "%s: %s" % (type(e).__name__, str(e)[:200])})
