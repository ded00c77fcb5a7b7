#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models of tests/onnx/models whose weights have 2, 4 or 8 bits and a scale for each block, with ONNX Runtime's results.

    tests/onnx/nbits.py [NAME...]

Needs what make.py needs, and ml_dtypes, which onnx needs too.
"""
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

import contrib
import make as base

F, F16 = T.FLOAT, T.FLOAT16
C = contrib.Constant
CASES = {}


def case(opset):
    def wrap(f):
        def made():
            m = contrib.Model(f.__name__, opset)
            f(m)
            return m.make(m.nodes), [a for _, a in m.inputs], m.make(m.instead)
        CASES[f.__name__] = made
        return f
    return wrap


def product(m, rows, k, n, bits=4, block=32, zeros=None, bias=False, groups=False, dtype=np.float32, **attributes):
    """zeros: None, "packed" or "floats"."""
    blocks = -(-k // block)
    m_zero = None
    if zeros == "packed":
        m_zero = C(m.u8(n * -(-blocks * bits // 8)))
    elif zeros == "floats":
        m_zero = C((m.rng.random((n * blocks)) * (1 << bits)).astype(dtype))
    inputs = [m.f32(*rows, k).astype(dtype), C(m.u8(n, blocks, block * bits // 8)), C((m.rng.random(n * blocks) * 0.1).astype(dtype)), m_zero,
              C(np.arange(k, dtype=np.int32) // block) if groups else None, C(m.f32(n).astype(dtype)) if bias else None]
    m.add("MatMulNBits", inputs, (F if dtype == np.float32 else F16,), K=k, N=n, bits=bits, block_size=block, **attributes)


@case(17)
def ms_matmul_nbits(m):
    product(m, (3,), 64, 20)
    product(m, (1,), 128, 70, block=128, zeros="packed", bias=True)
    product(m, (2, 3), 96, 33, block=16, zeros="floats", accuracy_level=1)
    product(m, (40,), 160, 24, block=64, zeros="packed")
    product(m, (2,), 64, 20, bits=8)
    product(m, (2,), 96, 20, bits=8, zeros="packed", bias=True)


@case(21)
def dequantize_blocks(m):
    def weights(dtype, k, n, block, axis, zero=True, scales=np.float32):
        sizes = [k, n] if axis == 0 else [n, k]
        low, high = {ml_dtypes.int4: (-8, 8), ml_dtypes.uint4: (0, 16), np.int8: (-128, 128), np.uint8: (0, 256)}[dtype]
        few = list(sizes)
        few[axis] = -(-k // block)
        number = lambda s: m.rng.integers(low, high, s).astype(dtype)
        given = [C(number(sizes)), C((m.rng.random(few) * 0.1).astype(scales))] + ([C(number(few))] if zero else [])
        names = [m.name(i) for i in given]
        name = "w%d" % len(m.nodes)
        m.nodes.append(h.make_node("DequantizeLinear", names, [name], axis=axis, block_size=block))
        # ONNX Runtime makes products with activations of a byte each of these (session.qdq_matmulnbits_accuracy_level is 4)
        spread = lambda a: np.repeat(a.array.astype(np.float32), block, axis).take(np.arange(k), axis)
        floats = (given[0].array.astype(np.float32) - (spread(given[2]) if zero else 0)) * spread(given[1])
        m.instead.append(h.make_node("Constant", [], [name], value=numpy_helper.from_array(floats)))
        return name

    m.add("MatMul", [m.f32(3, 64), weights(ml_dtypes.int4, 64, 20, 32, 0)], domain="")
    m.add("MatMul", [m.f32(1, 2, 96), weights(ml_dtypes.uint4, 96, 33, 16, 0)], domain="")
    m.add("MatMul", [m.f32(2, 64), weights(ml_dtypes.uint4, 64, 20, 32, 0, zero=False)], domain="")
    m.add("MatMul", [m.f32(2, 64), weights(np.int8, 64, 20, 32, 0)], domain="")
    m.add("MatMul", [m.f32(2, 72), weights(ml_dtypes.int4, 72, 20, 32, 0)], domain="")         # a shorter last block
    m.add("Gemm", [m.f32(3, 64), weights(ml_dtypes.int4, 64, 20, 16, 1, zero=False), C(m.f32(20))], domain="", transB=1)
    m.add("Gemm", [m.f32(3, 64), weights(np.uint8, 64, 20, 64, 1)], domain="", transB=1)
    m.add("Gemm", [m.f32(3, 64), weights(ml_dtypes.uint4, 64, 21, 64, 0), C(m.f32(21))], domain="")
    m.add("MatMul", [C(m.f32(3, 64)), weights(ml_dtypes.int4, 64, 5, 32, 0)], domain="")        # no weights of a layer
    m.add("Add", [m.f32(1, 20), weights(ml_dtypes.int4, 64, 20, 32, 0)], domain="")


@case(21)
def ms_gather_block_quantized(m):
    ids = lambda high, *sizes: m.rng.integers(0, high, sizes).astype(np.int64)
    scales = lambda *sizes: C((m.rng.random(sizes) * 0.1).astype(np.float32))
    number = lambda dtype, low, *sizes: C(m.rng.integers(low, low + 16, sizes).astype(dtype))
    m.add("GatherBlockQuantized", [number(ml_dtypes.uint4, 0, 9, 64), ids(9, 2, 3), scales(9, 2), number(ml_dtypes.uint4, 0, 9, 2)], block_size=32, gather_axis=0, quantize_axis=1)
    m.add("GatherBlockQuantized", [number(ml_dtypes.int4, -8, 9, 64), ids(9, 4), scales(9, 4), number(ml_dtypes.int4, -8, 9, 4)], block_size=16, gather_axis=0, quantize_axis=1)
    m.add("GatherBlockQuantized", [number(ml_dtypes.int4, -8, 9, 64), ids(9, 4), scales(9, 2)], block_size=32, gather_axis=0, quantize_axis=1)
    m.add("GatherBlockQuantized", [number(ml_dtypes.uint4, 0, 9, 64), ids(9, 4), scales(9, 2)], block_size=32, gather_axis=0, quantize_axis=1)
    m.add("GatherBlockQuantized", [C(m.u8(9, 32)), ids(9, 4), scales(9, 2), C(m.u8(9, 1))], block_size=32, gather_axis=0, quantize_axis=1)
    m.add("GatherBlockQuantized", [C(m.u8(9, 32)), ids(9, 4), scales(9, 2)], block_size=32, gather_axis=0, quantize_axis=1)
    m.add("GatherBlockQuantized", [C(m.u8(9, 64)), ids(9, 4), scales(9, 2), C(m.u8(9, 2))], block_size=32, gather_axis=0, quantize_axis=1, bits=8)
    m.add("GatherBlockQuantized", [C(m.u8(9, 64)), ids(9, 4), scales(9, 2)], block_size=32, gather_axis=0, quantize_axis=1, bits=8)


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        try:
            base.make(name, CASES[name])
        except Exception as e:
            print(name, type(e).__name__, str(e)[:300])
