# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a file under the module that is named, torch or ctsc, and prints a line of JSON for each (see against.py)."""
import importlib
import json
import math
import re
import sys


def plain(v):
    if v is None or isinstance(v, (bool, int, str)):
        return v
    return str(v) if not math.isfinite(v) else v


def described(torch, v):
    """A result as JSON: of a tensor its dtype, shape, strides and elements (as numbers that JSON has: others by name)."""
    if not isinstance(v, torch.Tensor):
        if isinstance(v, complex):
            return [plain(v.real), plain(v.imag)]
        return plain(v) if v is None or isinstance(v, (bool, int, float, str)) else str(v)
    dtype = str(v.dtype).split(".")[-1]
    sizes = list(v.shape)
    # dims of one element, or of tensors without any, have strides of no meaning
    strides = [s if n > 1 else 0 for n, s in zip(sizes, v.stride())] if v.numel() else []
    flat = v.detach().reshape(-1)
    if dtype.startswith("complex"):
        values = [x for z in flat.tolist() for x in (plain(z.real), plain(z.imag))]
    elif dtype.startswith("float8"):
        values = [plain(x) for x in flat.to(torch.float32).tolist()]
    else:
        values = [plain(x) for x in flat.tolist()]
    return {"dtype": dtype, "shape": sizes, "strides": strides, "values": values}


def results(torch, v):
    return [described(torch, x) for x in v] if isinstance(v, (list, tuple)) else [described(torch, v)]


def shares(torch, v):
    """Of each tensor the first one that has its memory, and where it begins there; its bits, and whether it is contiguous."""
    seen, out = {}, []
    for i, x in enumerate(v):
        if isinstance(x, torch.Tensor) and x.numel():
            first = seen.setdefault(x.untyped_storage().data_ptr(), (i, x.storage_offset()))
            out.append([first[0], x.storage_offset() - first[1], x.is_conj(), x.is_neg(), x.is_contiguous(), x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)])
    return out


def run_call(torch, case):
    scope = {"torch": torch, "F": torch.nn.functional, "nan": math.nan, "inf": math.inf}
    exec(case["text"].rpartition("\n")[0], scope)
    return results(torch, eval(case["text"].rpartition("\n")[2], scope))


def run_program(torch, case):
    """The last of three calls; under ctsc at a level, or as Python. The arguments are made anew each time, for programs write them."""
    if case.get("eager"):
        scope = {"torch": torch, "nan": math.nan, "inf": math.inf}
        exec(case["text"], scope)
        function = scope["forward"]
    else:
        function = torch.jit.CompilationUnit(case["text"]).forward
    if "level" in case and hasattr(function, "set_opt"):
        function.set_opt(case["level"])
    for _ in range(3):
        scope = {"torch": torch, "nan": math.nan, "inf": math.inf}
        exec(case["setup"], scope)
        out = function(*[scope[name] for name in case["arguments"]])
    return results(torch, out) + ([shares(torch, out)] if case.get("shares") else [])


def message(e, program):
    """The line that says what is wrong: the first of a call's; of a program's, where lines of the source are around it, the last that is none."""
    lines = [line for line in str(e).strip().splitlines() if not re.match(r"\s*(-->|\d*\s*\||~)", line)] or [""]
    return lines[-1 if program else 0][:300]


def main():
    module, path = sys.argv[1:]
    try:
        torch = importlib.import_module(module)
    except ImportError:
        return 77
    if module == "ctsc":
        sys.modules["torch"] = torch
    else:
        torch.set_num_threads(1)
    with open(path) as f:
        cases = json.load(f)
    for case in cases:
        run = run_call if case["kind"] == "call" else run_program
        try:
            line = {"values": run(torch, case)}
        except Exception as e:
            line = {"error": message(e, case["kind"] == "program")}
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
