#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator with a number that is absurdly large: it ends within 100 ms, with a result or an error.

    PYTHONPATH=build/python python3 tests/sweep/extremes.py --ctsc build/ctsc [-k PART] [--part 1/8] [--milliseconds 100]          (make test-extremes)

The operators are those that `ctsc ops` lists, so that new ones are among them. For each, calls that succeed are looked for with small random arguments;
then each int, float, Scalar, and the first and the last of each list of numbers, becomes 2^31 - 1, 2^62, -2^62 and, where it is a float or a Scalar, 1e300,
inf and nan in turn, the other arguments staying as they are; then all numbers of the call at once. What a call may allocate is limited to 2 GiB, so that
results of that size are refused. The time is the processor's, of the calling thread, which is the only one; a call over the limit is made once more, since the
first of a kind may set something up. A call that takes longer twice, or --seconds of a clock once, or ends the process is a failure; calls run in a process of
their own, which begins again behind such an operator. -v says for how many operators no call was found that succeeds.
"""
import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import threading
import time

EXTREMES = (2**31 - 1, 2**62, -2**62)
OF_FLOATS = EXTREMES + (1e300, float("inf"), float("nan"))
NUMBER = re.compile(r"(?:int|float|Scalar|number)(?:\[\d*\])?\??$")
TRIES, FOUND = 2500, 3  # random calls at most, to find so many that succeed
ONE_PROCESS = 400 # operators: refused requests leave address space taken by the C library's arenas
SHAPES = [(3, 4), (3, 4), (3, 3), (4,), (4,), (3,), (), (1, 2, 3, 4), (2, 3, 4), (1, 1, 2, 3, 4), (2, 3, 3), (2, 2, 5, 5), (6,), (1,), (0,)]
DTYPES = ["float32"] * 5 + ["int64", "int64", "int32", "bool", "complex64", "float64", "uint8", "bfloat16"]
TEXTS = ["x", "mean", "sum", "none", "constant", "reflect", "trunc", "floor", "tanh", "linear", "nearest", "bilinear", "ij", "amax", "L", "reduced", "same", "valid", "backward", "ortho", "%d"]
# They wait, print, ask people or read files.
LEFT_OUT = re.compile(r"::(wait|_?sleep|fork|input|[Pp]rint|save|_?awaitable|breakpoint)|file|cudnn|cuda")


def arguments(schema):
    """(type, name, default or None, by keyword only) of each."""
    text, depth, part, parts = re.sub(r"\(\w+(?:\|\w+)*!?(?: -> [^)]*)?\)", "", schema[schema.index("(") + 1:schema.rindex(") ->")]), 0, "", []
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


def tensor(ctsc, rng, like):
    """Mostly of the shape and dtype of the call's first; how often is the call's own."""
    shape = like.get("shape") if like.get("shape") is not None and rng.random() < like["alike"] else rng.choice(SHAPES)
    dtype = like.get("dtype") if like.get("dtype") and rng.random() < like["alike"] else rng.choice(DTYPES)
    like.setdefault("shape", shape)
    like.setdefault("dtype", dtype)
    return ctsc.ones(*shape, dtype=getattr(ctsc, dtype)) if shape else ctsc.ones((), dtype=getattr(ctsc, dtype))


def drawn(ctsc, rng, kind, name, like):
    """A small value of a schema's type."""
    if kind.endswith("?"):
        return None if rng.random() < .5 else drawn(ctsc, rng, kind[:-1], name, like)
    many = re.match(r"(.*)\[(\d*)\]$", kind)
    if many:
        n = like["length"] if rng.random() < like["alike"] else rng.choice([0, 1, 1, 2, 2, 3, 4])
        n = int(many.group(2) or 2) if many.group(1) == "bool" else n if int(many.group(2) or 1) == 1 else int(many.group(2))
        made = [drawn(ctsc, rng, many.group(1), name, like) for _ in range(n)]
        return made[:1] * n if many.group(1) == "int" and rng.random() < .5 else made
    if kind.startswith("Dict("):
        key, value = kind[5:-1].split(", ", 1)
        return {drawn(ctsc, rng, key, name, like): drawn(ctsc, rng, value, name, like)}
    if kind == "Tensor":
        return tensor(ctsc, rng, like)
    if name == "dtype" or name == "out_dtype":
        return getattr(ctsc, rng.choice(DTYPES))
    if name == "device":
        return "cpu"
    made = {"int": lambda: rng.choice([0, 0, 1, 1, 2, 3, -1]), "float": lambda: rng.choice([.5, 0., 1., 2.]), "Scalar": lambda: rng.choice([1, 2, .5, 0]),
            "number": lambda: rng.choice([1, 2, .5]), "bool": lambda: rng.random() < .5, "str": lambda: rng.choice(TEXTS), "complex": lambda: 1 + 1j,
            "t": lambda: 1, "t1": lambda: 1, "t2": lambda: 1, "Any": lambda: 1, "AnyList": lambda: [1, 2], "ScalarType": lambda: getattr(ctsc, rng.choice(DTYPES))}.get(kind)
    return made() if made else None


def candidate(ctsc, rng, args):
    """[(by keyword or None, value)] of one call."""
    like, made = {"alike": rng.choice([.3, .6, .9, 1]), "length": rng.choice([1, 2, 2, 3])}, []
    for kind, name, default, keyword in args:
        if default is not None and rng.random() < (.85 if keyword else .5):
            if default == "None":
                made.append((name if keyword else None, None))
                continue
            if keyword:
                continue
        made.append((name if keyword else None, drawn(ctsc, rng, kind, name, like)))
    return made


def call(ctsc, name, given):
    """Whether it gives a result: an error is an answer, too."""
    copies = [(k, v.clone() if isinstance(v, ctsc.Tensor) else list(v) if isinstance(v, list) else v) for k, v in given]
    try:
        ctsc._C._operator(name)(*[v for k, v in copies if k is None], **{k: v for k, v in copies if k is not None})
        return True
    except Exception:
        return False


def calls_of(ctsc, name, args):
    """Calls that succeed, of different shapes where there are some; else one that fails."""
    rng, found, tried = random.Random(name), [], []
    for _ in range(TRIES):
        tried.append(candidate(ctsc, rng, args))
        if call(ctsc, name, tried[-1]):
            found.append(tried[-1])
            if len(found) == FOUND:
                break
    return found, found or tried[:2]


def numbers_of(given, args):
    """(argument, element of its list or None) of what can be extreme."""
    names = {a[1]: a for a in args}
    for i, (key, value) in enumerate(given):
        kind = (names[key] if key else args[i])[0]
        if NUMBER.match(kind) and value is not None:
            yield from [(i, None)] if not isinstance(value, list) else sorted({(i, 0), (i, len(value) - 1)}) if value else []


def extreme_calls(given, args):
    """(what is extreme, the call)"""
    names, at = {a[1]: a for a in args}, list(numbers_of(given, args))

    def replaced(places, extreme):
        made = [(k, list(v) if isinstance(v, list) else v) for k, v in given]
        for i, element in places:
            key, value = made[i]
            kind = (names[key] if key else args[i])[0]
            number = float(extreme) if kind.startswith("float") else extreme
            if element is None:
                made[i] = (key, number)
            else:
                value[element] = number
        return made
    for i, element in at:
        key = given[i][0]
        row = names[key] if key else args[i]
        for extreme in OF_FLOATS if row[0].startswith(("float", "Scalar", "number")) else EXTREMES:
            yield "%s=%s" % (row[1], extreme), replaced([(i, element)], extreme)
    if len(at) > 1:
        for extreme in EXTREMES:
            yield "all=%s" % extreme, replaced(at, extreme)


def shown(value):
    return "Tensor%s" % list(value.shape) if hasattr(value, "shape") else "[%s]" % ", ".join(map(shown, value)) if isinstance(value, list) else repr(value)


def work(operators, first, milliseconds):
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    import ctsc
    ctsc.set_num_threads(1)
    for at, (name, schema) in enumerate(operators[first:], first):
        if at - first == ONE_PROCESS:
            return print("next", at, flush=True)
        args = list(arguments(schema))
        if not any(NUMBER.match(a[0]) for a in args):
            continue
        print(at, name, "small", flush=True)
        succeed, tried = calls_of(ctsc, name, args)
        if not succeed:
            print("never", flush=True)
        for given in tried:
            for what, made in extreme_calls(given, args):
                print(at, name, what, ", ".join(("%s=" % k if k else "") + shown(v) for k, v in made), flush=True)
                took = []
                while len(took) < 2 and (not took or took[0] > milliseconds):
                    start = time.thread_time()
                    call(ctsc, name, made)
                    took.append((time.thread_time() - start) * 1e3)
                if min(took) > milliseconds:
                    print("slow %.0f ms" % min(took), flush=True)
    print("end", flush=True)


def watch(command, seconds, slow, never):
    """The last line, and whether it ended by itself; calls beyond the limit are added to slow."""
    child, last, hung = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True), "", []
    timer = None

    def stop():
        hung.append(True)
        child.kill()
    for line in child.stdout:
        if timer:
            timer.cancel()
        if line.startswith("slow "):
            slow.append((last, line[5:].strip()))
        elif line == "never\n":
            never.append(last.split()[1])
        else:
            last = line.strip()
        timer = threading.Timer(seconds, stop)
        timer.start()
    if timer:
        timer.cancel()
    child.wait()
    return last, "took more than %g s" % seconds if hung else "ended the process with %d" % child.returncode


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ctsc", default="build/ctsc")
    options.add_argument("-k", default="", help="operators whose name contains this")
    options.add_argument("--part", default="1/1", help="K/N: of each N operators the Kth")
    options.add_argument("--milliseconds", type=float, default=100)
    options.add_argument("--seconds", type=float, default=20, help="of a clock, for a call that does not end")
    options.add_argument("-v", action="store_true", help="names the operators for which no call succeeds")
    options.add_argument("--work", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    part, parts = map(int, given.part.split("/"))
    rows = json.loads(subprocess.run([given.ctsc, "ops", "--json"], check=True, capture_output=True).stdout)
    operators = [(r["operator"], r["schema"]) for r in rows if r["operator"].startswith(("aten::", "ctsc::", "prims::")) and given.k in r["operator"]
                 and not LEFT_OUT.search(r["operator"])][part - 1::parts]
    if given.work is not None:
        return work(operators, given.work, given.milliseconds)
    first, failed, never = 0, set(), []
    while True:
        command = [sys.executable, os.path.abspath(__file__), "--ctsc", given.ctsc, "-k", given.k, "--part", given.part, "--milliseconds", str(given.milliseconds),
                   "--work", str(first)]
        slow = []
        last, how = watch(command, given.seconds, slow, never)
        for where, took in slow:
            if int(where.split()[0]) not in failed:
                print("FAIL %s: %s" % (where, took), flush=True)
            failed.add(int(where.split()[0]))
        if last == "end":
            break
        if last.startswith("next "):
            first = int(last.split()[1])
            continue
        if not last:
            sys.exit("extremes.py: the process that calls operators does not start (PYTHONPATH)")
        print("FAIL %s: %s" % (last, how), flush=True)
        first = int(last.split()[0]) + 1
        failed.add(first - 1)
    if given.v:
        print("no call succeeds of: " + " ".join(never))
    numbers = sum(any(NUMBER.match(a[0]) for a in arguments(schema)) for _, schema in operators)
    print("%d operators, %d with numbers, of %d of them a call succeeds" % (len(operators), numbers, numbers - len(never)))
    print("%d passed, %d failed" % (len(operators) - len(failed), len(failed)))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
