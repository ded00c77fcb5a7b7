# SPDX-License-Identifier: Apache-2.0
"""Reads the object that `ctsc bench --json` printed: exactly the documented fields, with numbers that make sense."""
import json
import sys

levels = sys.argv[1].split(",")
got = json.load(sys.stdin)
fields = ["model", "method", "threads", "device"] + levels + \
         ["precision", "first_call_us", "compile_us", "kernels", "items", "bytes", "flops", "copy_gbps", "fma_gflops"]
assert sorted(got) == sorted(fields), sorted(got)
assert got["method"] == "forward" and got["device"] == "cpu" and got["threads"] >= 1, got
for level in levels:
    t = got[level]
    assert sorted(t) == ["calls", "items_per_second", "median_us", "min_us", "p90_us", "p95_us", "p99_us", "peak_percent"], t
    assert 0 < t["min_us"] <= t["median_us"] <= t["p90_us"] <= t["p95_us"] <= t["p99_us"] and t["calls"] >= 1, t
for level in levels:
    t = got[level]
    assert abs(t["peak_percent"] * t["median_us"] * got["fma_gflops"] / (got["flops"] * 0.1) - 1) < 1e-6, got
assert all(abs(got[l]["items_per_second"] * got[l]["median_us"] / (got["items"] * 1e6) - 1) < 1e-9 for l in levels) and got["items"] == 5, got
assert got["bytes"] == 40 and got["flops"] == 20, got
assert got["first_call_us"] > 0 and got["compile_us"] >= 0 and got["kernels"] >= 0, got
assert got["copy_gbps"] > 0 and got["fma_gflops"] > 0, got
