# SPDX-License-Identifier: Apache-2.0
"""check_profile.py table|json|compare|trace < output - columns aligned, percentages that add up to 100; the fields of --json and of a timeline."""
import json
import sys

ENTRY = {"name", "kind", "count", "self_us", "total_us", "bytes", "flops", "allocations", "allocated_bytes", "peak_bytes"}


def check_table(text, shares):
    """shares: the names of columns with percentages; figures end where their head ends."""
    lines = text.splitlines()
    head = next(i for i, l in enumerate(lines) if all(" " + s in l for s in shares))
    for s in shares:
        end = lines[head].index(s) + len(s)
        column = [l[end - 7:end].strip() for l in lines[head + 1:]]
        assert all(l[end] == " " for l in lines[head + 1:]), "a column is not aligned"
        tenths = [0 if c == "-" else round(10 * float(c)) for c in column]
        assert tenths[-1] == 1000 and sum(tenths[:-1]) == 1000, column
    assert lines[-1].endswith("  total")
    names = lines[head].rindex("  ") + 2
    assert all(l[names - 2:names] == "  " and l[names] != " " for l in lines[head + 1:]), "names are not aligned"


def check_json(side):
    assert {"model", "method", "opt", "threads", "calls", "total_us", "operators", "lines", "methods"} <= set(side)
    for table in ("operators", "lines", "methods"):
        assert all(ENTRY <= set(e) for e in side[table])
        times = [e["self_us"] for e in side[table]]
        assert times == sorted(times, reverse=True) and abs(sum(times) - side["total_us"]) < 0.1, table
    return {e["name"]: e for e in side["operators"]}


kind = sys.argv[1]
if kind == "table":
    check_table(sys.stdin.read(), ["self %"])
elif kind == "compare":
    check_table(sys.stdin.read(), ["A %", "B %"])
elif kind == "json":
    mm = check_json(json.load(sys.stdin))["aten::mm"]
    assert mm["count"] == 4 and mm["flops"] == 4 * 2 * 8 * 32 * 16 and mm["bytes"] == 4 * 4 * (8 * 32 + 32 * 16 + 8 * 16), mm
elif kind == "json2":
    both = json.load(sys.stdin)
    check_json(both["a"])
    check_json(both["b"])
    print(both["a"]["opt"], both["b"]["opt"], both["a"]["model"] == both["b"]["model"])
else:
    events = json.load(sys.stdin)["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert all({"name", "cat", "ts", "dur", "pid", "tid", "args"} <= set(e) for e in complete)
    assert {e["name"] for e in events if e["ph"] == "M"} == {"process_name", "thread_name"}
    mm = [e for e in complete if e["name"] == "aten::mm"]
    print(len(mm), mm[0]["args"]["arguments"], mm[0]["args"]["file"].endswith("profile.py"), mm[0]["args"]["line"])
print("ok")
