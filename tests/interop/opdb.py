#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases from PyTorch's operator database (torch.testing._internal.common_methods_invocations.op_db), compared with PyTorch.

    /usr/bin/python3 tests/interop/opdb.py --ctsc build/ctsc [-k GLOB] [--samples N] [--dtypes float32,int64] [--keep DIR]

For every operator, dtype and sample of the database a function with the constants written out is scripted (variants fn, method,
inplace) or recorded (trace), saved, and run by ctsc on the same inputs; --keep DIR leaves the cases there, each in a folder with
model.pt, inputs.pt, expected.pt and case.json. --gradients: instead, functions that answer with gradients of the operator's results,
of the first order (variant grad) and the second (gradgrad). A case whose result PyTorch itself does not repeat (uninitialised memory, random
numbers), that it cannot script, or that is an error is left out. Needs PyTorch and the package expecttest (pip install expecttest),
which the database imports; exits 77 without them.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
except ImportError:
    print("no PyTorch: nothing to compare with")
    sys.exit(77)
warnings.simplefilter("ignore")
try:
    import expecttest  # noqa: F401 (the database needs it)
except ImportError:
    print("no expecttest, which PyTorch's operator database needs (pip install expecttest)")
    sys.exit(77)
from torch.testing._internal.common_methods_invocations import op_db

TENSORS_ONLY = "float32,float64,int64,bool"
TOLERANCE = {torch.float32: (1.3e-5, 1e-5), torch.float64: (1e-7, 1e-7), torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5),
             torch.complex64: (1.3e-5, 1e-5), torch.complex128: (1e-7, 1e-7)}
REFLECTED = {"__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rdiv__": "/", "__rmod__": "%", "__rpow__": "**", "__rmatmul__": "@", "__rand__": "&",
             "__ror__": "|", "__rxor__": "^"}
SKIPPED = re.compile(r"sparse|jiterator|nested|cuda|^empty|new_empty|^_refs|nvfuser")


class Unwritable(Exception):
    """A sample that has no form in TorchScript."""


class Call:
    """One call: tensors of the sample become i0, i1, ..., everything else a constant in the source."""

    def __init__(self, sample):
        self.tensors = []
        self.input = self.write(sample.input)
        self.args = [self.write(a) for a in sample.args]
        self.kwargs = ["%s=%s" % (k, self.write(v)) for k, v in sample.kwargs.items()]

    def write(self, v):
        if isinstance(v, torch.Tensor):
            self.tensors.append(v)
            return "i%d" % (len(self.tensors) - 1)
        if isinstance(v, (list, tuple)):
            parts = [self.write(x) for x in v]
            if isinstance(v, list) or isinstance(v, torch.Size):
                return "[%s]" % ", ".join(parts)
            return "(%s%s)" % (", ".join(parts), "," if len(parts) == 1 else "")
        if isinstance(v, bool) or v is None or isinstance(v, int):
            return repr(v)
        if isinstance(v, float):
            return repr(v) if math.isfinite(v) else "float('%s')" % v
        if isinstance(v, complex):
            return "complex(%r, %r)" % (v.real, v.imag)
        if isinstance(v, (torch.dtype, torch.layout, torch.memory_format)):
            return str(v)
        if isinstance(v, torch.device):
            return "torch.device('%s')" % v
        if isinstance(v, str):
            return repr(v)
        raise Unwritable(type(v).__name__)

    def source(self, variant, name):
        rest = self.args + self.kwargs
        if name in REFLECTED:
            return "%s %s %s" % (rest[0], REFLECTED[name], self.input)
        if variant == "fn" and name.endswith("polygamma"):
            return "%s(%s, %s)" % (name, rest[0], self.input)
        if variant == "fn":
            return "%s(%s)" % (name, ", ".join([self.input] + rest))
        if not re.match(r"i\d+$", self.input):
            raise Unwritable("a method of no tensor")
        return "%s.%s(%s)" % (self.input, name, ", ".join(rest))


def copied(v):
    """The same value in other memory, with the same strides."""
    if isinstance(v, torch.Tensor):
        if v.numel() and 0 in v.stride():
            return v.clone()
        out = torch.empty_strided(v.size(), v.stride(), dtype=v.dtype)
        return out.copy_(v)
    if isinstance(v, (list, tuple)):
        return type(v)(copied(x) for x in v) if type(v) in (list, tuple) else tuple(copied(x) for x in v)
    return v


def plain(v):
    """Results as files hold them: named tuples are tuples, views have memory of their own."""
    if isinstance(v, torch.Tensor):
        return v.detach().clone()
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, tuple):
        return tuple(plain(x) for x in v)
    return v


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(
            torch.nan_to_num(a) if a.dtype.is_floating_point else a, torch.nan_to_num(b) if b.dtype.is_floating_point else b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def dense(v):
    if isinstance(v, torch.Tensor):
        return v.layout == torch.strided and not v.is_quantized
    if isinstance(v, (list, tuple)):
        return all(dense(x) for x in v)
    return v is None or isinstance(v, (int, float, bool, str))


def first_dtype(v):
    if isinstance(v, torch.Tensor):
        return v.dtype
    if isinstance(v, (list, tuple)):
        for x in v:
            d = first_dtype(x)
            if d in TOLERANCE:
                return d
    return torch.float64 if isinstance(v, float) else None


def scripted(call, expression):
    unit = torch.jit.CompilationUnit("def forward(%s):\n    return %s\n" % (", ".join("i%d" % i for i in range(len(call.tensors))), expression))
    return unit.forward, expression


def traced(op, sample, tensors):
    """The operator recorded with the sample's tensors as inputs, everything else fixed."""

    def fill(v, it):
        if isinstance(v, torch.Tensor):
            return next(it)
        if isinstance(v, (list, tuple)) and not isinstance(v, torch.Size):
            parts = [fill(x, it) for x in v]
            return parts if isinstance(v, list) else tuple(parts)
        return v

    names = ", ".join("i%d" % i for i in range(len(tensors)))

    def body(*given):
        it = iter(given)
        x = fill(sample.input, it)
        args = [fill(a, it) for a in sample.args]
        kwargs = {k: fill(v, it) for k, v in sample.kwargs.items()}
        return op.op(x, *args, **kwargs)

    scope = {"body": body, "__name__": __name__}
    exec("def forward(%s):\n    return body(%s)\n" % (names, names), scope)
    module = torch.jit.trace(scope["forward"], tuple(copied(t) for t in tensors), check_trace=False, strict=False)
    return module, module.code


def function_name(op):
    name = op.name
    if name in REFLECTED:
        return name
    if name.startswith(("nn.", "fft.", "linalg.", "special.")):
        return "torch." + name
    target = op.aten_name if not hasattr(torch, name) and op.aten_name else name
    return "torch." + target if hasattr(torch, target) else "torch.ops.aten." + target


def build(op, sample, call, variant):
    if variant == "trace":
        return traced(op, sample, call.tensors)
    if variant == "fn":
        return scripted(call, call.source("fn", function_name(op)))
    attr = op.get_method() if variant == "method" else op.get_inplace()
    if attr is None:
        raise Unwritable("no such variant")
    name = getattr(attr, "__name__", "<")
    if "<" in name:
        name = op.aten_name.split(".")[-1] + ("_" if variant == "inplace" else "")
    return scripted(call, call.source(variant, name))


def differentiable(t):
    return isinstance(t, torch.Tensor) and (t.dtype.is_floating_point or t.dtype.is_complex)


def gradient(op, call, variant):
    """A function of the call's tensors, and of one for each result, that answers with the call's gradients weighted by those; of the second order: with
    those of a sum that depends on all gradients of the first."""
    wanted = [i for i, t in enumerate(call.tensors) if differentiable(t)]
    if not wanted:
        raise Unwritable("nothing to differentiate")
    expression = call.source("fn", function_name(op))
    given = ["i%d" % i for i in range(len(call.tensors))]
    head = "".join("    i%d = i%d.detach().requires_grad_()\n" % (i, i) for i in wanted) + "    y = %s\n" % expression
    result = torch.jit.CompilationUnit("def forward(%s):\n%s    return y\n" % (", ".join(given), head)).forward(*[copied(t) for t in call.tensors])
    parts = [(None, result)] if isinstance(result, torch.Tensor) else list(enumerate(result))
    parts = [(k, t) for k, t in parts if differentiable(t) and t.requires_grad]
    if not parts:
        text = "def forward(%s):\n%s    return %s\n" % (", ".join(given), head, "y.requires_grad" if isinstance(result, torch.Tensor) else
                                                        "[%s]" % ", ".join("y[%d].requires_grad" % k for k, t in enumerate(result)))
        return torch.jit.CompilationUnit(text).forward, text
    weights = [(torch.randn(t.shape, dtype=t.dtype) if t.numel() else torch.zeros_like(t)).detach() for _, t in parts]
    ys = ", ".join("y" if k is None else "y[%d]" % k for k, _ in parts)
    xs = ", ".join("i%d" % i for i in wanted)
    ws = ["w%d" % k for k in range(len(weights))]
    text = "def forward(%s):\n%s    w = torch.jit.annotate(List[Optional[Tensor]], [%s])\n" % (", ".join(given + ws), head, ", ".join(ws))
    text += "    g = torch.autograd.grad([%s], [%s], w, None, %s, True)\n" % (ys, xs, variant == "gradgrad")
    if variant == "gradgrad":
        real = ["torch.view_as_real(i%d)" % i if call.tensors[i].dtype.is_complex else "i%d" % i for i in wanted]
        text += "    s = %s\n    l = s * 0.5\n    for t in g:\n        if t is not None:\n" % " + ".join("%s.sum()" % r for r in real)
        text += "            if t.is_complex():\n                t = torch.view_as_real(t)\n            l = l + (t * t).sum() * (1.0 + s * 0.125)\n"
        text += "    g = torch.autograd.grad([l], [%s], None, None, False, True)\n" % xs
    text += "    return g\n"
    call.tensors += weights
    return torch.jit.CompilationUnit(text).forward, text


def save_case(folder, name, op, dtype, variant, sample, call):
    """Writes the case; False if PyTorch does not repeat the result, with what it has loaded again either."""
    module, code = gradient(op, call, variant) if "grad" in variant else build(op, sample, call, variant)
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    given = tuple(copied(t) for t in call.tensors)
    kept = tuple(copied(t) for t in call.tensors)
    raises, result = None, None
    with torch.set_grad_enabled("grad" in variant):
        torch.manual_seed(1)
        try:
            again = plain(loaded(*tuple(copied(t) for t in call.tensors)))
            torch.manual_seed(2)
            result = plain(module(*given))
        except torch.jit.Error as e:
            raises = re.search(r"derivative for .*not implemented|does not require grad.*", str(e))
            if "grad" not in variant or not raises:
                raise
    if raises:
        raises = raises.group(0)
    elif not same(again, result) or not dense(result):
        return False
    os.makedirs(folder)
    module.save(os.path.join(folder, "model.pt"))
    torch.save(kept, os.path.join(folder, "inputs.pt"))
    if not raises:
        torch.save(result, os.path.join(folder, "expected.pt"))
    rtol, atol = TOLERANCE.get(first_dtype(result), (0.0, 0.0))
    if "grad" in variant and dtype in (torch.float32, torch.complex64):
        rtol = 1e-4
    case = {"name": name, "group": "grad" if "grad" in variant else "ops", "dtype": str(dtype)[6:], "rtol": rtol, "atol": atol, "mutates_inputs": not same(given, kept),
            "raises": raises, "torch": torch.__version__, "code": code}
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(case, f, indent=1)
    return True


def spread(items, count):
    """At most count of them, from first to last."""
    if len(items) <= count:
        return list(enumerate(items))
    return [(i, items[i]) for i in sorted({round(k * (len(items) - 1) / max(count - 1, 1)) for k in range(count)})]


def make_operator(index, root, dtypes, count, reasons, gradients):
    op = op_db[index]
    full = op.name + "__" + (op.variant_test_name + "-" if op.variant_test_name else "")
    made = collections.Counter()
    for dtype in dtypes:
        if dtype not in op.dtypes:
            continue
        torch.manual_seed(0)
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
        except Exception as e:
            made["no samples: %s" % type(e).__name__] += 1
            continue
        for turn, (k, sample) in enumerate(spread(samples, count)):
            variants = ("grad", "gradgrad") if gradients else ("fn", "method", "inplace", "trace") if turn == 0 else (("fn", "trace"), ("fn", "method"), ("trace", "inplace"))[turn % 3]
            for variant in variants:
                name = "%s%s__%s__%d" % (full, variant, str(dtype)[6:], k)
                try:
                    call = Call(sample)
                    done = save_case(os.path.join(root, "ops", name), name, op, dtype, variant, sample, call)
                    made["made" if done else "not repeatable"] += 1
                except Exception as e:
                    made["left out: %s" % type(e).__name__] += 1
                    if reasons:
                        print("    %s: %s" % (name, " / ".join(str(e).strip().splitlines()[:2])[:200]), flush=True)
    return op.name, made


def generate(root, args):
    dtypes = [getattr(torch, d) for d in args.dtypes.split(",")]
    chosen = [i for i, op in enumerate(op_db) if not SKIPPED.search(op.name) and (not args.k or any(fnmatch.fnmatch(op.name, p) for p in args.k))]
    total = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for f in [pool.submit(make_operator, i, root, dtypes, args.samples, args.verbose, args.gradients) for i in chosen]:
            name, made = f.result()
            total.update(made)
            if args.verbose or not made["made"]:
                print("%-40s %s" % (name, dict(made)), flush=True)
    print(dict(total), flush=True)


def run_case(ctsc, folder, extra):
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    expected = [] if case["raises"] else ["--expect", os.path.join(folder, "expected.pt"), "--rtol", repr(case["rtol"]), "--atol", repr(case["atol"])]
    try:
        p = subprocess.run([ctsc, "run", *extra, os.path.join(folder, "model.pt"), "--inputs", os.path.join(folder, "inputs.pt"), *expected],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    except subprocess.TimeoutExpired:
        return case, "timeout"
    if p.returncode < 0:
        return case, "killed by signal %d" % -p.returncode
    lines = p.stderr.decode("utf-8", "replace").strip().splitlines()
    if case["raises"]:
        return case, None if p.returncode and case["raises"] in "\n".join(lines) else "no error " + case["raises"]
    return case, None if p.returncode == 0 else "exit %d: %s" % (p.returncode, lines[-1] if lines else "")


def main():
    ap = argparse.ArgumentParser(description="Cases from PyTorch's operator database, compared with PyTorch.")
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("-k", action="append", metavar="GLOB", help="only operators of this name; repeatable")
    ap.add_argument("--samples", type=int, default=3, metavar="N", help="samples of each operator and dtype")
    ap.add_argument("--dtypes", default=TENSORS_ONLY)
    ap.add_argument("--gradients", action="store_true", help="gradients of the operators instead; use floating and complex --dtypes")
    ap.add_argument("--keep", metavar="DIR", help="leave the cases there")
    ap.add_argument("--only-make", action="store_true", help="make the cases, run none")
    ap.add_argument("--opt", action="append", metavar="N", help="optimisation level; repeatable")
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        root = args.keep or scratch
        generate(root, args)
        if args.only_make:
            return 0
        folders = [d for d, _, files in sorted(os.walk(root)) if "case.json" in files]
        failed = 0
        for level in args.opt or [None]:
            extra = ["--opt", level] if level else []
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                for case, reason in pool.map(lambda d: run_case(args.ctsc, d, extra), folders):
                    if reason:
                        failed += 1
                        print("FAIL %s%s: %s" % (case["name"], " --opt " + level if level else "", reason))
        print("%d cases, %d failures" % (len(folders), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
