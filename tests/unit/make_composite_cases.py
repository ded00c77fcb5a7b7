#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes composite_cases.h: a case of each operator of tests/interop/programs/operator_cases.py with what PyTorch answers.

    /usr/bin/python3 tests/unit/make_composite_cases.py > tests/unit/composite_cases.h
"""
import os
import random
import sys
import textwrap
import warnings

import torch

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop", "programs"))
import operator_cases  # noqa: E402

DTYPES = {torch.float64: "f64", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.bool: "b", torch.float32: "f32"}


class Maker(operator_cases.Maker):
    """Numbers of few digits, so that the text is what PyTorch gets."""

    def __init__(self, rng):
        super().__init__(rng)
        self.dtype = self.single = torch.float64

    def t(self, shape, dtype=None, scale=2.0):
        t = (torch.randn(shape, dtype=torch.float64) * scale * 4).round() / 4
        return t.to(dtype or torch.float64)

    def unit(self, shape, dtype=None):
        return ((torch.rand(shape, dtype=torch.float64) * 14).floor() + 1) / 16

    def shape(self, low=0, high=2):
        return [self.int(1, 3) for _ in range(self.int(low, high))]


def text(v, digits=17):
    if isinstance(v, torch.Tensor):
        items = v.reshape(-1).tolist()
        if v.is_floating_point():
            body = " ".join("%.*g" % (digits, x) for x in items)
        else:
            body = " ".join(str(int(x)) for x in items)
        return "%s[%s]{%s}" % (DTYPES[v.dtype], ",".join(map(str, v.shape)), body)
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, list):
        tensors = bool(v) and isinstance(v[0], torch.Tensor)
        if not tensors and not all(type(x) is int for x in v):
            raise KeyError("a list of neither tensors nor ints")
        return ("(%s)" if tensors else "[%s]") % " ".join(text(x, digits) for x in v)
    if isinstance(v, float):
        if v in (float("inf"), float("-inf")):
            raise KeyError("infinity")
        return repr(v) if digits > 9 else "%.*g" % (digits, v)
    return "'%s'" % v if isinstance(v, str) else str(v)


def call(key, args):
    name, _, overload = key.partition(".")
    schema = [s for s in torch._C._jit_get_schemas_for_operator("aten::" + name) if s.overload_name == overload][0]
    named = {a.name: v for a, v in zip(schema.arguments, args) if a.kwarg_only}
    plain = [v for a, v in zip(schema.arguments, args) if not a.kwarg_only]
    packet = getattr(torch.ops.aten, name)
    return getattr(packet, overload or "default")(*plain, **named)


def literal(s):
    parts = textwrap.wrap(s, 106, break_on_hyphens=False, drop_whitespace=False)
    return "\n     ".join('"%s"' % p for p in parts)


def row(key):
    for seed in range(30):
        torch.manual_seed(seed)
        args = operator_cases.CASES[key](Maker(random.Random("%s %d" % (key, seed))))
        if any(isinstance(a, torch.Tensor) and (not 0 < a.numel() <= 24 or not a.is_contiguous()) for a in args):
            continue
        try:
            given = " ".join(text(a) for a in args)
            want = call(key, args)
            want = " ".join(text(w, 6) for w in (want if isinstance(want, tuple) else [want]))
        except (KeyError, RuntimeError, NotImplementedError):
            continue
        return '    {"aten::%s",\n     %s,\n     %s},' % (key, literal(given), literal(want))
    return None


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* composite_cases.h - operators written in TorchScript, with what PyTorch 1.13.1 answers; made by make_composite_cases.py. */\n")
    print("static const opcase composite_cases[] = {")
    for key in sorted(operator_cases.CASES):
        line = row(key)
        if line:
            print(line)
    print("};")


if __name__ == "__main__":
    main()
