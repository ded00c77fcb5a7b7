#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of device meta: sizes, strides and dtypes, by PyTorch 2.15 and by ctsc, for the calls of a conformance corpus.

    make against-torch-meta PYTHON=/path/to/python CORPUS=FOLDER
    PYTHON-WITH-TORCH-2 tests/against/meta.py --package build/python --corpus FOLDER [-k NAME] [-v]

FOLDER has cases NAME/case.json with the call ("code", in which i0, i1, ... are the tensors of inputs.pt). Each is made with these moved to device meta. What PyTorch has
no meta function for is compared with its results on the CPU instead; what it refuses because the result depends on elements has to be refused here. Exits 77 without torch.
"""
import argparse
import collections
import fnmatch
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)

# Where PyTorch's meta functions and its CPU disagree with one another, ctsc does what the CPU does.
REFUSALS = ("attempted to run this operator with Meta tensors", "raises unimplemented", "cannot be called on meta", "Cannot copy out of meta", "no data", "converted to Scalar",
            "not on the expected device", "same device")


def moved(x, to):
    if isinstance(x, (list, tuple)):
        return type(x)(moved(v, to) for v in x)
    if isinstance(x, dict):
        return {k: moved(v, to) for k, v in x.items()}
    return to(x) if isinstance(x, torch.Tensor) else x


def there(t):
    """The same on device meta: to() gives other strides where there are gaps."""
    made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
    return made.conj() if t.is_conj() else made


def like(t):
    """A copy with the same strides."""
    made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t)
    return made.conj() if t.is_conj() else made


def shown(x):
    """What is compared of a result."""
    if hasattr(x, "stride") and hasattr(x, "dtype"):
        strides = tuple(s for s, n in zip(x.stride(), x.shape) if n != 1) if x.numel() else ()
        return "%s %s %s" % (str(x.dtype).rpartition(".")[2], tuple(x.shape), strides)
    if isinstance(x, (list, tuple)):
        return "(%s)" % ", ".join(shown(v) for v in x)
    return "a %s" % type(x).__name__


def called(module, code, inputs):
    scope = {"torch": module, "math": __import__("math"), "inf": float("inf"), "nan": float("nan")}
    scope.update(("i%d" % i, v) for i, v in enumerate(inputs))
    try:
        return shown(eval(code, scope)), None
    except Exception as e:  # whatever it is, it is compared
        return None, "%s: %s" % (type(e).__name__, str(e).split("\n")[0][:160])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--package", required=True)
    p.add_argument("--corpus", required=True)
    p.add_argument("-k", default="*")
    p.add_argument("-v", action="store_true")
    args = p.parse_args()
    sys.path.insert(0, args.package)
    import ctsc
    counts, differ = collections.Counter(), []
    for name in sorted(os.listdir(args.corpus)):
        path = os.path.join(args.corpus, name)
        if not fnmatch.fnmatch(name, args.k) or not os.path.exists(path + "/case.json"):
            continue
        with open(path + "/case.json", encoding="utf-8") as f:
            code = json.load(f).get("code")
        if not code or "\n" in code or "i0" not in code:
            continue
        inputs = torch.load(path + "/inputs.pt", weights_only=False)

        def ours(t):
            made = ctsc.empty_strided(t.shape, t.stride(), dtype=getattr(ctsc, str(t.dtype)[6:]), device="meta")
            return made.conj() if t.is_conj() else made
        theirs, refused = called(torch, code, moved(inputs, there))
        host, _ = called(torch, code, moved(inputs, like))
        got, error = called(ctsc, code, moved(inputs, ours))
        here, lacks = called(ctsc, code, moved(inputs, lambda t: ctsc.empty_strided(t.shape, t.stride(), dtype=getattr(ctsc, str(t.dtype)[6:])).zero_()))
        data = refused and any(text in refused for text in REFUSALS)
        if host is None:
            counts["not a call of 2.15"] += 1
            continue
        if got is None and here is None and "is not supported" in str(lacks):
            counts["not supported here"] += 1
            continue
        kind = ("equal" if got == theirs and got is not None else "both refuse" if got is None and theirs is None else
                "PyTorch refuses, as on its CPU" if theirs is None and got == host else "as PyTorch's CPU, not as its meta" if got == host else
                "refused here" if got is None else "DIFFERS")
        counts[kind] += 1
        if kind in ("DIFFERS", "refused here") or (kind == "as PyTorch's CPU, not as its meta" and args.v) or (theirs is None and not data and args.v):
            differ.append("%s: %s\n    %s\n    PyTorch meta %s\n    PyTorch CPU  %s\n    ctsc meta    %s" % (kind, name, code[:160], theirs or refused, host, got or error))
    print("\n".join(differ))
    print(", ".join("%d %s" % (n, k) for k, n in counts.most_common()))
    return 1 if counts["DIFFERS"] or counts["refused here"] or not counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
