#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make.py - what PyTorch 1.13 gives for the expressions of calls.txt, the last version with named tensors: writes the file anew.

    python3 tests/python/named/make.py      with PyTorch 1.13 (Debian 12: python3-torch)

A line is an expression, " => ", and what it gives: shapes with the names of dims, numbers, or the exception and the first line of its text. Statements may come before
the expression. `test_py_named.py` evaluates the same with ctsc.
"""
import os
import sys
import warnings

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls.txt")
REFUSED = (" is not yet supported with named tensors. Please drop names via `tensor = tensor.rename(None)`, call the op with an unnamed tensor, and set names on the result of "
           "the operation.")


def tensor(torch, names, *sizes, dtype=None):
    """Of small whole numbers; "*": a dim without a name."""
    count = 1
    for n in sizes:
        count *= n
    t = (torch.arange(count, dtype=torch.float64) % 7 + 1).to(dtype or torch.float32).reshape(sizes)
    return t.rename(*[None if name == "*" else name for name in names.split()]) if names else t


def show(torch, r):
    if isinstance(r, torch.Tensor):
        return "%s%s" % (tuple(r.shape), r.names if r.has_names() else "")
    if isinstance(r, (tuple, list)):
        return "[" + ", ".join(show(torch, x) for x in r) + "]"
    return repr(r)


def evaluate(torch, line):
    def make(names, *sizes, **options):
        return tensor(torch, names, *sizes, **options)
    torch.manual_seed(0)
    given = dict(torch=torch, T=make, F=torch.nn.functional, o=torch.empty(0), S=make(""), u=make("", 2, 3), p=make("* C", 2, 3), A=make("A", 3), C=make("C", 3),
                 N=make("N", 2), NC=make("N C", 2, 3), CN=make("C N", 3, 2), CC=make("C D", 3, 3), B=make("B N C", 4, 2, 3))
    before, _, expression = line.rpartition(";")
    try:
        exec(before, given)
        return show(torch, eval(expression.strip(), given)).strip()
    except Exception as e:
        return "%s: %s" % (next(c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins"), str(e).partition("\n")[0].replace(REFUSED, " is refused").strip())


if __name__ == "__main__":
    import torch
    warnings.simplefilter("ignore")
    if not torch.__version__.startswith("1.13"):
        sys.exit("PyTorch 1.13 is needed, this is %s" % torch.__version__)
    with open(FILE, encoding="utf-8") as f:
        lines = [line.partition(" => ")[0].strip() for line in f if line.strip()]
    with open(FILE, "w", encoding="utf-8") as f:
        for line in lines:
            f.write("%s => %s\n" % (line, evaluate(torch, line)))
