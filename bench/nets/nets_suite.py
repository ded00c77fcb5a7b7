# SPDX-License-Identifier: Apache-2.0
"""Whole networks: ctsc against PyTorch, ONNX Runtime and OpenVINO, whichever are there, in the same run.

    python3 bench/nets/nets_suite.py [--only resnet18,bert_128] [--contenders ctsc,openvino] [--threads 1,2] [--rounds 3] [--seconds 1]
                                     [--json FILE] [--markdown FILE] [--cpu avx2]                         (make bench-nets)

Networks (networks.py) are written by PyTorch 1.13 (--torch-python) where --folder does not have them yet. Each contender is one process per network and
number of threads, which stays and measures when told; in each round every one has its turn, and all others are stopped (SIGSTOP), so that no thread pool
that waits in a loop disturbs. The figure is the best call of all rounds. A result that differs from PyTorch's eager one by more than --tolerance of
the largest value counts as WRONG, whatever time it took. "at peak": the time that the network's floating-point operations take if all of them are
multiply-adds in registers, at the rate that this machine has been measured to reach; Winograd's algorithm makes fewer. Needs nothing but Python.

--cpu: all as on an older processor, which each contender is told by variables. ONNX Runtime asks the processor itself and has no switch: it takes no part.
"""
import argparse
import datetime
import json
import math
import os
import platform
import re
import select
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = ["onnxruntime", "openvino", "numpy"]  # what --peers gets from pip
CONTENDERS = ["ctsc", "pytorch", "onnxruntime", "openvino", "pytorch2"]
PATIENCE = 900  # seconds for one answer
# Two families: what ctsc was made faster with, and what was held back to see whether the rest is as fast.
FAMILIES = [
    ("resnet18", "resnet50", "resnet50_b8", "vgg16", "unet_256", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1", "densenet121",
     "shufflenet_v2_x1_0", "convnext_tiny", "swin_t", "vit_b_16", "bert_128", "bert_16", "lstm_2x512", "mlp_784_b64"),
    ("regnet_y_400mf", "regnet_x_800mf", "efficientnet_v2_s", "resnext50_32x4d", "mnasnet1_0", "googlenet", "inception_v3", "deeplabv3_mobilenet_v3_large",
     "fcn_resnet50", "speech_encoder", "gpt_prefill_128", "gpt_decode")]
NAMES = [n for family in FAMILIES for n in family]
MORE = re.findall(r"[a-z]\w+", """
    alexnet vgg11_bn vgg19 resnet34 resnet101 wide_resnet50_2 resnext101_32x8d densenet169 densenet161 mobilenet_v3_large mnasnet0_5 mnasnet1_3
    shufflenet_v2_x0_5 shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_0 regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf regnet_x_400mf
    regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf convnext_small convnext_base swin_s swin_b maxvit_t vit_b_32 vit_l_32 efficientnet_b1 efficientnet_b2
    efficientnet_b3 efficientnet_b4 efficientnet_v2_m efficientnet_v2_s_224 regnet_x_800mf_b4 resnext50_32x4d_b4 mobilenet_v2_b4 efficientnet_b0_b4
    deeplabv3_resnet50_520 deeplabv3_mobilenet_v3_large_520 lraspp_mobilenet_v3_large_520 r3d_18 mc3_18 r2plus1d_18 bert_8 bert_64 bert_512 bert_large_64
    bert_384_32 bert_384_128_b4 speech_large speech_encoder_4s gpt_prefill_32 gpt_prefill_512 gpt_decode_512 gpt_decode_b4 lstm_256 lstm_2x512_b8
    lstm_2x256_both gru_512 mlp_784_b1 mlp_784_b8 mlp_512_b256""")


# ---- contenders ---------------------------------------------------------------------------------------


# --cpu: variables of ctsc, of oneDNN (of PyTorch's and OpenVINO's own), of PyTorch, of OpenBLAS and of libm.
CPUS = {"avx2": {"CTSC_MAX_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell",
                 "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD"}}
NOT_HELD = ["onnxruntime"]
held = {}  # of these, what this run adds


def environment():
    """Settings for another machine would slow the matrix products of everybody down."""
    return dict({k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}, **held)


class Contender:
    """A process that has a network loaded; it stands still but for its turns."""

    def __init__(self, name, command, log):
        self.name, self.best, self.failed = name, None, None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment(), text=True)
        first = self.answer()
        self.version, self.error, self.note = first.get("version"), first.get("error"), first.get("note")
        self.base_kib, self.peak_kib, self.steady_kib = first.get("base_kib"), first.get("peak_kib"), 0
        self.stop()

    def answer(self):
        """The next line; a contender that gives none in time, or dies, has failed."""
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        try:
            got = json.loads(line)
        except ValueError:
            got = {"failed": "no answer"}
        self.failed = got.get("failed")
        if self.failed:
            self.process.kill()
        return got

    def stop(self):
        if not self.failed:
            self.process.send_signal(signal.SIGSTOP)

    def turn(self, seconds):
        if self.failed:
            return
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write("%g\n" % seconds)
            self.process.stdin.flush()
        except BrokenPipeError:
            self.failed = "ended"
            return
        got = self.answer()
        self.stop()
        if not self.failed:
            self.best = min(got["min_ms"], self.best or math.inf)
            self.steady_kib = got["peak_kib"]
            self.peak_kib = max(self.peak_kib, self.steady_kib)

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def has(python, module):
    try:
        return bool(python) and subprocess.run([python, "-c", "import " + module], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def peers_python(args):
    """A Python with the peers: the one that was named, or that of a virtual environment, which is made where it is missing."""
    if args.peers_python:
        return args.peers_python
    python = os.path.join(args.peers, "bin", "python")
    if not os.path.exists(python):
        print("making %s, with %s" % (args.peers, ", ".join(PEERS)), file=sys.stderr)
        made = subprocess.run([sys.executable, "-m", "venv", args.peers]).returncode == 0
        if not made or subprocess.run([python, "-m", "pip", "install", "-q"] + PEERS).returncode:
            print("not all could be installed; a Python that has them: --peers-python", file=sys.stderr)
    return python


def commands(args):
    """name -> the start of its command, of the contenders that are wanted and there."""
    peers = peers_python(args) if set(args.contenders) - {"ctsc", "pytorch"} else None
    worker = os.path.join(HERE, "nets_worker.py")
    pythons = {"pytorch": (args.torch_python, "torch"), "onnxruntime": (peers, "onnxruntime"), "openvino": (peers, "openvino"), "pytorch2": (peers, "torch")}
    found = {}
    for name in args.contenders:
        if name == "ctsc":
            found[name] = [args.worker]
            continue
        python, module = pythons[name]
        if has(python, module):
            found[name] = [python, worker, name.rstrip("2")]
        elif name != "pytorch2" or "pytorch2" in args.asked:
            print("%s: not installed" % name, file=sys.stderr)
    return found


def command(args, name, start, net, threads):
    base = os.path.join(args.folder, net)
    if name == "ctsc":
        return start + [base + ".pt", base + ".npz", str(threads)] + (["no-winograd"] if args.no_winograd else [])
    return start + [base, str(threads)]


def has_network(args, name, net):
    return name in ("ctsc", "pytorch", "pytorch2") or os.path.exists(os.path.join(args.folder, net + ".onnx"))


# ---- measuring --------------------------------------------------------------------------------------------


def ctsc_json(args, *more):
    out = subprocess.run([args.ctsc] + list(more) + ["--json"], env=environment(), stdout=subprocess.PIPE, text=True)
    return json.loads(out.stdout) if out.returncode in (0, 1) and out.stdout else {}


def peak_gflops(args, threads):
    """The best of three processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f.py")
        with open(path, "w") as f:
            f.write("def forward(x):\n    return x * 2.0\n")
        rates = [ctsc_json(args, "profile", path, "--input", "float32[8]", "--threads", str(threads)).get("fma_gflops") for _ in range(3)]
    return max((r for r in rates if r), default=None)


def operations(args, net):
    """FLOP of a call; None: not all known."""
    base = os.path.join(args.folder, net)
    return ctsc_json(args, "bench", base + ".pt", "--inputs", base + ".in.pt", "--threads", "1", "--opt", "0", "--seconds", "0", "--calls", "1").get("flops")


def take_turns(contenders, rounds, seconds):
    """All of them measure in each round, another one first each time; then they end."""
    try:
        for i in range(rounds):
            for k in range(len(contenders)):
                contenders[(i + k) % len(contenders)].turn(seconds)
    finally:
        for c in contenders:
            c.close()


def measure(args, found, net, threads, log):
    contenders = [Contender(name, command(args, name, start, net, threads), log) for name, start in found.items() if has_network(args, name, net)]
    take_turns(contenders, args.rounds, args.seconds)
    row = {"network": net, "threads": threads, "contenders": {}}
    for c in contenders:
        if c.failed or c.best is None:
            print("%s: %s: %s" % (net, c.name, c.failed), file=sys.stderr)
            row["contenders"][c.name] = {"failed": c.failed or "no figure"}
        else:
            row["contenders"][c.name] = {"ms": c.best, "error": c.error, "wrong": not c.error <= args.tolerance, "peak_mib": c.peak_kib / 1024,
                                         "version": c.version, "note": c.note}
    return row


# ---- figures -------------------------------------------------------------------------------------------------


def good(row, name):
    c = row["contenders"].get(name, {})
    return c["ms"] if "ms" in c and not c["wrong"] else None


def best_peer(row):
    return min((t for t in (good(row, n) for n in row["contenders"] if n != "ctsc") if t), default=None)


def mean(values):
    """Geometric."""
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def over(a, b):
    return a / b if a and b else None


def text(x, digits=2):
    return "" if x is None else "%.*f" % (digits, x)


def cell(row, name):
    c = row["contenders"].get(name)
    if c is None:
        return ""
    if "failed" in c:
        return "failed"
    return ("WRONG (%.1e), " % c["error"] if c["wrong"] else "") + text(c["ms"], 3 if c["ms"] < 1 else 2) + (" (%s)" % c["note"] if c.get("note") else "")


def at_peak(row):
    """ms"""
    return row["flops"] / row["fma_gflops"] * 1e-6 if row.get("flops") and row.get("fma_gflops") else None


def columns(rows):
    return [n for n in CONTENDERS if any(n in r["contenders"] for r in rows)]


def times_table(rows):
    names = columns(rows)
    lines = ["| network | %s | ctsc / best peer | GFLOP | ms at peak | ctsc's %% of peak |" % " | ".join(names), "| --- " * (len(names) + 5) + "|"]
    for r in rows:
        percent = over(at_peak(r), good(r, "ctsc"))
        lines.append("| %s | %s | %s | %s | %s | %s |" % (r["network"], " | ".join(cell(r, n) for n in names), text(over(good(r, "ctsc"), best_peer(r))),
                                                        text(r["flops"] / 1e9 if r.get("flops") else None), text(at_peak(r)),
                                                        text(percent * 100 if percent else None, 0)))
    return lines


def means_lines(rows):
    lines = []
    ratios = [over(good(r, "ctsc"), best_peer(r)) for r in rows]
    if any(ratios):
        lines.append("Geometric mean of ctsc / best peer: **%s** (%d networks); at most the best peer's time in %d." % (
            text(mean(ratios)), len([x for x in ratios if x]), len([x for x in ratios if x and x <= 1])))
    for family, title in zip(FAMILIES, ("Of the %d at which the work on speed looked: %s.", "Of the %d at which it did not look: %s.")):
        part = [x for r, x in zip(rows, ratios) if r["network"] in family and x]
        if part and len(part) < len([x for x in ratios if x]):
            lines.append(title % (len(part), text(mean(part))))
    each = ["%s %s" % (n, text(mean(over(good(r, "ctsc"), good(r, n)) for r in rows))) for n in columns(rows) if n != "ctsc"]
    if each and any(ratios):
        lines.append("Of ctsc / each peer: %s." % ", ".join(each))
    return lines


def memory_table(rows):
    names = columns(rows)
    lines = ["| network | %s |" % " | ".join(names), "| --- " * (len(names) + 1) + "|"]
    for r in rows:
        lines.append("| %s | %s |" % (r["network"], " | ".join(text(r["contenders"].get(n, {}).get("peak_mib"), 0) for n in names)))
    return lines


def processor():
    with open("/proc/cpuinfo") as f:
        lines = dict(line.split(":", 1) for line in f if ":" in line)
    lines = {k.strip(): v.strip() for k, v in lines.items()}
    flags = lines.get("flags", "").split()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return "%s, %s, %d cores for this process" % (lines.get("model name", platform.machine()), vectors, len(os.sched_getaffinity(0)))


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2 ** 30


def markdown(args, rows):
    versions = {n: c["version"] for r in rows for n, c in r["contenders"].items() if "version" in c}
    peaks = {r["threads"]: r["fma_gflops"] for r in rows}
    date = datetime.date.today()
    out = ["# Whole networks against PyTorch, ONNX Runtime and OpenVINO", "",
           "What `make bench-nets` measures (`bench/nets/`): batch 1 where the name does not say otherwise, float32, random weights, the best call of %d rounds of "
           "%g s in which every contender has its turn. ms a call; below 1 in \"ctsc / best peer\" ctsc is faster. "
           "At peak: as if each operation of the network were made, in multiply-adds that stay in registers; Winograd's algorithm makes fewer, so that more than 100 %% can "
           "be reached." % (args.rounds, args.seconds), "",
           "Date: %d %s. Command: `%s`." % (date.day, date.strftime("%B %Y"), args.said),
           "Machine: %s, %.0f GiB, %s%s." % (processor(), memory_gib(), platform.platform(), "; held to %s" % args.cpu.upper() if args.cpu else ""),
           "Peak of multiply-adds in registers: %s." % ", ".join("%.0f GFLOP/s with %d thread%s" % (g, t, "" if t == 1 else "s") for t, g in peaks.items() if g),
           "Contenders: %s." % "; ".join("%s: %s" % (n, versions[n]) for n in CONTENDERS if n in versions), ""]
    for threads in args.threads:
        own = [r for r in rows if r["threads"] == threads]
        out += ["## %d thread%s" % (threads, "" if threads == 1 else "s"), ""] + means_lines(own) + [""] + times_table(own) + [""]
    first = [r for r in rows if r["threads"] == args.threads[0]]
    out += ["## Peak memory", "", "MiB of the process (VmHWM), interpreter and libraries included, %d thread%s." % (
        args.threads[0], "" if args.threads[0] == 1 else "s"), ""] + memory_table(first) + [""]
    return "\n".join(out)


# ---- all of it --------------------------------------------------------------------------------------------------


def arguments(description=__doc__, page="bench-nets.md"):
    """page: in docs, where the tables of all networks and contenders go."""
    build = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build")
    ap = argparse.ArgumentParser(description=description.split("\n")[0])
    ap.add_argument("--ctsc", default=os.path.join(build, "ctsc"))
    ap.add_argument("--worker", default=os.path.join(build, "bench", "nets", "nets_ctsc"), help="what nets_ctsc.c became")
    ap.add_argument("--torch-python", default="/usr/bin/python3", help="a Python with PyTorch 1.13 and torchvision, which also writes the networks")
    ap.add_argument("--peers", default=os.path.join(build, "peers"), help="virtual environment with the other peers, made where it is missing")
    ap.add_argument("--peers-python", default="", help="a Python that has them, instead")
    ap.add_argument("--folder", default=os.path.join(build, "nets"), help="where the networks are, or are written to")
    ap.add_argument("--only", default="", help="networks, separated by commas; a part of a name stands for all that have it")
    ap.add_argument("--more", action="store_true", help="%d other networks instead of the table's; some 8 GB of files" % len(MORE))
    ap.add_argument("--contenders", default="", help="some of " + ",".join(CONTENDERS))
    ap.add_argument("--threads", default="1,2")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=float, default=1.0, help="of each turn")
    ap.add_argument("--tolerance", type=float, default=1e-3, help="of the largest value")
    ap.add_argument("--cpu", default="", choices=sorted(CPUS), help="all as on an older processor")
    ap.add_argument("--no-winograd", action="store_true", help="ctsc does all convolutions the direct way")
    ap.add_argument("--json", default="", help="all figures, as JSON, to this file")
    ap.add_argument("--markdown", default="", help="the tables to this file (a page in docs, if all networks and contenders are wanted)")
    args = ap.parse_args()
    said = [" --%s %s" % (o, getattr(args, o)) for o in ("only", "contenders", "threads", "rounds", "seconds", "tolerance") if getattr(args, o) != ap.get_default(o)]
    said += [" --no-winograd"] if args.no_winograd else []
    args.said = 'make bench-nets' + (" CPU=%s" % args.cpu if args.cpu else "") + (' NETS="%s"' % "".join(said).strip() if said else "")
    held.update(CPUS.get(args.cpu, {}))
    if not args.markdown and not args.only and not args.contenders and not args.cpu and not args.more:
        args.markdown = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", page)
    args.asked = [c for c in args.contenders.split(",") if c]
    unknown = [c for c in args.asked if c not in CONTENDERS]
    if unknown:
        ap.error("no such contender: " + ", ".join(unknown))
    args.contenders = [c for c in args.asked or CONTENDERS if not args.cpu or c not in NOT_HELD]
    args.threads = [int(t) for t in args.threads.split(",")]
    wanted = [w for w in args.only.split(",") if w]
    names = MORE if args.more else NAMES
    args.nets = [n for n in names if not wanted or n in wanted or any(w in n for w in wanted if w not in names)]
    if not args.nets:
        ap.error("no such network; there are: " + ", ".join(names))
    return args


def export(args):
    missing = [n for n in args.nets if not os.path.exists(os.path.join(args.folder, n + ".npz"))]
    if not missing:
        return
    if not has(args.torch_python, "torch, torchvision"):
        sys.exit("the networks are written with PyTorch 1.13 and torchvision: apt-get install python3-torch python3-torchvision, or --torch-python")
    if subprocess.run([args.torch_python, os.path.join(HERE, "nets_export.py"), args.folder] + missing, env=environment()).returncode:
        sys.exit("the networks could not be written")


def main():
    args = arguments()
    export(args)
    found = commands(args)
    peaks = {t: peak_gflops(args, t) for t in args.threads}
    flops = {}
    rows = []
    with tempfile.TemporaryFile("w+") as log:
        for threads in args.threads:
            for net in args.nets:
                if net not in flops:
                    flops[net] = operations(args, net)
                row = dict(measure(args, found, net, threads, log), flops=flops[net], fma_gflops=peaks[threads])
                rows.append(row)
                print("%-29s %dt  %s   ratio %s" % (net, threads, "  ".join("%s %s" % (n, cell(row, n)) for n in row["contenders"]),
                                                  text(over(good(row, "ctsc"), best_peer(row))) or "-"), flush=True)
                write(args, rows)
    for threads in args.threads:
        print("\n".join(["", "%d thread%s:" % (threads, "" if threads == 1 else "s")] + means_lines([r for r in rows if r["threads"] == threads])))


def write(args, rows):
    """After each row, so that what was measured stays if the rest is not."""
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(markdown(args, rows))


if __name__ == "__main__":
    main()
