#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised networks: ctsc with PyTorch's archives against ONNX Runtime with its own int8 of the same float networks.

    python3 bench/quantised.py --ctsc build/ctsc [--only resnet18,mobilenet_v2] [--threads 1] [--rounds 5] [--seconds 1] [--json FILE]     (make bench-quantised)

Networks are torchvision's, with random weights. --torch-python, a PyTorch 1.13 with torchvision, writes each as an archive (static quantisation, one scale per output channel, calibrated on
random images) and in float as ONNX, which ONNX Runtime quantises (quantize_static, QDQ, one scale per output channel), with unsigned and with signed activations: the faster one counts.
ctsc and ONNX Runtime measure in turns, one process each at a time; the figure is the best call of all rounds. "float32" is ONNX Runtime with the float network.
"""
import argparse
import json
import os
import re
import subprocess
import sys

NAMES = ["resnet18", "mobilenet_v2"]
PEERS = ["onnxruntime", "onnx", "numpy", "sympy"]

EXPORT = """
import sys, torch, torchvision.models.quantization as quantised
name, folder = sys.argv[1:]
torch.manual_seed(0)
torch.backends.quantized.engine = "qnnpack"
net = getattr(quantised, name)(weights=None, quantize=False).eval()
for m in net.modules():  # batch norms with numbers of their own
    if isinstance(m, torch.nn.BatchNorm2d):
        m.running_mean.normal_(0, 0.1), m.running_var.uniform_(0.5, 1.5), m.weight.data.uniform_(0.5, 1.5), m.bias.data.normal_(0, 0.1)
image = lambda n: torch.rand(n, 3, 224, 224) * 4 - 2
with torch.no_grad():
    net.train()
    for _ in range(3):
        net(image(4))
    net.eval()
    torch.onnx.export(net, image(1), "%s/%s.onnx" % (folder, name), opset_version=13)
    net.fuse_model()
    net.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    torch.ao.quantization.prepare(net, inplace=True)
    for _ in range(6):
        net(image(4))
    torch.ao.quantization.convert(net, inplace=True)
    torch.jit.save(torch.jit.trace(net, image(1)), "%s/%s.pt" % (folder, name))
"""

QUANTISE = """
import sys, numpy
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
import onnxruntime
path = sys.argv[1]
quant_pre_process(path + ".onnx", path + "_float32.onnx")
name = onnxruntime.InferenceSession(path + ".onnx").get_inputs()[0].name
class Images(CalibrationDataReader):
    def __init__(self):
        random = numpy.random.RandomState(0)
        self.images = iter([{name: (random.rand(1, 3, 224, 224) * 4 - 2).astype(numpy.float32)} for _ in range(8)])
    def get_next(self):
        return next(self.images, None)
for kind, activations in ("u8s8", QuantType.QUInt8), ("s8s8", QuantType.QInt8):
    quantize_static(path + "_float32.onnx", path + "_" + kind + ".onnx", Images(), quant_format=QuantFormat.QDQ, activation_type=activations,
                    weight_type=QuantType.QInt8, per_channel=True)
"""

MEASURE = """
import sys, time, numpy, onnxruntime
path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
args = {session.get_inputs()[0].name: (numpy.random.rand(1, 3, 224, 224) * 4 - 2).astype(numpy.float32)}
for _ in range(5):
    session.run(None, args)
best, end = 1e9, time.perf_counter() + seconds
while time.perf_counter() < end:
    start = time.perf_counter()
    session.run(None, args)
    best = min(best, time.perf_counter() - start)
print(best * 1e6)
"""


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(command[:1] + command[3:]), done.stderr.strip()[-800:]))
    return done.stdout


def peers_python(args):
    """A Python with the peers: the one that was named, or that of a virtual environment, which is made where it is missing."""
    if args.peers_python:
        return args.peers_python
    python = os.path.join(args.peers, "bin", "python")
    if not os.path.exists(python):
        run([sys.executable, "-m", "venv", args.peers])
    if subprocess.run([python, "-c", "import onnx, onnxruntime, sympy"], stderr=subprocess.DEVNULL).returncode:
        run([python, "-m", "pip", "install", "-q"] + PEERS)
    return python


def prepare(args, name, python):
    path = os.path.join(args.folder, name)
    os.makedirs(args.folder, exist_ok=True)
    if not os.path.exists(path + ".pt"):
        run([args.torch_python, "-c", EXPORT, name, args.folder])
    if not os.path.exists(path + "_s8s8.onnx"):
        run([python, "-c", QUANTISE, path])
    return path


def measure_ctsc(args, path, threads):
    shown = run([args.ctsc, "bench", path + ".pt", "--input", "float32[1,3,224,224]:-2..2", "--threads", str(threads), "--opt", "2", "--seconds", str(args.seconds)])
    return float(re.search(r"^ *fused +([0-9.]+)", shown, re.M).group(1))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("--torch-python", default="/usr/bin/python3", help="a Python with PyTorch 1.13 and torchvision")
    ap.add_argument("--peers", default="build/peers", help="virtual environment with ONNX Runtime, made where it is missing")
    ap.add_argument("--peers-python", default="", help="a Python that has it, instead")
    ap.add_argument("--folder", default="build/quantised", help="where the networks are, or are written to")
    ap.add_argument("--only", default=",".join(NAMES))
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=1.0, help="of each turn")
    ap.add_argument("--json", default="", help="all figures, as JSON, to this file")
    args = ap.parse_args()
    python, rows = peers_python(args), []
    kinds = ["float32", "u8s8", "s8s8"]
    print("%-14s %12s %12s %14s %14s %14s %8s" % ("us a call", "threads", "ctsc", "ORT u8s8", "ORT s8s8", "ORT float32", "ratio"))
    for name in args.only.split(","):
        path, best = prepare(args, name, python), {}
        for _ in range(args.rounds):
            times = {"ctsc": measure_ctsc(args, path, args.threads)}
            for kind in kinds:
                times[kind] = float(run([python, "-c", MEASURE, path + "_" + kind + ".onnx", str(args.threads), str(args.seconds)]))
            best = {k: min(t, best.get(k, t)) for k, t in times.items()}
        ratio = min(best["u8s8"], best["s8s8"]) / best["ctsc"]
        rows.append(dict(best, name=name, threads=args.threads, ratio=ratio))
        print("%-14s %12d %12.0f %14.0f %14.0f %14.0f %8.2f" % (name, args.threads, best["ctsc"], best["u8s8"], best["s8s8"], best["float32"], ratio), flush=True)
    print("ratio: ONNX Runtime's int8 over ctsc; more than 1: ctsc is faster")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
