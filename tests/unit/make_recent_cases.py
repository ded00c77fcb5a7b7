#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes recent_cases.h: operators and arguments that came after PyTorch 1.13, with what PyTorch 2.15 answers or refuses.

    python3 tests/unit/make_recent_cases.py > tests/unit/recent_cases.h      (a python3 with PyTorch 2.15)
"""
import sys
import textwrap
import warnings

import torch

warnings.simplefilter("ignore")
NAMES = {torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.float16: "f16",
         torch.float32: "f32", torch.float64: "f64", torch.complex64: "c64", torch.complex128: "c128", torch.bfloat16: "bf16", torch.bool: "b"}
INF = float("inf")


def t(*shape, dtype=torch.float32, scale=2.0):
    x = torch.randn(shape, dtype=torch.float64) * scale
    return ((x * 4).round() / 4).to(dtype) if dtype.is_floating_point else x.round().to(dtype)


def number(x, digits):
    if isinstance(x, complex):
        return "%s:%s" % (number(x.real, digits), number(x.imag, digits))
    return "%.*g" % (digits, x) if isinstance(x, float) else str(int(x))


def text(v, digits=9):
    if isinstance(v, torch.Tensor):
        if v.dtype == torch.bfloat16 or v.dtype == torch.float16:
            digits = min(digits, 9)
        items = v.detach().reshape(-1).tolist()
        return "%s[%s]{%s}" % (NAMES[v.dtype], ",".join(map(str, v.shape)), " ".join(number(x, digits) for x in items))
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (list, tuple, torch.Size)):
        tensors = any(isinstance(x, torch.Tensor) for x in v)
        return ("(%s)" if tensors else "[%s]") % " ".join(text(x, digits) for x in v)
    if isinstance(v, float):
        return repr(v)
    if isinstance(v, torch.dtype):
        return str({torch.uint8: 0, torch.int8: 1, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bool: 11}[v])
    return "'%s'" % v if isinstance(v, str) else str(v)


def schema_of(key):
    name, _, overload = key.partition(".")
    space, _, name = name.rpartition("::")
    return [s for s in torch._C._jit_get_schemas_for_operator((space or "aten") + "::" + name) if s.overload_name == overload][0]


def call(key, args):
    name, _, overload = key.partition(".")
    named = {a.name: v for a, v in zip(schema_of(key).arguments, args) if a.kwarg_only}
    plain = [v for a, v in zip(schema_of(key).arguments, args) if not a.kwarg_only]
    return getattr(getattr(torch.ops.aten, name), overload or "default")(*plain, **named)


def literal(s):
    return "\n     ".join('"%s"' % p for p in textwrap.wrap(s, 106, break_on_hyphens=False, drop_whitespace=False))


def cases():
    b, i, h, d = torch.bool, torch.int64, torch.bfloat16, torch.float64
    n = None
    x = t(2, 3)
    yield "rms_norm", x, [3]
    yield "rms_norm", x, [3], t(3), 1e-5
    yield "rms_norm", t(2, 2, 3, dtype=d), [2, 3], t(2, 3, dtype=d)
    yield "rms_norm", t(2, 3, dtype=h), [3], t(3, dtype=h), 0.5
    yield "rms_norm", x, [2]
    yield "rms_norm", x, [3], t(2)
    yield "rms_norm", x, []
    yield "rms_norm", t(2, 3, dtype=i), [3]
    yield "rms_norm", t(0, 3), [3]
    yield "_fused_rms_norm", x, [3], n, n
    yield "_fused_rms_norm", t(2, 2, 3), [2, 3], t(2, 3), 0.25
    img, w, m, v = t(2, 2, 3, dtype=d), t(2, dtype=d), t(2, dtype=d) + 0.1, t(2, dtype=d).abs() + 1
    yield "_native_batch_norm_legit.no_stats", img, w, n, True, 0.1, 1e-5
    yield "_native_batch_norm_legit_no_training", img, w, t(2, dtype=d), m, v, 0.1, 1e-5
    yield "_native_batch_norm_legit_functional", img, w, t(2, dtype=d), m, v, True, 0.1, 1e-5
    yield "_native_batch_norm_legit_functional", img, n, n, m, v, False, 0.1, 1e-5
    yield "_safe_softmax", torch.tensor([[-INF, -INF], [1.0, -INF], [0.5, 2.0]], dtype=d), 1
    yield "_safe_softmax", torch.tensor([[-INF, 1.0], [-INF, 2.0]]), -2, d
    q, k, val = t(1, 2, 2, 4, dtype=d), t(1, 2, 3, 4, dtype=d), t(1, 2, 3, 4, dtype=d)
    yield "_scaled_dot_product_flash_attention_for_cpu", q, k, val
    yield "_scaled_dot_product_flash_attention_for_cpu", q, q, t(1, 2, 2, 4, dtype=d), 0.0, True
    yield "_scaled_dot_product_flash_attention_for_cpu", q, k, val, 0.0, False, t(2, 3, dtype=d), 0.7
    yield "scaled_dot_product_attention", t(1, 4, 2, 4, dtype=d), k, val, n, 0.0, False, n, True
    yield "scaled_dot_product_attention", t(1, 4, 2, 4), t(1, 3, 2, 4), t(1, 3, 2, 4), n, 0.0, False, n, True
    yield "scaled_dot_product_attention", q, k, val, torch.tensor([[True, False, True], [False, False, False]]), 0.0, False
    yield "_int_mm", t(2, 3, dtype=torch.int8, scale=60), t(3, 2, dtype=torch.int8, scale=60)
    yield "scaled_dot_product_attention", q, k, val, torch.tensor([[-INF] * 3, [0.5, -INF, 0.0]], dtype=d)
    yield "_int_mm", t(0, 3, dtype=torch.int8), t(3, 2, dtype=torch.int8)
    yield "_int_mm", t(3, dtype=torch.int8), t(3, 2, dtype=torch.int8)
    yield "_int_mm", t(2, 3, dtype=torch.int8), t(2, 2, dtype=torch.int8)
    yield "_weight_int8pack_mm", t(2, 16), t(16, 16, dtype=torch.int8), t(16).abs() + 0.25
    for dims in ([0], [1, -1], [-1, 0], [], n, [0, 0], [3]):
        for kept in (False, True):
            yield "all.dims", t(2, 3, dtype=i, scale=1.0), dims, kept
            yield "any.dims", t(2, 1, 3, scale=0.3), dims, kept
    yield "all.dims", torch.tensor(0), [0], False
    yield "any.dims", t(2, 2, dtype=torch.uint8, scale=0.1).abs(), [0, 1], False
    yield "any.dims", t(0, 3), [0], False
    yield "squeeze.dims", t(1, 2, 1), [0, 2]
    yield "squeeze.dims", t(1, 2, 1), [-1, 1]
    yield "squeeze.dims", t(1, 2, 1), []
    yield "squeeze.dims", t(1, 2, 1), [0, -3]
    yield "squeeze.dims", t(1, 2, 1), [3]
    yield "squeeze.dims", torch.tensor(1.5), [0, -1]
    yield "squeeze_copy.dims", t(1, 2, 1), [0, 2]
    yield "_is_all_true", t(3, dtype=b)
    yield "_is_any_true", t(2, 2, dtype=b)
    yield "_unsafe_index.Tensor", t(3, 2), [torch.tensor([2, 0])]
    yield "_unsafe_index.Tensor", t(3, 2), [n, torch.tensor([1])]
    yield "_unsafe_index_put", t(3), [torch.tensor([1, 1])], torch.tensor([1.0, 2.0]), True
    yield "_unsafe_masked_index", t(3), torch.tensor([True, False]), [torch.tensor([2, 7])], 0
    yield "_unsafe_masked_index_put_accumulate", t(3), torch.tensor([True, False]), [torch.tensor([2, 7])], torch.tensor([1.0, 2.0])
    yield "nonzero_static", torch.tensor([[1, 0], [0, 2]]), 3
    yield "nonzero_static", torch.tensor([[1, 0], [3, 2]]), 2, 7
    yield "nonzero_static", torch.tensor(0), 2, 5
    for scale, zero in ((0.5, 0), (0.3, 2), (0.1, -3)):
        yield "fake_quantize_per_tensor_affine", t(2, 3), scale, zero, -8, 7
        yield "fake_quantize_per_tensor_affine_cachemask", t(5), scale, zero, -4, 5
    yield "fake_quantize_per_tensor_affine", t(2), 0.5, 9, -8, 7
    yield "fake_quantize_per_tensor_affine.tensor_qparams", t(4), torch.tensor([0.25]), torch.tensor([1], dtype=torch.int32), 0, 15
    yield "fake_quantize_per_channel_affine", t(2, 3), torch.tensor([0.5, 0.3, 0.25]), torch.tensor([0, 1, -2], dtype=torch.int32), 1, -8, 7
    yield "fake_quantize_per_channel_affine_cachemask", t(3, 2), torch.tensor([0.5, 0.3, 0.25]), torch.tensor([0, 1, -2], dtype=torch.int32), 0, -2, 3
    yield "fake_quantize_per_channel_affine", t(2, 3), torch.tensor([0.5, 0.3]), torch.tensor([0, 1], dtype=torch.int32), 1, -8, 7
    yield "_prelu_kernel", t(2, 3), t(1, 3)
    yield "_reshape_copy", t(2, 3), [3, -1]
    yield "linalg__powsum", t(2, 3), 3, [1], True
    yield "broadcast_shapes", [2, 1, 3], [4, 1]
    yield "linspace.Tensor_Tensor", torch.tensor(1.0), torch.tensor(2), 3
    yield "linspace.Tensor_Scalar", torch.tensor(1), 2.5, 4
    yield "linspace.Scalar_Tensor", 0, torch.tensor(-2.0), 2
    yield "linspace.Tensor_Tensor", torch.tensor([1.0]), torch.tensor(2), 3
    yield "logspace.Tensor_Scalar", torch.tensor(0.0), 2, 3
    for f in ("std", "var"):
        yield f + ".correction", t(2, 3), n, 0
        yield f + ".correction", t(2, 3), [1], 0.5, True
        yield f + ".correction", t(2, 3), [0], n
        yield f + "_mean.correction", t(3, 4), [1], 1.5
    yield "_assert_async", torch.tensor(0)
    yield "_assert_async.msg", torch.tensor([0.0]), "no zeros"
    yield "_assert_scalar", 0, "no zero"
    yield "_functional_assert_async.msg", torch.tensor(True), "fine", torch.tensor(1.0)
    yield "sym_constrain_range", 3, 5, n
    yield "sym_constrain_range", 3, n, 2
    yield "sym_constrain_range_for_size", -1
    signal = t(10)
    yield "stft", signal, 8, 2, 4, torch.ones(4), False, n, True, True
    yield "stft", signal, 8, 2, 5, torch.ones(5), False, n, True, True
    yield "stft", signal, 8, 2, 4, torch.ones(4), False, n, True, False
    yield "stft.center", signal, 8, 2, 4, torch.ones(4), False, "reflect", False, n, True, True
    yield "stft.center", signal, 8, 2, 4, torch.ones(4), True, "reflect", False, n, True, True
    yield "pad_sequence", [t(2), t(3)], True, 0.5, "left"
    yield "pad_sequence", [t(2, 2), t(1, 2)], False, 0.0, "left"
    yield "pad_sequence", [t(2), t(3)], False, 0.0, "middle"


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* recent_cases.h - operators and arguments that came after PyTorch 1.13, with what PyTorch 2.15 answers; made by make_recent_cases.py. */\n")
    print("static const opcase recent_cases[] = {")
    torch.manual_seed(7)
    for key, *args in cases():
        try:
            want = call(key, args)
            want = " ".join(text(w, 6) for w in (want if isinstance(want, tuple) else [want]))
        except (RuntimeError, IndexError) as e:
            want = "!" + str(e).split("\n")[0].replace('"', '\\"')
        except Exception as e:
            print(key, args, repr(e), file=sys.stderr)
            continue
        print('    {"aten::%s",\n     %s,\n     %s},' % (key, literal(" ".join(text(a) for a in args)), literal(want)))
    print("};")


if __name__ == "__main__":
    main()
