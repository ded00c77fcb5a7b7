# SPDX-License-Identifier: Apache-2.0
"""Calls of all operators under PyTorch and under ctsc: values, strides, offsets, which results share memory with which arguments, and what is written in place.

    PYTHON tests/against/against_samples.py --package build/python [--seed 1] [--samples 6] [-k 'clamp*'] [--dtypes float32,int64] [--summary]
    PYTHON tests/against/against_samples.py --schemas ...
    PYTHON tests/against/against_samples.py [--schemas] --as script|export ...
    PYTHON tests/against/against_samples.py --out ...

The calls are the sample inputs of PyTorch's own tests (OpInfo), of all operators and dtypes; with --schemas generated ones of all overloads (against_schemas.py).
PYTHON has PyTorch 2.15, its tests' operator database (torch.testing._internal) and NumPy. Each operator is asked in a process of its own; the calls with
PyTorch's answers go through a file of plain values to a process of ctsc, whose answers come back in the same way. Random operators are left out.
With --out they are calls with out=, of tensors of any layout, dtype and shape, and of the argument itself; whether there is an error is compared, too.
With --as the calls are programs that PyTorch saved (against_scripts.py), which ctsc runs at all levels.
"""
import argparse
import fnmatch
import importlib
import logging
import os
import pickle
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against_scripts  # noqa: E402

DTYPES = "float32,bfloat16,float16,float64,int64,uint8,int8,bool,complex64"
# Where what differs is no fault of either (docs/differs.md): what the name has, the dtypes, a pattern of the difference.
NARROW = "float16|bfloat16|mixed"
KNOWN = (
    # signs of vectors, factors that PyTorch's LAPACK pivots otherwise
    ("eig", "", "elements"), ("svd", "", "elements|strides"), ("linalg_det", "", r"\[1\]"), ("slogdet", "", r"\[2\]"), ("geqrf", "", "elements"), ("matrix_sqrth", "", "elements"),
    # random numbers inside; strides of what is saved for the gradient
    ("scaled_dot_product", "", "elements|strides|shape"), ("multi_head_attention_forward", "", "elements"),
    # 16-bit numbers that PyTorch rounds several times
    ("grid_sample", NARROW, "elements"), ("matrix_exp", NARROW + "|float32", "elements"), ("polar", NARROW, "elements"), ("_aa.", "", "elements"),
    # what is lazily conjugated or negated there, or loses it
    ("fft.ifft", "", "conj"), ("ihfft", "", "conj"), ("fft_ifft", "", "conj"), ("vdot", "", "conj"), ("einsum", "", "conj|neg|shares|strides|formats"),
    # functional forms that keep gaps; copies in the order of the argument
    ("_copy.", "", "strides|formats"), ("aten.fill.", "", "strides|formats"), ("aten.copy.", "", "strides|formats"), ("aten.zero.", "", "strides|formats"),
    ("unsafe_chunk", "", "shares|neg|conj"), ("unsafe_split", "", "shares|neg|conj"), ("sorted", "", "shares"), ("prim_", "", "dtype|shares"),
    # what the order of equal or overlapping elements decides
    ("put_.", "", "elements|argument"), ("quantile", "", "elements"), ("nanmedian", "", "elements"),
)


def is_known(name, dtype, what):
    return any(word in name and (not dtypes or dtype in dtypes.split("|")) and re.search(pattern, what) for word, dtypes, pattern in KNOWN)


ELEMENTS = 20000  # of an argument
RANDOM = ("rand", "normal", "bernoulli", "dropout", "uniform", "multinomial", "poisson", "exponential", "geometric", "cauchy", "empty", "rrelu", "jiterator", "sparse", "nested", "jagged", "svd_lowrank",
          "pca_lowrank", "fractional_max_pool", "gumbel", "_to_copy_custom", "resize_", "is_pinned", "pin_memory")


# ---- plain values -----------------------------------------------------------------------------------


class Unsaid(Exception):
    pass


def storage_bytes(torch, t):
    s = t.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8).set_(s) if torch.__name__ == "torch" else None
    return bytes(whole.tolist()) if whole is not None else None


def plain(torch, v, leaves):
    """A value without objects of torch's; tensors with their whole storage. leaves collects the tensors."""
    if isinstance(v, torch.Tensor):
        if v.layout != torch.strided or v.is_quantized or v.numel() > ELEMENTS or v.device.type != "cpu" or v.untyped_storage().nbytes() > 32 * ELEMENTS:
            raise Unsaid
        leaves.append(v)
        return ("tensor", str(v.dtype).split(".")[-1], tuple(v.shape), tuple(v.stride()), v.storage_offset(), storage_bytes(torch, v), v.is_conj(), v.is_neg())
    if isinstance(v, torch.dtype):
        return ("dtype", str(v).split(".")[-1])
    if isinstance(v, torch.memory_format):
        return ("memory_format", str(v).split(".")[-1])
    if isinstance(v, torch.device):
        return ("device", str(v))
    if isinstance(v, (list, tuple)):
        return ("list" if isinstance(v, list) else "tuple", [plain(torch, x, leaves) for x in v])
    if isinstance(v, dict):
        return ("dict", {k: plain(torch, x, leaves) for k, x in v.items()})
    if isinstance(v, slice):
        return ("slice", [plain(torch, x, leaves) for x in (v.start, v.stop, v.step)])
    if v is None or v is Ellipsis or type(v) in (bool, int, float, complex, str):
        return ("value", v)
    raise Unsaid


def rebuilt(torch, v, leaves):
    kind = v[0]
    if kind == "tensor":
        _, dtype, shape, strides, offset, data, conj, neg = v
        dtype = getattr(torch, dtype)
        flat = torch.frombuffer(bytearray(data), dtype=dtype).clone() if data else torch.empty(0, dtype=dtype)
        t = flat.as_strided(shape, strides, offset)
        t = t.conj() if conj else t
        t = torch._neg_view(t) if neg else t
        leaves.append(t)
        return t
    if kind in ("dtype", "memory_format"):
        return getattr(torch, v[1])
    if kind == "leaf":
        return leaves[v[1]]
    if kind == "device":
        return torch.device(v[1])
    if kind in ("list", "tuple"):
        made = [rebuilt(torch, x, leaves) for x in v[1]]
        return made if kind == "list" else tuple(made)
    if kind == "dict":
        return {k: rebuilt(torch, x, leaves) for k, x in v[1].items()}
    if kind == "slice":
        return slice(*[rebuilt(torch, x, leaves) for x in v[1]])
    return v[1]


# ---- a call -----------------------------------------------------------------------------------------


def function(torch, name, form):
    if form == "inplace":
        return getattr(torch.Tensor, name)
    if name.startswith("__") and name.endswith("__"):
        return getattr(torch.Tensor, name)
    for start in (torch, torch.ops.aten):
        at = start
        try:
            for part in name.replace("torch.ops.", "ops.").split("."):
                at = getattr(at, part)
            return at
        except AttributeError:
            pass
    return getattr(torch.Tensor, name)


def numbers(torch, t):
    """Elements as bytes, with the dtype that they are in: floats of less than 32 bits as float32."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype.is_floating_point and t.dtype != torch.float64:
        t = t.to(torch.float32)
    return t.reshape(-1).contiguous().numpy().tobytes() if t.numel() else b""


def described(torch, v, leaves):
    if isinstance(v, torch.Tensor):
        shares = [(i, v.storage_offset()) for i, a in enumerate(leaves) if a.numel() and v.numel() and a.untyped_storage().data_ptr() == v.untyped_storage().data_ptr()]
        sizes = list(v.shape)
        strides = [s if n > 1 else 0 for n, s in zip(sizes, v.stride())] if v.numel() else []
        formats = [v.is_contiguous()] + ([v.is_contiguous(memory_format=torch.channels_last)] if v.dim() == 4 else [])
        return ("tensor", str(v.dtype).split(".")[-1], tuple(sizes), strides, formats, shares[:1], numbers(torch, v), v.is_conj(), v.is_neg())
    if isinstance(v, (list, tuple)):
        return ("list", [described(torch, x, leaves) for x in v])
    if isinstance(v, torch.dtype):
        return ("value", str(v))
    if v is None or type(v) in (bool, int, float, complex, str):
        return ("value", v)
    return ("value", str(type(v).__name__))


def call(torch, case, program=None):
    leaves = []
    args, kwargs = rebuilt(torch, case["args"], leaves), rebuilt(torch, case["kwargs"], leaves)
    try:
        if "archive" in case:
            out = (program or against_scripts.Saved(torch, case))(*leaves)
        else:
            out = function(torch, case["name"], case["form"])(*args, **kwargs)
        return {"out": described(torch, out, leaves), "args": [numbers(torch, t) for t in leaves] if case["form"] != "fn" else []}
    except Exception as e:
        return {"error": "%s: %s" % (type(e).__name__, str(e).split("\n")[0][:200])}


# ---- targets ----------------------------------------------------------------------------------------


def target(torch, rng, t, leaves):
    """A tensor for out= beside the result t: as plain() writes it down, or which of the leaves it is."""
    same = [i for i, a in enumerate(leaves) if a.shape == t.shape and a.dtype == t.dtype]
    how = rng.choice(["rows", "gaps", "turned", "dtype", "dtype", "nothing", "shape", "expanded", "argument", "argument"])
    if how == "argument" and same:
        return ("leaf", rng.choice(same))
    sizes, dtype = list(t.shape), t.dtype
    if how == "dtype":
        dtype = getattr(torch, rng.choice(["float64", "float32", "float16", "int64", "uint8", "bool", "complex64", "complex128"]))
    if how == "nothing":
        sizes = [0]
    elif how == "shape":
        sizes = rng.choice([sizes[::-1], [2] + sizes, sizes[1:], [3]])
    if how == "gaps" and sizes:
        made = torch.full(sizes[:-1] + [2 * sizes[-1]], 7).to(dtype)[..., ::2]
    elif how == "turned":
        made = torch.full(sizes[::-1], 7).to(dtype).permute(list(range(len(sizes) - 1, -1, -1)))
    elif how == "expanded" and sizes:
        made = torch.full([1] + sizes[1:], 7).to(dtype).expand(sizes)
    else:
        made = torch.full(sizes, 7).to(dtype)
    return plain(torch, made, [])


def targets(torch, rng, case, give):
    """The call with out=, three times."""
    leaves = []
    try:
        args, kwargs = rebuilt(torch, case["args"], leaves), rebuilt(torch, case["kwargs"], leaves)
        out = function(torch, case["name"], "fn")(*args, **kwargs)
    except Exception:
        return
    several = isinstance(out, (list, tuple))
    if not all(isinstance(t, torch.Tensor) for t in (out if several else [out])):
        return
    for _ in range(3):
        try:
            made = ("tuple", [target(torch, rng, t, leaves) for t in out]) if several else target(torch, rng, out, leaves)
        except Unsaid:
            continue
        asked = {**case, "form": "out", "kwargs": ("dict", {**case["kwargs"][1], "out": made})}
        asked["want"] = call(torch, asked)
        if "TypeError" not in asked["want"].get("error", ""):
            give(asked)


# ---- making the cases, in PyTorch -------------------------------------------------------------------


def cases_of(torch, op, args, give):
    for name in args.dtypes.split(","):
        dtype = getattr(torch, name)
        if not op.supports_dtype(dtype, "cpu"):
            continue
        rng = random.Random("%d %s %s" % (args.seed, op.full_name, name))
        torch.manual_seed(args.seed)
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
        except Exception:
            continue
        rng.shuffle(samples)
        made = 0
        for sample in samples:
            if made >= args.samples:
                break
            try:
                given = ("tuple", [plain(torch, x, []) for x in (sample.input, *sample.args)])
                named = ("dict", {k: plain(torch, x, []) for k, x in sample.kwargs.items()})
            except Unsaid:
                continue
            made += 1
            if args.out:
                if op.supports_out:
                    targets(torch, rng, {"name": op.name, "form": "fn", "dtype": name, "args": given, "kwargs": named}, give)
                continue
            forms = [("fn", op.name)]
            if op.inplace_variant is not None and hasattr(op.inplace_variant, "__name__"):
                forms.append(("inplace", op.inplace_variant.__name__))
            for form, called in forms:
                case = {"name": called, "form": form, "dtype": name, "args": given, "kwargs": named}
                try:
                    function(torch, called, form)
                except AttributeError:
                    continue
                case["want"] = call(torch, case)
                if "error" in case["want"] and "TypeError" in case["want"]["error"]:
                    continue  # not how the operator is called
                give(case)


def make(args, path):
    import torch
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)  # torch.export's, of calls that it cannot take
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    if args.form == "export":  # what it imports, before there are processes of operators
        against_scripts.exported(torch, ["a0"], ["return a0 + 1"], [torch.ones(2)])

    def give(case):
        if args.form != "call":
            case = against_scripts.programs_of(torch, case, rng, args.form, call, rebuilt)
        if case:
            pickle.dump(case, out)

    if args.schemas:
        import against_schemas
        sources = [(name, lambda give, s=s: against_schemas.cases_of(torch, s, args, give, call)) for name, s in against_schemas.schemas(torch)]
    else:
        from torch.testing._internal.common_methods_invocations import op_db
        sources = [(op.name, lambda give, op=op: cases_of(torch, op, args, give)) for op in op_db]
    until = time.monotonic() + args.seconds if args.seconds else None
    if until:
        rng.shuffle(sources)
    with open(path, "wb") as out:
        for name, cases in sources:
            if until and time.monotonic() > until:
                break
            if not fnmatch.fnmatch(name, args.k) or any(word in name for word in RANDOM):
                continue
            out.flush()
            pid = os.fork()
            if pid == 0:
                resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
                try:
                    cases(give)
                    out.flush()
                except BaseException as e:
                    print("%s: %r" % (name, e), file=sys.stderr)
                os._exit(0)
            os.waitpid(pid, 0)


def read(path):
    with open(path, "rb") as f:
        while True:
            try:
                yield pickle.load(f)
            except (EOFError, pickle.UnpicklingError):
                return


def answer(path, skip):
    torch = importlib.import_module("ctsc")
    sys.modules["torch"] = torch
    for k, case in enumerate(read(path)):
        if k < skip:
            continue
        del case["want"]
        pickle.dump(against_scripts.answers(torch, case, call) if "archive" in case else call(torch, case), sys.stdout.buffer)
        sys.stdout.buffer.flush()
    return 0


# ---- comparing --------------------------------------------------------------------------------------

TOLERANCE = {"float16": (2e-3, 1e-5), "bfloat16": (1.6e-2, 1e-4), "float32": (1e-4, 1e-5), "float64": (1e-7, 1e-9), "complex64": (1e-4, 1e-5), "complex128": (1e-7, 1e-9)}


def differs(np, got, want):
    if got[0] != want[0]:
        return "%s instead of %s" % (got[0], want[0])
    if want[0] == "list":
        if len(got[1]) != len(want[1]):
            return "%d instead of %d" % (len(got[1]), len(want[1]))
        return next((("[%d] " % i) + d for i, d in enumerate(map(lambda g, w: differs(np, g, w), got[1], want[1])) if d), None)
    if want[0] == "value":
        same = got[1] == want[1] or got[1] != got[1] and want[1] != want[1] or isinstance(got[1], float) and isinstance(want[1], float) and abs(got[1] - want[1]) <= 1e-5 * abs(want[1])
        return None if same else "%r instead of %r" % (got[1], want[1])
    for i, what in ((1, "dtype"), (2, "shape"), (3, "strides"), (4, "formats"), (5, "shares"), (7, "conj"), (8, "neg")):
        if got[i] != want[i]:
            return "%s %s instead of %s" % (what, got[i], want[i])
    kind = want[1] if want[1] in ("float64", "complex64", "complex128", "bool") or "int" in want[1] else "float32"
    a, b = np.frombuffer(got[6], dtype=kind), np.frombuffer(want[6], dtype=kind)
    return elements_differ(np, a, b, want[1])


def elements_differ(np, a, b, dtype):
    if len(a) != len(b):
        return "%d elements instead of %d" % (len(a), len(b))
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    if "16" in dtype and rtol:  # roundings on the way count by the largest element
        atol = max(atol, rtol * max((abs(x) for x in b if np.isfinite(x)), default=0))
    with np.errstate(all="ignore"):
        same = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True) if rtol else a == b
    wrong = np.flatnonzero(~same)
    return "%d of %d elements, [%d] is %s instead of %s" % (len(wrong), len(a), wrong[0], a[wrong[0]], b[wrong[0]]) if len(wrong) else None


def compare(np, got, want, form):
    for level, g in enumerate(got.get("levels", ())):
        what = compare(np, g, want, form)
        if what:
            return "level %d: %s" % (level, what)
    if "levels" in got:
        return None
    if "error" in want or "error" in got:
        return ("no error; PyTorch: " + want["error"] if form == "out" and "error" not in got else None) if "error" in want else got["error"]
    what = differs(np, got["out"], want["out"])
    if what:
        return what
    for i, (g, w) in enumerate(zip(got["args"], want["args"])):
        if len(g) != len(w):
            return "argument %d" % i
    return None


def refused(got):
    """Whether ctsc lacks it, at all levels."""
    return "error" in got or bool(got.get("levels")) and all("error" in g for g in got["levels"])


def shown(v):
    if v[0] == "tensor":
        return "%s%s%s%s" % (v[1], list(v[2]), "" if not v[3] or v[3][-1] == 1 else "<%s>" % (list(v[3]),), "conj" if v[6] else "")
    if v[0] in ("list", "tuple"):
        return "(%s)" % ", ".join(map(shown, v[1]))
    if v[0] == "leaf":
        return "argument %d" % v[1]
    if v[0] == "dict":
        return ", ".join("%s=%s" % (k, shown(x)) for k, x in v[1].items())
    return str(v[1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--package", default="build/python")
    p.add_argument("--mine", default="/usr/bin/python3", help="the Python that has ctsc")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--samples", type=int, default=6, help="of each operator and dtype")
    p.add_argument("--dtypes", default=DTYPES)
    p.add_argument("-k", default="*", metavar="GLOB")
    p.add_argument("--schemas", action="store_true", help="generated calls of all overloads")
    p.add_argument("--seconds", type=int, default=0, help="as many operators, picked by the seed, as PyTorch answers in that time")
    p.add_argument("--out", action="store_true", help="calls with out=")
    p.add_argument("--as", dest="form", choices=("call", "script", "export"), default="call", help="what the calls are: of Python, or programs that PyTorch saved")
    p.add_argument("--all", action="store_true", help="calls that ctsc refuses, and what is known to differ, too")
    p.add_argument("--summary", action="store_true", help="of each operator the first difference alone")
    p.add_argument("--answer", metavar="FILE", help="internal")
    p.add_argument("--skip", type=int, default=0)
    args = p.parse_args()
    if args.answer:
        return answer(args.answer, args.skip)
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases")
        make(args, path)
        total = wrong = 0
        seen, stream, lost = set(), None, 0
        env = {**os.environ, "PYTHONPATH": os.path.abspath(args.package), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        for k, case in enumerate(read(path)):
            if stream is None:
                stream = subprocess.Popen([args.mine, os.path.abspath(__file__), "--answer", path, "--skip", str(k)], stdout=subprocess.PIPE, env=env)
            try:
                got = pickle.load(stream.stdout)
                what = compare(np, got, case["want"], case["form"])
            except (EOFError, pickle.UnpicklingError):
                got, what, stream = None, "ended with status %s" % stream.wait(), None
            total += 1
            if not what or not args.all and (refused(got or {}) or is_known(case["name"], case["dtype"], what)):
                continue
            wrong += 1
            if args.summary and case["name"] in seen:
                continue
            seen.add(case["name"])
            print("%s %s %s: %s\n    %s; %s%s" % (case["name"], case["form"], case["dtype"], what, shown(case["args"]), shown(case["kwargs"]), "\n    " + case["text"] if "text" in case else ""), flush=True)
    print("%d cases, %d differences" % (total, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
