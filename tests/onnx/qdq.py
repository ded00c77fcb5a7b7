#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models qdq_* of tests/onnx/models: operators between DequantizeLinear and QuantizeLinear, and networks that ONNX Runtime's quantiser wrote, with its results.

    tests/onnx/qdq.py [NAME...]

Results are integers as floats, or numbers of a last quantisation: tests/run.py allows one step (ONNX_STEPS). Needs what make.py needs, and torch.
"""
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

import make as base

CASES = {}


def case(f):
    CASES["qdq_" + f.__name__] = f
    return f


class Model:
    """Branches from inputs that are quantised to results that are."""

    def __init__(self, name, dtype=np.uint8, opset=17):
        self.rng, self.dtype, self.opset = np.random.default_rng(zlib.crc32(name.encode())), dtype, opset
        self.nodes, self.constants, self.inputs, self.outputs, self.count, self.scales = [], {}, {}, {}, 0, {}

    def new(self, kind):
        self.count += 1
        return "%s%d" % (kind, self.count)

    def constant(self, array):
        name = self.new("c")
        self.constants[name] = np.asarray(array)
        return name

    def f32(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def node(self, op, *inputs, **attrs):
        out = self.new("t")
        self.nodes.append(h.make_node(op, [i if isinstance(i, str) else self.constant(i) for i in inputs], [out], **attrs))
        return out

    def params(self, spread, dtype=None):
        dtype = np.dtype(dtype or self.dtype)
        middle = 128 if dtype == np.uint8 else 0
        return np.float32(spread / 128 * self.rng.uniform(0.9, 1.1)), dtype.type(middle + self.rng.integers(-20, 20))

    def pair(self, x, spread, dtype=None):
        number, zero = self.params(spread, dtype)
        scale, zero = self.constant(number), self.constant(zero)
        y = self.node("DequantizeLinear", self.node("QuantizeLinear", x, scale, zero), scale, zero)
        self.scales[y] = number
        return y

    def input(self, *shape):
        name = self.new("x")
        self.inputs[name] = self.f32(*shape)
        return self.pair(name, 3)

    def weight(self, *shape, axis=None, dtype=np.int8, zero=0):
        info = np.iinfo(dtype)
        w = self.rng.integers(info.min, info.max + 1, shape).astype(dtype)
        n = None if axis is None else shape[axis]
        scale = np.float32(self.rng.uniform(0.5, 1.5, n) / 100)
        zeros = np.full(n, zero, dtype) if n else np.dtype(dtype).type(zero)
        y = self.node("DequantizeLinear", w, scale, zeros, **({} if axis is None else {"axis": axis}))
        self.scales[y] = scale
        return y

    def layer(self, op, x, w, n, **attrs):
        """With a bias, of the scale that sums have: ONNX Runtime takes it for granted."""
        scale = (self.scales[x] * self.scales[w]).astype(np.float32)
        bias = self.rng.integers(-9000, 9000, n).astype(np.int32)
        return self.node(op, x, w, self.node("DequantizeLinear", bias, scale, np.zeros(scale.shape, np.int32), **({"axis": 0} if scale.ndim else {})), **attrs)

    def result(self, y, spread, dtype=None):
        dtype = np.dtype(dtype or self.dtype)
        out = self.new("y")
        q = self.node("QuantizeLinear", y, *(self.constant(v) for v in self.params(spread, dtype)))
        self.nodes.append(h.make_node("Cast", [q], [out], to=T.FLOAT))
        self.outputs[out] = T.FLOAT

    def build(self):
        m = base.model(self.nodes, {n: (T.FLOAT, list(a.shape)) for n, a in self.inputs.items()}, self.outputs, self.constants, self.opset)
        return m, list(self.inputs.values())


def convolutions(name, dtype):
    m = Model(name, dtype)
    x = m.input(2, 6, 9, 8)
    m.result(m.layer("Conv", x, m.weight(16, 6, 3, 3, axis=0), 16, pads=[1, 1, 1, 1]), 12)
    m.result(m.node("Relu", m.node("Conv", x, m.weight(5, 6, 3, 2), strides=[2, 1], dilations=[1, 2])), 12)
    m.result(m.node("Clip", m.layer("Conv", x, m.weight(7, 6, 1, 1, axis=0), 7), np.float32(-1), np.float32(4)), 6)
    m.result(m.layer("Conv", x, m.weight(6, 1, 3, 3, axis=0), 6, group=6, pads=[1, 1, 1, 1]), 6)
    m.result(m.node("Conv", x, m.weight(9, 2, 3, 3), group=3, pads=[0, 1, 1, 0], strides=[2, 2]), 6)
    m.result(m.node("Conv", x, m.weight(4, 6, 2, 2, dtype=np.uint8, zero=120)), 9)
    m.result(m.node("ConvTranspose", x, m.weight(6, 3, 2, 2), m.f32(3), strides=[2, 2]), 9)
    line = m.input(2, 5, 11)
    m.result(m.layer("Conv", line, m.weight(8, 5, 3, axis=0), 8, pads=[1, 1], strides=[2]), 6)
    m.result(m.node("Conv", m.input(1, 3, 4, 5, 6), m.weight(4, 3, 2, 2, 3)), 9)
    return m.build()


@case
def conv_unsigned():
    """Convolutions of unsigned activations: weights of channels and of tensors, with and without zero points, groups, one dim and three."""
    return convolutions("conv_unsigned", np.uint8)


@case
def conv_signed():
    """The same of signed ones."""
    return convolutions("conv_signed", np.int8)


@case
def products():
    """Gemm and MatMul with weights of columns and tensors, and of two activations with and without batches."""
    m = Model("products")
    x = m.input(4, 13)
    m.result(m.layer("Gemm", x, m.weight(7, 13, axis=0), 7, transB=1), 12)
    m.result(m.node("Gemm", x, m.weight(13, 20)), 12)
    m.result(m.node("Relu", m.node("MatMul", m.input(2, 3, 13), m.weight(13, 18, axis=1))), 12)
    m.result(m.node("MatMul", x, m.weight(13, 5, dtype=np.uint8, zero=127)), 12)
    a, b = m.input(2, 3, 6, 10), m.input(2, 3, 10, 17)
    m.result(m.node("MatMul", a, b), 12)
    m.result(m.node("MatMul", a, m.node("Transpose", m.input(2, 3, 9, 10), perm=[0, 1, 3, 2])), 12)
    m.result(m.node("MatMul", m.input(3, 10), b), 12)
    m.result(m.node("MatMul", a, m.input(10, 4)), 12)
    return m.build()


@case
def numbers():
    """Layers of dequantised integers that nobody quantises; what is between a layer and its quantisation."""
    m = Model("numbers")
    x, y = m.input(2, 6, 9, 8), m.input(4, 13)
    plain = [m.layer("Conv", x, m.weight(16, 6, 3, 3, axis=0), 16, pads=[1, 1, 1, 1]), m.node("Conv", x, m.weight(9, 2, 2, 3, dtype=np.uint8, zero=9), group=3, strides=[2, 1]),
             m.node("Conv", x, m.weight(6, 1, 3, 3, axis=0), group=6), m.node("ConvTranspose", x, m.weight(6, 3, 2, 2), m.f32(3), strides=[2, 2]),
             m.node("Conv", m.input(2, 5, 11), m.weight(8, 5, 3, axis=0), strides=[2]), m.layer("Gemm", y, m.weight(7, 13, axis=0), 7, transB=1),
             m.node("MatMul", m.pair(m.f32(3, 2, 13), 3, np.int8), m.weight(13, 18, axis=1))]
    m.outputs |= {p: T.FLOAT for p in plain}
    m.result(m.node("Flatten", m.node("MaxPool", m.node("Relu", m.node("Conv", x, m.weight(4, 6, 1, 1))), kernel_shape=[2, 2], pads=[1, 1, 1, 1])), 6)
    m.result(m.node("Transpose", m.node("Clip", m.node("Add", x, x), np.float32(-2), np.float32(3)), perm=[0, 2, 3, 1]), 6)
    return m.build()


@case
def others():
    """Sums, products, concatenation, pooling, functions of one element, what moves elements."""
    m = Model("others")
    x, y, c = m.input(2, 6, 8, 9), m.input(2, 6, 8, 9), m.input(1, 6, 1, 1)
    m.result(m.node("Add", x, y), 6)
    m.result(m.node("Relu", m.node("Add", x, c)), 6)
    m.result(m.node("Mul", x, y), 6)
    m.result(m.node("Mul", c, x), 6)
    m.result(m.node("Concat", x, y, m.input(2, 3, 8, 9), axis=1), 3)
    m.result(m.node("AveragePool", x, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]), 2)
    m.result(m.node("AveragePool", x, kernel_shape=[2, 2], count_include_pad=1, pads=[1, 1, 0, 0]), 2)
    m.result(m.node("GlobalAveragePool", x), 1)
    m.result(m.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 3)
    m.result(m.node("Sigmoid", x), 1)
    m.result(m.node("HardSwish", x), 3)
    m.result(m.node("Mul", x, m.node("Sigmoid", x)), 3)
    m.result(m.node("LeakyRelu", x, alpha=0.2), 3)
    half = m.node("Mul", m.pair(m.node("Mul", x, m.pair(m.node("Add", m.pair(m.node("Erf", m.node("Mul", x, np.float32(0.70710678))), 1), np.float32(1)), 2)), 6), np.float32(0.5))
    m.result(half, 3)
    m.result(m.node("Softmax", x, axis=-1), 0.6)
    m.result(m.node("Reshape", m.node("Transpose", x, perm=[0, 2, 3, 1]), np.array([2, 72, 6])), 2)
    m.result(m.node("Resize", x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), 3)
    m.result(m.node("Pad", x, np.array([0, 0, 1, 2, 0, 0, 0, 1])), 3)
    m.result(m.node("LayerNormalization", m.input(3, 4, 16), m.f32(16), m.f32(16)), 3)
    m.result(m.node("Conv", m.node("MaxPool", x, kernel_shape=[2, 2]), m.weight(4, 6, 1, 1)), 6, np.int8)
    return m.build()


@case
def channels():
    """A number for each channel: batch norms of two to five dims, gates before and behind what they gate; concatenation to another scale."""
    m = Model("channels")
    for shape in ((5, 7), (2, 7, 9), (2, 70, 6, 5), (1, 6, 3, 4, 5)):
        c = shape[1]
        norm = m.node("BatchNormalization", m.input(*shape), m.f32(c), m.f32(c), m.f32(c), m.rng.uniform(0.5, 2, c).astype(np.float32))
        m.result(m.node("Relu", norm) if len(shape) == 4 else norm, 6)
    weight = m.weight(12)
    m.result(m.node("BatchNormalization", m.input(2, 12, 4, 4), weight, m.f32(12), m.f32(12), np.ones(12, np.float32)), 3, np.int8)
    x, gate = m.input(2, 66, 9, 8), m.input(2, 66, 1, 1)
    m.result(m.node("Mul", x, gate), 6)
    m.result(m.node("Mul", gate, m.pair(m.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]), 3)), 6)
    m.result(m.node("Add", m.pair(m.node("MaxPool", x, kernel_shape=[2, 2]), 3), gate), 6)
    m.result(m.node("Concat", x, m.input(2, 3, 9, 8), axis=1), 5)
    return m.build()


@case
def integers():
    """MatMulInteger, DynamicQuantizeLinear and what ONNX Runtime's dynamic quantiser makes of a layer; QLinearConv, QLinearMatMul."""
    m = Model("integers")
    m.inputs["f"] = m.f32(3, 5, 12)
    m.nodes.append(h.make_node("DynamicQuantizeLinear", ["f"], ["q", "s", "z"]))
    w, wz = m.rng.integers(-128, 128, (12, 20)).astype(np.int8), m.rng.integers(-5, 5, 20).astype(np.int8)
    scales = m.rng.uniform(0.5, 1.5, 20).astype(np.float32) / 100
    sums = m.node("MatMulInteger", "q", w, "z", wz)
    y = m.node("Add", m.node("Mul", m.node("Cast", sums, to=T.FLOAT), m.node("Mul", "s", scales)), m.f32(20))
    plain = m.node("MatMulInteger", "q", m.rng.integers(0, 255, (12, 7)).astype(np.uint8), "z", np.uint8(100))
    m.inputs["a"], m.inputs["b"] = m.rng.integers(-128, 128, (2, 4, 9)).astype(np.int8), m.rng.integers(0, 255, (2, 9, 6)).astype(np.uint8)
    of_two = m.node("MatMulInteger", "a", "b", np.int8(3), np.uint8(77))
    conv = m.node("ConvInteger", "i", m.rng.integers(-128, 128, (5, 3, 3, 3)).astype(np.int8), np.uint8(99), pads=[1, 1, 1, 1])
    m.inputs["i"] = m.rng.integers(0, 255, (2, 3, 6, 7)).astype(np.uint8)
    m.outputs |= {y: T.FLOAT, plain: T.INT32, of_two: T.INT32, conv: T.INT32}
    scale, zero = m.constant(np.float32(0.02)), m.constant(np.uint8(120))
    kernel = m.rng.integers(-128, 128, (4, 3, 2, 2)).astype(np.int8)
    linear = m.node("QLinearConv", "i", scale, zero, kernel, np.full(4, 0.01, np.float32), np.zeros(4, np.int8), np.float32(0.07), np.uint8(130), m.rng.integers(-900, 900, 4).astype(np.int32))
    matrix = m.node("QLinearMatMul", "i", scale, zero, m.rng.integers(0, 255, (7, 9)).astype(np.uint8), np.float32(0.03), np.uint8(128), np.float32(0.09), np.uint8(110))
    m.outputs |= {m.node("Cast", linear, to=T.FLOAT): T.FLOAT, m.node("Cast", matrix, to=T.FLOAT): T.FLOAT}
    kinds = {np.dtype(np.float32): T.FLOAT, np.dtype(np.uint8): T.UINT8, np.dtype(np.int8): T.INT8}
    return base.model(m.nodes, {n: (kinds[a.dtype], list(a.shape)) for n, a in m.inputs.items()}, m.outputs, m.constants, 17), list(m.inputs.values())


@case
def conv_integers():
    """ConvInteger, and what ONNX Runtime's dynamic quantiser makes of convolutions: depthwise, with uneven pads, of one dim, zero points of channels."""
    m = Model("conv_integers")
    m.inputs["f"], m.inputs["i"], m.inputs["l"] = m.f32(2, 6, 7, 8), m.rng.integers(-128, 128, (1, 6, 5, 5)).astype(np.int8), m.rng.integers(0, 256, (2, 4, 11)).astype(np.uint8)
    m.nodes.append(h.make_node("DynamicQuantizeLinear", ["f"], ["q", "s", "z"]))
    ints = lambda dtype, *shape: m.rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
    for shape, scale, attrs in (((5, 6, 3, 3), (), {"pads": [1, 1, 1, 1]}), ((6, 1, 3, 3), (), {"group": 6, "strides": [2, 1]}), ((4, 6, 1, 1), (4, 1, 1), {})):
        sums = m.node("ConvInteger", "q", ints(np.int8, *shape), "z", np.int8(-3), **attrs)
        by = m.node("Mul", "s", m.rng.uniform(0.5, 1.5, scale).astype(np.float32) / 100)
        m.outputs[m.node("Add", m.node("Mul", m.node("Cast", sums, to=T.FLOAT), by), m.f32(1, shape[0], 1, 1))] = T.FLOAT
    m.outputs[m.node("ConvInteger", "i", ints(np.int8, 8, 3, 2, 3), np.int8(-50), np.int8(7), group=2, pads=[0, 1, 2, 1])] = T.INT32
    m.outputs[m.node("ConvInteger", "i", ints(np.int8, 6, 1, 2, 2), np.int8(11), group=6, dilations=[2, 1])] = T.INT32
    m.outputs[m.node("ConvInteger", "l", ints(np.uint8, 3, 4, 3), np.uint8(200), np.uint8(131), pads=[1, 1], strides=[2])] = T.INT32
    m.outputs[m.node("ConvInteger", "l", ints(np.uint8, 3, 4, 2))] = T.INT32
    kinds = {np.dtype(np.float32): T.FLOAT, np.dtype(np.uint8): T.UINT8, np.dtype(np.int8): T.INT8}
    return base.model(m.nodes, {n: (kinds[a.dtype], list(a.shape)) for n, a in m.inputs.items()}, m.outputs, m.constants, 17), list(m.inputs.values())


def quantised(net, x, **options):
    """What quantize_static makes of a module."""
    import os
    import tempfile

    import torch
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Inputs(CalibrationDataReader):
        def __init__(self):
            self.left = iter([{"x": x.numpy()}, {"x": torch.randn_like(x).numpy()}])

        def get_next(self):
            return next(self.left, None)

    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "net.onnx")
        torch.onnx.export(net.eval(), (x,), path, input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        quant_pre_process(path, path, skip_symbolic_shape=True)
        quantize_static(path, path, Inputs(), quant_format=QuantFormat.QDQ, weight_type=QuantType.QInt8, **options)
        return onnx.load(path), [x.numpy()]


def convnet():
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16)
            self.depthwise, self.wide = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1)
            self.head = nn.Linear(16, 5)

        def forward(self, x):
            a = torch.relu(self.norm(self.first(x)))
            b = self.wide(nn.functional.relu6(self.depthwise(a)))
            y = nn.functional.max_pool2d(torch.relu(a + b), 2)
            return self.head(nn.functional.adaptive_avg_pool2d(y, 1).flatten(1))

    torch.manual_seed(0)
    return Block(), torch.randn(1, 3, 16, 16)


@case
def convnet_unsigned():
    return quantised(*convnet(), per_channel=True)


@case
def convnet_signed():
    from onnxruntime.quantization import QuantType

    return quantised(*convnet(), per_channel=False, activation_type=QuantType.QInt8)


@case
def encoder():
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, width=16, heads=2):
            super().__init__()
            self.heads, self.norm, self.qkv, self.out = heads, nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
            a = torch.softmax(q @ k.transpose(-1, -2) * 0.35, -1) @ v
            x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
            return x + self.down(nn.functional.gelu(self.up(x)))

    torch.manual_seed(0)
    return quantised(Encoder(), torch.randn(1, 7, 16), per_channel=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        base.make(name, CASES[name])
