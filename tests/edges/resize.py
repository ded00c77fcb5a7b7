#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what today's PyTorch makes of resized images, byte for byte and float for float.

    python3 tests/edges/resize.py > tests/edges/resize.txt       (needs PyTorch 2.1 or later, on x86 with AVX2)

PyTorch 1.13 refuses uint8. Antialiased images of floats one column wide are left out: PyTorch 2 repeats their first row there, 1.13 did not;
so are scales for dims that stay, which PyTorch 2 ignores and 1.13 did not (ctsc ignores them for uint8 only). Lines as make.py writes them; tests/unit/test_edges.c wants them to agree to the last bit.
"""
import random

import torch

from make import NAMES, commas, numbers

# antialiasing in float: as of 2.15; in float without it the position's rounding differs between builds of PyTorch
OPERATORS = [("upsample_bilinear2d", (torch.uint8,)), ("upsample_bicubic2d", (torch.uint8,)),
             ("_upsample_bilinear2d_aa", (torch.uint8, torch.float32, torch.float64)),
             ("_upsample_bicubic2d_aa", (torch.uint8, torch.float32, torch.float64)),
             ("_upsample_lanczos2d_aa", (torch.uint8, torch.float64))]


def image(rng, dtype):
    shape = (rng.choice([1, 1, 2]), rng.choice([1, 3, 4, 5]), rng.randint(1, 9), rng.randint(1, 14))
    n = shape[0] * shape[1] * shape[2] * shape[3]
    ends = rng.random() < 0.3  # black and white alone: what overshoots is cut
    x = torch.tensor([rng.choice([0, 255]) if ends else rng.randint(0, 255) for _ in range(n)], dtype=dtype).reshape(shape)
    return x.contiguous(memory_format=rng.choice([torch.contiguous_format, torch.channels_last]))


def line(rng, name, dtype):
    x = image(rng, dtype)
    size = [rng.choice([rng.randint(1, 12), x.shape[2 + i], max(1, x.shape[2 + i] // 2)]) for i in range(2)]
    if size[1] == 1:
        size[1] = 2
    align = rng.random() < 0.3
    scales = [size[i] / x.shape[2 + i] * rng.choice([1, 1, 0.97]) if rng.random() < 0.3 and (size[i] != x.shape[2 + i] or dtype == torch.uint8) else None for i in range(2)]
    y = getattr(torch.ops.aten, name)(x, size, align, *scales)
    shape = "%s[%s]" % (NAMES[dtype], commas(x.shape))
    if not x.is_contiguous():
        shape += "<%s>" % commas(x.stride())
        memory = x.as_strided((x.numel(),), (1,))
    else:
        memory = x
    args = "%s{%s} [%s] %s %s" % (shape, numbers(memory), " ".join(map(str, size)), str(align).lower(), " ".join(map(repr, scales)))
    return "aten::%s\t%s\t%s[%s]{%s}" % (name, args, NAMES[dtype], commas(y.shape), numbers(y))


def main():
    rng = random.Random(1)
    print("# What PyTorch %s answers: tests/edges/resize.py. Checked by tests/unit/test_edges.c." % torch.__version__)
    for name, dtypes in OPERATORS:
        for dtype in dtypes:
            for _ in range(24 if dtype == torch.uint8 else 8):
                print(line(rng, name, dtype))


main()
