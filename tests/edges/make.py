#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what real PyTorch answers to calls at the edges: for every operator, by machine, from its schema.

    /usr/bin/python3 tests/edges/make.py --ctsc build/ctsc --seed 1 --good 6 --bad 3 > cases.txt       (needs PyTorch 1.13)
    /usr/bin/python3 tests/edges/make.py --grid > grid.txt

A line is one call: the operator, its arguments, the result or "!" and the error, between tabs, in the notation of tests/unit/opcase.h. Tensors are
small, and empty, 0-dim, of size 1, transposed, sliced, expanded or overlapping, of mixed dtypes, with nan, inf, -0, denormals and the ends
of the integer types. Each operator is asked in a process of its own, for some of these calls are too much for PyTorch.
tests/unit/test_edges.c checks the lines of tests/edges/cases.txt and grid.txt, or of the file it is given; what only the order of rounding decides it
does not take. Condition numbers beyond what the dtype can tell from infinity are written as bounds.

--grid asks functions of numbers at poles, zeros, integers, ends of ranges and what is no number: every pair of them for functions of two.

Lines that ctsc answers otherwise, and why, are listed in differs.txt. Left out is what no line can hold, since PyTorch's own answer is unwritten memory (means
of no elements, attention over no features, statistics of no batch, sizes and strides asked with dims out of range) or overflows on the way in some of its
builds only (its vector remainder, log1p, sinh, cosh, pow; igamma beyond 1e36; group_norm).
"""
import argparse
import os
import random
import resource
import subprocess
import sys
import time

import torch

DTYPES = {"u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
          "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "b": torch.bool}
NAMES = {dt: name for name, dt in DTYPES.items()}
OFTEN = ["f32"] * 6 + ["f64", "f64", "i64", "i64", "i64", "b", "b", "i32", "u8", "i8", "i16", "f16", "bf16"]
SHAPES = [(), (0,), (1,), (3,), (4,), (2, 3), (2, 3), (3, 3), (0, 3), (3, 0), (1, 3), (3, 1), (2, 2, 2), (2, 1, 3), (1, 2, 0), (2, 3, 4, 4), (1, 2, 3, 3)]
WORDS = ["mean", "sum", "none", "constant", "reflect", "replicate", "circular", "trunc", "floor", "tanh", "linear", "nearest", "fro", "nuc",
         "left", "right", "ij", "xy", "amax", "prod", "L", "U", "reduced", "complete"]
# uninitialised or random results, other devices, what cannot be written down
SKIP = ("empty", "rand", "normal", "bernoulli", "dropout", "uniform", "multinomial", "poisson", "exponential", "geometric", "cauchy", "binomial",
        "resize", "set_", "storage", "sparse", "cuda", "cudnn", "mkldnn", "miopen", "mps", "quantize", "from_file", "backward", "rrelu", "_fw_",
        "record_stream", "is_pinned", "pin_memory", "save", "warn", "format", "_nested", "nested_", "batch_dim", "fused", "retain", "manual_seed",
        "seed", "set.", "sym_", "lstsq", "eig", "svd", "qr", "lu_", "_lu", "geqrf", "symeig", "as_strided", "wait", "get_autocast")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 100.0, -7.25, 1e-40, 3e38, float("inf"), float("-inf"), float("nan")]


MEMORY = 4 << 30  # of an operator's process: some take what they are asked for


class Skip(Exception):
    pass


# ---- making arguments


def elements(rng, name, n, mild):
    if name == "b":
        return [rng.random() < 0.5 for _ in range(n)]
    if name[0] in "iu":
        info = torch.iinfo(DTYPES[name])
        ends = [info.max, info.min, info.max - 1]
        return [rng.choice(ends) if not mild and rng.random() < 0.15 else rng.randint(0 if name == "u8" else -4, 5) for _ in range(n)]
    return [rng.choice(SPECIAL) if not mild and rng.random() < 0.3 else round(rng.uniform(-3, 3), 3) for _ in range(n)]


def tensor(rng, want):
    """The tensor, and its text. want: what is to be kept to. Writing to elements that overlap has no defined result."""
    name, shape = want.get("name") or rng.choice(OFTEN), want.get("shape")
    if shape is None:
        shape = rng.choice(SHAPES)
    layouts = ["", "", "", "^", "expanded", "sliced"] + ([] if want["written"] else ["overlapping"])
    layout = rng.choice(layouts) if len(shape) else ""
    n = 1
    for size in shape:
        n *= size
    if layout in ("expanded", "overlapping", "sliced") and n:
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
        k = rng.randrange(len(shape))
        if layout == "expanded":
            strides[k] = 0
        elif layout == "sliced":
            strides = [2 * s for s in strides]
        else:
            strides = [1] * len(shape)
        room = 1 + sum((size - 1) * s for size, s in zip(shape, strides))
        values = elements(rng, name, room, want["mild"])
        t = torch.tensor(values, dtype=DTYPES[name]).as_strided(shape, strides)
        return t, "%s[%s]<%s>{%s}" % (name, commas(shape), commas(strides), numbers(t.as_strided((room,), (1,))))
    values = elements(rng, name, n, want["mild"])
    t = torch.tensor(values, dtype=DTYPES[name]).reshape(shape)
    text = "%s[%s]%s{%s}" % (name, commas(shape), "^" if layout == "^" else "", numbers(t))
    if layout == "^":  # the first dim fastest, one element in front
        room = torch.zeros(n + 1, dtype=t.dtype)
        strides, step = [], 1
        for size in shape:
            strides.append(step)
            step *= size
        turned = room.as_strided(shape, strides, 1)
        turned.copy_(t)
        t = turned
    return t, text


def commas(values):
    return ",".join(str(v) for v in values)


def number(x, digits):
    if isinstance(x, bool):
        return "1" if x else "0"
    return "nan" if x != x else "%.*g" % (digits, x) if isinstance(x, float) else str(x)


def numbers(t):
    wide = t.double() if t.is_floating_point() else t
    return " ".join(number(x, 17 if t.dtype == torch.float64 else 9) for x in wide.reshape(-1).tolist())


def argument(rng, a, want):
    """A value for the schema's argument, and its text."""
    kind = str(a.type)
    if kind.startswith("Optional["):
        if rng.random() < 0.6:
            return None, "None"
        kind = kind[9:-1]
    if a.has_default_value() and rng.random() < 0.5:
        return written(a.default_value)
    if kind == "Tensor":
        return tensor(rng, want)
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        made = [tensor(rng, want) for _ in range(rng.choice([0, 1, 2, 2, 3]))]
        return [t for t, _ in made], "(%s)" % " ".join(text for _, text in made)
    if kind == "int":
        if a.name == "dtype":
            return written(rng.choice([0, 3, 4, 5, 6, 7, 11]))
        return written(rng.randint(-3, 3) if "dim" in a.name or rng.random() < 0.3 else rng.randint(0, 4))
    if kind == "List[int]":
        n = a.N if getattr(a, "N", None) else rng.choice([0, 1, 1, 2, 2, 3])
        return written([rng.randint(-2, 3) if rng.random() < 0.3 else rng.randint(0, 3) for _ in range(n)])
    if kind == "float":
        return written(rng.choice([0.0, 0.5, 1.0, 2.0, -1.5, 1e-5]))
    if kind == "number":
        return written(rng.choice([0, 1, 2, -1, 3, 0.5, -2.5, 1.0]))
    if kind == "bool":
        return written(rng.random() < 0.5)
    if kind == "str":
        return written(rng.choice(WORDS))
    raise Skip(kind)


def written(v):
    if isinstance(v, bool):
        return v, "true" if v else "false"
    if isinstance(v, (list, tuple)):
        if any(not isinstance(x, int) or isinstance(x, bool) for x in v):
            raise Skip("a list of others")
        return list(v), "[%s]" % " ".join(str(x) for x in v)
    if isinstance(v, float) and (v != v or v in (float("inf"), float("-inf"))):
        raise Skip("no notation")
    if v is None:
        return None, "None"
    if isinstance(v, str):
        return v, "'%s'" % v
    if isinstance(v, (int, float)):
        return v, repr(v)
    raise Skip(type(v).__name__)


# ---- asking PyTorch


def result_text(v, kind=""):
    if isinstance(v, torch.Tensor):
        if v.dtype not in NAMES:
            raise Skip("dtype")
        return "%s[%s]{%s}" % (NAMES[v.dtype], commas(v.shape), numbers(v))
    if isinstance(v, (list, tuple)):
        if kind == "List[Tensor]" or v and isinstance(v[0], torch.Tensor):
            return "(%s)" % " ".join(result_text(t) for t in v)
        return written(v)[1]
    if v is None:
        return "None"
    return written(v)[1]


def bounds_text(t):
    """Condition numbers. Of a singular matrix only that they are large is known: the least singular value is what rounding left of 0."""
    bound, text = (1e12, ">1e12") if t.dtype == torch.float64 else (1e5, ">1e5")
    return "%s[%s]{%s}" % (NAMES[t.dtype], commas(t.shape),
                           " ".join(text if bound < x < float("inf") else numbers(torch.tensor(x, dtype=t.dtype)) for x in t.reshape(-1).tolist()))


def results_text(schema, v):
    if schema.name == "aten::linalg_cond":
        return bounds_text(v)
    if not schema.returns:
        return ""
    if len(schema.returns) > 1:
        return " ".join(result_text(x) for x in v)
    return result_text(v, str(schema.returns[0].type))


def attempt(rng, op, schema, mild):
    """One line, or None; True if it is an error's."""
    want = {"mild": mild, "written": schema.name.endswith("_"), "shape": rng.choice([None, rng.choice(SHAPES), rng.choice(SHAPES)]),
            "name": rng.choice([None, "f32", "f32", rng.choice(OFTEN), rng.choice(OFTEN)])}
    values, texts, names = [], [], {}
    for a in schema.arguments:
        v, text = argument(rng, a, want)
        texts.append(text)
        if a.kwarg_only:
            names[a.name] = v
        else:
            values.append(v)
    try:
        with torch.no_grad():
            out = op(*values, **names)
        text, failed = results_text(schema, out), False
    except Skip:
        return None, False
    except Exception as e:
        text, failed = "!" + str(e).split("\n")[0], True
        if "not implemented for" in text:  # ctsc may know the dtype
            return None, False
        if "INTERNAL ASSERT" in text or "Could not run" in text or "not compiled" in text or "Unable to cast" in text or "Expected a value" in text:
            return None, False
    line = "%s\t%s\t%s" % (op_key(schema), " ".join(texts), text.replace("\t", " "))
    return (line if len(line) < 700 else None), failed


def op_key(schema):
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def one(args):
    name, _, overload = args.one.partition(".")
    op = getattr(getattr(torch.ops.aten, name[6:]), overload or "default")
    schema = op._schema
    rng = random.Random("%d %s" % (args.seed, args.one))
    good = bad = 0
    seen = set()
    for k in range(30 * (args.good + args.bad)):
        if good >= args.good and bad >= args.bad or time.process_time() > args.seconds:
            break
        try:
            line, failed = attempt(rng, op, schema, k % 2 == 0)
        except Skip:
            return
        if not line or line in seen or (bad >= args.bad if failed else good >= args.good):
            continue
        seen.add(line)
        good, bad = good + (not failed), bad + failed
        print(line, flush=True)


# ---- functions of numbers on grids

POINTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, -2.5, 3.0, 7.3, 10.0, -10.0, 30.0, 100.0, -100.0, 700.0, 1e5, -1e5, 1e10, 1e13, 1e20, -1e20, 1e30,
          1e-5, -1e-5, 1e-10, 1e-30, 1e-40, float("inf"), float("-inf"), float("nan")]
DEGREES = [0.0, -0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 33.0, 100.0, -1.0, -2.0, 0.5, 6.5, -0.5, float("nan")]
AT = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.3, -0.9, 2.0, -3.7, 10.0, 1e10, -1e10, 1e30, float("inf"), float("-inf"), float("nan")]
SPECIAL_UNARY = """digamma lgamma special_entr special_ndtri special_log_ndtr special_erfcx special_i0e i0 special_i1 special_i1e special_bessel_j0
    special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
    special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0 sinc logit expm1 erf erfc
    erfinv reciprocal rsqrt tan atanh acosh asin round frac sgn special_airy_ai exp2""".split()
SPECIAL_BINARY = """special_zeta igamma igammac special_xlog1py xlogy.Tensor float_power.Tensor_Tensor hypot copysign.Tensor nextafter atan2 fmax fmin
    maximum minimum heaviside""".split()
FAMILIES = ["chebyshev_polynomial_" + k for k in "tuvw"] + ["shifted_chebyshev_polynomial_" + k for k in "tuvw"] + [
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
PAIRS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -2.0, 7.3, 30.0, -100.0, 1e5, 1e10, 1e13, -1e20, 1e-10, float("inf"), float("-inf"), float("nan")]
# Where PyTorch's airy_ai is off by 2e-7 or more, and phases that its float arithmetic has lost.
LEFT_OUT = {"special_airy_ai": lambda x: -10 < x < -2 or x < -100}
LEFT_OUT.update({"special_bessel_" + name: lambda x: abs(x) > 1e4 for name in ("j0", "j1", "y0", "y1")})


def grid_line(name, columns, dtype):
    """columns: tensors and numbers, in the order of the schema."""
    base, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, base), overload or "default")
    columns = [c.to(dtype) if isinstance(c, torch.Tensor) else c for c in columns]
    texts = ["%s[%s]{%s}" % (NAMES[dtype], commas(c.shape), numbers(c)) if isinstance(c, torch.Tensor) else repr(c) for c in columns]
    print("%s\t%s\t%s" % (op_key(op._schema), " ".join(texts), result_text(op(*columns))))


def grid():
    print("# What PyTorch 1.13 answers: tests/edges/make.py --grid. Checked by tests/unit/test_edges.c.")

    def wide(values):
        return torch.tensor(values, dtype=torch.float64)

    for dtype in (torch.float32, torch.float64):
        for name in SPECIAL_UNARY:
            leave = LEFT_OUT.get(name, lambda x: False)
            grid_line(name, [wide([x for x in POINTS if not leave(x)])] + [None] * (name == "logit"), dtype)
        for n in range(5):
            grid_line("polygamma", [n, wide(POINTS)], dtype)
        for p in (1, 2, 3):  # defined above (p - 1) / 2
            least = (p - 1) / 2
            above = [x for x in POINTS + [least + 1e-5, least + 1e-10] if not torch.tensor(x, dtype=dtype) <= least]
            grid_line("mvlgamma", [wide(above), p], dtype)
        for name in SPECIAL_BINARY:
            grid_line(name, [wide(PAIRS)[:, None], wide(PAIRS)], dtype)
        for name in FAMILIES:
            grid_line("special_" + name, [wide(AT)[:, None], wide(DEGREES)], dtype)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ctsc", default="build/ctsc")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--good", type=int, default=6, help="calls per operator that succeed")
    p.add_argument("--bad", type=int, default=3, help="calls per operator that fail")
    p.add_argument("--seconds", type=float, default=0.7, help="processor time to spend on an operator")
    p.add_argument("--only", default="aten::", help="operators that begin so")
    p.add_argument("--one", help="one operator, in this process")
    p.add_argument("--grid", action="store_true", help="functions of numbers, see above")
    args = p.parse_args()
    if args.grid:
        return grid()
    if args.one:
        return one(args)
    keys = [line.split("(")[0] for line in subprocess.run([args.ctsc, "ops"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()]
    known = {op_key(s): s for s in torch._C._jit_get_all_schemas()}
    for key in keys:
        s = known.get(key)
        if not key.startswith(args.only) or not key.startswith("aten::") or s is None or any(word in key for word in SKIP):
            continue
        kinds = [str(a.type) for a in s.arguments]
        if not any("Tensor" in k for k in kinds) or any(a.is_out for a in s.arguments):
            continue
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            args.one, args.seconds = key, args.seconds + time.process_time()
            try:
                one(args)
            except BaseException as e:
                print("%s: %s" % (key, e), file=sys.stderr)
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            print("%s: PyTorch ended with status %d" % (key, status), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
