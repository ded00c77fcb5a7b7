#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random cases of operators that are written in TorchScript, compared with PyTorch: dtypes, shapes, values, errors, opt levels.

    /usr/bin/python3 tests/interop/operators.py --ctsc build/ctsc [--count N] [--seed S] [-k NAME]

operator_cases.py lists the operators and makes their arguments.
"""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import operator_cases  # noqa: E402
import support  # noqa: E402
from support import shown, torch  # noqa: E402



def annotation(t):
    text = str(t)
    if text.startswith("Optional["):
        return "Optional[%s]" % annotation(t.getElementType())
    if text.startswith("List["):
        return "List[%s]" % annotation(t.getElementType())
    return {"Tensor": "Tensor", "number": "float", "Scalar": "float"}.get(text, text)


def script(key, work):
    """The operator as a module, all arguments given: compiled, and as Python runs it (undefined results are None there)."""
    name, _, overload = key.partition(".")
    s = [s for s in torch._C._jit_get_schemas_for_operator("aten::" + name) if s.overload_name == overload][0]
    params = ["a%d: %s" % (i, annotation(a.type)) for i, a in enumerate(s.arguments)]
    passed = ["%sa%d" % (a.name + "=" if a.kwarg_only else "", i) for i, a in enumerate(s.arguments)]
    module = support.load_text(work, "m" + key.replace(".", "__"),
                               "import torch\nfrom torch import Tensor\nfrom typing import List, Optional\n\nclass Main(torch.nn.Module):\n"
                               "    def forward(self, %s):\n        return torch.ops.aten.%s(%s)\n" % (", ".join(params), name, ", ".join(passed)))
    plain = module.Main()
    return torch.jit.script(plain), plain


def wider(v):
    if isinstance(v, torch.Tensor) and v.is_floating_point():
        return v.double()
    return [wider(x) for x in v] if isinstance(v, list) else v


def flat(v):
    return [x for e in v for x in flat(e)] if isinstance(v, (list, tuple)) else [v]


TOLERANCE = {torch.float32: 2e-5, torch.complex64: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


def compare_one(got, want, exact):
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        return "" if got == want or got != got and want != want else "%r instead of %r" % (got, want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return "%s%s instead of %s%s" % (got.dtype, list(got.shape), want.dtype, list(want.shape))
    if not (want.is_floating_point() or want.is_complex()):
        return "" if torch.equal(got, want) else "values differ"
    kind = torch.complex128 if want.is_complex() else torch.float64
    g, e, w = got.to(kind), exact.to(kind), want.to(kind)
    if not torch.equal(torch.isnan(g), torch.isnan(w)) or not torch.equal(torch.isinf(g.abs()), torch.isinf(w.abs())):
        return "NaN or infinities differ"
    ok = torch.isfinite(w.abs()) & torch.isfinite(e.abs())
    if not ok.any():
        return ""
    most = max(w[ok].abs().max().item(), 1e-3)
    error = min((g - x)[ok].abs().max().item() for x in (e, w)) / most
    return "" if error <= TOLERANCE.get(want.dtype, 1e-11) else "off by %g of the largest" % error


def compare(got, want, exact):
    got, want, exact = flat(got), flat(want), flat(exact)
    if len(got) != len(want):
        return "%d results instead of %d" % (len(got), len(want))
    for i, (g, w) in enumerate(zip(got, want)):
        why = compare_one(g, w, exact[i] if len(exact) == len(want) and isinstance(exact[i], torch.Tensor) else w)
        if why:
            return "result %d: %s" % (i, why)
    return ""


def check(args, fn, model, inputs, work):
    """What is wrong; "" if nothing."""
    given, out = os.path.join(work, "in.pt"), os.path.join(work, "out.pt")
    torch.save(tuple(inputs), given)
    want, failure = None, None
    try:
        want = fn(*inputs)
    except Exception as e:
        if "Could not run" in str(e):
            return ""  # PyTorch has it for other devices only
        failure = str(e).strip().split("\n")
        failure = [l for l in failure if "Error: " in l][-1:] or failure[-1:]
        failure = failure[0].split("Error: ")[-1].split("INTERNAL ASSERT")[0].strip()
    if failure is None:
        try:
            exact = fn(*[wider(v) for v in inputs])
        except Exception:
            exact = want
    for level in (0, 3):
        p = support.run(args.ctsc, "run", "--opt", str(level), model, "--inputs", given, "--output", out)
        if failure is not None:
            if p.returncode == 0:
                return "--opt %d: no error %r" % (level, failure)
            if p.returncode < 0 or args.messages and failure.lower() not in p.stderr.lower():
                return "--opt %d: error %r instead of %r" % (level, p.stderr.strip()[:300], failure)
            continue
        if p.returncode:
            return "--opt %d: exit %d: %s" % (level, p.returncode, p.stderr.strip()[:400])
        why = compare(torch.load(out), want, exact)
        if why:
            return "--opt %d: %s" % (level, why)
    return ""


def main():
    ap = support.arguments(__doc__)
    ap.add_argument("--count", type=int, default=4, help="cases of each operator")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--messages", action="store_true", help="errors must say what PyTorch's say")
    args = ap.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, "model.pt")
        for key, make in sorted(operator_cases.CASES.items()):
            if args.k not in key:
                continue
            module, plain = script(key, work)
            torch.jit.save(module, model)
            for i in range(args.count):
                rng = random.Random("%s %d %d" % (key, args.seed, i))
                torch.manual_seed(args.seed * 1000 + i)
                inputs = make(operator_cases.Maker(rng))
                why = check(args, plain, model, inputs, work)
                count += 1
                if why:
                    failed += 1
                    print("FAIL %s(%s): %s" % (key, ", ".join(map(shown, inputs)), why), flush=True)
    print("operators: %d cases of %d operators, %d failed" % (count, len(operator_cases.CASES), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
