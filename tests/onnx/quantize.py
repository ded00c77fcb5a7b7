#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ctsc quantize against those who run what it writes, and those who do the same.

    tests/onnx/quantize.py --ctsc build/ctsc [-k NAME]        (needs torch, onnxruntime and onnx; exit code 77 without)

Networks with random weights and statistics that fit are quantised in each way. What PyTorch makes of the archive and ONNX Runtime (OpenVINO, where it is installed) of the model of
ONNX is as far from the float network as ctsc itself says. Static int8 is on average (geometric mean) no further than ONNX Runtime's own quantize_static, and with no network half as
far again."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnxruntime
    import torch
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from torch import nn
except ImportError as e:
    print("quantize.py: %s" % e)
    sys.exit(77)
try:
    import openvino
except ImportError:
    openvino = None

METHODS = ("static", "static --observer entropy", "static --observer percentile:99.9", "static --symmetric", "dynamic", "int8w", "int4w", "int4w:64,asym")


class Residual(nn.Module):
    def __init__(self, stride=1, act=nn.ReLU):
        super().__init__()
        self.a, self.na = nn.Conv2d(16, 32, 3, stride, 1, bias=False), nn.BatchNorm2d(32)
        self.d, self.nd = nn.Conv2d(32, 32, 3, 1, 1, groups=32, bias=False), nn.BatchNorm2d(32)
        self.b, self.nb = nn.Conv2d(32, 16, 1, bias=False), nn.BatchNorm2d(16)
        self.skip, self.act = nn.Conv2d(16, 16, 1, stride), act()

    def forward(self, x):
        y = self.act(self.na(self.a(x)))
        y = self.act(self.nd(self.d(y)))
        return torch.relu(self.nb(self.b(y)) + self.skip(x))


def images(act):
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), act(), nn.MaxPool2d(3, 2, 1), Residual(1, act), Residual(2, act), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 64), nn.ReLU(),
                         nn.Linear(64, 32))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(64, 64) for _ in range(4))
        self.up, self.down, self.n, self.m = nn.Linear(64, 256), nn.Linear(256, 64), nn.LayerNorm(64), nn.LayerNorm(64)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], 4, 16).transpose(1, 2)

    def forward(self, x):
        a = (self.heads(self.q(x)) @ self.heads(self.k(x)).transpose(-1, -2) / 4).softmax(-1)
        y = (a @ self.heads(self.v(x))).transpose(1, 2).reshape(x.shape)
        x = self.n(x + self.o(y))
        return self.m(x + self.down(nn.functional.gelu(self.up(x))))


class Words(nn.Module):
    """Recurrent layers and cells, tables and bags. ONNX multiplies by floats where PyTorch's dynamic layers multiply bytes."""

    def __init__(self):
        super().__init__()
        self.table, self.bag = nn.Embedding(60, 32), nn.EmbeddingBag(60, 32, mode="sum")
        self.lstm, self.gru = nn.LSTM(32, 40, 2, batch_first=True, bidirectional=True), nn.GRU(80, 40, bias=False, batch_first=True)
        self.cell, self.step, self.out = nn.LSTMCell(40, 32), nn.GRUCell(32, 32), nn.Linear(32, 16)

    def forward(self, x):
        y = self.gru(self.lstm(self.table(x) + self.bag(x).unsqueeze(1))[0])[0]
        h, c = self.cell(y[:, 0])
        h, c = self.cell(y[:, -1], (h, c))
        return self.out(self.step(h, c))


def networks():
    torch.manual_seed(0)
    yield "words", Words().eval(), torch.randint(0, 60, (6, 9))
    for name, m, x in (("relu", images(nn.ReLU), torch.randn(8, 3, 32, 32)), ("relu6", images(nn.ReLU6), torch.randn(8, 3, 32, 32)),
                       ("hardswish", images(nn.Hardswish), torch.randn(8, 3, 32, 32)), ("silu", images(nn.SiLU), torch.randn(8, 3, 32, 32)),
                       ("encoder", Encoder(), torch.randn(8, 12, 64))):
        for n in m.modules():
            if isinstance(n, nn.BatchNorm2d):
                n.momentum = None
        with torch.no_grad():
            m.train()(x)
        yield name, m.eval(), x


def error(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def onnx_run(path, x):
    s = onnxruntime.InferenceSession(path)
    name = s.get_inputs()[0].name
    return np.concatenate([s.run(None, {name: x[i:i + 1]})[0] for i in range(len(x))])


class Reader(CalibrationDataReader):
    def __init__(self, name, x):
        self.rows = iter([{name: x[i:i + 1]} for i in range(len(x))])

    def get_next(self):
        return next(self.rows, None)


def theirs(folder, x):
    """The error of quantize_static."""
    plain, made = os.path.join(folder, "float.onnx"), os.path.join(folder, "theirs.onnx")
    name = onnxruntime.InferenceSession(plain).get_inputs()[0].name
    quantize_static(plain, made, Reader(name, x), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return error(onnx_run(made, x), onnx_run(plain, x))


def ctsc(args, *more):
    return subprocess.run([args.ctsc, *more], check=True, stdout=subprocess.PIPE, text=True).stdout


def check(args, folder, m, x, method):
    """What is wrong."""
    path = {kind: os.path.join(folder, "made." + kind) for kind in ("pt", "onnx")}
    source, data = os.path.join(folder, "float.pt"), os.path.join(folder, "x.npy")
    for kind in path:
        report = json.loads(ctsc(args, "quantize", source, "--data", data, "--calls", "0", "--json", "-o", path[kind], "--method", *method.split()))
    with torch.no_grad():
        y = m(x).numpy()
        found = {"ctsc": report["error"], "torch": error(np.concatenate([torch.jit.load(path["pt"])(x[i:i + 1]).numpy() for i in range(len(x))]), y),
                 "onnxruntime": error(onnx_run(path["onnx"], x.numpy()), y)}
    if openvino:
        run = openvino.Core().compile_model(path["onnx"], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        found["openvino"] = error(np.concatenate([run(x[i:i + 1].numpy())[0] for i in range(len(x))]), y)
    least = 0.2 if method == "dynamic" else 0.5
    wrong = ["%s is off by %.4g, ctsc by %.4g" % (who, e, found["ctsc"]) for who, e in found.items() if not least * found["ctsc"] < e < 2 * found["ctsc"] + 1e-4]
    if method == "static":
        found["quantize_static"] = theirs(folder, x.numpy())
        if found["ctsc"] > 1.5 * found["quantize_static"]:
            wrong.append("quantize_static is off by %.4g" % found["quantize_static"])
    return found, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ctsc", default="build/ctsc")
    parser.add_argument("-k", default="")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(3)
    failed, ratios = 0, []
    for name, m, x in networks():
        if args.k not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            (torch.jit.script(m) if name == "words" else torch.jit.trace(m, x[:1])).save(os.path.join(folder, "float.pt"))
            np.save(os.path.join(folder, "x.npy"), x.numpy())
            ctsc(args, "convert", os.path.join(folder, "float.pt"), os.path.join(folder, "float.onnx"), "--input", "%s[%s]:%s" % (str(x.dtype)[6:], ",".join(map(str, x[:1].shape)), "rand" if x.is_floating_point() else "ones"))
            for method in METHODS:
                if name == "words" and method not in ("dynamic", "int8w"):
                    continue
                if "static" not in method and name not in ("encoder", "relu", "words"):
                    continue
                found, wrong = check(args, folder, m, x, method)
                print("%-10s %-34s %s" % (name, method, "  ".join("%s %.4f" % f for f in found.items())), *wrong, sep="\n    FAILED: ")
                failed += bool(wrong)
                if "quantize_static" in found:
                    ratios.append(found["ctsc"] / found["quantize_static"])
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else 1
    print("error of static int8, of quantize_static's: %.2f" % mean)
    return failed > 0 or (not args.k and mean > 1)


sys.exit(main())
