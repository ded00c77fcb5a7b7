#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests of operators (onnx.backend.test, nodes of the default domain) through ctsc's importer.

    tests/onnx/nodes.py --package build/python [--opset LOW:HIGH] [-k NAME] [--levels 0,2] [--cases DIR] [--verbose]

Prints, per operator, how many of its tests give the results that ONNX says, how many ctsc refuses, and how many differ. What differs, or crashes, is a
failure; a refusal is one where the operator is in --need (the default: those that networks for images and texts use). Needs onnx and numpy; --cases keeps
the generated models, which take a minute to make. Exit 77: onnx is missing."""
import argparse
import collections
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy
    import onnx
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

# What the vision and transformer networks of the ONNX model zoo, and those that PyTorch exports, are made of.
NEED = """Abs Add And ArgMax ArgMin Attention AveragePool BatchNormalization Cast CastLike Ceil Clip Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger
ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather GatherElements GatherND
Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HardSigmoid HardSwish Identity If InstanceNormalization IsInf IsNaN LRN
LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpNormalization MatMul MatMulInteger Max MaxPool Mean Min Mish Mod Mul Neg NonMaxSuppression NonZero
Not OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round Scan ScatterElements ScatterND Selu
SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Sigmoid Sign Sin Size Slice Softmax Softplus Softsign SpaceToDepth Split
SplitToSequence Sqrt Squeeze Sub Sum Swish Tan Tanh Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor""".split()


def operator(model):
    """What a test is of: the operator of most of its name."""
    return model.graph.node[-1].op_type if len(model.graph.node) == 1 else model.graph.node[-1].op_type


def version(model):
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)


def make(folder):
    """One file per test: name, model, inputs with their names, results, tolerances."""
    from onnx.backend.test.case.node import collect_testcases
    os.makedirs(folder, exist_ok=True)
    for case in collect_testcases(None):
        model = case.model
        if any(o.domain not in ("", "ai.onnx") for o in model.opset_import):
            continue
        with open(os.path.join(folder, case.name + ".case"), "wb") as f:
            pickle.dump((case.name, operator(model), version(model), model.SerializeToString(), case.data_sets, case.rtol, case.atol), f)


def plain(x):
    """As ctsc gets it: arrays, and lists of these."""
    if isinstance(x, (list, tuple)):
        return [plain(i) for i in x]
    if isinstance(x, onnx.TensorProto):
        return onnx.numpy_helper.to_array(x)
    return x


# Integers of less than a byte are bytes for ctsc (docs/onnx.md).
FEW_BITS = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8"}

# Results that are random numbers: their dtypes and shapes are compared.
RANDOM = re.compile("test_bernoulli|test_training_dropout(?!_zero)")

# Results whose elements are as small as a rounding of those that they are made of (ONNX Runtime allows the same).
ROUNDED = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}
EIGHTS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")  # NumPy has them from a package


def known(x):
    """Has ctsc the type of these elements?"""
    if isinstance(x, list):
        return all(known(i) for i in x)
    return x is None or numpy.asarray(x).dtype.name in ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
                                                    "complex64", "complex128", "bfloat16", "float4_e2m1fn") + EIGHTS + tuple(FEW_BITS)


def differs(got, want, rtol, atol, random=False):
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return "a sequence of %s instead of %d" % (len(got) if isinstance(got, list) else "none", len(want))
        return next((t for t in (differs(g, w, rtol, atol, random) for g, w in zip(got, want)) if t), "")
    want = numpy.asarray(want)
    if got is None:
        return "no result"
    name = str(got.dtype).split(".")[-1]
    if want.dtype.name in FEW_BITS:
        want = want.astype(FEW_BITS[want.dtype.name])
    kept = "float8_e4m3fn" if want.dtype.name == "float4_e2m1fn" else want.dtype.name  # docs/onnx.md
    got = got.float().numpy() if name in EIGHTS + ("bfloat16",) else got.numpy()
    if name in EIGHTS:
        want = numpy.asarray(want.astype(numpy.float32))
    if name != kept:
        return "%s instead of %s" % (name, want.dtype.name)
    if got.shape != want.shape:
        return "shape %s instead of %s" % (got.shape, want.shape)
    # floats of 16 bits: two units in the last place
    if want.dtype.name == "bfloat16":
        want, rtol = want.astype(numpy.float32), max(rtol, 2 ** -6)
    elif want.dtype.name == "float16":
        rtol = max(rtol, 2 ** -9)
    if random:
        return ""
    if want.dtype.kind in "fc":
        ok = numpy.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    else:
        ok = got == want
    return "" if numpy.all(ok) else "%d of %d elements differ" % (numpy.size(ok) - numpy.sum(ok), numpy.size(ok))


def worker(package, levels):
    """Reads paths, prints what became of them."""
    sys.path.insert(0, package)
    import ctsc
    for line in sys.stdin:
        with open(line.strip(), "rb") as f:
            name, _, _, data, sets, rtol, atol = pickle.load(f)
        atol = ROUNDED.get(name, atol)
        random = RANDOM.match(name) is not None
        try:
            text = ""
            for level in levels:
                module = ctsc.load(data)
                module.set_opt(level)
                for inputs, outputs in sets:
                    inputs, outputs = [plain(i) for i in inputs], [plain(o) for o in outputs]
                    if not all(map(known, inputs)):
                        raise ctsc.UnsupportedError("an input has a type that ctsc has not", "")
                    got = module(*(tensors(ctsc, i) for i in inputs))
                    got = list(got) if isinstance(got, tuple) else [got]
                    if len(got) != len(outputs):
                        text = "%d results instead of %d" % (len(got), len(outputs))
                    for i, (g, w) in enumerate(zip(got, outputs)):
                        text = text or differs(g, w, rtol, atol, random)
                if text:
                    text = "FAIL level %d: %s" % (level, text)
                    break
        except ctsc.UnsupportedError as e:
            text = "REFUSED " + str(e).splitlines()[0]
        except Exception as e:
            text = "FAIL %s: %s" % (type(e).__name__, (str(e).splitlines() or [""])[0])
        print("%s\t%s" % (name, text or "ok"), flush=True)


def tensors(ctsc, x):
    if isinstance(x, list):
        return [tensors(ctsc, i) for i in x]
    if x is None:
        return None
    x = numpy.asarray(x)
    if x.dtype.name in FEW_BITS:
        x = x.astype(FEW_BITS[x.dtype.name])
    if x.dtype.name == "bfloat16":
        return ctsc.from_numpy(numpy.array(x.astype(numpy.float32))).to(ctsc.bfloat16)
    if x.dtype.name == "float4_e2m1fn":
        return ctsc.from_numpy(numpy.array(x.astype(numpy.float32))).to(ctsc.float8_e4m3fn)
    if x.dtype.name in EIGHTS:
        return ctsc.from_numpy(numpy.array(x).view(numpy.uint8)).view(getattr(ctsc, x.dtype.name))
    return ctsc.from_numpy(numpy.array(x))


def run(args, paths):
    """What became of each; a crash is of the test that was being run."""
    results, at = {}, 0
    while at < len(paths):
        p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", "--package", args.package, "--levels", args.levels], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = p.communicate("".join(path + "\n" for path in paths[at:]))
        lines = out.splitlines()
        for path, line in zip(paths[at:], lines):
            results[path] = line.split("\t", 1)[1]
        at += len(lines)
        if at < len(paths):
            results[paths[at]] = "FAIL crashed (%d): %s" % (p.returncode, err.strip()[-200:])
            at += 1
    return results


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--package", required=True, help="the folder in which the Python package ctsc is")
    ap.add_argument("--opset", default="7:28", help="only tests of models with such a version of the operator set")
    ap.add_argument("-k", default="", help="only tests with this in their names")
    ap.add_argument("--levels", default="0,2")
    ap.add_argument("--cases", help="where the generated tests are, or will be")
    ap.add_argument("--need", default=",".join(NEED))
    ap.add_argument("-v", "--verbose", action="store_true", help="refusals, too")
    ap.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.worker:
        worker(args.package, [int(x) for x in args.levels.split(",")])
        return 0
    low, high = map(int, args.opset.split(":"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.cases or scratch
        if not os.path.isdir(folder) or not os.listdir(folder):
            make(folder)
        cases = []
        for file in sorted(os.listdir(folder)):
            with open(os.path.join(folder, file), "rb") as f:
                name, op, opset = pickle.load(f)[:3]
            if args.k in name and low <= opset <= high:
                cases.append((os.path.join(folder, file), name, op))
        results = run(args, [c[0] for c in cases])
    counts, failed = collections.defaultdict(collections.Counter), 0
    for path, name, op in cases:
        text = results[path]
        kind = "passed" if text == "ok" else "refused" if text.startswith("REFUSED") else "failed"
        counts[op][kind] += 1
        if kind == "failed" or (kind == "refused" and args.verbose):
            print("%-60s %s" % (name, text[:240]), flush=True)
        failed += kind == "failed"
    total = collections.Counter()
    for op in sorted(counts):
        c = counts[op]
        total.update(c)
        print("%-28s %3d passed%s%s" % (op, c["passed"], ", %d refused" % c["refused"] if c["refused"] else "", ", %d FAILED" % c["failed"] if c["failed"] else ""))
    print("%d tests of %d operators: %d passed, %d refused, %d failed" % (len(cases), len(counts), total["passed"], total["refused"], total["failed"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
