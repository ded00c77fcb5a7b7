# SPDX-License-Identifier: Apache-2.0
"""What whole networks take in memory: ctsc against PyTorch, ONNX Runtime and OpenVINO, whichever are there.

    python3 bench/nets/nets_memory.py [--only resnet18,bert_128] [--contenders ctsc,openvino] [--threads 1] [--json FILE] [--markdown FILE]
                                                                                                                        (make bench-memory)

The networks and the contenders are those of nets_suite.py, which has the other options; nothing is timed. Each contender is a process of its own, which imports
its library, loads the inputs and expected results (*base* is its resident memory then), opens the network, calls it four times (*peak* so far: loading and
compiling are a part of it), and then five times more (*steady*: the peak of these calls). Weights count wherever they are: pages of a mapped file as well. What the
library itself and its interpreter take is in the base. ctsc runs twice, so that its kernels come from the folder of compiled kernels.
"""
import datetime
import platform
import sys
import tempfile

import nets_suite as suite

WANTED, WANTED_WINOGRAD = 1.1, 1.5


def measure(args, name, start, net, log):
    for _ in range(2 if name == "ctsc" else 1):
        c = suite.Contender(name, suite.command(args, name, start, net, args.threads[0]), log)
        c.turn(0)
        c.close()
    if c.failed:
        print("%s: %s: %s" % (net, name, c.failed), file=sys.stderr)
        return {"failed": c.failed}
    return {"base": c.base_kib / 1024, "peak": c.peak_kib / 1024, "steady": c.steady_kib / 1024, "version": c.version, "wrong": not c.error <= args.tolerance}


def figure(row, name, kind, beyond):
    c = row["contenders"].get(name, {})
    return c[kind] - (c["base"] if beyond else 0) if kind in c and not c["wrong"] else None


def ratio(row, kind, beyond):
    peers = [figure(row, n, kind, beyond) for n in row["contenders"] if n != "ctsc"]
    return suite.over(figure(row, "ctsc", kind, beyond), min((p for p in peers if p), default=None))


def table(rows, kind, beyond):
    names = suite.columns(rows)
    lines = ["| network | %s | ctsc / best peer |" % " | ".join(names), "| --- " * (len(names) + 2) + "|"]
    for r in rows:
        lines.append("| %s | %s | %s |" % (r["network"], " | ".join(suite.text(figure(r, n, kind, beyond), 0) for n in names), suite.text(ratio(r, kind, beyond))))
    return lines


def mean_line(rows, kind, beyond):
    ratios = [x for x in (ratio(r, kind, beyond) for r in rows) if x]
    return "Geometric mean of ctsc / best peer: **%s**; at most %.1f in %d of %d networks, at most %.1f in %d." % (
        suite.text(suite.mean(ratios)), WANTED, sum(x <= WANTED for x in ratios), len(ratios), WANTED_WINOGRAD, sum(x <= WANTED_WINOGRAD for x in ratios))


PARTS = [("The whole process, at most", "peak", False, "VmHWM: interpreter and libraries, loading and compiling included."),
         ("What the network adds, at most", "peak", True, "The same without the process' memory before it opened the network."),
         ("What the network adds in calls of the steady state", "steady", True, "The peak of five calls after four: what a server holds.")]


def markdown(args, rows):
    versions = {n: c["version"] for r in rows for n, c in r["contenders"].items() if "version" in c}
    date = datetime.date.today()
    out = ["# Memory of whole networks", "",
           "What `make bench-memory` measures (`bench/nets/nets_memory.py`): resident memory of a process that runs one network, MiB, %d thread%s, float32; below 1 in "
           "\"ctsc / best peer\" ctsc needs less. Weights count wherever they are, pages of a mapped file too. ctsc's kernels come from its folder of compiled kernels."
           % (args.threads[0], "" if args.threads[0] == 1 else "s"), "",
           "Date: %d %s. Machine: %s, %s." % (date.day, date.strftime("%B %Y"), suite.processor(), platform.platform()),
           "Contenders: %s." % "; ".join("%s: %s" % (n, versions[n]) for n in suite.CONTENDERS if n in versions), ""]
    for title, kind, beyond, text in PARTS:
        out += ["## " + title, "", text, "", mean_line(rows, kind, beyond), ""] + table(rows, kind, beyond) + [""]
    return "\n".join(out)


def write(args, rows):
    for path, text in ((args.json, suite.json.dumps(rows, indent=1)), (args.markdown, markdown(args, rows))):
        if path:
            with open(path, "w") as f:
                f.write(text)


def main():
    args = suite.arguments(__doc__, "bench-memory.md")
    suite.export(args)
    found = suite.commands(args)
    rows = []
    with tempfile.TemporaryFile("w+") as log:
        for net in args.nets:
            row = {"network": net, "contenders": {n: measure(args, n, start, net, log) for n, start in found.items() if suite.has_network(args, n, net)}}
            rows.append(row)
            print("%-29s %s   ratios %s" % (net, "  ".join("%s %s+%s/%s" % ((n,) + tuple(suite.text(c.get(k), 0) for k in ("base", "peak", "steady")))
                                                          for n, c in row["contenders"].items()),
                                            " ".join(suite.text(ratio(row, kind, beyond)) for _, kind, beyond, _ in PARTS)), flush=True)
            write(args, rows)
    for title, kind, beyond, _ in PARTS:
        print("%s. %s" % (title, mean_line(rows, kind, beyond)))


main()
