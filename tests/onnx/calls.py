#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single calls as ONNX: each line of calls.txt is traced, written, and run by ONNX Runtime with its arguments, with others, and with longer ones.

    tests/onnx/calls.py --package build/python [--torch] [--script] [-k TEXT] [--opset 17,22] [--every 5] [--list] [--least 95]

--torch: calls are traced, or with --script scripted, by PyTorch and compared with its results; else all of it is the package's. Without onnxruntime the package reads the files itself.
Prints what is refused, and fails where a result is wrong, a file cannot be run, or fewer calls than --least (percent) are written. Exit 77: NumPy, or
PyTorch where it is asked for, is missing.
"""
import argparse
import importlib
import os
import re
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
# f: from a normal distribution, by the letter of calls.txt
KINDS = {
    "f": lambda r, s: r.standard_normal(s).astype("float32"),
    "d": lambda r, s: r.standard_normal(s),
    "h": lambda r, s: r.standard_normal(s).astype("float16"),
    "p": lambda r, s: r.uniform(0.1, 2, s).astype("float32"),
    "u": lambda r, s: r.uniform(-0.95, 0.95, s).astype("float32"),
    "g": lambda r, s: r.uniform(1.1, 3, s).astype("float32"),
    "s": lambda r, s: (20 * r.standard_normal(s)).astype("float32"),
    "e": lambda r, s: numpy.where(r.uniform(size=s) < 0.5, r.choice([numpy.inf, -numpy.inf, numpy.nan, 0.0], s), r.standard_normal(s)).astype("float32"),
    "i": lambda r, s: r.integers(-5, 6, s),
    "j": lambda r, s: r.integers(-5, 6, s).astype("int32"),
    "B": lambda r, s: r.integers(0, 9, s).astype("uint8"),
    "c": lambda r, s: r.integers(-5, 6, s).astype("int8"),
    "k": lambda r, s: r.integers(-5, 6, s).astype("int16"),
    "n": lambda r, s: r.integers(0, 3, s),
    "b": lambda r, s: r.uniform(size=s) < 0.5,
}


def arguments(spec, seed, longer=0, size=None, dim=0):
    """Arrays of "f3,4 i4"; dims `dim` that are `size` become `longer`."""
    r = numpy.random.default_rng(seed)
    out = []
    for word in spec.split():
        sizes = [int(n) for n in word[1:].split(",") if n]
        if size and -len(sizes) <= dim < len(sizes) and sizes[dim] == size:
            sizes[dim] = longer
        out.append(numpy.asarray(KINDS[word[0]](r, tuple(sizes))))
    return out


def flat(result):
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [a for item in result if item is not None for a in flat(item)]
    return [numpy.asarray(result.detach().cpu().numpy() if hasattr(result, "detach") else result)]


def differs(got, want, numbers):
    if len(got) != len(want):
        return "%d results instead of %d" % (len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        if a.dtype != b.dtype and not numbers:
            return "%d: %s instead of %s" % (i, a.dtype, b.dtype)
        if a.shape != b.shape:
            return "%d: sizes %s instead of %s" % (i, a.shape, b.shape)
        rtol, atol = (2e-2, 5e-3) if "float16" in (a.dtype.name, b.dtype.name) else (2e-4, 2e-5)
        if b.dtype.kind in "fc":
            same = numpy.isclose(a.astype("float64"), b.astype("float64"), rtol=rtol, atol=atol, equal_nan=True)
        else:
            same = a == b
        if not numpy.all(same):
            at = tuple(numpy.argwhere(~numpy.atleast_1d(same))[0])
            return "%d: %s instead of %s" % (i, numpy.atleast_1d(a)[at], numpy.atleast_1d(b)[at])
    return ""


class Engine:
    """torch is PyTorch, or the package."""

    def __init__(self, args):
        sys.path.insert(0, os.path.abspath(args.package))
        import ctsc
        self.ctsc, self.torch, self.other = ctsc, ctsc, args.torch
        self.script, self.modules = args.script, []
        if args.torch:
            try:
                import torch
            except ImportError as e:
                print("skipped: %s" % e)
                sys.exit(77)
            self.torch = torch
        try:
            import onnxruntime
            onnxruntime.set_default_logger_severity(4)
            self.runtime = onnxruntime
        except ImportError:
            self.runtime = None
        try:
            import onnx
            self.checker = onnx.checker.check_model
        except ImportError:
            self.checker = lambda path, full_check: None
        self.folder = tempfile.mkdtemp()
        sys.path.insert(0, self.folder)
        F = self.torch.nn.functional
        self.names = {"__name__": __name__, "torch": self.torch, "F": F}

    def function(self, text, n):
        if self.script:  # which reads the source
            name = "call_%d" % len(self.modules)
            with open(os.path.join(self.folder, name + ".py"), "w", encoding="utf-8") as f:
                f.write("import torch\nimport torch.nn.functional as F\n\n\ndef call(%s):\n    return %s\n" % (", ".join("xyzwv"[:n]), text))
            self.modules.append(name)
            return importlib.import_module(name).call
        return eval("lambda %s: (%s)" % (", ".join("xyzwv"[:n]), text), self.names)

    def results(self, fn, arrays):
        result = fn(*[self.torch.tensor(a) for a in arrays])
        return flat(result), isinstance(result, (int, float, bool))

    def trace(self, fn, arrays):
        given = tuple(self.torch.tensor(a) for a in arrays)
        if not self.other:
            program = self.ctsc.trace(fn, given)
            return program, program
        path = os.path.join(self.folder, "call.pt")
        with self.torch.no_grad():
            (self.torch.jit.script(fn) if self.script else self.torch.jit.trace(fn, given, check_trace=False)).save(path)
        return self.ctsc.load(path), self.torch.jit.load(path)

    def write(self, program, arrays, axes, opset):
        path = os.path.join(self.folder, "call.onnx")
        if os.path.exists(path):
            os.unlink(path)
        program._save_onnx(path, tuple(self.ctsc.tensor(a) for a in arrays), opset, axes, (), ())
        return path

    def open(self, path):
        self.checker(path, full_check=True)
        if not self.runtime:
            model = self.ctsc.load(path)
            return lambda arrays: flat(model(*[self.ctsc.tensor(a) for a in arrays]))
        session = self.runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        return lambda arrays: flat(tuple(session.run(None, dict(zip(names, arrays)))))


def first_line(e):
    text = str(e).strip()
    return re.sub(r"\s+", " ", text)[:160] or type(e).__name__


def attempt(engine, spec, text, opset, dynamic, dim=0):
    """(outcome, why): written, refused, invalid (ONNX Runtime does not take it), no kernel (it has none of the dtype), wrong, skipped (the call fails)."""
    arrays = arguments(spec, 1)
    fn = engine.function(text, len(arrays))
    has = [-a.ndim <= dim < a.ndim for a in arrays]
    size = arrays[0].shape[dim] if has[0] else 0
    axes = tuple((i, dim % a.ndim, "n") for i, a in enumerate(arrays) if has[i] and a.shape[dim] == size) if dynamic else ()
    others = [(spec, 1, 0, None), (spec, 2, 0, None), (spec, 3, 0, None)]
    if dynamic:
        if size < 2:
            return "skipped", "no size to change"
        others += [(spec, 4, size + 3, size, dim)]
    try:
        engine.results(fn, arrays)
        program, fn = engine.trace(fn, arrays)  # which has numbers as tensors
    except Exception as e:
        return "skipped", first_line(e)
    try:
        path = engine.write(program, arrays, axes, opset)
    except Exception as e:
        return "refused", first_line(e)
    try:
        run = engine.open(path)
    except Exception as e:
        return "no kernel" if "NOT_IMPLEMENTED" in str(e) else "invalid", first_line(e)
    for other in others:
        given = arguments(*other)
        try:
            want, numbers = engine.results(fn, given)
        except Exception:
            continue  # the call is of these sizes alone
        try:
            got = run(given)
        except Exception as e:
            return "invalid", first_line(e)
        why = differs(got, want, numbers)
        if why:
            return "wrong", why + (" (longer)" if other[2] else " (other values)" if other[1] > 1 else "")
    return "written", ""


def calls(path, kinds=()):
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f):
            if line.strip() and not line.startswith("#"):
                spec, text = re.match(r"((?:\S+ )*\S+)\s{2,}(.*\S)", line).groups()
                for a, b in kinds:
                    if not re.search(r"(^| )" + a, spec):
                        spec = ""
                    spec = re.sub(r"(^| )%s" % a, r"\g<1>" + b, spec)
                if spec:
                    yield number + 1, spec, text


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--package", required=True)
    p.add_argument("--torch", action="store_true")
    p.add_argument("--script", action="store_true")
    p.add_argument("--calls", default=os.path.join(HERE, "calls.txt"))
    p.add_argument("-k", default="")
    p.add_argument("--opset", default="17,22")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--fixed", action="store_true", help="without sizes that change")
    p.add_argument("--dim", type=int, default=0, help="which one changes")
    p.add_argument("--least", type=float, default=0)
    p.add_argument("--kinds", default="", help="kinds of arguments that are others: f=d,i=k")
    p.add_argument("-q", action="store_true")
    args = p.parse_args()
    engine = Engine(args)
    bad = low = 0
    for opset in map(int, args.opset.split(",")):
        for dynamic in (False,) if args.fixed else (False, True):
            count = {}
            for number, spec, text in calls(args.calls, [k.split("=") for k in args.kinds.split(",") if k]):
                if args.k not in text or number % args.every:
                    continue
                outcome, why = attempt(engine, spec, text, opset, dynamic, args.dim)
                count[outcome] = count.get(outcome, 0) + 1
                bad += outcome in ("wrong", "invalid")
                if outcome != "written" and not (args.q and outcome in ("skipped", "refused", "no kernel")):
                    print("%-8s %s%s  %s  [%s]: %s" % (outcome, opset, " dynamic" if dynamic else "", text, spec, why), flush=True)
            all_ = sum(count.values()) - count.get("skipped", 0)
            share = 100.0 * count.get("written", 0) / max(all_, 1)
            print("operator set %d%s: %.1f %% of %d written: %s" % (opset, ", dynamic" if dynamic else "", share, all_, ", ".join("%s %d" % c for c in sorted(count.items()))))
            low += not dynamic and share < args.least
    return 1 if bad or low else 0


if __name__ == "__main__":
    sys.exit(main())
