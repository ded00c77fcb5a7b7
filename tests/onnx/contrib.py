#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models of tests/onnx/models that have operators of domain com.microsoft: each has several nodes of one kind, with ONNX Runtime's results.

    tests/onnx/contrib.py [NAME...]

What ONNX Runtime has no kernel for on a CPU is compared with the operators that it stands for (`instead`). Needs what make.py needs.
"""
import sys
import zlib

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

import make as base

F, U8, I8, I32, F16 = T.FLOAT, T.UINT8, T.INT8, T.INT32, T.FLOAT16
INNER = -1
CASES = {}


class Constant:
    """An initialiser; other arrays are inputs."""

    def __init__(self, array, dtype=None):
        self.array = np.asarray(array, dtype=dtype)


C = Constant


class Model:
    """Nodes that are added one by one; `instead`: nodes with the same results, for ONNX Runtime."""

    def __init__(self, name, opset=17):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.opset, self.nodes, self.instead = opset, [], []
        self.inputs, self.constants, self.outputs, self.made = [], [], [], 0

    def f32(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def u8(self, *shape):
        return self.rng.integers(0, 256, shape).astype(np.uint8)

    def i8(self, *shape):
        return self.rng.integers(-128, 128, shape).astype(np.int8)

    def ints(self, high, *shape):
        return self.rng.integers(0, high, shape).astype(np.int32)

    def name(self, value):
        if value is None or isinstance(value, str):
            return value or ""
        constant = isinstance(value, Constant)
        array = np.asarray(value.array if constant else value)
        kept = self.constants if constant else self.inputs
        kept.append(("%s%d" % ("c" if constant else "x", len(kept)), array))
        return kept[-1][0]

    def add(self, op, inputs, outs=(F,), instead=None, domain="com.microsoft", **attributes):
        """outs: types, None for an output that is left out, INNER for one of no result; instead: (names of inputs, of outputs) -> nodes"""
        names = [self.name(i) for i in inputs]
        while names and not names[-1]:
            names.pop()
        results = []
        for t in outs:
            self.made += 1
            results.append("" if t is None else "%s%d" % ("t" if t == INNER else "y", self.made))
            if t not in (None, INNER):
                self.outputs.append((results[-1], t))
        node = h.make_node(op, names, results, domain=domain, **attributes)
        self.nodes.append(node)
        self.instead += instead(names, results) if instead else [node]
        return results

    def make(self, nodes):
        graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype), list(a.shape)) for n, a in self.inputs],
                             [h.make_tensor_value_info(n, t, None) for n, t in self.outputs], [numpy_helper.from_array(a, n) for n, a in self.constants])
        return h.make_model(graph, opset_imports=[h.make_opsetid("", self.opset), h.make_opsetid("com.microsoft", 1)], ir_version=9)


def case(f):
    def made():
        m = Model(f.__name__)
        f(m)
        return m.make(m.nodes), [a for _, a in m.inputs], m.make(m.instead)
    CASES[f.__name__] = made
    return f


def scale(value):
    return C(value, np.float32)


def zero(value, dtype=np.uint8):
    return C(value, dtype)


# ---- activations, normalisation, products ----------------------------------------------------------------------------


@case
def ms_gelu(m):
    m.add("Gelu", [m.f32(3, 5)])
    m.add("QuickGelu", [m.f32(3, 5)])
    m.add("QuickGelu", [m.f32(3, 5)], alpha=0.8)
    m.add("FastGelu", [m.f32(3, 5)])
    m.add("FastGelu", [m.f32(3, 5), C(m.f32(5))])
    m.add("BiasGelu", [m.f32(2, 3, 5), C(m.f32(5))])

    def split(i, o):
        return [h.make_node("Add", i[:2], ["sum"]), h.make_node("Split", ["sum"], ["left", "right"], axis=2),
                h.make_node("Gelu", ["right"], ["gate"], domain="com.microsoft"), h.make_node("Mul", ["left", "gate"], o)]
    m.add("BiasSplitGelu", [m.f32(2, 3, 2560), m.f32(2560)], instead=split)


@case
def ms_skip_norm(m):
    x = m.f32(2, 3, 8)
    m.add("SkipLayerNormalization", [x, m.f32(2, 3, 8), C(m.f32(8))])
    m.add("SkipLayerNormalization", [x, m.f32(2, 3, 8), C(m.f32(8)), C(m.f32(8)), C(m.f32(8))], (F, None, None, F), epsilon=1e-3)
    m.add("SkipLayerNormalization", [x, m.f32(3, 8), m.f32(8), None, C(m.f32(8))], (F, F, F, F))
    m.add("SkipLayerNormalization", [x, m.f32(1, 3, 8), m.f32(8), m.f32(8)])
    m.add("SkipSimplifiedLayerNormalization", [x, m.f32(2, 3, 8), C(m.f32(8))])
    m.add("SkipSimplifiedLayerNormalization", [x, m.f32(2, 3, 8), C(m.f32(8)), C(m.f32(8))], (F, None, None, F), epsilon=1e-2)
    m.add("SkipSimplifiedLayerNormalization", [m.f32(3, 8), m.f32(3, 8), m.f32(8)])
    m.add("SimplifiedLayerNormalization", [x, C(m.f32(8))], domain="")
    m.add("SimplifiedLayerNormalization", [x, C(m.f32(8))], domain="", epsilon=0.1, axis=2)
    m.add("SimplifiedLayerNormalization", [x, m.f32(3, 8)], (F, F), domain="", axis=1, stash_type=1)
    m.add("SimplifiedLayerNormalization", [x, m.f32(3, 8)], domain="", axis=-2)
    m.add("SimplifiedLayerNormalization", [x * np.float32(1000), m.f32(8).astype(np.float16)], (F16,), domain="")
    m.add("SimplifiedLayerNormalization", [(x * 1000).astype(np.float16), m.f32(8)], domain="")


@case
def ms_embed_norm(m):
    ids, segments, mask = m.ints(10, 2, 4), m.ints(2, 2, 4), np.array([[1, 1, 1, 0], [1, 0, 3, 0]], dtype=np.int32)
    tables, norm = [C(m.f32(10, 8)), C(m.f32(6, 8)), C(m.f32(2, 8))], [C(m.f32(8)), C(m.f32(8))]
    m.add("EmbedLayerNormalization", [ids, segments, *tables, *norm, mask], (F, I32, F))
    m.add("EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, *norm], (F, I32), epsilon=1e-3)
    m.add("EmbedLayerNormalization", [ids, segments, *tables, m.f32(8), m.f32(8), mask, m.ints(6, 2, 4)], (F, I32), mask_index_type=1)
    m.add("EmbedLayerNormalization", [ids, segments, *tables, *norm, None, m.ints(6, 1, 4)], (F, None, F))
    quantised = [C(m.u8(10, 8)), C(m.u8(6, 8)), C(m.u8(2, 8)), C(m.u8(8)), C(m.u8(8))]
    scales, zeros = [scale(0.01 * (i + 1)) for i in range(5)], [zero(120 + i) for i in range(5)]
    m.add("QEmbedLayerNormalization", [ids, segments, *quantised, mask, *scales, *zeros], (F, I32))


@case
def ms_matmul(m):
    a, b = {0: m.f32(2, 3, 4), 1: m.f32(2, 4, 3)}, {0: m.f32(2, 4, 5), 1: m.f32(2, 5, 4)}
    for turn_a in (0, 1):
        for turn_b in (0, 1):
            m.add("FusedMatMul", [a[turn_a], b[turn_b]], transA=turn_a, transB=turn_b, alpha=0.5)
    m.add("FusedMatMul", [a[0], C(m.f32(5, 4))], transB=1)
    m.add("FusedMatMul", [m.f32(3, 2, 4), m.f32(4, 2, 5)], transBatchA=1, transBatchB=1, alpha=2.0)
    m.add("FusedMatMul", [m.f32(4, 6, 2, 3), m.f32(5, 6, 2, 4)], transBatchA=1, transBatchB=1, transA=1, transB=1)
    m.add("TransposeMatMul", [a[0], m.f32(5, 4)], transB=1, alpha=0.25)


@case
def ms_gemm(m):
    x, w, b = m.f32(3, 4), C(m.f32(5, 4)), C(m.f32(5))
    for name, attributes in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Tanh", {}), ("Sigmoid", {}), ("Elu", {"activation_alpha": 0.7}), ("Softplus", {}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}), ("Softsign", {})):
        m.add("FusedGemm", [x, w, b], transB=1, activation=name, **attributes)
    m.add("FusedGemm", [m.f32(4, 3), m.f32(4, 5), m.f32(3, 5)], transA=1, alpha=0.5, beta=2.0, activation="Relu")


@case
def ms_gemm_threshold(m):
    m.add("FusedGemm", [m.f32(3, 4), C(m.f32(4, 5))], activation="ThresholdedRelu", activation_alpha=0.3)


@case
def ms_conv(m):
    x, w, b = m.f32(1, 3, 6, 6), C(m.f32(4, 3, 3, 3)), C(m.f32(4))
    for name, params in (("Relu", []), ("LeakyRelu", [0.3]), ("Tanh", []), ("Sigmoid", []), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4])):
        m.add("FusedConv", [x, w, b], pads=[1, 1, 1, 1], activation=name, **({"activation_params": params} if params else {}))
    m.add("FusedConv", [x, w, b, m.f32(1, 4, 4, 4)], activation="Relu")
    m.add("FusedConv", [x, w, None, m.f32(1, 4, 2, 2)], strides=[2, 2])

    def last(i, o):
        return [h.make_node("Transpose", i[:1], ["first"], perm=[0, 3, 1, 2]), h.make_node("Conv", ["first"] + i[1:3], ["conv"], pads=[1, 1, 1, 1]),
                h.make_node("Transpose", ["conv"], o, perm=[0, 2, 3, 1])]
    m.add("NhwcConv", [m.f32(1, 6, 7, 3), w, b], instead=last, pads=[1, 1, 1, 1])

    def fused(i, o):
        return [h.make_node("Transpose", i[:1], ["first2"], perm=[0, 3, 1, 2]), h.make_node("Conv", ["first2"] + i[1:3], ["conv2"]),
                h.make_node("Transpose", ["conv2"], ["last2"], perm=[0, 2, 3, 1]), h.make_node("Add", ["last2", i[3]], ["sum2"]), h.make_node("Relu", ["sum2"], o)]
    m.add("NhwcFusedConv", [m.f32(1, 6, 7, 3), w, b, m.f32(1, 4, 5, 4)], instead=fused, activation="Relu")


# ---- quantised numbers -----------------------------------------------------------------------------------------------


@case
def ms_qlinear_binary(m):
    m.add("QLinearAdd", [m.u8(3, 40), scale(0.0313), zero(7), m.u8(40), scale(0.0527), zero(130), scale(0.0611), zero(90)], (U8,))
    m.add("QLinearAdd", [m.i8(3, 40), scale(0.0313), zero(7, np.int8), C(m.i8(3, 1)), scale(0.0527), zero(-3, np.int8), scale(0.0611), zero(-9, np.int8)], (I8,))
    m.add("QLinearMul", [m.u8(3, 40), scale(0.0313), zero(7), m.u8(40), scale(0.0527), zero(130), scale(0.217), zero(90)], (U8,))
    m.add("QLinearMul", [m.i8(3, 40), scale(0.0313), zero(7, np.int8), m.i8(3, 40), scale(0.0527), zero(0, np.int8), scale(0.217), zero(4, np.int8)], (I8,))


@case
def ms_qlinear_unary(m):
    m.add("QLinearSigmoid", [m.u8(3, 40), scale(0.0313), zero(97), scale(0.0043), zero(3)], (U8,))
    m.add("QLinearSigmoid", [m.i8(3, 40), scale(0.0313), None, scale(0.0087), zero(-90, np.int8)], (I8,))
    m.add("QLinearLeakyRelu", [m.u8(3, 40), scale(0.0313), zero(97), scale(0.0217), zero(53)], (U8,), alpha=0.2)
    m.add("QLinearLeakyRelu", [m.i8(3, 40), scale(0.0313), zero(9, np.int8), scale(0.0437), zero(4, np.int8)], (I8,))
    m.add("QLinearWhere", [m.f32(3, 4) > 0, m.u8(3, 4), scale(0.0313), zero(9), m.u8(4), scale(0.0527), zero(30), scale(0.0611), zero(11)], (U8,))


@case
def ms_qlinear_softmax(m):
    for axis, version, dtype in ((-1, 13, U8), (1, 13, I8), (1, 11, U8), (-1, 11, U8)):
        low, t = (-128, np.int8) if dtype == I8 else (0, np.uint8)
        x = m.i8(3, 4, 5) if dtype == I8 else m.u8(3, 4, 5)
        node = m.add("QLinearSoftmax", [x, scale(0.0313), zero(7, t), scale(1 / 256), zero(low, t)], (dtype,), axis=axis)
        m.nodes[-1].attribute.append(h.make_attribute("opset", version))
        assert node


@case
def ms_qlinear_concat(m):
    y = [scale(0.0527), zero(9)]
    m.add("QLinearConcat", y + [m.u8(3, 4), scale(0.0313), zero(7), m.u8(3, 5), scale(0.0527), zero(9), C(m.u8(3, 2)), scale(0.0811), zero(90)], (U8,), axis=1)
    m.add("QLinearConcat", [scale(0.0527), zero(9, np.int8), m.i8(3, 4), scale(0.0313), zero(7, np.int8), m.i8(2, 4), scale(0.0527), zero(9, np.int8)], (I8,), axis=0)
    m.add("QLinearConcat", y + [v for k in range(14) for v in (m.u8(2, 3), scale(0.0313 + 0.003 * k), zero(7 * k))], (U8,), axis=-1)


@case
def ms_qlinear_pool(m):
    x, y = [scale(0.0313), zero(7)], [scale(0.0217), zero(9)]
    m.add("QLinearAveragePool", [m.u8(1, 3, 7, 8), *x, *y], (U8,), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    m.add("QLinearAveragePool", [m.u8(1, 3, 7, 8), *x, *y], (U8,), kernel_shape=[3, 3], pads=[1, 0, 1, 1], count_include_pad=1)
    m.add("QLinearAveragePool", [m.u8(1, 7, 8, 3), *x, *y], (U8,), kernel_shape=[3, 2], strides=[2, 2], channels_last=1)
    m.add("QLinearAveragePool", [m.u8(1, 3, 7, 8), *x, *y], (U8,), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    m.add("QLinearAveragePool", [m.u8(1, 3, 7, 8), *x, *y], (U8,), kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    m.add("QLinearAveragePool", [m.u8(1, 7, 3), *x, *y], (U8,), kernel_shape=[3], channels_last=1)
    m.add("QLinearAveragePool", [m.u8(1, 4, 5, 6, 3), *x, *y], (U8,), kernel_shape=[2, 2, 2], channels_last=1)
    m.add("QLinearAveragePool", [m.i8(1, 3, 7, 8), scale(0.0313), zero(7, np.int8), scale(0.0217), zero(9, np.int8)], (I8,), kernel_shape=[3, 3])
    m.add("QLinearGlobalAveragePool", [m.u8(2, 3, 4, 5), *x, *y], (U8,))
    m.add("QLinearGlobalAveragePool", [m.i8(2, 4, 5, 3), scale(0.0313), zero(7, np.int8), scale(0.0217), zero(9, np.int8)], (I8,), channels_last=1)

    def mean(i, o):
        return [h.make_node("DequantizeLinear", i[:3], ["d"]), h.make_node("ReduceMean", ["d"], ["r"], axes=[1], keepdims=0), h.make_node("QuantizeLinear", ["r", i[3], i[4]], o)]
    m.add("QLinearReduceMean", [m.u8(3, 4, 5), *x, *y], (U8,), instead=mean, axes=[1], keepdims=0)


@case
def ms_nhwc_max_pool(m):
    m.add("NhwcMaxPool", [m.u8(1, 7, 8, 3)], (U8,), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    m.add("NhwcMaxPool", [m.i8(1, 7, 8, 3)], (I8,), kernel_shape=[3, 3], pads=[0, 1, 1, 0], dilations=[2, 1])
    m.add("NhwcMaxPool", [m.i8(1, 7, 8, 3)], (I8,), kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
    m.add("NhwcMaxPool", [m.i8(1, 7, 8, 3)], (I8,), kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER")
    m.add("NhwcMaxPool", [m.u8(1, 7, 3)], (U8,), kernel_shape=[3])
    m.add("MaxPool", [m.u8(1, 3, 7)], (U8,), domain="", kernel_shape=[3], strides=[2], pads=[1, 1])
    m.add("MaxPool", [m.i8(1, 3, 7, 7)], (I8,), domain="", kernel_shape=[3, 3], pads=[0, 1, 2, 1])


@case
def ms_qlinear_conv(m):
    w, bias, y = C(m.i8(4, 3, 3, 3)), C(m.ints(1000, 4)), [scale(0.113), zero(100)]
    x = [scale(0.0313), zero(7)]
    m.add("QLinearConv", [m.u8(1, 3, 6, 7), *x, w, C([0.011, 0.023, 0.031, 0.0157], np.float32), C(np.zeros(4, np.int8)), *y, bias], (U8,), pads=[1, 1, 1, 1], strides=[2, 2])
    m.add("QLinearConv", [m.u8(1, 6, 7, 3), *x, w, scale(0.011), zero(0, np.int8), *y, bias], (U8,), channels_last=1, pads=[0, 1, 2, 1])
    m.add("QLinearConv", [m.u8(1, 6, 7, 4), *x, C(m.i8(4, 1, 3, 3)), scale(0.011), zero(0, np.int8), *y], (U8,), channels_last=1, group=4)


@case
def ms_qgemm(m):
    x, y, bias = [scale(0.0313), zero(7)], [scale(0.113), zero(100)], C(m.ints(1000, 5))
    each = C([0.011, 0.023, 0.031, 0.0157, 0.0111], np.float32)
    m.add("QGemm", [m.u8(3, 40), *x, C(m.i8(40, 5)), scale(0.011), zero(0, np.int8), bias, *y], (U8,))
    m.add("QGemm", [m.u8(3, 40), *x, C(m.i8(5, 40)), each, C(np.zeros(5, np.int8)), bias, *y], (U8,), transB=1, alpha=1.5)
    m.add("QGemm", [m.u8(40, 3), *x, C(m.u8(40, 5)), scale(0.011), zero(3), bias], transA=1)
    m.add("QGemm", [m.u8(3, 40), *x, C(m.u8(40, 5)), scale(0.011), zero(3)], alpha=0.5)
    m.add("QGemm", [m.i8(3, 40), scale(0.0313), zero(7, np.int8), C(m.i8(40, 5)), scale(0.011), zero(3, np.int8), None, scale(0.113), zero(5, np.int8)], (I8,))


@case
def ms_quantised_matmul(m):
    each = C([0.011, 0.023, 0.031, 0.0157, 0.0111], np.float32)
    m.add("DynamicQuantizeMatMul", [m.f32(2, 3, 40), C(m.i8(40, 5)), scale(0.011)])
    m.add("DynamicQuantizeMatMul", [m.f32(3, 40), C(m.u8(40, 5)), each, C(m.u8(5)), C(m.f32(5))])
    m.add("DynamicQuantizeMatMul", [m.f32(3, 40), m.i8(40, 5), scale(0.011), zero(3, np.int8), m.f32(5)])
    m.add("MatMulIntegerToFloat", [m.u8(2, 3, 40), C(m.i8(40, 5)), scale(0.0313), scale(0.011)])
    numbers, step, middle = m.add("DynamicQuantizeLinear", [m.f32(3, 40)], (U8, F, U8), domain="")
    m.add("MatMulIntegerToFloat", [numbers, C(m.i8(40, 5)), step, scale(0.011), middle])
    m.add("MatMulIntegerToFloat", [m.u8(3, 40), C(m.u8(40, 5)), scale(0.0313), each, zero(9), C(m.u8(5)), C(m.f32(5))])
    m.add("MatMulIntegerToFloat", [m.i8(3, 40), m.i8(40, 5), np.array([0.0313], np.float32), np.float32(0.011), np.int8(9), np.int8(3), m.f32(5)])


@case
def ms_quantised_lstm(m):
    """ONNX Runtime rounds activations to bytes, too: compared with a float LSTM of the same weights."""
    def add(directions, steps, shape, zero_type, states=True, hidden=5, **attributes):
        each = [directions] + shape
        def floats(names, results):
            nodes, k = [], results[0]
            nodes.append(h.make_node("Constant", [], [k + "s"], value=numpy_helper.from_array(np.array([directions, 1, -1], np.int64))))
            for w, at, zp in (names[1], names[8], names[9]), (names[2], names[10], names[11] if len(names) > 11 else ""):
                nodes += [h.make_node("Cast", [w], [k + w + "f"], to=F), h.make_node("Reshape", [at, k + "s"], [k + w + "s"])]
                if zp:
                    nodes += [h.make_node("Cast", [zp], [k + w + "z"], to=F), h.make_node("Reshape", [k + w + "z", k + "s"], [k + w + "y"]),
                              h.make_node("Sub", [k + w + "f", k + w + "y"], [k + w + "d"])]
                nodes += [h.make_node("Mul", [k + w + ("d" if zp else "f"), k + w + "s"], [k + w + "m"]), h.make_node("Transpose", [k + w + "m"], [k + w + "t"], perm=[0, 2, 1])]
            ins = [names[0], k + names[1] + "t", k + names[2] + "t", *names[3:8]]
            while not ins[-1]:
                ins.pop()
            return nodes + [h.make_node("LSTM", ins, results, hidden_size=hidden, **attributes)]
        bytes_of = m.u8 if zero_type == np.uint8 else m.i8
        zeros = lambda: C(np.full(each, 3), zero_type)
        scales = lambda: C(m.rng.uniform(0.002, 0.004, each), np.float32)
        state = lambda: m.f32(directions, 2, hidden) if states else None
        m.add("DynamicQuantizeLSTM",
              [m.f32(steps, 2, 7), C(bytes_of(directions, 7, 4 * hidden)), C(bytes_of(directions, hidden, 4 * hidden)), C(m.f32(directions, 8 * hidden)), None, state(), state(), None,
               scales(), zeros(), scales(), zeros()], (F, F, F), floats, hidden_size=hidden, **attributes)
    add(1, 4, [], np.int8)
    add(2, 4, [20], np.int8, direction="bidirectional")
    add(1, 3, [20], np.uint8, states=False, direction="reverse")
    add(1, 3, [], np.uint8, clip=0.5)


@case
def ms_quantize(m):
    x = m.f32(3, 5)
    each = C([0.011, 0.023, 0.031], np.float32)
    for t in (np.uint8, np.int8, np.int16, np.uint16):
        kind, info = h.np_dtype_to_tensor_dtype(np.dtype(t)), np.iinfo(t)
        m.add("QuantizeLinear", [x, scale(0.0313), zero(7, t)], (kind,))
        m.add("QuantizeLinear", [x, each, C([1, 2, 3], t)], (kind,), axis=0)
        numbers = m.rng.integers(info.min, info.max, (3, 5)).astype(t)
        m.add("DequantizeLinear", [numbers, scale(0.0313), zero(7, t)])
        m.add("DequantizeLinear", [numbers, each, C([1, 2, 3], t)], axis=0)
    m.add("QuantizeLinear", [x, scale(0.0313)], (U8,))
    m.add("DequantizeLinear", [m.i8(3, 5), scale(0.0313)])
    m.add("DequantizeLinear", [m.ints(1000, 3, 5), scale(0.0313)])
    m.add("QuantizeLinear", [x.astype(np.float16), C(0.0313, np.float16), zero(3)], (U8,))
    m.add("DequantizeLinear", [m.u8(3, 5), C(0.0313, np.float16), zero(3)], (F16,))


# ---- attention -------------------------------------------------------------------------------------------------------


@case
def ms_rotary(m):
    x, ids = m.f32(2, 4, 12), np.array([[0, 1, 2, 3], [5, 6, 7, 8]], dtype=np.int64)
    angles, wide = m.f32(32, 2), m.f32(32, 4)
    tables, more = [C(np.cos(angles)), C(np.sin(angles))], [C(np.cos(wide)), C(np.sin(wide))]
    first = np.array([3], dtype=np.int64)
    m.add("RotaryEmbedding", [x, ids, *tables])
    m.add("RotaryEmbedding", [x, first, *tables])
    m.add("RotaryEmbedding", [x, first, *tables], interleaved=1)
    m.add("RotaryEmbedding", [m.f32(2, 3, 5, 4), first, *tables], interleaved=1)
    m.add("RotaryEmbedding", [m.f32(2, 3, 4, 4), ids, *tables])
    m.add("RotaryEmbedding", [m.f32(2, 4, 48), first, *more], num_heads=3, rotary_embedding_dim=8)


@case
def ms_attention(m):
    x, w, b = m.f32(2, 4, 8), C(m.f32(8, 36) * 0.5), C(m.f32(36))
    past, mask = m.f32(2, 2, 3, 5, 4), np.array([[1, 1, 0, 1], [0, 1, 1, 1]], dtype=np.int32)
    lengths, total = np.array([3, 4], dtype=np.int32), m.ints(2, 2, 9)
    total[:, 5:] = 1
    attend = lambda inputs, outs=(F,), **k: m.add("Attention", [x, w] + inputs, outs, num_heads=3, **k)
    attend([])
    attend([b], (F, F))
    attend([b], unidirectional=1, scale=0.3)
    attend([b, lengths])
    attend([b, np.array([3, 4, 1, 0], dtype=np.int32)])
    attend([b, mask])
    attend([b, mask], unidirectional=1)
    attend([b, mask], mask_filter_value=-2.0)
    attend([b, np.stack([np.tril(np.ones((4, 4), np.int32))] * 2)])
    attend([b, None, past], (F, F))
    attend([b, None, past], (F, F), unidirectional=1)
    attend([b, total, past], (F, F), unidirectional=1)
    attend([b, np.array([7, 8], dtype=np.int32), past], (F, F), unidirectional=1)
    attend([b, None, None, m.f32(2, 3, 4, 4)])
    attend([b, mask, None, m.f32(1, 1, 4, 4)])
    m.add("Attention", [x, C(m.f32(8, 48) * 0.5), C(m.f32(48))], num_heads=3, qkv_hidden_sizes=[12, 12, 24])
    quantised = [m.u8(2, 4, 8), C(m.i8(8, 36)), b, scale(0.0213)]
    m.add("QAttention", quantised + [scale(0.011), None, zero(120), zero(0, np.int8)], num_heads=3)
    m.add("QAttention", quantised + [C(np.full(36, 0.0113), np.float32), mask, zero(120), C(np.zeros(36, np.int8))], num_heads=3, unidirectional=1)
    m.add("QAttention", quantised + [scale(0.011), None, zero(120), zero(0, np.int8), past], (F, F), num_heads=3)


@case
def ms_multi_head_attention(m):
    q, k, v = m.f32(2, 4, 12), m.f32(2, 6, 12), m.f32(2, 6, 12)
    own = [q, m.f32(2, 4, 12), m.f32(2, 4, 12)]
    past, b, mask = [m.f32(2, 3, 5, 4), m.f32(2, 3, 5, 4)], C(m.f32(36)), m.ints(2, 2, 6)
    mask[:, 0] = 1
    attend = lambda inputs, outs=(F,), **k: m.add("MultiHeadAttention", inputs, outs, num_heads=3, **k)
    attend([q, k, v])
    attend([q, k, v, b], scale=0.2)
    attend([q, k, m.f32(2, 6, 24), C(m.f32(48))])
    attend([q, k, v, None, np.array([3, 6], dtype=np.int32)])
    attend([q, k, v, None, mask])
    attend([q, k, v, None, m.ints(2, 2, 4, 6)], mask_filter_value=-5.0)
    attend([q, k, v, None, None, m.f32(1, 3, 4, 6)])
    attend(own, (F, None, None, F), unidirectional=1)
    attend(own + [None, None, None] + past, (F, F, F), unidirectional=1)
    attend(own + [b, np.concatenate([np.ones((2, 5), np.int32), m.ints(2, 2, 4)], 1), None] + past, (F, F, F))
    attend([q, m.f32(2, 3, 7, 4), m.f32(2, 3, 7, 4)])
    attend([q, k, v, None, None, m.f32(1, 1, 4, 6)], (F, F, F, F))

    def unpacked(i, o):
        """(batch, rows, heads, parts, size), the last parts of those that are needed"""
        parts, nodes = (3 if len(i) != 2 else 2), []
        names = ["part%d_%s" % (p, o[0]) for p in range(parts)]
        packed = i[1] if parts == 2 else i[0]
        nodes.append(h.make_node("Split", [packed], [n + "s" for n in names], axis=3))
        nodes.append(h.make_node("Constant", [], ["flat" + o[0]], value_ints=[0, 0, -1]))
        nodes += [h.make_node("Reshape", [n + "s", "flat" + o[0]], [n]) for n in names]
        return nodes + [h.make_node("MultiHeadAttention", (i[:1] if parts == 2 else []) + names + i[3:], o, domain="com.microsoft", num_heads=3)]
    attend([q, m.f32(2, 6, 3, 2, 4)], instead=unpacked)
    attend([m.f32(2, 6, 3, 3, 4)], instead=unpacked)
    attend([m.f32(2, 6, 3, 3, 4), None, None, b], instead=unpacked)


@case
def ms_decoder_attention(m):
    row = [m.f32(2, 1, 12), m.f32(2, 1, 12), m.f32(2, 1, 12)]
    past, length, b = [m.f32(2, 3, 5, 4), m.f32(2, 3, 5, 4)], np.array([3], dtype=np.int32), C(m.f32(36))
    mask = np.array([[1, 0, 1, 1], [0, 1, 1, 1]], dtype=np.int32)
    attend = lambda inputs, outs=(F, F, F), **k: m.add("DecoderMaskedMultiHeadAttention", inputs, outs, num_heads=3, **k)
    attend([row[0], m.f32(2, 3, 7, 4), m.f32(2, 3, 7, 4)], (F,))
    attend(row + [None, None] + past + [length], past_present_share_buffer=1)
    attend(row + [mask, m.f32(1, 1, 1, 4)] + past + [length, C([1], np.int32), None, b], past_present_share_buffer=1, scale=0.3)
    attend(row + [None, None] + past, instead=lambda i, o: [h.make_node("MultiHeadAttention", i[:3] + ["", "", ""] + i[5:7], o, domain="com.microsoft", num_heads=3)])


@case
def ms_group_query_attention(m):
    def attend(batch, rows, past, lengths, total, packed=False, turned=False, size=16, positions=None, rest=(), outs=(F, F, F), instead=None, width=None, **k):
        heads, kv = 4, k.pop("kv", 2)
        if packed:
            qkv = [m.f32(batch, rows, (heads + 2 * kv) * size), None, None]
        else:
            qkv = [m.f32(batch, rows, heads * size), m.f32(batch, rows, kv * size), m.f32(batch, rows, kv * size)]
        before = [None, None] if past is None else [m.f32(batch, kv, past, size), m.f32(batch, kv, past, size)]
        angles = m.f32(32, (width or size) // 2)
        tables = [C(np.cos(angles)), C(np.sin(angles))] if turned else [None, None]
        inputs = qkv + before + [np.array(lengths, np.int32), np.array(total, np.int32)] + tables + [positions] + list(rest)
        m.add("GroupQueryAttention", inputs, outs, instead=instead, num_heads=heads, kv_num_heads=kv, **({"do_rotary": 1} if turned else {}), **k)

    attend(1, 5, 0, [4], 5)                                       # prompts
    attend(2, 5, None, [4, 4], 5, turned=True)
    attend(2, 5, 12, [4, 4], 5, turned=True)                      # into a buffer
    attend(1, 1, 6, [6], 7, turned=True)                          # one more row
    attend(2, 1, 6, [3, 6], 7, turned=True, packed=True)          # of sequences of two lengths
    attend(2, 1, 12, [3, 6], 7, turned=True)
    attend(1, 3, 6, [8], 9, turned=True, rotary_interleaved=1)    # several more
    attend(1, 3, 16, [8], 9, turned=True, packed=True)
    attend(1, 3, 6, [8], 9, turned=True, size=32, width=16)       # half of each head
    attend(1, 3, 6, [8], 9, local_window_size=4, scale=0.2)
    attend(1, 9, 0, [8], 9, local_window_size=2, kv=4)
    attend(1, 3, 6, [8], 9, softcap=2.0, kv=1)
    attend(1, 3, 6, [8], 9, smooth_softmax=1)
    attend(1, 3, 6, [8], 9, rest=[None, m.f32(4)], local_window_size=4, softcap=3.0)
    attend(1, 5, 0, [4], 5, turned=True, positions=np.array([[3, 1, 2, 3, 4]]))
    attend(2, 1, 6, [3, 6], 7, turned=True, positions=np.array([[9], [4]]))
    attend(1, 3, 6, [8], 9, rest=[m.f32(1, 4, 3, 9)])
    attend(2, 1, 6, [4, 6], 7, rest=[m.f32(2, 1, 1, 7)], softcap=2.0)
    attend(1, 3, 6, [8], 9, causal=0)
    attend(2, 5, 0, [2, 4], 5, causal=0)
    attend(1, 3, 6, [8], 9, outs=(F, F, F, F), qk_output=1, softcap=2.0, local_window_size=4, rest=[m.f32(1, 4, 3, 9)])
    attend(1, 3, 6, [8], 9, outs=(F, F, F, F), qk_output=2)

    def normed(i, o):
        nodes = []
        for at, weight, heads in ((0, 14, 4), (1, 15, 2)):
            nodes += [h.make_node("Constant", [], ["heads%d" % at], value_ints=[0, 0, heads, 16]), h.make_node("Constant", [], ["whole%d" % at], value_ints=[0, 0, heads * 16]),
                      h.make_node("Reshape", [i[at], "heads%d" % at], ["r%d" % at]), h.make_node("SimplifiedLayerNormalization", ["r%d" % at, i[weight]], ["n%d" % at], epsilon=1e-3),
                      h.make_node("Reshape", ["n%d" % at, "whole%d" % at], ["t%d" % at])]
        return nodes + [h.make_node("GroupQueryAttention", ["t0", "t1"] + i[2:9], o, domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)]
    attend(1, 3, 6, [8], 9, turned=True, rest=[None] * 4 + [m.f32(16), m.f32(16)], instead=normed, qk_norm_epsilon=1e-3)


def language_model(m, batch, rows, before, room, lengths):
    """Two layers as the GenAI builder writes them; room: of the caches, before: how much of it a mask shows, beside the new rows."""
    heads, kv, size, width, words = 4, 2, 16, 32, 50
    total = before + rows
    mask = np.ones((batch, total), np.int64)
    for b, n in enumerate(lengths):
        mask[b, n:] = 0
    inner = lambda op, inputs, **k: m.add(op, inputs, (INNER,), domain="", **k)[0]
    weight = lambda *sizes: C(m.f32(*sizes) * 0.1)
    skip_norm = lambda x, y: m.add("SkipSimplifiedLayerNormalization", [x, y, C(m.f32(width))], (INNER, None, None, INNER), epsilon=1e-6)[::3]
    ids, shown = m.rng.integers(0, words, (batch, rows)), m.name(mask)
    lengths_k = inner("Cast", [inner("Sub", [inner("ReduceSum", [shown, C([1], np.int64)], keepdims=0), C(1, np.int64)])], to=T.INT32)
    count = inner("Cast", [inner("Gather", [inner("Shape", [shown]), C(1, np.int64)], axis=0)], to=T.INT32)
    angles = m.f32(32, size // 2)
    tables = [m.name(C(np.cos(angles))), m.name(C(np.sin(angles)))]
    skip = inner("Gather", [C(m.f32(words, width)), ids], axis=0)
    norm = inner("SimplifiedLayerNormalization", [skip, C(m.f32(width))], axis=-1, epsilon=1e-6, stash_type=1)
    for _ in range(2):
        qkv = inner("MatMul", [norm, weight(width, (heads + 2 * kv) * size)])
        past = [m.f32(batch, kv, room, size), m.f32(batch, kv, room, size)]
        y = m.add("GroupQueryAttention", [qkv, None, None, *past, lengths_k, count, *tables], (INNER, F, F), num_heads=heads, kv_num_heads=kv, do_rotary=1)[0]
        norm, skip = skip_norm(skip, inner("MatMul", [y, weight(heads * size, width)]))
        gate, up = inner("MatMul", [norm, weight(width, 40)]), inner("MatMul", [norm, weight(width, 40)])
        y = inner("Mul", [inner("Mul", [gate, inner("Sigmoid", [gate])]), up])
        norm, skip = skip_norm(skip, inner("MatMul", [y, weight(40, width)]))
    m.add("MatMul", [norm, weight(width, words)], domain="")


@case
def ms_language_model_prompt(m):
    language_model(m, 1, 5, 0, 0, [5])


@case
def ms_language_model_step(m):
    language_model(m, 1, 1, 6, 6, [7])


@case
def ms_language_model_buffer(m):
    language_model(m, 2, 1, 6, 12, [5, 7])


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        try:
            base.make(name, CASES[name])
        except Exception as e:
            print(name, type(e).__name__, str(e)[:300])
