#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single operators, family by family: ctsc as written (--opt 0) and, where it is installed, PyTorch, in the same run and turn by turn.

    python3 bench/ops.py --bench build/bench [--threads 1] [--only sort] [--json FILE] [--markdown FILE]        (make bench-ops)

Each row is a module whose tensors are made once and whose forward is one operator. A contender is one process for all rows; in each round
every contender has its turn. Figures are the best medians of the rounds, since what else happens on a machine only ever adds. "ratio" is
ctsc's time over PyTorch's. "x copy" is the time over that of one memcpy as large as all that the operator must read or write, for rows that
memory bounds. Needs nothing but Python.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import suite

M = 1 << 20
# family; what is shown; tensors and modules, made once; the operator. MB: megabytes read and written, where memory is the bound.
ROWS = []


def row(family, name, made, call, mb=None):
    ROWS.append((family, name, made, call, mb))


def pointwise():
    for n, text in ((M, "1M"), (4 * M, "4M")):
        v = "x = torch.rand(%d); y = torch.rand(%d) + 0.5" % (n, n)
        mb = 4 * n / 1e6
        row("pointwise", "add %s" % text, v, "x + y", 3 * mb)
        row("pointwise", "mul by a number %s" % text, v, "x * 2.5", 2 * mb)
        row("pointwise", "relu %s" % text, v, "torch.relu(x)", 2 * mb)
        row("pointwise", "exp %s" % text, v, "torch.exp(x)", 2 * mb)
        row("pointwise", "x > y %s" % text, v, "x > y", 2.25 * mb)
    v = "x = torch.rand(1048576) - 0.5; y = torch.rand(1048576) + 0.5; z = torch.rand(1048576)"
    for call in ("x / y", "x - y", "torch.sigmoid(x)", "torch.tanh(x)", "torch.nn.functional.gelu(x)", "torch.nn.functional.silu(x)",
                 "torch.nn.functional.hardswish(x)", "torch.nn.functional.leaky_relu(x)", "torch.nn.functional.elu(x)", "torch.sqrt(y)",
                 "torch.rsqrt(y)", "torch.log(y)", "torch.log1p(y)", "torch.sin(x)", "torch.erf(x)", "torch.pow(y, 2.0)", "torch.pow(y, z)",
                 "torch.clamp(x, 0.0, 0.3)", "torch.abs(x)", "torch.floor(x)", "torch.round(x)", "torch.maximum(x, y)", "torch.where(x > y, x, y)",
                 "torch.lerp(x, y, 0.3)", "torch.addcmul(x, y, z)", "torch.atan2(x, y)", "torch.remainder(x, y)", "torch.isnan(x)"):
        row("pointwise", call.replace("torch.nn.functional.", "").replace("torch.", "") + " 1M", v, call)
    v = "x = torch.rand(1024, 1024); c = torch.rand(1024, 1); r = torch.rand(1024)"
    row("pointwise", "add transposed 1024x1024", v, "x + x.t()", 12.6)
    row("pointwise", "add a row 1024x1024", v, "x + r", 8.4)
    row("pointwise", "add a column 1024x1024", v, "x + c", 8.4)
    row("pointwise", "relu of every second column", v, "torch.relu(x[:, ::2])")
    row("pointwise", "add of a channel 64x56x56", "x = torch.rand(1, 64, 56, 56); b = torch.rand(1, 64, 1, 1)", "x + b")
    v = "i = torch.arange(1048576); j = torch.arange(1048576) + 7; h = torch.rand(1048576).half(); b = torch.rand(1048576) > 0.5; d = torch.rand(1048576).double()"
    for call in ("i + j", "i * 3", "i // j", "i & j", "i == j", "h + h", "b & b", "torch.logical_not(b)", "d + d", "torch.exp(d)"):
        row("pointwise", call.replace("torch.", "") + " 1M (i int64, h half, b bool, d double)", v, call)
    row("pointwise", "add 5 elements", "x = torch.rand(5)", "x + x")


def convert():
    v = "x = torch.rand(1048576); i = torch.arange(1048576); u = torch.arange(1048576).to(torch.uint8)"
    row("conversion and copies", "float to half 1M", v, "x.half()")
    row("conversion and copies", "float to int64 1M", v, "x.long()")
    row("conversion and copies", "int64 to float 1M", v, "i.float()")
    row("conversion and copies", "uint8 to float 1M", v, "u.float()")
    v = "x = torch.rand(2048, 2048); y = torch.rand(8, 3, 224, 224); s = torch.rand(64, 12, 64, 64)"
    row("conversion and copies", "clone 4M", v, "x.clone()", 33.6)
    row("conversion and copies", "transpose 2048x2048", v, "x.t().contiguous()", 33.6)
    row("conversion and copies", "channels last 8x3x224x224", v, "y.permute(0, 2, 3, 1).contiguous()")
    row("conversion and copies", "swap heads 64x12x64x64", v, "s.transpose(1, 2).contiguous()", 25.2)
    row("conversion and copies", "cat of two 2048x2048, dim 1", v, "torch.cat([x, x], 1)", 67.1)
    row("conversion and copies", "stack of two, dim 0", v, "torch.stack([x, x])", 67.1)
    row("conversion and copies", "flip", v, "torch.flip(x, [1])", 33.6)
    row("conversion and copies", "roll", v, "torch.roll(x, [100], [1])", 33.6)
    row("conversion and copies", "repeat 512x512 to 1024x1024", "x = torch.rand(512, 512)", "x.repeat(2, 2)")
    row("conversion and copies", "tril 1024x1024", "x = torch.rand(1024, 1024)", "torch.tril(x)")
    n = "n = 1048576"  # an attribute: operators of constants would be folded
    for name, call in (("zeros 1M", "torch.zeros([n])"), ("arange 1M", "torch.arange(n)"), ("rand 1M", "torch.rand([n])"), ("randn 1M", "torch.randn([n])"),
                       ("randperm 100k", "torch.randperm(n // 10)")):
        row("creation and random", name, n, call)


def reduce():
    v = "x = torch.rand(2048, 2048); i = torch.arange(4194304).view(2048, 2048); b = torch.rand(2048, 2048) > 2"
    row("reductions", "sum of all 4M", v, "x.sum()", 16.8)
    row("reductions", "sum of rows", v, "x.sum(1)", 16.8)
    row("reductions", "sum of columns", v, "x.sum(0)", 16.8)
    row("reductions", "sum of int64", v, "i.sum()", 33.6)
    v = v.replace("2048", "1024").replace("4194304", "1048576")
    for call in ("x.mean([0])", "x.mean([1])", "x.var(1)", "x.std(0)", "x.amax(1)", "x.max(0)", "x.max(1)", "x.max()", "x.argmax(1)", "x.argmax(0)", "x.prod(1)",
                 "x.norm()", "torch.linalg.vector_norm(x, 2, [1])", "torch.logsumexp(x, 1)", "torch.logsumexp(x, 0)", "b.any()", "b.all(1)", "x.cumsum(1)", "x.cumsum(0)",
                 "x.cumprod(1)", "torch.cummax(x, 1)", "torch.logcumsumexp(x, 1)", "torch.count_nonzero(x)", "torch.median(x, 1)", "torch.aminmax(x)"):
        row("reductions", call.replace("torch.", "") + " 1024x1024", v, call)
    row("reductions", "mean of planes 64x512x7x7", "x = torch.rand(64, 512, 7, 7)", "x.mean([2, 3])")


def indexing():
    v = "x = torch.rand(10000, 256); i = torch.randint(0, 10000, (4096,)); m = torch.rand(10000, 256) > 0.5; g = torch.randint(0, 256, (10000, 256)); w = torch.rand(4096, 256)"
    for name, call in (("rows x[i]", "x[i]"), ("index_select, dim 0", "torch.index_select(x, 0, i)"), ("x[m] by a mask", "x[m]"), ("gather, dim 1", "torch.gather(x, 1, g)"),
                       ("scatter, dim 1", "torch.scatter(x, 1, g, x)"), ("scatter_add, dim 1", "torch.scatter_add(x, 1, g, x)"), ("index_add", "torch.index_add(x, 0, i, w)"),
                       ("masked_fill", "x.masked_fill(m, 0.0)"), ("index_put", "torch.index_put(x, [i], w)"), ("nonzero", "torch.nonzero(m)"), ("take", "torch.take(x, g)")):
        row("indexing", name, v, call)
    row("indexing", "elements x[i, j]", "x = torch.rand(1024, 1024); i = torch.randint(0, 1024, (100000,)); j = torch.randint(0, 1024, (100000,))", "x[i, j]")


def sorting():
    v = "x = torch.rand(1000000); y = torch.rand(1000, 1000); i = torch.randint(0, 1000, (1000000,)); e = torch.arange(1000).float() / 1000"
    for name, call in (("sort 1M", "torch.sort(x)"), ("sort rows 1000x1000", "torch.sort(y, 1)"), ("sort columns", "torch.sort(y, 0)"), ("argsort rows", "torch.argsort(y, 1)"),
                       ("sort int64 1M", "torch.sort(i)"), ("topk 10 of rows", "torch.topk(y, 10, 1)"), ("topk 100 of 1M", "torch.topk(x, 100)"), ("kthvalue rows", "torch.kthvalue(y, 500, 1)"),
                       ("unique int64", "torch.unique(i)"), ("unique with inverse", "torch.unique(i, return_inverse=True)"), ("searchsorted", "torch.searchsorted(e, x)"), ("bincount", "torch.bincount(i)"), ("histc", "torch.histc(x, 100)")):
        row("sorting", name, v, call)


def products():
    v = "a = torch.rand(512, 512); b = torch.rand(512, 512); v = torch.rand(512); p = torch.rand(12, 128, 64); q = torch.rand(12, 64, 128)"
    for name, call in (("mm 512", "torch.mm(a, b)"), ("matmul transposed", "torch.matmul(a, b.t())"), ("mv 512", "torch.mv(a, v)"), ("dot 512", "torch.dot(v, v)"),
                       ("outer 512", "torch.outer(v, v)"), ("bmm 12x128x64x128", "torch.bmm(p, q)"), ("addmm 512", "torch.addmm(v, a, b)"), ("einsum bij,bjk->bik", "torch.einsum('bij,bjk->bik', p, q)"),
                       ("cdist 512x512", "torch.cdist(a, b)")):
        row("products", name, v, call)
    row("products", "linear 128x768 to 3072", "x = torch.rand(128, 768); l = torch.nn.Linear(768, 3072)", "l(x)")
    row("products", "linear 1x768 to 768", "x = torch.rand(1, 768); l = torch.nn.Linear(768, 768)", "l(x)")


def linalg():
    v = "r = torch.rand(256, 256); a = torch.rand(256, 256) + 256 * torch.eye(256); s = torch.rand(256, 256); b = torch.rand(256, 8); t = torch.rand(1000, 4, 4) + 4 * torch.eye(4)"
    for name, call in (("inv 256", "torch.linalg.inv(a)"), ("det 256", "torch.linalg.det(a)"), ("solve 256x8", "torch.linalg.solve(a, b)"), ("qr 256", "torch.linalg.qr(r)"),
                       ("svd 256", "torch.linalg.svd(r)"), ("eigh 256", "torch.linalg.eigh(r + r.t())"), ("cholesky 256", "torch.linalg.cholesky(a @ a.t())"),
                       ("inv of 1000 4x4", "torch.linalg.inv(t)"), ("matrix_exp 256", "torch.matrix_exp(r)"), ("triangular solve", "torch.linalg.solve_triangular(a, b, upper=True)")):
        row("linear algebra", name, v, call)


def network():
    for name, made, call in (
            ("conv 7x7/2 3 to 64, 224x224", "x = torch.rand(1, 3, 224, 224); m = torch.nn.Conv2d(3, 64, 7, 2, 3)", "m(x)"),
            ("conv 3x3 64, 56x56", "x = torch.rand(1, 64, 56, 56); m = torch.nn.Conv2d(64, 64, 3, 1, 1)", "m(x)"),
            ("conv 3x3/2 128 to 256, 28x28", "x = torch.rand(1, 128, 28, 28); m = torch.nn.Conv2d(128, 256, 3, 2, 1)", "m(x)"),
            ("conv 1x1 256 to 64, 56x56", "x = torch.rand(1, 256, 56, 56); m = torch.nn.Conv2d(256, 64, 1)", "m(x)"),
            ("conv 3x3 512, 7x7", "x = torch.rand(1, 512, 7, 7); m = torch.nn.Conv2d(512, 512, 3, 1, 1)", "m(x)"),
            ("depthwise 3x3 96, 56x56", "x = torch.rand(1, 96, 56, 56); m = torch.nn.Conv2d(96, 96, 3, 1, 1, groups=96)", "m(x)"),
            ("conv1d 5 of 80, 3000", "x = torch.rand(1, 80, 3000); m = torch.nn.Conv1d(80, 128, 5, 1, 2)", "m(x)"),
            ("conv transposed 4x4/2 64 to 32", "x = torch.rand(1, 64, 32, 32); m = torch.nn.ConvTranspose2d(64, 32, 4, 2, 1)", "m(x)"),
            ("unfold 3x3 64, 56x56", "x = torch.rand(1, 64, 56, 56)", "torch.nn.functional.unfold(x, [3, 3], [1, 1], [1, 1])")):
        row("convolution", name, made, call)
    v = "x = torch.rand(1, 64, 112, 112); y = torch.rand(8, 512, 7, 7)"
    for name, call in (("max 3x3/2, 112x112", "torch.nn.functional.max_pool2d(x, [3, 3], [2, 2], [1, 1])"), ("average 2x2", "torch.nn.functional.avg_pool2d(x, [2, 2])"),
                       ("adaptive average to 1x1", "torch.nn.functional.adaptive_avg_pool2d(y, [1, 1])"), ("adaptive max to 7x7", "torch.nn.functional.adaptive_max_pool2d(x, [7, 7])")):
        row("pooling", name, v, call)
    for name, made, call in (
            ("batch norm 64, 112x112", "x = torch.rand(1, 64, 112, 112); m = torch.nn.BatchNorm2d(64)", "m(x)"),
            ("layer norm 2048x768", "x = torch.rand(2048, 768); m = torch.nn.LayerNorm(768)", "m(x)"),
            ("group norm 32 of 64, 56x56", "x = torch.rand(1, 64, 56, 56); m = torch.nn.GroupNorm(32, 64)", "m(x)"),
            ("instance norm 64, 56x56", "x = torch.rand(1, 64, 56, 56); m = torch.nn.InstanceNorm2d(64)", "m(x)"),
            ("softmax 2048x1024", "x = torch.rand(2048, 1024)", "torch.softmax(x, 1)"),
            ("softmax of columns 1024x1024", "x = torch.rand(1024, 1024)", "torch.softmax(x, 0)"),
            ("log_softmax 128x1000", "x = torch.rand(128, 1000)", "torch.log_softmax(x, 1)"),
            ("normalize 2048x768", "x = torch.rand(2048, 768)", "torch.nn.functional.normalize(x)")):
        row("normalisation", name, made, call)
    v = "x = torch.rand(512, 1000); y = torch.rand(512, 1000); t = torch.randint(0, 1000, (512,))"
    for name, call in (("cross_entropy", "torch.nn.functional.cross_entropy(x, t)"), ("mse_loss", "torch.nn.functional.mse_loss(x, y)"), ("smooth_l1_loss", "torch.nn.functional.smooth_l1_loss(x, y)"),
                       ("bce with logits", "torch.nn.functional.binary_cross_entropy_with_logits(x, y)"), ("kl_div", "torch.nn.functional.kl_div(x, y)")):
        row("losses", name + " 512x1000", v, call)
    v = "x = torch.rand(1, 64, 56, 56); f = torch.rand(1, 56, 56, 2) * 2 - 1; z = torch.rand(1, 64, 28, 28)"
    for name, call in (("nearest to 112x112", "torch.nn.functional.interpolate(x, scale_factor=2.0)"), ("bilinear to 112x112", "torch.nn.functional.interpolate(x, scale_factor=2.0, mode='bilinear', align_corners=False)"),
                       ("bicubic 28 to 56", "torch.nn.functional.interpolate(z, scale_factor=2.0, mode='bicubic', align_corners=False)"), ("grid_sample", "torch.nn.functional.grid_sample(x, f, align_corners=False)"),
                       ("pixel_shuffle", "torch.pixel_shuffle(x, 2)")):
        row("upsampling", name, v, call)
    v = "x = torch.rand(1, 64, 112, 112)"
    row("padding", "zeros 3", v, "torch.nn.functional.pad(x, [3, 3, 3, 3])")
    row("padding", "reflect 3", v, "torch.nn.functional.pad(x, [3, 3, 3, 3], mode='reflect')")
    row("embeddings", "embedding 4096 of 30000x256", "i = torch.randint(0, 30000, (4096,)); m = torch.nn.Embedding(30000, 256)", "m(i)")
    row("embeddings", "embedding_bag 512 of 8", "i = torch.randint(0, 30000, (512, 8)); m = torch.nn.EmbeddingBag(30000, 64, mode='sum')", "m(i)")
    row("embeddings", "one_hot 10000x100", "i = torch.randint(0, 100, (10000,))", "torch.nn.functional.one_hot(i, 100)")
    row("recurrent", "LSTM 20 steps, batch 8, 128", "x = torch.rand(20, 8, 128); m = torch.nn.LSTM(128, 128)", "m(x)")
    row("recurrent", "GRU 20 steps, batch 8, 128", "x = torch.rand(20, 8, 128); m = torch.nn.GRU(128, 128)", "m(x)")
    row("recurrent", "LSTM cell batch 32, 256", "x = torch.rand(32, 256); m = torch.nn.LSTMCell(256, 256)", "m(x)")
    row("attention", "scaled dot product 12 heads 128x64", "q = torch.rand(1, 12, 128, 64)", "torch._C._nn._scaled_dot_product_attention(q, q, q)")
    row("attention", "multi-head 128x1x256, 8 heads", "x = torch.rand(128, 1, 256); m = torch.nn.MultiheadAttention(256, 8)", "m(x, x, x, need_weights=False)")
    row("attention", "encoder layer 128x1x256", "x = torch.rand(128, 1, 256); m = torch.nn.TransformerEncoderLayer(256, 8, 1024)", "m(x)")


def fft():
    v = "x = torch.rand(64, 1024); y = torch.rand(256, 256); s = torch.rand(1, 16000); w = torch.hann_window(400)"
    row("FFT", "rfft 64x1024", v, "torch.fft.rfft(x)")
    row("FFT", "fft2 256x256", v, "torch.fft.fft2(y)")
    row("FFT", "stft 16000", v, "torch.stft(s, 400, 160, 400, w, return_complex=True)")
    row("FFT", "complex mul 64x1024", "x = torch.fft.fft(torch.rand(64, 1024))", "x * x")
    row("FFT", "complex abs 64x1024", "x = torch.fft.fft(torch.rand(64, 1024))", "torch.abs(x)")


for family in (pointwise, convert, reduce, indexing, sorting, products, linalg, network, fft):
    family()

# ---- measuring ------------------------------------------------------------------------------------------


def source(made, call):
    """The module of a row: what is made becomes attributes, which the operator's text names without self."""
    lines = [part.strip() for part in made.split(";")]
    names = [line.split(" = ")[0] for line in lines]
    text = re.sub(r"(?<![\w.'])(%s)\b(?!=)(?!')" % "|".join(names), r"self.\1", call)
    made = "".join("        self.%s\n" % line for line in lines)
    return "import torch\n\n\nclass Main(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        torch.manual_seed(0)\n" \
           "%s\n    def forward(self):\n        return %s\n" % (made, text)


class Ctsc:
    """bench/calls.c, kept running."""

    def __init__(self, program, threads):
        self.process = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.broken = False

    def ask(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        except OSError:
            return {"error": "it ended"}


class Item:
    inputs = []


def measure(args, ours, torch, path):
    """(microseconds of ctsc, of PyTorch, why not)"""
    got, why = ours.ask("load 0 %s" % path), None
    if "error" in got:
        return None, None, "ctsc: " + got["error"]
    why_torch = torch.load(path, Item) if torch else "not installed"
    mine, theirs = [], []
    for _ in range(args.rounds):
        got = ours.ask("run %g" % args.seconds)
        if "error" in got:
            return None, None, "ctsc: " + got["error"]
        mine.append(got["median_us"])
        if why_torch:
            continue
        got = torch.ask(do="run", seconds=args.seconds)
        if "error" in got:
            why_torch = got["error"]
        else:
            theirs.append(got["median_us"])
    return min(mine), min(theirs) if theirs else None, why_torch


def copy_us(args, mb, threads):
    got = suite.run_json([os.path.join(args.bench, "copy"), str(int(mb * 5e5)), str(threads), "0.1"])
    return got.get("median_us")


def run_all(args, threads, torch, folder):
    ours = Ctsc(os.path.join(args.bench, "calls"), threads)
    results = []
    for family, name, made, call, mb in ROWS:
        if args.only and args.only not in family and args.only not in name:
            continue
        path = os.path.join(folder, "row.py")
        with open(path, "w") as f:
            f.write(source(made, call))
        mine, theirs, why = measure(args, ours, torch, path)
        if mine is None and "it ended" in why:
            ours = Ctsc(os.path.join(args.bench, "calls"), threads)
        r = {"family": family, "name": name, "threads": threads, "us": mine, "torch_us": theirs, "why": why, "mb": mb}
        r["ratio"] = mine / theirs if mine and theirs else None
        copy = copy_us(args, mb, threads) if mb and mine else None
        r["x_copy"] = mine / copy if copy else None
        r["gbps"] = mb * 1e3 / mine if mb and mine else None
        results.append(r)
        print("%-22s %-58s %2d %11s %11s %7s %7s %6s %s" %
              (family, name, threads, suite.us(mine), suite.us(theirs), suite.number(r["ratio"], "%.2f"), suite.number(r["gbps"], "%.1f"),
               suite.number(r["x_copy"], "%.2f"), why or ""), flush=True)
    return results


# ---- telling --------------------------------------------------------------------------------------------


def summary(results):
    ratios = [r["ratio"] for r in results if r["ratio"]]
    if not ratios:
        return
    print("\nctsc's time over PyTorch's: median %.2f of %d; above 2:" % (statistics.median(ratios), len(ratios)))
    for r in sorted(results, key=lambda r: -(r["ratio"] or 0)):
        if r["ratio"] and r["ratio"] > 2:
            print("    %5.2f  %s, %s (%d threads)" % (r["ratio"], r["family"], r["name"], r["threads"]))


def markdown(results, path):
    with open(path, "w") as f:
        f.write("| family | operator | threads | ctsc, us | PyTorch, us | ratio | GB/s | x copy |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
        for r in results:
            f.write("| %s | %s | %d | %s | %s | %s | %s | %s |\n" % (
                r["family"], r["name"], r["threads"], suite.us(r["us"]), suite.us(r["torch_us"]), suite.number(r["ratio"], "%.2f"),
                suite.number(r["gbps"], "%.1f") if r["gbps"] else "", suite.number(r["x_copy"], "%.2f") if r["x_copy"] else ""))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", default="build/bench", help="where calls and copy are, built")
    p.add_argument("--threads", default="1", help="numbers of threads (1)")
    p.add_argument("--rounds", type=int, default=3, help="turns of each contender per row (3)")
    p.add_argument("--seconds", type=float, default=0.05, help="length of a turn (0.05)")
    p.add_argument("--only", default="", help="rows whose family or name contains this")
    p.add_argument("--torch-python", default="/usr/bin/python3", help="a Python that has PyTorch")
    p.add_argument("--json", metavar="FILE", help="write all figures there as well")
    p.add_argument("--markdown", metavar="FILE", help="write the table there as well")
    args = p.parse_args()
    results = []
    print("%-22s %-58s %2s %11s %11s %7s %7s %6s" % ("family", "operator", "th", "ctsc us", "torch us", "ratio", "GB/s", "x copy"))
    with tempfile.TemporaryDirectory() as folder:
        for threads in [int(t) for t in args.threads.split(",")]:
            torch = suite.Peer(args.torch_python, "torch", threads)
            results += run_all(args, threads, torch if torch.there else None, folder)
    summary(results)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(results, f, indent=1)
    if args.markdown:
        markdown(results, args.markdown)
    return 1 if any(r["us"] is None for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
