# SPDX-License-Identifier: Apache-2.0
"""check_profile.py table|json|compare|trace < output - columns aligned, percentages that add up to 100; the fields of --json and of a timeline."""
import json
import sys

ENTRY = {"name", "kind", "count", "self_us", "total_us", "bytes", "flops", "allocations", "allocated_bytes", "peak_bytes", "peak_percent"}


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
        for e in side[table]:
            known = e["flops"] and e["self_us"]
            assert abs(e["peak_percent"] / 100 * side["fma_gflops"] * e["self_us"] * 1e3 / e["flops"] - 1) < 1e-6 if known else e["peak_percent"] is None, e
        times = [e["self_us"] for e in side[table]]
        assert times == sorted(times, reverse=True) and abs(sum(times) - side["total_us"]) < 0.1, table
    return {e["name"]: e for e in side["operators"]}


def strict_json(text):
    """JSON as its grammar has it: no NaN, no key twice."""
    def pairs(items):
        assert len({k for k, _ in items}) == len(items), "a key twice: %s" % items
        return dict(items)

    def constant(name):
        raise AssertionError(name + " is not JSON")
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


def check_trace(text):
    """The Trace Event Format, object form: each event's fields, every thread named before it is used, spans that nest. Gives the spans."""
    trace, processes, threads, spans = strict_json(text), set(), set(), []
    assert isinstance(trace["traceEvents"], list) and trace.get("displayTimeUnit") in ("ms", "ns")
    number = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)
    for e in trace["traceEvents"]:
        assert isinstance(e["name"], str) and e["name"] and type(e["pid"]) is int and type(e["tid"]) is int and isinstance(e["args"], dict), e
        if e["ph"] == "M":
            assert set(e) <= {"ph", "name", "pid", "tid", "args", "ts"} and isinstance(e["args"]["name"], str), e
            known = {"process_name": processes, "thread_name": threads}[e["name"]]
            assert (e["pid"], e["tid"]) not in known, "named twice: %s" % e
            known.add((e["pid"], e["tid"]))
            continue
        assert e["ph"] == "X" and isinstance(e["cat"], str) and number(e["ts"]) and number(e["dur"]) and e["ts"] >= 0 and e["dur"] >= 0, e
        assert (e["pid"], e["tid"]) in threads, "a thread without a name: %s" % e
        spans.append(e)
    assert len(processes) == 1 and {pid for pid, _ in threads} == {pid for pid, _ in processes}
    for thread in threads:
        check_nesting([e for e in spans if (e["pid"], e["tid"]) == thread])
    seconds = (max(e["ts"] + e["dur"] for e in spans) - min(e["ts"] for e in spans)) / 1e6
    assert 1e-6 < seconds < 600, "times are in microseconds"
    return spans


def check_nesting(spans):
    """Two spans of a thread lie beside each other or one in the other; times have three digits behind the point."""
    open_ends = []
    for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):
        end = e["ts"] + e["dur"]
        while open_ends and open_ends[-1] <= e["ts"] + 0.002:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 0.002, "spans overlap: %s" % e
        open_ends.append(end)


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
    mm = [e for e in check_trace(sys.stdin.read()) if e["name"] == "aten::mm"]
    print(len(mm), mm[0]["args"]["arguments"], mm[0]["args"]["file"].endswith("profile.py"), mm[0]["args"]["line"])
print("ok")
