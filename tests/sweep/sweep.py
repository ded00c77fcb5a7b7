#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs as people write them, at level 0 and level 3, with one thread and two: no difference.

    python3 tests/sweep/sweep.py --sweep build/sweep [--lines 20000] [--programs 20000] [--grads 2000] [--seed 1] [--jobs 1] [--keep FOLDER]

Half are one line, reduce, scan, softmax or norm of an operator of a view; half are programs of views, writes in place, small loops, branches and several
results. Some of either kind take gradients, and are called until these are captured. Sources are made here, some hundred methods of one module at a time; tests/sweep/sweep_main.c compiles each module once and compares.
Where the graph fuzzer (tests/diff) draws graphs, this goes through the front end as well, whose graphs have other patterns.

--print SEED shows the module of a seed, --keep leaves those where something differed.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

METHODS = 200  # of a module
RANKS = {"x": 3, "y": 2, "z": 1}

# ---- one line -----------------------------------------------------------------------------------------------


def bound(r):
    return r.choice(["", "", "0", "1", "2", "-1", "-2", "n", "-n", "n - 1", "9", "m"])


def piece(r):
    """What stands between brackets for one dim; what it leaves of the dim: 1, or 0."""
    kind = r.randrange(10)
    if kind < 5:
        return bound(r) + ":" + bound(r), 1
    if kind < 7:
        return "%s:%s:%s" % (bound(r), bound(r), r.choice(["1", "2", "3", "n"])), 1
    return (r.choice(["0", "1", "-1", "n - 1"]), 0) if kind < 9 else (":", 1)


def indexed(r, v, rank):
    n = r.randint(1, rank)
    pieces = [piece(r) for _ in range(n)]
    if rank > 1 and r.random() < 0.1:
        pieces[0] = ("...", rank - n + 1)
    if r.random() < 0.1:
        pieces.insert(r.randint(0, len(pieces)), ("None", 2))
    left = rank - n + sum(p[1] if p[1] < 2 else 1 for p in pieces if p[0] != "...") + (1 if pieces[0][0] == "..." else 0)
    return "%s[%s]" % (v, ", ".join(p[0] for p in pieces)), left


def dim(r, rank):
    return r.randint(-rank, rank - 1) if rank else 0


def view(r, v, rank):
    """A view of v, or a copy that moves elements, and its rank."""
    d, e = dim(r, rank), dim(r, rank)
    first = d % rank
    choices = [
        lambda: indexed(r, v, rank), lambda: indexed(r, v, rank), lambda: indexed(r, v, rank), lambda: indexed(r, v, rank),
        lambda: ("%s.transpose(%d, %d)" % (v, d, e), rank),
        lambda: ("%s.permute(%s)" % (v, ", ".join(map(str, r.sample(range(rank), rank)))), rank),
        lambda: ("%s.narrow(%d, %s, %s)" % (v, d, r.choice(["0", "1", "n - 1"]), r.choice(["1", "2", "n", "0"])), rank),
        lambda: ("%s.select(%d, %s)" % (v, d, r.choice(["0", "-1", "n - 1"])), rank - 1),
        lambda: ("%s.unsqueeze(%d)" % (v, d), rank + 1),
        lambda: ("%s.squeeze(%d)" % (v, d), rank),
        lambda: ("%s.unsqueeze(0).expand(%s)" % (v, ", ".join([r.choice(["2", "3", "n"])] + ["-1"] * rank)), rank + 1),
        lambda: ("%s.flip([%d])" % (v, d), rank),
        lambda: ("%s.roll(%s, %d)" % (v, r.choice(["1", "2", "-1"]), d), rank),
        lambda: ("%s.chunk(2, %d)[%d]" % (v, d, r.randint(-1, 0)), rank),
        lambda: ("%s.split(2, %d)[0]" % (v, d), rank),
        lambda: ("%s.unbind(%d)[0]" % (v, d), rank - 1),
        lambda: ("%s.unfold(%d, 2, %s)" % (v, d, r.choice(["1", "2"])), rank + 1),
        lambda: ("%s.reshape(-1)" % v, 1),
        lambda: ("%s.reshape(%s)" % (v, ", ".join(["-1"] + ["%s.size(%d)" % (v, k) for k in range(1, rank)])), rank),
        lambda: ("%s.flatten(%d)" % (v, first), first + 1),
        lambda: ("%s.diagonal(%d)" % (v, r.randint(-1, 1)), rank - 1) if rank > 1 else (v, rank),
        lambda: ("%s.movedim(%d, %d)" % (v, d, e), rank),
        lambda: ("%s.contiguous()" % v, rank),
        lambda: ("%s.tril()" % v, rank) if rank > 1 else (v, rank),
        lambda: ("torch.cat([%s, %s], %d)" % (v, v, d), rank),
        lambda: ("torch.stack([%s, %s], %d)" % (v, v, d), rank + 1),
        lambda: ("F.pad(%s, [1, %d])" % (v, r.randint(0, 2)), rank),
        lambda: ("%s.index_select(%d, torch.tensor([0, 0]))" % (v, d), rank),
        lambda: ("%s.repeat(%s)" % (v, ", ".join(r.choice("12") for _ in range(rank))), rank),
        lambda: (v, rank),
    ]
    text, left = r.choice(choices)()
    return (text, left) if left > 0 else ("%s.reshape(-1)" % text, 1)


POINTWISE = ["%s", "%s", "torch.relu(%s)", "(%s) * 2", "(%s) + 1", "-(%s)", "(%s).abs()", "(%s) ** 2", "torch.exp(%s)", "torch.tanh(%s)", "torch.sigmoid(%s)",
             "(%s).clamp(-1, 2)", "(%s).double()", "(%s).to(torch.int64)", "(%s).bool()", "(%s).half()", "(%s) > 0", "(%s) + z.sum()", "(%s) * n", "(%s).sin()",
             "F.gelu(%s)", "F.leaky_relu(%s)", "torch.where(%s > 0, 1., 2.)", "(%s).masked_fill(y.sum() > 0, 1.)", "(%s) / 3", "(%s).floor()"]
FLOATS = ["var", "std", "logsumexp", "mean", "norm"]


def reduction(r, v, rank):
    """A reduction, scan, softmax or norm of v. 'K' is a dim, 'B' whether it is kept."""
    rows = ["(V).sum()", "(V).sum(K)", "(V).sum(K, B)", "(V).sum([K, L], B)", "(V).mean(K, B)", "(V).mean()", "(V).amax(K, B)", "(V).amin([K, L])", "(V).max()", "(V).min()",
            "(V).max(K)", "(V).min(K, B)", "(V).argmax(K)", "(V).argmin(K, B)", "(V).argmax()", "(V).prod()", "(V).prod(K, B)", "(V).any(K)", "(V).all(K, B)", "(V).any()",
            "(V).norm()", "torch.norm(V, 2, K)", "torch.norm(V, 1, K, B)", "(V).var(K)", "(V).std(K, B)", "(V).var()", "torch.var(V, K, unbiased=False)", "(V).logsumexp(K)",
            "(V).logsumexp(K, B)", "(V).count_nonzero(K)", "(V).nansum(K)", "(V).median()", "(V).aminmax(dim=K)", "torch.std_mean(V, K)",
            "(V).cumsum(K)", "(V).cumprod(K)", "(V).cummax(K)", "(V).cummin(K)[0]", "(V).logcumsumexp(K)", "(V).softmax(K)", "F.log_softmax(V, K)", "F.softmin(V, K)",
            "F.normalize(V, dim=K)", "F.layer_norm(V, [(V).size(-1)])", "F.layer_norm(V, [(V).size(-1)], eps=0.1)", "F.cosine_similarity(V, V, dim=K)",
            "F.mse_loss(V, (V) * 2)", "F.l1_loss(V, V + 1, reduction='sum')", "torch.linalg.vector_norm(V, 2, K)", "(V).dist((V) + 1)", "(V).sort(K)[0]", "(V).topk(1, K)[0]",
            "F.glu(torch.cat([V, V], K), K)", "(V).diff(dim=K)", "torch.trapz(V, dim=K)"]
    if rank >= 3:
        rows += ["F.instance_norm(V)", "F.group_norm(V, 1)", "F.batch_norm(V, None, None, training=True)"]
    k, l = dim(r, rank), dim(r, rank)
    if rank > 1 and k % rank == l % rank:
        l = (k + 1) % rank
    text = r.choice(rows)
    text = text.replace("[K, L]", "[%d]" % k) if rank < 2 else text
    return text.replace("V", v).replace("K", str(k)).replace("L", str(l)).replace("B)", r.choice(["True)", "False)"]))


def one_line(r):
    v = r.choice(["x", "x", "x", "y", "z"])
    text, rank = view(r, v, RANKS[v])
    if rank <= 3 and r.random() < 0.25:
        text, rank = view(r, "(%s)" % text if text[0] != "(" else text, rank)
    f = r.choice(POINTWISE)
    return ["return " + reduction(r, f.replace("%s", text), rank)]


# ---- programs --------------------------------------------------------------------------------------------------


class Program:
    """Variables are known by rank, and by how their shape came about: equal ways, equal shapes."""

    def __init__(self, r):
        self.r = r
        self.lines = []
        self.vars = [("x", 3, "x"), ("y", 2, "y"), ("z", 1, "z")]
        self.count = 0

    def put(self, text, depth=0):
        self.lines.append("    " * depth + text)

    def new(self, text, rank, shape):
        self.count += 1
        self.put("v%d = %s" % (self.count, text))
        self.vars.append(("v%d" % self.count, rank, shape))

    def pick(self):
        return self.r.choice(self.vars[-5:] if self.r.random() < 0.6 else self.vars)

    def like(self, shape):
        return self.r.choice([v[0] for v in self.vars if v[2] == shape])

    def step_view(self):
        v, rank, shape = self.pick()
        if rank == 0:
            return
        text, left = view(self.r, v, rank)
        if left <= 4:
            self.new(text, left, shape + text[len(v):])

    def pointwise(self, v, rank, shape):
        r = self.r
        d = dim(r, rank)
        rows = ["%s + 1", "%s * 2", "torch.relu(%s)", "%s - n", "-%s", "%s.abs()", "%s.clamp(-2, 3)", "torch.tanh(%s)", "%s * 0.5", "%s + z.sum()", "%s.sigmoid()", "%s ** 2"]
        if rank:
            rows += ["%%s - %%s.mean(%d, True)" % d, "%%s + %%s.amax(%d, True)" % d, "%%s.softmax(%d)" % d, "%%s.cumsum(%d)" % d, "%%s.flip([%d])" % d, "%s.clone()"]
        text = r.choice(rows) if r.random() < 0.6 else "%s " + r.choice(["+", "-", "*"]) + " " + self.like(shape)
        return text.replace("%s", v)

    def step_pointwise(self):
        v, rank, shape = self.pick()
        self.new(self.pointwise(v, rank, shape), rank, shape)

    def step_reduce(self):
        v, rank, shape = self.pick()
        if rank == 0:
            return
        d = dim(self.r, rank)
        name = self.r.choice(["sum", "mean", "amax", "amin", "prod", "logsumexp"])
        self.new("%s.%s(%d)" % (v, name, d), rank - 1, "%s.%s(%d)" % (shape, "reduce", d % rank))

    def write(self, depth=0, at=None):
        """A write in place; at: an index that is a loop's counter."""
        r = self.r
        v, rank, shape = self.pick()
        if rank == 0:
            return self.put(r.choice(["%s.add_(1)", "%s += 2", "%s.mul_(-1)"]).replace("%s", v), depth)
        place = v
        if at or r.random() < 0.6:
            place, left = indexed(r, v, rank)
            if at:
                place, left = "%s[%s]" % (v, at), rank - 1
        rows = ["P.add_(1)", "P.mul_(2)", "P.relu_()", "P.neg_()", "P.clamp_(-3, 3)", "P.sub_(z.sum())"]
        if place != v:
            rows += ["P = 1.0", "P += 1", "P *= 2", "P -= z.sum()", "P = P * 2 + 1", "P = torch.relu(P)", "P[...] = 0", "P.copy_(P + 1)", "P.fill_(n)", "P.zero_()"]
        else:
            rows += ["P += " + self.like(shape), "P[P > 1.3] = 0", "P.masked_fill_(P < 0.1, 1)", "P.copy_(%s * 2)" % self.like(shape), "P.tril_()" if rank > 1 else "P.abs_()"]
        self.put(r.choice(rows).replace("P", place), depth)

    def step_write(self):
        self.write()

    def step_loop(self):
        r = self.r
        v, rank, shape = self.pick()
        self.count += 1
        i, acc = "i%d" % self.count, "a%d" % self.count
        kind = r.randrange(4)
        if kind == 0 or rank == 0:
            w = self.pick()
            self.put("%s = %s" % (acc, w[0]))
            self.put("for %s in range(%s):" % (i, r.choice(["2", "3", "n"])))
            self.put("%s = %s" % (acc, self.pointwise(acc, w[1], w[2])), 1)
            if r.random() < 0.4:
                self.write(1)
            self.vars.append((acc, w[1], w[2]))
        elif kind == 1:
            self.put("%s = torch.zeros([])" % acc)
            self.put("for %s in range(%s.size(0)):" % (i, v))
            self.put("%s = %s + %s[%s]%s" % (acc, acc, v, i, ".sum()" if rank > 1 else ""), 1)
            self.vars.append((acc, 0, ""))
        elif kind == 2:
            self.put("for %s in range(%s.size(0)%s):" % (i, v, r.choice(["", " - 1"])))
            self.put("%s[%s] = %s[%s] %s" % (v, i, v, i + r.choice(["", "", " + 1", " - 1"]), r.choice(["* 2", "+ 1", "- %s" % i, "+ %s[0]" % v])), 1)
        else:
            self.put("%s = 0.0" % acc)
            self.put("for %s in range(%s.size(0)):" % (i, v))
            self.put("if float(%s[%s].sum()) > %s + 0.3:" % (v, i, acc), 1)
            self.put("%s = float(%s[%s].sum())" % (acc, v, i), 2)
            self.put("%s = torch.full([2], %s)" % (acc + "t", acc))
            self.vars.append((acc + "t", 1, "full"))

    def step_if(self):
        v, rank, shape = self.pick()
        self.count += 1
        name = "b%d" % self.count
        self.put("if %s:" % self.r.choice(["n > 1", "float(%s.sum()) > 0.7" % v, "%s.dim() > 2" % v, "bool((%s > 0.7).any())" % v]))
        self.put("%s = %s" % (name, self.pointwise(v, rank, shape)), 1)
        self.put("else:")
        self.put("%s = %s" % (name, self.pointwise(v, rank, shape)), 1)
        self.vars.append((name, rank, shape))

    def make(self):
        steps = [self.step_view] * 6 + [self.step_pointwise] * 6 + [self.step_write] * 5 + [self.step_reduce] * 3 + [self.step_loop] * 2 + [self.step_if]
        self.put("x, y, z = x.clone(), y.clone(), z.clone()") if self.r.random() < 0.5 else None
        for _ in range(self.r.randint(3, 10)):
            self.r.choice(steps)()
        made = [v[0] for v in self.vars[3:]] or ["x"]
        results = self.r.sample(made, min(len(made), self.r.randint(1, 4)))
        if made[-1] not in results:
            results[0] = made[-1]
        self.put("return " + ", ".join(results))
        return self.lines


# ---- gradients ----------------------------------------------------------------------------------------------------


def gradient(r):
    """A program that takes the gradient of what it makes of x, y and z."""
    made = []
    if r.random() < 0.5:
        while not made or re.search(r"\.(max|min|cummax)\([^()]+\)$|aminmax|std_mean", made[0]):  # several results
            made = one_line(r)
        made = [made[0].replace("return ", "w = ")]
        names = ["w"]
    else:
        p = Program(r)
        lines = [line for line in p.make() if "clone(), y.clone()" not in line]
        names = lines.pop()[len("return "):].split(", ")
        made = lines
    start = ["x1, y1, z1 = x.clone().requires_grad_(True), y.clone().requires_grad_(True), z.clone().requires_grad_(True)", "x, y, z = x1 * 1, y1 * 1, z1 * 1"]
    total = " + ".join("(%s.to(torch.float32) * %d).sum()" % (name, k + 1) for k, name in enumerate(names)) + " + x.sum() * 0"
    return start + made + ["total = " + total, "return [%s], torch.autograd.grad([total], [x1, y1, z1], allow_unused=True)" % ", ".join(names)]


# ---- modules -----------------------------------------------------------------------------------------------------


def module(seed, lines, programs, grads):
    r = random.Random(seed)
    text = ["import torch", "import torch.nn.functional as F", "", "class M(torch.nn.Module):", "    def forward(self, x):", "        return x", ""]
    kinds = [("l", one_line)] * lines + [("p", lambda r: Program(r).make())] * programs + [("g", gradient)] * grads
    for i, (kind, make) in enumerate(kinds):
        body = make(r)
        text += ["    @torch.jit.export", "    def %s%d(self, x, y, z, n: int, m: int):" % (kind, i)] + ["        " + line for line in body] + [""]
    return "\n".join(text)


def run(args, job):
    seed, *counts = job
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(args.keep or folder, "sweep_%d.py" % seed)
        with open(path, "w", encoding="utf-8") as f:
            f.write(module(seed, *counts))
        p = subprocess.run([args.sweep, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = p.stdout.decode("utf-8", "replace")
        if args.keep and p.returncode == 0:
            os.remove(path)
    counts = [int(w) for w in out.rsplit("\n", 2)[-2].split() if w.isdigit()] if p.returncode in (0, 1) else []
    return seed, p.returncode, counts, out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sweep", default="build/sweep")
    ap.add_argument("--lines", type=int, default=20000)
    ap.add_argument("--programs", type=int, default=20000)
    ap.add_argument("--grads", type=int, default=2000)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--jobs", type=int, default=1)
    ap.add_argument("--keep")
    ap.add_argument("--print", type=int, dest="show")
    args = ap.parse_args()
    wanted = (args.lines, args.programs, args.grads)
    count = max(1, -(-sum(wanted) // METHODS))
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    sizes = [tuple((i + 1) * n // count - i * n // count for n in wanted) for i in range(count)]
    if args.show is not None:
        print(module(args.show, *sizes[(args.show - args.seed) % count]))
        return 0
    totals, bad = [0] * 4, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for seed, code, counts, out in pool.map(lambda i: run(args, (args.seed + i,) + sizes[i]), range(count)):
            totals = [a + b for a, b in zip(totals, counts or [0] * 4)]
            if code:
                bad += 1
                print("==== seed %d (exit %d)\n%s" % (seed, code, out[-6000:]), flush=True)
    print("%d programs, %d calls that fail alike, %d excused (a run in float64, an error that nobody needs), %d different" % tuple(totals))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
