#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Narrow numbers: models in bfloat16, float16, int8 and int4, ctsc against PyTorch, ONNX Runtime, OpenVINO and llama.cpp, whichever are there, in the same run.

    python3 bench/narrow.py [--only bert,qwen3] [--threads 1,2] [--rounds 3] [--seconds 1] [--json FILE] [--markdown FILE]          (make bench-narrow)

Models are written on the spot: by narrow_models.py, with --python, which has today's PyTorch and what else is there of torchvision, transformers, torchao, onnx,
onnxruntime, openvino, xllamacpp and gguf; quantised ones by quantised.py, with PyTorch 1.13 (--torch-python). Each contender is one process per group of rows
and number of threads, which stays and measures when told (narrow_worker.py); in each round every one has its turn, and all others are stopped, as in bench-nets.
The figure is the best call of all rounds. A row is ctsc against the contenders that do the same work; what is not installed, or cannot, says so and is left out.

--cpu: all as on an older processor, as in bench-nets; ONNX Runtime and llama.cpp have no switch for that and take no part.

limit: what the processor needs to read the weights in this type once, or for the operations if all are made in registers by its fastest instruction for the type,
whichever is more; both measured (peaks.c). A result that differs from PyTorch's float32 one by more than the type explains counts as WRONG: by more than a
bound for the type, and by more than 1.1 times PyTorch's own error in that type.
"""
import argparse
import datetime
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "nets"))
import quantised
from nets_suite import CPUS, Contender, environment, has, held, mean, memory_gib, over, processor, take_turns, text

PEERS = {"pytorch": "PyTorch", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "llamacpp": "llama.cpp"}
NOT_HELD = ["onnxruntime", "llamacpp"]  # to an older processor (--cpu)
OLDER = {"avx2": {"float32": "vfmadd 256", "int8": "vpmaddubsw 256"}}  # which instructions count there
MODULES = {"pytorch": "torch", "onnxruntime": "onnxruntime", "openvino": "openvino", "llamacpp": "xllamacpp"}
# Bytes of a weight, the type whose operations count, and how far from float32's result, in its largest value, a right one may be.
TYPES = {"float32": (4, "float32", 1e-3), "bf16": (2, "bfloat16", 0.25), "f16": (2, "float32", 0.05), "int8": (1, "int8", 0.5), "int8w": (1, "float32", 0.1),
         "int4w": (0.5, "float32", 0.5)}


TYPE_NAMES = ("float32", "bfloat16", "int8")


def ctsc(model, precision=None, **more):
    return dict({"kind": "ctsc", "model": model}, **dict({"precision": precision} if precision else {}, **more))


def peer(kind, model, **more):
    return dict({"kind": kind, "model": model}, **more)


# ---- what is measured ----------------------------------------------------------------------------------------------

# A group: the models it needs and its contenders, which all stay loaded. A row of the table: title, group, type, ctsc's contender, peers'.
GROUPS, ROWS = {}, []


def row(title, group, kind, own, peers):
    ROWS.append({"title": title, "group": group, "type": kind, "ctsc": own, "peers": peers})


def archives(net, what):
    """A network saved in 16 bits, and in float32 reduced by the runtime."""
    g = GROUPS[net] = {"models": [net], "contenders": {
        "ctsc bf16": ctsc(net + ".bf16.pt", dtype="bfloat16"), "ctsc f16": ctsc(net + ".f16.pt", dtype="float16"),
        "pytorch bf16": peer("pytorch", net + ".bf16.pt", dtype="bfloat16"), "pytorch f16": peer("pytorch", net + ".f16.pt", dtype="float16"),
        "onnxruntime f16": peer("onnxruntime", net + ".f16.onnx", dtype="float16"), "openvino default": peer("openvino", net + ".onnx"),
        "openvino f16": peer("openvino", net + ".onnx", hint="f16")}}
    row("%s, saved in bfloat16" % what, net, "bf16", "ctsc bf16", ["pytorch bf16", "openvino default"])
    row("%s, saved in float16" % what, net, "f16", "ctsc f16", ["pytorch f16", "onnxruntime f16", "openvino f16"])
    return g["contenders"]


def reduced(net, what):
    c = GROUPS.setdefault(net + " reduced", {"models": [net], "contenders": {}})["contenders"]
    c.update({"ctsc " + p: ctsc(net + ".pt", p) for p in ("float32", "bf16", "int8w", "int4w")})
    c.update({"pytorch bf16": peer("pytorch", net + ".bf16.pt", dtype="bfloat16"), "onnxruntime float32": peer("onnxruntime", net + ".onnx"),
              "openvino default": peer("openvino", net + ".onnx"), "openvino float32": peer("openvino", net + ".onnx", hint="f32")})
    group = net + " reduced"
    row("%s in float32" % what, group, "float32", "ctsc float32", ["onnxruntime float32", "openvino float32"])
    for p in ("bf16", "int8w", "int4w"):
        row("%s, `--precision %s`" % (what, p), group, p, "ctsc " + p, ["pytorch bf16", "onnxruntime float32", "openvino default", "openvino float32"])


def quantised_network(net):
    group = "quantised_" + net
    GROUPS[group] = {"quantised": net, "contenders": dict(
        {"ctsc archive": ctsc(net + ".pt"), "ctsc qdq": ctsc(net + "_u8s8.onnx"), "pytorch archive": peer("pytorch", net + ".pt", freeze=False)},
        **{"%s %s" % (k, form): peer(k, "%s_%s.onnx" % (net, form)) for k in ("onnxruntime", "openvino") for form in ("u8s8", "s8s8")})}
    everyone = ["%s %s" % (k, form) for k in ("onnxruntime", "openvino") for form in ("u8s8", "s8s8")]
    row("%s, QDQ ONNX (u8s8)" % net, group, "int8", "ctsc qdq", everyone)
    row("%s, quantised by PyTorch" % net, group, "int8", "ctsc archive", everyone + ["pytorch archive"])


archives("bert_128", "bert 12x768, 128 tokens")
archives("resnet50", "resnet50")
archives("mlp_1", "MLP blocks, one row")
archives("mlp_32", "MLP blocks, 32 rows")

GROUPS["mlp_1 weights"] = {"models": ["mlp_1"], "contenders": {
    "ctsc int8w": ctsc("mlp_1.pt", "int8w"), "ctsc int4w": ctsc("mlp_1.pt", "int4w"), "ctsc nbits8": ctsc("mlp_1.int8.onnx"), "ctsc nbits4": ctsc("mlp_1.int4.onnx"),
    "pytorch int8": peer("pytorch", "mlp_1.pt", torchao="int8"), "pytorch int4": peer("pytorch", "mlp_1.pt", torchao="int4"),
    "onnxruntime int8": peer("onnxruntime", "mlp_1.int8.onnx"), "onnxruntime int4": peer("onnxruntime", "mlp_1.int4.onnx"),
    "openvino int8": peer("openvino", "mlp_1.int8.xml", hint="f32"), "openvino int4": peer("openvino", "mlp_1.int4.xml", hint="f32")}}
for bits in ("8", "4"):
    others = [k + " int" + bits for k in ("pytorch", "onnxruntime", "openvino")]
    row("MLP blocks, one row, `--precision int%sw`" % bits, "mlp_1 weights", "int%sw" % bits, "ctsc int%sw" % bits, others)
    row("MLP blocks, one row, `MatMulNBits` of %s bits" % bits, "mlp_1 weights", "int%sw" % bits, "ctsc nbits" + bits, others)

for what, tokens in (("token", {"prompt": 64, "new": 64}), ("prefill", {"prompt": 128, "new": 1})):
    name = "qwen3_" + what
    step = {"steps": what == "token"}
    GROUPS[name] = {"models": [name] + (["qwen3_token"] if what == "prefill" else []), "contenders": dict(
        {"ctsc bf16": ctsc(name + ".bf16.pt2", **step), "ctsc int8w": ctsc(name + ".pt2", "int8w", **step), "ctsc int4w": ctsc(name + ".pt2", "int4w", **step),
         "pytorch bf16": peer("pytorch", name + ".bf16.pt2", **step)},
        **{"llamacpp " + t: peer("llamacpp", "qwen3_%s.gguf" % t, **tokens) for t in ("BF16", "Q8_0", "Q4_0")})}
    title = "Qwen3, 109 M parameters, " + ("a token" if what == "token" else "prefill of 128 tokens")
    row(title + ", bfloat16", name, "bf16", "ctsc bf16", ["pytorch bf16", "llamacpp BF16"])
    row(title + ", weights of int8", name, "int8w", "ctsc int8w", ["llamacpp Q8_0"])
    row(title + ", weights of int4", name, "int4w", "ctsc int4w", ["llamacpp Q4_0"])

for net, what in (("resnet50", "resnet50"), ("mobilenet_v2", "mobilenet_v2"), ("bert_128", "bert 12x768, 128 tokens")):
    reduced(net, what)
for net in ("resnet18", "mobilenet_v2", "resnet50", "shufflenet_v2_x1_0"):
    quantised_network(net)


# ---- models ------------------------------------------------------------------------------------------------------------

EXPECT = """
import sys, numpy, onnxruntime
path, out = sys.argv[1:]
x = (numpy.random.RandomState(1).rand(1, 3, 224, 224) * 4 - 2).astype(numpy.float32)
session = onnxruntime.InferenceSession(path + "_float32.onnx", providers=["CPUExecutionProvider"])
numpy.savez(out, x0=x, y0=session.run(None, {session.get_inputs()[0].name: x})[0])
"""


class Models:
    """Where the files of groups are; written when they are first wanted."""

    def __init__(self, args):
        self.args, self.made = args, {}

    def ready(self, group):
        """folder, arrays and what is said of the model; or why it is not there."""
        if group not in self.made:
            g = GROUPS[group]
            try:
                self.made[group] = self.quantised(g["quantised"]) if "quantised" in g else self.written(g["models"])
            except (OSError, subprocess.CalledProcessError, SystemExit) as e:
                self.made[group] = "its models could not be written: %s" % str(e)[:200]
        return self.made[group]

    def written(self, names):
        subprocess.run([self.args.python, os.path.join(HERE, "narrow_models.py"), self.args.folder, *names], env=environment(), check=True)
        with open(os.path.join(self.args.folder, names[0] + ".json")) as f:
            return self.args.folder, os.path.join(self.args.folder, names[0] + ".npz"), json.load(f)

    def quantised(self, net):
        folder = os.path.join(self.args.folder, "quantised")
        path = quantised.prepare(argparse.Namespace(folder=folder, torch_python=self.args.torch_python), net, self.args.python)
        if not os.path.exists(path + ".npz"):
            quantised.run([self.args.python, "-c", EXPECT, path, path + ".npz"])
        return folder, path + ".npz", {"weights": self.weights(path + "_float32.onnx"), "flops": self.operations(path + "_float32.onnx")}

    def weights(self, path):
        """Of the float network, four bytes each: the file is little else."""
        return os.path.getsize(path) / 4

    def operations(self, path):
        out = subprocess.run([self.args.ctsc, "bench", path, "--input", "float32[1,3,224,224]:rand", "--threads", "1", "--opt", "0", "--seconds", "0", "--calls", "1",
                              "--json"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return json.loads(out.stdout).get("flops") if out.returncode in (0, 1) and out.stdout else None


# ---- measuring ---------------------------------------------------------------------------------------------------------


def spec_of(args, folder, arrays, contender, threads):
    spec = dict(contender, threads=threads, arrays=arrays, model=os.path.join(folder, contender["model"]))
    return dict(spec, package=args.package) if spec["kind"] == "ctsc" else spec


def measure(args, models, group, wanted, threads, log):
    """name of a contender -> {"ms", "error", "version", "note"} or {"failed"}"""
    ready = models.ready(group)
    if isinstance(ready, str):
        return {name: {"failed": ready} for name in wanted}
    folder, arrays, _ = ready
    figures, running = {}, {}
    for name in wanted:
        c = GROUPS[group]["contenders"][name]
        if c["kind"] in args.absent or args.cpu and c["kind"] in NOT_HELD:
            figures[name] = {"failed": "not installed" if c["kind"] in args.absent else "cannot be held to %s" % args.cpu}
            continue
        spec = spec_of(args, folder, arrays, c, threads)
        if not os.path.exists(spec["model"]):
            figures[name] = {"failed": "its file could not be made"}
            continue
        running[name] = Contender(name, [args.python, os.path.join(HERE, "narrow_worker.py"), json.dumps(spec)], log)
    take_turns(list(running.values()), args.rounds, args.seconds)
    for name, c in running.items():
        if c.failed or c.best is None:
            figures[name] = {"failed": c.failed or "no figure"}
        else:
            figures[name] = {"ms": c.best, "error": c.error, "version": c.version, "note": c.note}
    return figures


def peaks(args, threads):
    """The best of three processes."""
    runs = []
    for _ in range(3):
        done = subprocess.run([args.peaks, str(threads)], stdout=subprocess.PIPE, text=True)
        if done.returncode == 0:
            runs.append(json.loads(done.stdout))
    if not runs:
        return {}
    best = {"read_gbps": max(r["read_gbps"] for r in runs)}
    for r in runs:
        if args.cpu:
            r.update({t: None for t in TYPE_NAMES}, **{t: {"gops": r["instructions"][name], "by": name} for t, name in OLDER[args.cpu].items()})
        for t in TYPE_NAMES:
            if r.get(t) and (t not in best or r[t]["gops"] > best[t]["gops"]):
                best[t] = r[t]
    return best


# ---- figures -----------------------------------------------------------------------------------------------------------


def limit(said, kind, peak):
    """ms, and what it is that takes so long; None: not known."""
    size, type_, _ = TYPES[kind]
    if not peak or not said.get("weights"):
        return None
    rate = max(peak[t]["gops"] for t in {type_, "float32"} if t in peak)
    read, compute = said["weights"] * size / peak["read_gbps"] * 1e-6, (said.get("flops") or 0) / rate * 1e-6
    return {"ms": max(read, compute), "by": "reading" if read > compute else "operations"}


def allowed(kind, peers):
    """The largest error that the type explains: its bound, or what PyTorch itself has in that type, if that is more (deep networks with random weights)."""
    own = [f["error"] for f in peers if f["contender"] == "pytorch " + kind and f.get("error") is not None]
    return max([TYPES[kind][2]] + [1.1 * e for e in own if math.isfinite(e)])


def wrong(figure, bound):
    return figure.get("error") is not None and not figure["error"] <= bound


def good(figure, bound):
    return figure["ms"] if figure and "ms" in figure and not wrong(figure, bound) else None


def result(r, figures, threads, ready, peak):
    """A row's figures: ctsc's, each peer's best contender's, the limit."""
    kind = r["type"]
    out = {"title": r["title"], "threads": threads, "type": kind, "ctsc": figures.get(r["ctsc"], {"failed": "not measured"}), "peers": {}, "limit": None}
    peers = [dict(figures.get(name, {"failed": "not measured"}), contender=name) for name in r["peers"]]
    bound = out["allowed"] = allowed(kind, peers)
    for f in peers:
        key = f["contender"].split()[0]
        before = out["peers"].get(key)
        if not before or (good(f, bound) or 1e30) < (good(before, bound) or 1e30):
            out["peers"][key] = f
    if not isinstance(ready, str):
        out["limit"] = limit(ready[2], kind, peak)
    best = min((t for t in (good(f, bound) for f in out["peers"].values()) if t), default=None)
    out["best_peer"], out["ratio"] = best, over(good(out["ctsc"], bound), best)
    return out


def cell(figure, bound):
    if figure is None:
        return ""
    if "failed" in figure:
        return "absent" if figure["failed"] == "not installed" else "no"
    said = [figure["contender"].split(" ", 1)[1]] if "contender" in figure else []
    said += [figure["note"]] if figure.get("note") and figure["note"] not in said else []
    ms = figure["ms"]
    return ("WRONG (%.1e), " % figure["error"] if wrong(figure, bound) else "") + text(ms, 3 if ms < 1 else 2) + (" (%s)" % ", ".join(said) if said else "")


def table(rows):
    keys = [k for k in PEERS if any(k in r["peers"] for r in rows)]
    lines = ["| work | ctsc | %s | ctsc / best peer | limit | ctsc / limit | error |" % " | ".join(PEERS[k] for k in keys), "| --- " * (len(keys) + 6) + "|"]
    for r in rows:
        own = good(r["ctsc"], r["allowed"])
        bound = r["limit"]
        error = r["ctsc"].get("error")
        lines.append("| %s | %s | %s | %s | %s | %s | %s |" % (
            r["title"], cell(r["ctsc"], r["allowed"]), " | ".join(cell(r["peers"].get(k), r["allowed"]) for k in keys), text(r["ratio"]),
            "%s (%s)" % (text(bound["ms"], 3 if bound["ms"] < 1 else 2), bound["by"]) if bound else "", text(over(own, bound and bound["ms"])),
            "%.1e" % error if error is not None else ""))
    return lines


def means_line(rows):
    ratios = [r["ratio"] for r in rows if r["ratio"]]
    if not ratios:
        return "No row has both ctsc's figure and a peer's."
    return "Geometric mean of ctsc / best peer: **%s** (%d rows of %d); at most the best peer's time in %d." % (
        text(mean(ratios)), len(ratios), len(rows), sum(x <= 1 for x in ratios))


def missing_lines(rows):
    """Why cells have no figure."""
    reasons = {}
    for r in rows:
        for name, f in [("ctsc", r["ctsc"])] + [(PEERS[k], f) for k, f in r["peers"].items()]:
            if "failed" in f:
                reasons.setdefault((name, f["failed"].split("\n")[0][:160]), []).append(r["title"])
    return ["- %s: %s (%s)" % (name, why, "; ".join(dict.fromkeys(titles)) if len(titles) < 4 else "%d rows" % len(titles)) for (name, why), titles in reasons.items()]


def kind_of_machine(args):
    """The heading of the section that is this machine's: its best instructions for narrow numbers."""
    if args.cpu:
        return args.cpu.upper()
    with open("/proc/cpuinfo") as f:
        flags = set(re.search(r"^flags\s*:(.*)$", f.read(), re.M).group(1).split())
    for flag, title in (("amx_tile", "AMX"), ("avx512_bf16", "AVX512-BF16"), ("avx512_vnni", "AVX512-VNNI"), ("avx_vnni", "AVX-VNNI"), ("avx2", "AVX2")):
        if flag in flags:
            return title
    return "no AVX2"


def section(args, rows, peak):
    date = datetime.date.today()
    versions = {}
    for r in rows:
        for key, f in [("ctsc", r["ctsc"])] + list(r["peers"].items()):
            if f.get("version"):
                versions[key] = f["version"]
    kind = kind_of_machine(args)
    out = ["## %s" % kind, "", "Date: %d %s. Command: `%s`." % (date.day, date.strftime("%B %Y"), args.said),
           "Machine: %s, %.0f GiB, %s%s." % (processor(), memory_gib(), platform.platform(), "; held to %s" % kind if args.cpu else ""), "Contenders: %s." % ", ".join(versions.values()), ""]
    for threads in args.threads:
        own, p = [r for r in rows if r["threads"] == threads], peak[threads]
        out += ["### %s, %d thread%s" % (kind, threads, "" if threads == 1 else "s"), ""]
        if p:
            out += ["Reading %.1f GB/s; %s." % (p["read_gbps"], ", ".join("%s %.0f GOP/s (%s)" % (t, p[t]["gops"], p[t]["by"])
                                                                       for t in TYPE_NAMES if t in p)), ""]
        out += [means_line(own), ""] + table(own) + [""]
    lacking = missing_lines(rows)
    return out + (["Without a figure (\"absent\": not installed; \"no\": cannot):", ""] + lacking + [""] if lacking else [])


HEAD = ["# Narrow numbers against PyTorch, ONNX Runtime, OpenVINO and llama.cpp", "",
        "What `make bench-narrow` measures (`bench/narrow.py`): models in bfloat16, float16, int8 and int4, with random",
        "weights, ms a call, the best of all rounds, in which every contender has its turn. In brackets which of a peer's ways",
        "was fastest. The rows `--precision` are float32 archives that the runtime reduces; the peers' best of any precision",
        "is beside them. A token of the language model is one at a context of 64 to 128 with a static cache of 256.", "",
        "Limit: to read the weights once, or to make the operations in registers with the processor's fastest instruction for",
        "the type, whichever takes longer, at rates that were measured in the same run (`bench/peaks.c`). Error: the largest",
        "difference from PyTorch's float32 result, in units of its largest value, of ctsc.", "",
        "There is a section for each kind of machine, by its best instructions for narrow numbers: AMX, AVX512-BF16,",
        "AVX512-VNNI, AVX-VNNI, AVX2.", ""]


def write_page(path, lines):
    """The page with this kind of machine's section replaced, or added."""
    old = open(path).read() if os.path.exists(path) else ""
    parts = re.split(r"^(?=## )", old, flags=re.M)
    kept = [p.rstrip("\n") + "\n" for p in parts[1:] if not p.startswith(lines[0] + "\n")]
    with open(path, "w") as f:
        f.write("\n".join(HEAD) + "\n" + "\n".join(["\n".join(lines).rstrip("\n") + "\n"] + kept))


# ---- all of it ---------------------------------------------------------------------------------------------------------


def arguments():
    root = os.path.dirname(HERE)
    build = os.path.join(root, "build")
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", default=os.path.join(build, "ctsc"))
    ap.add_argument("--package", default=os.path.join(build, "python"), help="the folder with ctsc's Python package, by which it is called")
    ap.add_argument("--peaks", default=os.path.join(build, "bench", "peaks"), help="what peaks.c became")
    ap.add_argument("--python", default=os.path.join(build, "peers", "bin", "python"), help="a Python with today's PyTorch and the other peers")
    ap.add_argument("--torch-python", default="/usr/bin/python3", help="a Python with PyTorch 1.13 and torchvision, which quantises networks")
    ap.add_argument("--folder", default=os.path.join(build, "narrow"), help="where the models are, or are written to (some 10 GB)")
    ap.add_argument("--only", default="", help="rows whose title or group has one of these parts, separated by commas")
    ap.add_argument("--list", action="store_true", help="print the rows' groups and titles, and end")
    ap.add_argument("--threads", default="1,2")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=float, default=1.0, help="of each turn")
    ap.add_argument("--cpu", default="", choices=sorted(OLDER), help="all as on an older processor")
    ap.add_argument("--json", default="", help="all figures, as JSON, to this file")
    ap.add_argument("--markdown", default="", help="replace this kind of machine's section of that page (docs/bench-narrow.md)")
    args = ap.parse_args()
    said = [" --%s %s" % (o, getattr(args, o)) for o in ("only", "threads", "rounds", "seconds") if getattr(args, o) != ap.get_default(o)]
    held.update(CPUS.get(args.cpu, {}))
    args.said = "make bench-narrow" + (" CPU=%s" % args.cpu if args.cpu else "") + (' NARROW="%s"' % "".join(said).strip() if said else "")
    args.threads = [int(t) for t in args.threads.split(",")]
    wanted = [w.lower() for w in args.only.split(",") if w]
    args.rows = [r for r in ROWS if not wanted or any(w in r["title"].lower() or w in r["group"] for w in wanted)]
    if not args.rows:
        ap.error("no such row; --list has them")
    args.absent = [] if args.list else [k for k, module in MODULES.items() if not has(args.python, module)]
    return args


def main():
    args = arguments()
    if args.list:
        print("\n".join("%-22s %s" % (r["group"], r["title"]) for r in args.rows))
        return
    if "pytorch" in args.absent:
        sys.exit("%s has no PyTorch, which writes the models; another: --python" % args.python)
    for k in args.absent:
        print("%s: not installed" % PEERS[k], file=sys.stderr)
    models, rows = Models(args), []
    peak = {t: peaks(args, t) for t in args.threads}
    with tempfile.TemporaryFile("w+") as log:
        for threads in args.threads:
            for group in dict.fromkeys(r["group"] for r in args.rows):
                own = [r for r in args.rows if r["group"] == group]
                wanted = list(dict.fromkeys(name for r in own for name in [r["ctsc"]] + r["peers"]))
                figures = measure(args, models, group, wanted, threads, log)
                for r in own:
                    rows.append(result(r, figures, threads, models.ready(group), peak[threads]))
                    show(rows[-1])
                write(args, rows, peak)
    print("\n".join(section(args, rows, peak)))


def show(r):
    shown = ["ctsc " + cell(r["ctsc"], r["allowed"])] + ["%s %s" % (PEERS[k], cell(f, r["allowed"])) for k, f in r["peers"].items()]
    print("%-52s %dt  %s   ratio %s" % (r["title"], r["threads"], "  ".join(shown), text(r["ratio"]) or "-"), file=sys.stderr, flush=True)


def write(args, rows, peak):
    """After each group, so that what was measured stays if the rest is not."""
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"peaks": peak, "rows": rows}, f, indent=1)
    if args.markdown:
        write_page(args.markdown, section(args, rows, peak))


if __name__ == "__main__":
    main()
