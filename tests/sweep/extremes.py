#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator with a number that is absurdly large: it ends soon, with a result or an error.

    PYTHONPATH=build/python python3 tests/sweep/extremes.py --ctsc build/ctsc [-k PART] [--seconds 10]          (make test-extremes)

Each int, float, Scalar and list of ints of each schema becomes 2^31 - 1, 2^62 and -2^62 in turn, the other arguments stay small. What a call may allocate
is limited to 2 GiB, so that results of that size are refused. A call that takes more than --seconds, or ends the process, is a failure; calls run in a
process of their own, which begins again behind such an operator.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import threading

EXTREMES = (2**31 - 1, 2**62, -2**62)
NUMBER = re.compile(r"(?:int|float|Scalar)(?:\[\d*\])?\??$")
# They wait, read files or fill what they make with random numbers.
LEFT_OUT = re.compile(r"rand|empty|wait|sleep|fork|input|print|save|backward|cudnn|cuda|file")


def arguments(schema):
    """(type, name, default or None, by keyword only) of each."""
    text, depth, part, parts = re.sub(r"\([a-z!]+\)", "", schema[schema.index("(") + 1:schema.rindex(") ->")]), 0, "", []
    for c in text + ",":
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    keyword = False
    for p in parts:
        m = re.match(r"(.+?) (\w+)(?:=(.*))?$", p)
        if p == "*":
            keyword = True
        elif m:
            yield m.group(1).replace("SymInt", "int"), m.group(2), m.group(3), keyword


def small(kind, x):
    count = re.match(r"int\[(\d*)\]", kind)
    if count:
        return [1] * int(count.group(1) or 2)
    return {"Tensor": x, "Tensor?": x, "Tensor[]": [x, x], "Tensor?[]": [x, x], "int": 1, "int?": 1, "float": .5, "float?": .5, "Scalar": 1, "Scalar?": 1, "bool": False,
            "bool?": False, "str": "x"}.get(kind)


def call(ctsc, name, args, which, extreme, x):
    values, keywords = [], {}
    for i, (kind, key, default, keyword) in enumerate(args):
        value = small(kind, x)
        if i == which:
            value = [extreme] + value[1:] if isinstance(value, list) else float(extreme) if kind.startswith("float") else extreme
        elif default == "None":
            value = None
        elif default is not None and keyword:
            continue
        if keyword:
            keywords[key] = value
        else:
            values.append(value)
    try:
        ctsc._C._operator(name)(*values, **keywords)
    except Exception:  # an error is an answer
        pass


def work(operators, first):
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    import ctsc
    inputs = (ctsc.ones(3, 4), ctsc.ones(1, 2, 3, 4), ctsc.ones(4, dtype=ctsc.int64), ctsc.ones(2, 3, 4))
    for at, (name, schema) in enumerate(operators[first:], first):
        args = list(arguments(schema))
        for which, (kind, key, _, _) in enumerate(args):
            for extreme in EXTREMES if NUMBER.match(kind) else ():
                for x in inputs:
                    print(at, name, key, extreme, list(x.shape), flush=True)
                    call(ctsc, name, args, which, extreme, x.clone())
    print("end", flush=True)


def watch(command, seconds):
    """The last line, and whether it ended by itself."""
    child, last, slow = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True), "", []
    timer = None

    def stop():
        slow.append(True)
        child.kill()
    for line in child.stdout:
        if timer:
            timer.cancel()
        last = line.strip()
        timer = threading.Timer(seconds, stop)
        timer.start()
    if timer:
        timer.cancel()
    child.wait()
    return last, "took more than %g s" % seconds if slow else "ended the process with %d" % child.returncode


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ctsc", default="build/ctsc")
    options.add_argument("-k", default="", help="operators whose name contains this")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--work", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    rows = json.loads(subprocess.run([given.ctsc, "ops", "--json"], check=True, capture_output=True).stdout)
    operators = [(r["operator"], r["schema"]) for r in rows if r["operator"].startswith(("aten::", "ctsc::", "prims::")) and given.k in r["operator"]
                 and not LEFT_OUT.search(r["operator"])]
    if given.work is not None:
        return work(operators, given.work)
    first, failed = 0, set()
    while True:
        command = [sys.executable, os.path.abspath(__file__), "--ctsc", given.ctsc, "-k", given.k, "--work", str(first)]
        last, how = watch(command, given.seconds)
        if last == "end":
            break
        if not last:
            sys.exit("extremes.py: the process that calls operators does not start (PYTHONPATH)")
        print("FAIL %s: %s" % (last, how), flush=True)
        first = int(last.split()[0]) + 1
        failed.add(first)
    print("%d passed, %d failed" % (len(operators) - len(failed), len(failed)))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
