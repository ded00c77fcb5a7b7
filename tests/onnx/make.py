#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/onnx/models: small models of ONNX with inputs and ONNX Runtime's results, which make test runs (group onnx).

    tests/onnx/make.py [NAME...]

Needs torch, onnx and onnxruntime; those that were committed are of onnx 1.23.2, onnxruntime 1.32.0, torch 2.15.0.
"""
import io
import json
import os
import sys

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import torch
from onnx import TensorProto as T
from onnx import helper as h

HERE = os.path.dirname(os.path.abspath(__file__))
RNG = np.random.default_rng(0)
F, I, B = T.FLOAT, T.INT64, T.BOOL


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def model(nodes, inputs, outputs, constants=None, opset=17, ir=8):
    """inputs: {name: (type, dims)}; outputs: {name: type}; constants: {name: array}"""
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, t, d) for n, (t, d) in inputs.items()],
                         [h.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
                         [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=ir)


def one(op, arrays, constants=None, nout=1, opset=17, types=None, **attrs):
    """A model of one node: its inputs are arrays, then constants."""
    names = ["x%d" % i for i in range(len(arrays))] + list(constants or {})
    outs = ["y%d" % i for i in range(nout)]
    kinds = {np.dtype(np.float32): F, np.dtype(np.int64): I, np.dtype(np.bool_): B, np.dtype(np.int32): T.INT32, np.dtype(np.uint8): T.UINT8, np.dtype(np.int8): T.INT8}
    inputs = {"x%d" % i: (kinds[a.dtype], list(a.shape)) for i, a in enumerate(arrays)}
    return model([h.make_node(op, names, outs, **attrs)], inputs, dict(zip(outs, types or [F] * nout)), constants, opset), arrays


def i64(*values):
    return np.array(values, dtype=np.int64)


CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def simple(name, *args, **kw):
    CASES[name] = lambda: one(*args, **kw)


for _op in ["Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus",
            "Softsign", "Tanh"]:
    simple(_op.lower(), _op, [f32(2, 3, 5)], opset=18)
simple("elu", "Elu", [f32(3, 4)], alpha=0.7)
simple("leaky_relu", "LeakyRelu", [f32(3, 4)], alpha=0.2)
simple("hard_sigmoid", "HardSigmoid", [f32(3, 4)], alpha=0.3, beta=0.4)
simple("gelu", "Gelu", [f32(3, 4)], opset=20)
simple("gelu_tanh", "Gelu", [f32(3, 4)], opset=20, approximate="tanh")
simple("prelu", "PRelu", [f32(2, 3, 4)], {"s": f32(3, 1)})
simple("clip", "Clip", [f32(3, 4)], {"lo": np.float32(-0.5), "hi": np.float32(0.5)})
simple("add", "Add", [f32(2, 3, 4), f32(3, 1)])
simple("div_int", "Div", [i64(7, -7, 9, -9), i64(2, 2, -4, -4)], types=[I])
simple("mod", "Mod", [i64(7, -7, 9, -9), i64(2, 3, -4, 4)], types=[I])
simple("fmod", "Mod", [f32(5), f32(5)], fmod=1)
simple("pow", "Pow", [np.abs(f32(3, 4))], {"e": np.float32(2.5)})
simple("greater_equal", "GreaterOrEqual", [f32(3, 4), f32(4)], types=[B])
simple("where", "Where", [f32(3, 4) > 0, f32(3, 4), f32(4)])
simple("max3", "Max", [f32(3, 4), f32(4), f32(3, 1)])
simple("mean3", "Mean", [f32(3, 4), f32(4), f32(3, 1)])
simple("matmul", "MatMul", [f32(2, 3, 4)], {"w": f32(4, 5)})
simple("matmul_batch", "MatMul", [f32(2, 3, 4), f32(2, 4, 5)])
simple("gemm", "Gemm", [f32(3, 4)], {"w": f32(5, 4), "b": f32(5)}, transB=1)
simple("external", "Gemm", [f32(3, 4)], {"w": f32(5, 4), "b": f32(5)}, transB=1)
simple("gemm_scaled", "Gemm", [f32(4, 3), f32(4, 5), f32(3, 5)], transA=1, alpha=0.5, beta=2.0)
simple("einsum", "Einsum", [f32(2, 3, 4), f32(2, 4, 5)], equation="bij,bjk->bik")
simple("conv1d", "Conv", [f32(2, 4, 9)], {"w": f32(6, 2, 3), "b": f32(6)}, group=2, pads=[1, 1], strides=[2])
simple("conv2d", "Conv", [f32(1, 3, 8, 9)], {"w": f32(4, 3, 3, 3), "b": f32(4)}, pads=[1, 1, 1, 1], dilations=[2, 1])
simple("conv2d_uneven", "Conv", [f32(1, 3, 8, 9)], {"w": f32(4, 3, 3, 3)}, pads=[0, 1, 2, 1])
simple("conv2d_same", "Conv", [f32(1, 3, 8, 9)], {"w": f32(4, 3, 3, 3)}, auto_pad="SAME_UPPER", strides=[2, 2])
simple("conv3d", "Conv", [f32(1, 2, 4, 5, 6)], {"w": f32(3, 2, 2, 2, 2)})
simple("conv_transpose", "ConvTranspose", [f32(1, 4, 5, 5)], {"w": f32(4, 3, 3, 3), "b": f32(3)}, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
simple("conv_transpose_uneven", "ConvTranspose", [f32(1, 4, 5, 5)], {"w": f32(4, 3, 3, 3)}, strides=[2, 2], pads=[0, 1, 1, 0])
simple("max_pool", "MaxPool", [f32(1, 2, 7, 8)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
simple("max_pool_ceil", "MaxPool", [f32(1, 2, 8, 8)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
simple("max_pool_uneven", "MaxPool", [f32(1, 2, 7, 8)], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 1, 0])
simple("average_pool", "AveragePool", [f32(1, 2, 7, 8)], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 1])
simple("average_pool_all", "AveragePool", [f32(1, 2, 7, 8)], kernel_shape=[3, 3], pads=[1, 0, 1, 1], count_include_pad=1)
simple("average_pool_uneven", "AveragePool", [f32(1, 2, 7, 8)], kernel_shape=[3, 3], pads=[0, 1, 1, 0])
simple("average_pool_same", "AveragePool", [f32(1, 2, 7, 8)], kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
simple("lp_pool", "LpPool", [f32(1, 2, 6, 6)], kernel_shape=[2, 2], strides=[2, 2], p=2)
simple("global_average_pool", "GlobalAveragePool", [f32(2, 3, 4, 5)])
simple("global_max_pool", "GlobalMaxPool", [f32(2, 3, 4)])
simple("batch_norm", "BatchNormalization", [f32(2, 3, 4, 4)], {"s": f32(3), "b": f32(3), "m": f32(3), "v": np.abs(f32(3))}, epsilon=1e-3)
simple("instance_norm", "InstanceNormalization", [f32(2, 3, 4, 4)], {"s": f32(3), "b": f32(3)})
simple("layer_norm", "LayerNormalization", [f32(2, 3, 8)], {"s": f32(8), "b": f32(8)})
simple("layer_norm_axis", "LayerNormalization", [f32(2, 3, 8)], {"s": f32(3, 8)}, axis=1)
simple("lrn", "LRN", [f32(1, 6, 3, 3)], size=3)
simple("lp_norm", "LpNormalization", [f32(3, 4)], axis=1, p=2)
simple("softmax", "Softmax", [f32(2, 3, 4)], axis=1)
simple("softmax_11", "Softmax", [f32(2, 3, 4)], axis=1, opset=11)
simple("log_softmax", "LogSoftmax", [f32(2, 3, 4)])
for _op in ["ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare"]:
    simple(_op.lower(), _op, [f32(2, 3, 4)], axes=[0, 2], keepdims=0)
simple("reduce_sum", "ReduceSum", [f32(2, 3, 4)], {"a": i64(-1)})
simple("reduce_mean_18", "ReduceMean", [f32(2, 3, 4)], {"a": i64(1, 2)}, opset=18)
simple("reduce_all", "ReduceMean", [f32(2, 3, 4)], keepdims=0)
simple("argmax", "ArgMax", [f32(2, 3, 4)], axis=1, types=[I])
simple("cumsum", "CumSum", [f32(3, 4)], {"a": np.int64(1)}, exclusive=1, reverse=1)
simple("topk", "TopK", [f32(3, 7)], {"k": i64(3)}, nout=2, types=[F, I], largest=0)
simple("reshape", "Reshape", [f32(2, 3, 4)], {"s": i64(0, -1)})
simple("reshape_input", "Reshape", [f32(2, 3, 4), i64(4, 0, -1)])
simple("flatten", "Flatten", [f32(2, 3, 4)], axis=2)
simple("transpose", "Transpose", [f32(2, 3, 4)], perm=[2, 0, 1])
simple("transpose_all", "Transpose", [f32(2, 3, 4)])
simple("squeeze", "Squeeze", [f32(1, 3, 1, 4)], {"a": i64(0, -2)})
simple("unsqueeze", "Unsqueeze", [f32(3, 4)], {"a": i64(-1, 0)})
simple("unsqueeze_11", "Unsqueeze", [f32(3, 4)], axes=[0, 3], opset=11)
simple("expand", "Expand", [f32(3, 1)], {"s": i64(2, 1, 4)})
simple("expand_input", "Expand", [f32(3, 1), i64(2, 1, 4)])
simple("tile", "Tile", [f32(2, 3)], {"r": i64(2, 2)})
simple("concat", "Concat", [f32(2, 3), f32(2, 4)], axis=-1)
simple("split", "Split", [f32(2, 6)], {"s": i64(2, 4)}, nout=2, axis=1)
simple("split_18", "Split", [f32(2, 7)], nout=3, axis=1, num_outputs=3, opset=18)
simple("slice", "Slice", [f32(5, 6)], {"s": i64(1, -5), "e": i64(9, -1), "a": i64(0, 1), "t": i64(2, 1)})
simple("slice_back", "Slice", [f32(5, 6)], {"s": i64(-1), "e": i64(-9), "a": i64(1), "t": i64(-2)})
simple("slice_input", "Slice", [f32(5, 6), i64(1), i64(4), i64(1)])
simple("pad", "Pad", [f32(2, 3)], {"p": i64(1, 0, 0, 2), "v": np.float32(1.5)})
simple("pad_reflect", "Pad", [f32(1, 2, 4, 5)], {"p": i64(0, 0, 1, 2, 0, 0, 2, 1)}, mode="reflect")
simple("pad_edge", "Pad", [f32(1, 2, 4, 5)], {"p": i64(0, 0, 1, 2, 0, 0, 2, 1)}, mode="edge")
simple("depth_to_space", "DepthToSpace", [f32(1, 8, 2, 3)], blocksize=2)
simple("depth_to_space_crd", "DepthToSpace", [f32(1, 8, 2, 3)], blocksize=2, mode="CRD")
simple("space_to_depth", "SpaceToDepth", [f32(1, 2, 4, 6)], blocksize=2)
simple("trilu", "Trilu", [f32(4, 5)], {"k": np.int64(1)}, upper=0)
simple("gather", "Gather", [f32(4, 5), i64(0, -1, 2)], axis=1)
simple("gather_2d", "Gather", [f32(7, 3)], {"i": np.array([[1, -2], [0, 6]])})
simple("gather_elements", "GatherElements", [f32(3, 4), np.array([[0, -1], [2, 1], [3, 3]])], axis=1)
simple("gather_nd", "GatherND", [f32(2, 3, 4), np.array([[0, 1], [1, 2]])])
simple("gather_nd_batch", "GatherND", [f32(2, 3, 4), np.array([[1], [2]])], batch_dims=1)
simple("scatter_elements", "ScatterElements", [f32(3, 4), np.array([[0, -1]]), f32(1, 2)], axis=1)
simple("scatter_nd", "ScatterND", [f32(4, 3), np.array([[1], [3]]), f32(2, 3)])
simple("one_hot", "OneHot", [i64(0, 3, -1)], {"d": np.int64(5), "v": np.array([0.5, 2.0], dtype=np.float32)})
simple("nonzero", "NonZero", [(f32(3, 4) > 0).astype(np.float32)], types=[I])
simple("compress", "Compress", [f32(3, 4)], {"c": np.array([True, False, True])}, axis=0)
simple("range", "Range", [np.array(1, dtype=np.int64), np.array(9, dtype=np.int64), np.array(3, dtype=np.int64)], types=[I])
simple("constant_of_shape", "ConstantOfShape", [i64(2, 3)])
simple("eye_like", "EyeLike", [f32(3, 4)], k=1)
simple("cast", "Cast", [f32(3, 4) * 3], to=I, types=[I])
simple("is_inf", "IsInf", [np.array([1, np.inf, -np.inf], dtype=np.float32)], detect_negative=0, types=[B])
simple("resize_nearest", "Resize", [f32(1, 2, 3, 4)], {"r": f32(0), "s": np.array([1, 1, 2, 3], dtype=np.float32)}, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
simple("resize_linear", "Resize", [f32(1, 2, 3, 4)], {"r": f32(0), "s": np.array([1, 1, 2, 1.5], dtype=np.float32)}, mode="linear")
simple("resize_corners", "Resize", [f32(1, 2, 3, 4)], {"r": f32(0), "e": f32(0), "s": i64(1, 2, 7, 5)}, mode="linear", coordinate_transformation_mode="align_corners")
simple("resize_floor", "Resize", [f32(1, 2, 5, 4)], {"r": f32(0), "e": f32(0), "s": i64(1, 2, 3, 7)})
simple("resize_asymmetric", "Resize", [f32(1, 2, 3, 4)], {"r": f32(0), "s": np.array([1, 1, 2, 2], dtype=np.float32)}, mode="linear", coordinate_transformation_mode="asymmetric")
simple("resize_cubic", "Resize", [f32(1, 2, 5, 4)], {"r": f32(0), "s": np.array([1, 1, 2, 2], dtype=np.float32)}, mode="cubic")
simple("grid_sample", "GridSample", [f32(1, 2, 4, 5), f32(1, 3, 3, 2) / 2], align_corners=1)
simple("lstm", "LSTM", [f32(5, 2, 3)], {"w": f32(2, 16, 3), "r": f32(2, 16, 4), "b": f32(2, 32)}, nout=3, hidden_size=4, direction="bidirectional")
simple("lstm_reverse", "LSTM", [f32(5, 2, 3)], {"w": f32(1, 16, 3), "r": f32(1, 16, 4)}, nout=3, hidden_size=4, direction="reverse")
simple("gru_before", "GRU", [f32(5, 2, 3)], {"w": f32(2, 12, 3), "r": f32(2, 12, 4), "b": f32(2, 24)}, nout=2, hidden_size=4, direction="bidirectional")
simple("lstm_lengths", "LSTM", [f32(5, 2, 3)], {"w": f32(2, 16, 3), "r": f32(2, 16, 4), "b": f32(2, 32), "l": np.array([3, 5], np.int32), "h": f32(2, 2, 4), "c": f32(2, 2, 4), "p": f32(2, 12)}, nout=3, hidden_size=4, direction="bidirectional")
simple("rnn_lengths", "RNN", [f32(5, 2, 3)], {"w": f32(1, 4, 3), "r": f32(1, 4, 4), "b": f32(1, 8), "l": np.array([5, 2], np.int32)}, nout=2, hidden_size=4, direction="reverse")
simple("nll", "NegativeLogLikelihoodLoss", [f32(3, 5, 2)], {"t": np.array([[0, 4], [1, 1], [2, 3]]), "w": np.abs(f32(5))}, reduction="mean", ignore_index=1)
simple("cross_entropy", "SoftmaxCrossEntropyLoss", [f32(3, 5)], {"t": np.array([0, 4, 1])}, nout=2, reduction="sum")
simple("dft", "DFT", [f32(2, 6, 1)], axis=1, onesided=1)
simple("affine_grid", "AffineGrid", [f32(2, 2, 3)], {"s": np.array([2, 3, 4, 5])}, opset=20)
simple("center_crop_pad", "CenterCropPad", [f32(2, 5, 6)], {"s": np.array([3, 9])}, opset=18, axes=[1, 2])
simple("col2im", "Col2Im", [f32(1, 8, 9)], {"i": np.array([4, 4]), "b": np.array([2, 2])}, opset=18)
simple("deform_conv", "DeformConv", [f32(1, 2, 5, 5)], {"w": f32(3, 2, 3, 3), "o": f32(1, 18, 5, 5) * 0.3, "b": f32(3), "m": np.abs(f32(1, 9, 5, 5))}, opset=19, pads=[1, 1, 1, 1])
simple("gru", "GRU", [f32(5, 2, 3)], {"w": f32(1, 12, 3), "r": f32(1, 12, 4), "b": f32(1, 24)}, nout=2, hidden_size=4, linear_before_reset=1)
simple("rnn", "RNN", [f32(5, 2, 3)], {"w": f32(1, 4, 3), "r": f32(1, 4, 4), "b": f32(1, 8)}, nout=2, hidden_size=4)
simple("quantize", "QuantizeLinear", [f32(3, 4)], {"s": np.float32(0.05), "z": np.uint8(100)}, types=[T.UINT8])
simple("quantize_int16", "QuantizeLinear", [f32(3, 4)], {"s": np.float32(0.001), "z": np.int16(100)}, types=[T.INT16], opset=21)
simple("quantize_blocks", "QuantizeLinear", [f32(3, 4)], {"s": np.abs(f32(3, 2)) + np.float32(0.1), "z": RNG.integers(0, 255, (3, 2)).astype(np.uint8)}, axis=1, block_size=2, types=[T.UINT8],
       opset=21)
simple("dynamic_quantize", "DynamicQuantizeLinear", [f32(3, 4)], nout=3, types=[T.UINT8, F, T.UINT8])
U8 = RNG.integers(0, 255, (2, 4, 6, 6)).astype(np.uint8)
simple("matmul_integer", "MatMulInteger", [U8[0, 0, :3]], {"w": U8[0, 1].astype(np.int8), "a": np.uint8(100), "b": U8[1, 1, 0].astype(np.int8)}, types=[T.INT32])
simple("conv_integer", "ConvInteger", [U8], {"w": U8[:1, :, :3, :3], "a": np.uint8(100), "b": np.uint8(90)}, pads=[1, 0, 1, 2], types=[T.INT32])
simple("qlinear_matmul", "QLinearMatMul", [U8[0, 0, :3]], {"as": np.float32(0.02), "az": np.uint8(120), "b": U8[0, 1].astype(np.int8), "bs": np.abs(f32(6)) / 50, "bz": np.zeros(6, np.int8),
                                                           "ys": np.float32(0.3), "yz": np.uint8(128)}, types=[T.UINT8])
# weights of seven bits: ONNX Runtime's kernels for AVX2 saturate sums of two products
simple("qlinear_conv", "QLinearConv", [U8], {"xs": np.float32(0.02), "xz": np.uint8(120), "w": U8[:, :, :3, :3].astype(np.int8) // 2, "ws": np.abs(f32(2)) / 50, "wz": np.zeros(2, np.int8),
                                             "ys": np.float32(0.5), "yz": np.uint8(128), "b": np.array([50, -90], np.int32)}, strides=[2, 1], pads=[1, 1, 1, 1], types=[T.UINT8])
simple("non_max_suppression", "NonMaxSuppression", [np.abs(f32(2, 9, 4)), f32(2, 3, 9)], {"n": i64(4), "iou": np.array([0.3], np.float32), "least": np.array([0.1], np.float32)}, types=[I])
simple("roi_align", "RoiAlign", [f32(2, 3, 8, 8), np.abs(f32(4, 4)) * 3, i64(0, 1, 1, 0)], output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5)
simple("topk_ties", "TopK", [np.array([[1, 3, 1, 3, 2, 3]], np.float32)], {"k": i64(4)}, nout=2, types=[F, I])
simple("unsqueeze_input", "Unsqueeze", [f32(3, 4), i64(-1, 0)])
simple("pad_input", "Pad", [f32(2, 3), i64(1, 0, 0, 2)], mode="edge")
simple("argmax_last", "ArgMax", [np.array([[1, 3, 1, 3, 2]], np.float32)], axis=1, select_last_index=1, types=[I])
simple("average_pool_dilated", "AveragePool", [f32(1, 2, 9, 8)], kernel_shape=[3, 2], dilations=[2, 2], pads=[1, 1, 0, 1], opset=19)
simple("lp_pool_pads", "LpPool", [f32(1, 2, 7, 6)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], p=3, opset=18)
simple("max_pool_indices", "MaxPool", [f32(2, 2, 6, 7)], kernel_shape=[2, 2], strides=[2, 2], nout=2, types=[F, I])
simple("conv_transpose_shape", "ConvTranspose", [f32(1, 4, 5, 5)], {"w": f32(4, 3, 3, 3)}, strides=[2, 2], output_shape=[10, 9])
simple("layer_norm_parts", "LayerNormalization", [f32(2, 3, 8)], {"s": f32(8), "b": f32(8)}, nout=3)
simple("scatter_nd_max", "ScatterND", [f32(4, 3), np.array([[1], [3]]), f32(2, 3)], reduction="max", opset=18)
simple("resize_antialias", "Resize", [f32(1, 2, 9, 8)], {"r": f32(0), "s": np.array([1, 1, 0.5, 0.6], dtype=np.float32)}, mode="linear", antialias=1, opset=18)
simple("resize_cubic_outside", "Resize", [f32(1, 1, 5, 4)], {"r": f32(0), "s": np.array([1, 1, 0.8, 2], dtype=np.float32)}, mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)
simple("resize_axes", "Resize", [f32(1, 2, 5, 4)], {"r": f32(0), "e": f32(0), "s": i64(7, 9)}, mode="linear", axes=[2, 3], opset=18)
simple("resize_scales_input", "Resize", [f32(1, 2, 3, 4), f32(0), np.array([1, 1, 2, 3], dtype=np.float32)], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
simple("rotary", "RotaryEmbedding", [f32(2, 5, 12), f32(8, 2), f32(8, 2), np.array([[0, 1, 2, 3, 7], [1, 2, 3, 4, 5]])], num_heads=3, opset=23)
simple("attention", "Attention", [f32(2, 4, 5, 8), f32(2, 2, 7, 8), f32(2, 2, 7, 8)], is_causal=1, opset=23)
simple("attention_mask", "Attention", [f32(2, 5, 24), f32(2, 7, 24), f32(2, 7, 24), f32(5, 7)], q_num_heads=3, kv_num_heads=3, softcap=2.0, opset=23)
simple("dequantize", "DequantizeLinear", [RNG.integers(0, 255, (3, 4)).astype(np.uint8)], {"s": f32(4), "z": RNG.integers(0, 255, 4).astype(np.uint8)}, axis=1)


@case
def sizes():
    """Shape, Gather, Unsqueeze, Concat, Reshape with sizes that only a call knows."""
    nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "zero"], ["n"]), h.make_node("Gather", ["s", "two"], ["c"]),
             h.make_node("Mul", ["c", "half"], ["k"]), h.make_node("Unsqueeze", ["n", "axes"], ["n1"]), h.make_node("Unsqueeze", ["k", "axes"], ["k1"]),
             h.make_node("Concat", ["n1", "minus", "k1"], ["to"], axis=0), h.make_node("Reshape", ["x", "to"], ["y"])]
    constants = {"zero": np.int64(0), "two": np.int64(2), "half": np.int64(2), "axes": i64(0), "minus": i64(-1)}
    return model(nodes, {"x": (F, ["batch", 4, "c"])}, {"y": F}, constants), [f32(3, 4, 5)]


@case
def branch():
    yes = h.make_graph([h.make_node("Add", ["x", "x"], ["a"])], "yes", [], [h.make_tensor_value_info("a", F, None)])
    no = h.make_graph([h.make_node("Neg", ["x"], ["b"])], "no", [], [h.make_tensor_value_info("b", F, None)])
    nodes = [h.make_node("ReduceSum", ["x"], ["s"], keepdims=0), h.make_node("Greater", ["s", "zero"], ["c"]), h.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)]
    return model(nodes, {"x": (F, [3])}, {"y": F}, {"zero": np.float32(0)}), [-np.abs(f32(3))]


@case
def loop():
    body = h.make_graph([h.make_node("Add", ["acc", "x"], ["next"]), h.make_node("Identity", ["go"], ["on"]), h.make_node("Identity", ["next"], ["each"])], "body",
                        [h.make_tensor_value_info("i", I, []), h.make_tensor_value_info("go", B, []), h.make_tensor_value_info("acc", F, [3])],
                        [h.make_tensor_value_info("on", B, []), h.make_tensor_value_info("next", F, [3]), h.make_tensor_value_info("each", F, [3])])
    nodes = [h.make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)]
    return model(nodes, {"x": (F, [3])}, {"last": F, "all": F}, {"n": np.int64(4)}), [f32(3)]


@case
def scan():
    """The sum of the rows so far, from behind, and each of them."""
    body = h.make_graph([h.make_node("Add", ["acc", "row"], ["next"]), h.make_node("Mul", ["next", "row"], ["each"])], "body",
                        [h.make_tensor_value_info("acc", F, [3]), h.make_tensor_value_info("row", F, [3])],
                        [h.make_tensor_value_info("next", F, [3]), h.make_tensor_value_info("each", F, [3])])
    nodes = [h.make_node("Scan", ["x0", "x1"], ["last", "all"], body=body, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1])]
    return model(nodes, {"x0": (F, [3]), "x1": (F, [3, 5])}, {"last": F, "all": F}), [f32(3), f32(3, 5)]


@case
def sequences():
    """A sequence that grows in a loop, and one that is taken apart."""
    body = h.make_graph([h.make_node("SequenceAt", ["parts", "i"], ["part"]), h.make_node("SequenceInsert", ["s", "part", "zero"], ["t"]), h.make_node("Identity", ["go"], ["on"])], "body",
                        [h.make_tensor_value_info("i", I, []), h.make_tensor_value_info("go", B, []), h.make_tensor_sequence_value_info("s", F, None)],
                        [h.make_tensor_value_info("on", B, []), h.make_tensor_sequence_value_info("t", F, None)])
    nodes = [h.make_node("SplitToSequence", ["x", "sizes"], ["parts"], axis=1), h.make_node("SequenceLength", ["parts"], ["n"]), h.make_node("SequenceEmpty", [], ["none"]),
             h.make_node("Loop", ["n", "", "none"], ["back"], body=body), h.make_node("SequenceErase", ["back", "one"], ["less"]), h.make_node("ConcatFromSequence", ["less"], ["y"], axis=1)]
    return model(nodes, {"x": (F, [2, 6])}, {"y": F, "n": I}, {"sizes": i64(1, 2, 3), "zero": np.int64(0), "one": np.int64(1)}), [f32(2, 6)]


def exported(net, inputs, **options):
    torch.manual_seed(0)
    f = io.BytesIO()
    torch.onnx.export(net.eval(), tuple(map(torch.from_numpy, inputs)), f, dynamo=False, **options)
    return onnx.load_from_string(f.getvalue()), inputs


@case
def convnet():
    nn = torch.nn
    return exported(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.SiLU(), nn.MaxPool2d(2),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)), [f32(1, 3, 8, 8)], dynamic_axes={"input": [0]}, input_names=["input"])


@case
def encoder():
    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out, self.up, self.down = (torch.nn.LayerNorm(16), torch.nn.Linear(16, 48), torch.nn.Linear(16, 16),
                                                                 torch.nn.Linear(16, 32), torch.nn.Linear(32, 16))

        def forward(self, x):
            q, k, v = (t.view(t.size(0), t.size(1), 2, 8).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
            a = torch.softmax(q @ k.transpose(-1, -2) / 8 ** 0.5, -1) @ v
            x = x + self.out(a.transpose(1, 2).reshape(x.shape))
            return x + self.down(torch.nn.functional.gelu(self.up(x)))

    return exported(Encoder(), [f32(2, 5, 16)], opset_version=17, input_names=["x"], dynamic_axes={"x": {0: "batch", 1: "length"}})


@case
def old_inputs():
    """Initialisers that are inputs as well, as files before version 4 of the format had them."""
    m, x = one("Gemm", [f32(3, 4)], {"w": f32(5, 4), "b": f32(5)}, transB=1, opset=11)
    for t in m.graph.initializer:
        m.graph.input.append(h.make_tensor_value_info(t.name, t.data_type, list(t.dims)))
    m.ir_version = 3
    return m, x


@case
def functions():
    """Functions of the model's own: attributes by reference and by default, an input that is left out, a call within a function, a branch within one."""
    refer = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    leaky = h.make_node("LeakyRelu", ["x"], ["y"])
    leaky.attribute.append(refer)
    inner = h.make_function("own", "Leaky", ["x"], ["y"], [leaky], [h.make_opsetid("", 17)], attribute_protos=[h.make_attribute("slope", 0.5)])
    through = h.make_node("Leaky", ["t"], ["u"], domain="own")
    through.attribute.append(onnx.AttributeProto(name="slope", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    yes = h.make_graph([h.make_node("Neg", ["u"], ["a"])], "yes", [], [h.make_tensor_value_info("a", F, None)])
    no = h.make_graph([h.make_node("Add", ["u", "u"], ["b"])], "no", [], [h.make_tensor_value_info("b", F, None)])
    outer = h.make_function("own", "Outer", ["x", "low", "high"], ["z", "w"],
                            [h.make_node("Clip", ["x", "low", "high"], ["t"]), through, h.make_node("Leaky", ["t"], ["w"], domain="own"),
                             h.make_node("ReduceSum", ["u"], ["s"], keepdims=0), h.make_node("Constant", [], ["zero"], value_float=0.0),
                             h.make_node("Greater", ["s", "zero"], ["p"]), h.make_node("If", ["p"], ["z"], then_branch=yes, else_branch=no)],
                            [h.make_opsetid("", 17), h.make_opsetid("own", 1)], ["slope"])
    m = model([h.make_node("Outer", ["x", "", "one"], ["a", "b"], domain="own", slope=0.25), h.make_node("Outer", ["a", "one"], ["c", ""], domain="own", slope=2.0),
               h.make_node("Add", ["b", "c"], ["y"])], {"x": (F, [3, 4])}, {"a": F, "y": F}, {"one": np.float32(1)})
    m.functions.extend([inner, outer])
    m.opset_import.append(h.make_opsetid("own", 1))
    return m, [f32(3, 4)]


@case
def function_constant():
    """Constants of a function that its caller gives, under names of their own."""
    kinds = {"value_float": ("slope", onnx.AttributeProto.FLOAT), "value_floats": ("steps", onnx.AttributeProto.FLOATS),
             "value_ints": ("axes", onnx.AttributeProto.INTS)}
    constants = [h.make_node("Constant", [], [own]) for own, _ in kinds.values()]
    for node, (field, (own, kind)) in zip(constants, kinds.items()):
        node.attribute.append(onnx.AttributeProto(name=field, ref_attr_name=own, type=kind))
    body = constants + [h.make_node("Mul", ["x", "slope"], ["a"]), h.make_node("Add", ["a", "steps"], ["b"]), h.make_node("ReduceSum", ["b", "axes"], ["y"])]
    f = h.make_function("own", "Scaled", ["x"], ["y"], body, [h.make_opsetid("", 17)], ["slope", "steps", "axes"])
    m = model([h.make_node("Scaled", ["x"], ["y"], domain="own", slope=2.5, steps=[0.5, -1.5, 3.0, 0.25], axes=[0])], {"x": (F, [3, 4])}, {"y": F})
    m.functions.append(f)
    m.opset_import.append(h.make_opsetid("own", 1))
    return m, [f32(3, 4)]


EIGHTS = {"e4m3fn": onnx.TensorProto.FLOAT8E4M3FN, "e5m2": onnx.TensorProto.FLOAT8E5M2, "e4m3fnuz": onnx.TensorProto.FLOAT8E4M3FNUZ, "e5m2fnuz": onnx.TensorProto.FLOAT8E5M2FNUZ}
ENDS = np.array([0, -0.0, 1.1, -3.3, 239, 250, 447, 460, 470, 57344, 60000, 70000, 1e6, np.inf, -np.inf, np.nan, 1e-9, 2**-9, 1.5 * 2**-10, -7e4], dtype=np.float32)


@case
def float8():
    """Casts to floats of eight bits and back, bounded and not, at the ends of their ranges; a constant."""
    nodes, outputs = [], {}
    for name, kind in EIGHTS.items():
        for bounded in (0, 1):
            q, y = "%s_%d" % (name, bounded), "y_%s_%d" % (name, bounded)
            nodes += [h.make_node("Cast", ["x"], [q], to=kind, saturate=bounded), h.make_node("Cast", [q], [y], to=F)]
            outputs[y] = F
    nodes += [h.make_node("Cast", ["w"], ["wf"], to=F), h.make_node("Mul", ["wf", "scale"], ["weight"])]
    outputs["weight"] = F
    m = model(nodes, {"x": (F, [20])}, outputs, {"scale": np.float32(0.5)}, opset=19)
    m.graph.initializer.append(h.make_tensor("w", EIGHTS["e4m3fn"], [4], [1.0, -2.0, 448.0, 0.25]))
    return m, [ENDS]


@case
def unsigned():
    """Unsigned integers of 16 to 64 bits: constants, listed and raw, casts."""
    kinds = {"a": (T.UINT16, [1, 65535, 7]), "b": (T.UINT32, [1, 4294967295, 7]), "c": (T.UINT64, [1, 2**53, 7])}
    nodes, outputs = [], {}
    for name, (kind, _) in kinds.items():
        nodes += [h.make_node("Cast", [name], ["d" + name], to=T.DOUBLE), h.make_node("Cast", ["x"], ["x" + name], to=kind), h.make_node("Cast", ["x" + name], ["y" + name], to=T.DOUBLE)]
        outputs.update({"d" + name: T.DOUBLE, "y" + name: T.DOUBLE})
    m = model(nodes, {"x": (F, [3])}, outputs)
    for name, (kind, values) in kinds.items():
        m.graph.initializer.append(h.make_tensor(name, kind, [3], values))
    return m, [np.array([0, 3.7, 40000], dtype=np.float32)]


@case
def float8_quantize():
    """Scales of tensors and of channels, to floats of eight bits and back."""
    nodes, outputs = [], {}
    for name, kind in EIGHTS.items():
        zero = "zero_" + name
        nodes += [h.make_node("Cast", ["nothing"], [zero], to=kind), h.make_node("QuantizeLinear", ["x", "scale", zero], ["q_" + name]),
                  h.make_node("DequantizeLinear", ["q_" + name, "scale", zero], ["y_" + name])]
        outputs["y_" + name] = F
    return model(nodes, {"x": (F, [3, 5])}, outputs, {"scale": np.float32(0.03), "nothing": np.float32(0)}, opset=19), [f32(3, 5)]


@case
def float8_exponent():
    """Casts to powers of two, at the ends of their range and in the middle of two; scales of blocks that are such."""
    x = np.array([np.nan, np.inf, -np.inf, 0, -7, 3.4e38, 1.7014118e38, 1.8e38, 1e-45, 1.2e-38, 5.8774718e-39, 8e-39, 8.8e-39, 9e-39, 2e-39, 3, 1.5, 1.49, 1.51, 1, 0.7, 1e10], dtype=np.float32)
    nodes, outputs = [], {}
    for bounded in (0, 1):
        for mode in ("up", "down", "nearest"):
            name = "%s_%d" % (mode, bounded)
            nodes += [h.make_node("Cast", ["x"], ["q_" + name], to=T.FLOAT8E8M0, saturate=bounded, round_mode=mode), h.make_node("Cast", ["q_" + name], ["y_" + name], to=F)]
            outputs["y_" + name] = F
    nodes += [h.make_node("Cast", ["c"], ["y"], to=F)]
    m = model(nodes, {"x": (F, [len(x)])}, outputs | {"y": F}, opset=24, ir=11)
    m.graph.initializer.append(h.make_tensor("c", T.FLOAT8E8M0, [3], [0.25, 1.0, 64.0]))
    return m, [x]


def reference(m, feeds):
    """The specification's own results."""
    return onnx.reference.ReferenceEvaluator(m).run(None, feeds)


@case
def float4():
    """Floats of four bits: constants (raw, listed, of odd size), casts, quantised with scales of blocks, also of powers of two; other results than float32."""
    x = np.array([np.inf, -np.inf, 7, -7, 5, 2.5, 3.5, 0.25, 0.75, -0.0, -0.2, 1.25, 1.75, 4.9, 5.1, 1e-9], dtype=np.float32)
    nodes = [h.make_node("Cast", ["x"], ["q"], to=T.FLOAT4E2M1), h.make_node("Cast", ["q"], ["y"], to=F), h.make_node("CastLike", ["x", "zero"], ["l"]), h.make_node("Cast", ["l"], ["yl"], to=F),
             h.make_node("Transpose", ["w"], ["t"]), h.make_node("Cast", ["t"], ["yw"], to=F),
             h.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0), h.make_node("DequantizeLinear", ["w", "b"], ["db"], axis=1, block_size=2),
             h.make_node("DequantizeLinear", ["w", "e"], ["de"], axis=1, block_size=2, output_dtype=T.FLOAT16),
             h.make_node("QuantizeLinear", ["z", "s", "zero"], ["qz"], axis=0), h.make_node("Cast", ["qz"], ["yz"], to=F),
             h.make_node("QuantizeLinear", ["z", "b"], ["qb"], axis=1, block_size=2, output_dtype=T.FLOAT4E2M1), h.make_node("Cast", ["qb"], ["yb"], to=F)]
    outputs = {"y": F, "yl": F, "yw": F, "d": F, "db": F, "de": T.FLOAT16, "yz": F, "yb": F}
    m = model(nodes, {"x": (F, [16]), "z": (F, [3, 5])}, outputs, {"s": np.array([0.5, 0.3, 2.0], np.float32), "b": np.array([[0.5, 0.3, 0.1]] * 3, np.float32)}, opset=24, ir=11)
    w = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6]
    m.graph.initializer.extend([h.make_tensor("w", T.FLOAT4E2M1, [3, 5], w), h.make_tensor("zero", T.FLOAT4E2M1, [3], [0.0] * 3),
                                h.make_tensor("e", T.FLOAT8E8M0, [3, 3], [0.5, 0.25, 4.0] * 3)])
    listed = onnx.TensorProto(name="listed", data_type=T.FLOAT4E2M1, dims=[3])
    listed.int32_data.extend([0x21, 0x0b])
    m.graph.initializer.append(listed)
    m.graph.node.append(h.make_node("Cast", ["listed"], ["yi"], to=F))
    m.graph.output.append(h.make_tensor_value_info("yi", F, [3]))
    return m, [x, f32(3, 5) * 3], reference


# ---- where ONNX is not PyTorch (docs/onnx.md) ----


def several(calls, arrays, constants=None, opset=20, source="x0"):
    """A model of several nodes of the same inputs: (operator, inputs, number of results, type of these, attributes) each."""
    nodes, outputs = [], {}
    for k, (op, names, nout, kind, attrs) in enumerate(calls):
        outs = ["y%d_%d" % (k, i) for i in range(nout)]
        nodes.append(h.make_node(op, names.split(" "), outs, **attrs))
        outputs.update(dict(zip(outs, kind if isinstance(kind, list) else [kind] * nout)))
    kinds = {"float32": F, "int64": I, "bool": B, "int32": T.INT32, "uint8": T.UINT8, "int8": T.INT8, "float64": T.DOUBLE}
    inputs = {"x%d" % i: (kinds[a.dtype.name], list(a.shape)) for i, a in enumerate(arrays)}
    return model(nodes, inputs, outputs, constants, opset, 10), arrays


@case
def rule_reduce():
    """Reductions of integers, over no dims, and of no elements."""
    calls = []
    for op in ["ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"]:
        calls += [(op, "x0", 1, F, {"noop_with_empty_axes": 1}), (op, "x0 none", 1, F, {"noop_with_empty_axes": 1}), (op, "x0 none", 1, F, {"keepdims": 0})]
        if op != "ReduceLogSumExp":
            calls.append((op, "x1 axis", 1, T.INT32, {"keepdims": 0}))
    calls += [("ReduceMax", "x2 axis", 1, F, {}), ("ReduceMin", "x2 axis", 1, F, {}), ("ReduceLogSum", "x3 none", 1, F, {"noop_with_empty_axes": 1})]
    return several(calls, [f32(2, 3), RNG.integers(-5, 6, (3, 4)).astype(np.int32), f32(2, 0, 3), np.abs(f32(3))], {"none": i64(), "axis": i64(1)})


@case
def rule_unsigned():
    """Arithmetic of unsigned integers, at the ends of their ranges."""
    a, b = np.array([-1, -2, 5, 7, -9223372036854775808, 0], np.int64), np.array([3, -5, 2, -1, 10, 1], np.int64)
    nodes, outputs = [], {}
    for name, kind in [("16", T.UINT16), ("32", T.UINT32), ("64", T.UINT64)]:
        nodes += [h.make_node("Cast", ["x0"], ["a" + name], to=kind), h.make_node("Cast", ["x1"], ["b" + name], to=kind), h.make_node("Cast", ["two"], ["c" + name], to=kind)]
        calls = [("Div", "ab", {}), ("Mod", "ab", {}), ("BitShift", "ac", {"direction": "LEFT"}), ("BitShift", "ac", {"direction": "RIGHT"})]
        if name != "16":
            calls += [(op, "ab", {}) for op in ("Add", "Sub", "Mul", "Max", "Min", "Less", "Greater", "LessOrEqual", "BitwiseAnd")]
        for op, which, attrs in calls:
            y = "%s%s%s" % (op, attrs.get("direction", ""), name)
            nodes += [h.make_node(op, [w + name for w in which], ["n" + y], **attrs), h.make_node("Cast", ["n" + y], [y], to=I)]
            outputs[y] = I
    return model(nodes, {"x0": (I, [6]), "x1": (I, [6])}, outputs, {"two": np.int64(2)}, 18), [a, b]


@case
def rule_resize():
    """Integers, sizes of one, scales that do not agree with the sizes."""
    calls = [("Resize", "x%d none up" % i, 1, k, {"mode": "linear", "coordinate_transformation_mode": p})
             for i, k in enumerate([T.UINT8, T.INT8, T.INT32]) for p in ("asymmetric", "half_pixel")]
    calls += [("Resize", "x%d none up" % i, 1, k, {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}) for i, k in enumerate([T.UINT8, T.INT8, T.INT32])]
    calls += [("Resize", "x3 none none one", 1, F, {"mode": m, "coordinate_transformation_mode": "pytorch_half_pixel"}) for m in ("linear", "cubic", "nearest")]
    calls += [("Resize", "x3 none some", 1, F, {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"})]
    images = [RNG.integers(0, 50, (1, 1, 3, 4)).astype(k) for k in (np.uint8, np.int8, np.int32)]
    return several(calls, images + [f32(1, 1, 3, 4)], {"none": f32(0), "up": np.array([1, 1, 2, 4], np.float32), "one": i64(1, 1, 1, 1), "some": np.array([1, 1, 1.4, 2.4], np.float32)})


@case
def rule_resize_10():
    scales = {"up": np.array([1, 1, 1.3, 2], np.float32), "down": np.array([1, 1, 0.6, 0.5], np.float32)}
    return several([("Resize", "x0 " + s, 1, F, {"mode": m}) for s in scales for m in ("nearest", "linear")], [f32(1, 2, 5, 4)], scales, 10)


@case
def rule_parts():
    """More parts than elements, pads of any dims, ranges and slices that end where they begin, hard maxima of old."""
    calls = [("Split", "x0", 4, F, {"num_outputs": 4}), ("Split", "x0", 3, F, {"axis": 1, "num_outputs": 3}), ("Range", "x1 x2 x1", 1, I, {}), ("Range", "x2 x1 x1", 1, I, {}),
             ("Slice", "x0 low low axis back", 1, F, {}), ("Gather", "x0 x1", 1, F, {"axis": -1})]
    calls += [("Pad", "x%d pads" % i, 1, k, {"mode": m}) for i, k in ((0, F), (3, T.INT32)) for m in ("reflect", "edge")]
    calls += [("Pad", "x4 pad", 1, F, {"mode": m}) for m in ("reflect", "edge", "wrap")] + [("Sign", "x5", 1, F, {}), ("ThresholdedRelu", "x5", 1, F, {"alpha": -1.0}), ("Clip", "x5 zero", 1, F, {})]
    odd = np.array([np.nan, np.inf, -np.inf, -0.5, 0, 2], np.float32)
    return several(calls, [f32(3, 4), np.array(2), np.array(-1), RNG.integers(-9, 9, (3, 4)).astype(np.int32), f32(5), odd],
                   {"low": i64(-9), "axis": i64(1), "back": i64(-1), "pads": i64(1, 2, 2, 1), "pad": i64(3, 2), "zero": np.float32(0)}, 19)


@case
def rule_hardmax_11():
    return several([("Hardmax", "x0", 1, F, {"axis": k}) for k in (0, 1, 2)], [f32(2, 3, 4)], opset=11)


@case
def rule_loop_never():
    """Scan outputs of a loop that does not run have no rows."""
    body = h.make_graph([h.make_node("Add", ["acc", "acc"], ["next"]), h.make_node("Identity", ["go"], ["on"]), h.make_node("Identity", ["next"], ["each"])], "body",
                        [h.make_tensor_value_info("i", I, []), h.make_tensor_value_info("go", B, []), h.make_tensor_value_info("acc", F, [3])],
                        [h.make_tensor_value_info("on", B, []), h.make_tensor_value_info("next", F, [3]), h.make_tensor_value_info("each", F, [3])])
    nodes = [h.make_node("Loop", ["n", "", "x0"], ["last", "all"], body=body)]
    return model(nodes, {"n": (I, []), "x0": (F, [3])}, {"last": F, "all": F}), [np.array(0), f32(3)]


def recurrent(op, gates, acts, alpha, beta, nout):
    x = f32(4, 2, 3)
    w = {"w": f32(2, gates * 3, 3), "r": f32(2, gates * 3, 3), "b": f32(2, gates * 6), "l": np.array([4, 0], np.int32), "h": f32(2, 2, 3)}
    return one(op, [x], w, nout=nout, hidden_size=3, direction="bidirectional", activations=acts, activation_alpha=alpha, **({"activation_beta": beta} if beta else {}))


@case
def rule_lstm_activations():
    return recurrent("LSTM", 4, ["HardSigmoid", "Softsign", "Relu", "Sigmoid", "ScaledTanh", "LeakyRelu"], [0.3, 0.5, 0.1], [0.4, 0.7], 3)


@case
def rule_gru_activations():
    return recurrent("GRU", 3, ["HardSigmoid", "Elu", "Affine", "Softplus"], [0.3, 0.8, 0.5], [0.4, 0.1], 2)


@case
def rule_rnn_activations():
    return recurrent("RNN", 1, ["ThresholdedRelu", "Relu"], [0.2], [], 2)


@case
def rule_pool():
    """Indices and averages with pads of two sizes, and windows that hang over."""
    calls = [("MaxPool", "x0", 2, [F, I], {"kernel_shape": [3, 2], "pads": [1, 0, 0, 1], "strides": [2, 1], "storage_order": s}) for s in (0, 1)]
    calls += [("MaxPool", "x0", 2, [F, I], {"kernel_shape": [3, 2], "auto_pad": "SAME_LOWER", "strides": [2, 3]}), ("MaxPool", "x1", 1, T.UINT8, {"kernel_shape": [3], "pads": [0, 2]}),
              ("AveragePool", "x0", 1, F, {"kernel_shape": [2, 3], "pads": [1, 0, 0, 2], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1}),
              ("AveragePool", "x0", 1, F, {"kernel_shape": [2, 3], "dilations": [2, 1], "pads": [1, 0, 0, 1]}), ("GlobalLpPool", "x0", 1, F, {"p": 2})]
    return several(calls, [f32(1, 2, 6, 7), RNG.integers(0, 255, (1, 2, 7)).astype(np.uint8)])


@case
def rule_batch_norm_training():
    return several([("BatchNormalization", "x0 a b c d", 3, F, {"training_mode": 1, "momentum": 0.8})], [f32(3, 2, 4)], {"a": f32(2), "b": f32(2), "c": f32(2), "d": np.abs(f32(2))}, 15)


@case
def rule_unique():
    x = RNG.integers(-2, 3, (4, 3)).astype(np.int64)
    return several([("Unique", "x0", 4, I, {"sorted": s}) for s in (0, 1)] + [("Unique", "x1", 4, I, {"sorted": s, "axis": a}) for s in (0, 1) for a in (0, -1)], [x, RNG.integers(0, 2, (4, 3))])


@case
def rule_tfidf():
    """Counts of 1-grams and 2-grams, with what is between, weighted."""
    attrs = {"pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7], "ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6], "weights": [2.0, 3.0, 1.0, 0.5, 1.5, 2.5, 4.0], "min_gram_length": 1,
             "max_gram_length": 2}
    return several([("TfIdfVectorizer", "x0", 1, F, attrs | {"mode": m, "max_skip_count": s}) for m in ("TF", "IDF", "TFIDF") for s in (0, 2)], [RNG.integers(2, 9, (3, 12))], opset=17)


@case
def rule_roi_align_max():
    return one("RoiAlign", [f32(2, 3, 8, 8), np.abs(f32(4, 4)) * 3, i64(0, 1, 1, 0)], output_height=3, output_width=2, sampling_ratio=0, mode="max")


@case
def rule_conv_same_input():
    """A kernel whose size only a call knows."""
    m, x = one("Conv", [f32(1, 2, 6, 5), f32(3, 2, 3, 2)], auto_pad="SAME_LOWER", strides=[2, 1])
    del m.graph.input[1].type.tensor_type.shape.dim[2:]
    for name in ("h", "w"):
        m.graph.input[1].type.tensor_type.shape.dim.add().dim_param = name
    return m, x


@case
def rule_few_bits():
    """Casts to integers of 4 bits and back, rounded and cut; quantisation to these."""
    nodes, outputs = [], {}
    for kind in (T.INT4, T.UINT4):
        name = str(kind)
        nodes += [h.make_node("Cast", ["x"], ["c" + name], to=kind), h.make_node("Cast", ["c" + name], ["y" + name], to=F), h.make_node("Cast", ["zero"], ["z" + name], to=kind),
                  h.make_node("QuantizeLinear", ["x", "scale", "z" + name], ["q" + name]), h.make_node("DequantizeLinear", ["q" + name, "scale", "z" + name], ["d" + name])]
        outputs.update({"y" + name: F, "d" + name: F})
    return model(nodes, {"x": (F, [14])}, outputs, {"scale": np.float32(0.7), "zero": np.float32(2)}, 21, 10), [np.array([-20, -9.6, -8.5, -7.5, -0.6, -0.5, 0, 0.5, 0.6, 1.5, 7.4, 7.6, 15.6, 17], np.float32)]


@case
def rule_state_space():
    """LinearAttention, CausalConvWithState, TensorScatter and CumProd, which ONNX Runtime 1.32 does not have."""
    calls = [("LinearAttention", "x0 x1 x2  x3 x4", 2, F, {"q_num_heads": 4, "kv_num_heads": 2}), ("LinearAttention", "x0 x1 x2", 2, F, {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear", "scale": 0.5}),
             ("CausalConvWithState", "x5 w b", 2, F, {"activation": "silu"}), ("CausalConvWithState", "x5 w  past", 2, F, {}), ("CumProd", "x0 one", 1, F, {"exclusive": 1, "reverse": 1}),
             ("TensorScatter", "x0 x6 at", 1, F, {"mode": "circular"})]
    arrays = [f32(2, 3, 12), f32(2, 3, 6), f32(2, 3, 4), -np.abs(f32(2, 3, 2)), np.abs(f32(2, 3, 2)), f32(2, 4, 5), f32(2, 2, 12)]
    m, arrays = several(calls, arrays, {"w": f32(4, 1, 3), "b": f32(4), "past": f32(2, 4, 2), "one": np.int64(1), "at": i64(2, 1)}, 27)
    return m, arrays, reference


@case
def rule_sequence_map():
    """A body for each element of a sequence, with a tensor that is the same for all."""
    body = h.make_graph([h.make_node("Add", ["a", "b"], ["c"]), h.make_node("Shape", ["c"], ["d"])], "body", [h.make_tensor_value_info("a", F, None), h.make_tensor_value_info("b", F, None)],
                        [h.make_tensor_value_info("c", F, None), h.make_tensor_value_info("d", I, None)])
    nodes = [h.make_node("SplitToSequence", ["x0", "sizes"], ["parts"], axis=1), h.make_node("SequenceMap", ["parts", "x1"], ["sums", "shapes"], body=body),
             h.make_node("ConcatFromSequence", ["sums"], ["y"], axis=1), h.make_node("ConcatFromSequence", ["shapes"], ["z"], axis=0)]
    return model(nodes, {"x0": (F, [2, 6]), "x1": (F, [2, 1])}, {"y": F, "z": I}, {"sizes": i64(1, 2, 3)}), [f32(2, 6), f32(2, 1)]


@case
def rule_optional():
    """A sequence that may be missing: which branch gives it only a call knows."""
    seq = h.make_sequence_type_proto(h.make_tensor_type_proto(F, None))
    none = h.make_graph([h.make_node("Optional", [], ["a"], type=seq)], "none", [], [h.make_value_info("a", h.make_optional_type_proto(seq))])
    some = h.make_graph([h.make_node("SequenceConstruct", ["x0", "x0"], ["s"]), h.make_node("Optional", ["s"], ["b"])], "some", [], [h.make_value_info("b", h.make_optional_type_proto(seq))])
    get = h.make_graph([h.make_node("OptionalGetElement", ["o"], ["t"]), h.make_node("ConcatFromSequence", ["t"], ["e"], axis=0)], "get", [], [h.make_tensor_value_info("e", F, None)])
    own = h.make_graph([h.make_node("Neg", ["x0"], ["d"])], "own", [], [h.make_tensor_value_info("d", F, None)])
    nodes = []
    for k, negate in (("p", False), ("q", True)):
        add = [h.make_node("Not", ["x1"], ["cq"])] if negate else [h.make_node("Identity", ["x1"], ["cp"])]
        graphs = [onnx.GraphProto.FromString(g.SerializeToString()) for g in (some, none, get, own)]
        for g in graphs:  # names are of one branch alone
            for n in g.node:
                n.input[:] = [i if i in ("x0", "") else i + k for i in n.input]
                n.output[:] = [i + k for i in n.output]
            g.output[0].name += k
        nodes += add + [h.make_node("If", ["c" + k], ["o" + k], then_branch=graphs[0], else_branch=graphs[1]), h.make_node("OptionalHasElement", ["o" + k], ["y" + k]),
                        h.make_node("If", ["y" + k], ["z" + k], then_branch=graphs[2], else_branch=graphs[3])]
    return model(nodes, {"x0": (F, [2]), "x1": (B, [])}, {"yp": B, "zp": F, "yq": B, "zq": F}, opset=18), [f32(2), np.array(True)]


def make(name, build):
    """build: -> the model, its inputs, and maybe another that gives its results in ONNX Runtime, or a function that does"""
    m, arrays, *other = build()
    folder = os.path.join(HERE, "models", name)
    os.makedirs(folder, exist_ok=True)
    feeds = dict(zip([i.name for i in m.graph.input], arrays))
    if other and callable(other[0]):
        results = other[0](m, feeds)
    else:
        session = onnxruntime.InferenceSession((other or [m])[0].SerializeToString(), providers=["CPUExecutionProvider"])
        results = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    for info, r in zip(m.graph.output, results):
        if not info.type.tensor_type.HasField("shape"):
            info.CopyFrom(h.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, list(r.shape)))
    if not other:  # it knows no other domains, nor what ONNX Runtime adds to that of ONNX
        onnx.checker.check_model(m, full_check=True)
    data = m.SerializeToString()
    if name == "external":  # weights in a file beside the model
        onnx.save_model(m, os.path.join(folder, "model.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=0)
    else:
        with open(os.path.join(folder, "model.onnx"), "wb") as f:
            f.write(data)
    torch.save(tuple(torch.from_numpy(np.array(a)) for a in arrays), os.path.join(folder, "inputs.pt"))
    results = [torch.from_numpy(np.array(r)) for r in results]
    torch.save(results[0] if len(results) == 1 else tuple(results), os.path.join(folder, "expected.pt"))


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        try:
            make(name, CASES[name])
        except Exception as e:
            print(name, type(e).__name__, str(e)[:300])
