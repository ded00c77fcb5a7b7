#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random quantised networks at all levels of optimisation.

    tests/diff/qdq.py --ctsc build/ctsc [--seed 1] [--count 20] [--keep FOLDER]

Each is a program whose tensors are quantised by fake_quantize between layers, activations and joins, as networks trained for quantisation are. Scales are powers of two and weights few of
their steps, so that sums of floats are exact: levels 1 to 3, whose pass `quantise` makes integers of it, have to come to what level 0 computes as it is written, to the last bit; to one step
where a function is among it whose floats are rounded (sigmoid). Winograd's convolutions are not exact, and are left out. Results are in steps. A program that differs is printed with its seed.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

HEAD = """import torch
import torch.nn.functional as F


def ints(n: int, a: int, m: int):
    return (torch.arange(n) * a + a // 2) %% m - m // 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
%s
    def forward(self, x):
%s
"""


class Program:
    """Images of [2, c, h, w] of which each is (name, channels, h, w, scale), and is quantised."""

    def __init__(self, seed):
        self.r, self.made, self.body, self.results, self.count, self.exact = random.Random(seed), [], [], [], 0, True
        self.sizes = [2, self.r.choice([1, 3, 4, 8, 20]), self.r.randint(3, 9), self.r.randint(3, 9)]
        self.images = [self.quantise("x", *self.sizes[1:], 2.0 ** -5)]
        for _ in range(self.r.randint(2, 9)):
            self.step()
        self.head()

    def name(self):
        self.count += 1
        return "v%d" % self.count

    def quantise(self, x, c, h, w, scale):
        """x, which may be any expression, as integers of eight bits or fewer."""
        y, (lo, hi) = self.name(), self.r.choice([(0, 255), (0, 255), (-128, 127), (0, 127)])
        zero = self.r.randint(lo, hi) if self.r.random() < 0.5 else (lo + hi + 1) // 2
        self.body.append("%s = torch.fake_quantize_per_tensor_affine(%s, %r, %d, %d, %d)" % (y, x, scale, zero, lo, hi))
        self.results.append((y, scale))
        return (y, c, h, w, scale)

    def weight(self, shape, out):
        """A weight of integers times a power of two, per channel or for all."""
        n, step, name = 1, 2.0 ** -self.r.randint(3, 5), self.name()
        for d in shape:
            n *= d
        self.made.append("self.%s = torch.nn.Parameter(ints(%d, %d, %d).reshape(%r).float() * %r)" % (name, n, self.r.choice([3, 5, 7, 11]), self.r.choice([3, 5, 9, 13]), list(shape), step))
        if self.r.random() < 0.6:
            self.made.append("self.register_buffer('%s_s', torch.full([%d], %r))" % (name, out, step))
            self.made.append("self.register_buffer('%s_z', torch.zeros(%d, dtype=torch.int32))" % (name, out))
            return "torch.fake_quantize_per_channel_affine(self.%s, self.%s_s, self.%s_z, 0, -128, 127)" % (name, name, name)
        return "torch.fake_quantize_per_tensor_affine(self.%s, %r, 0, -127, 127)" % (name, step)

    def bias(self, n):
        name = self.name()
        self.made.append("self.%s = %s" % (name, "None" if self.r.random() < 0.3 else "torch.nn.Parameter(ints(%d, 5, 17).float() * 0.25)" % n))
        return "self." + name

    def scale(self, reach):
        """Of numbers of about that size."""
        s = 2.0 ** -7
        while s * 128 < reach:
            s *= 2
        return s

    def conv(self, image):
        x, c, h, w, s = image
        g = c if self.r.random() < 0.3 else self.r.choice([g for g in (1, 1, 1, 2, 4) if c % g == 0])
        out, k, p = g * self.r.randint(1, 4 if g > 1 else 20), self.r.choice([1, 1, 2, 3]), self.r.randint(0, 1)
        stride = self.r.choice([1, 1, 2])
        if h + 2 * p < k or w + 2 * p < k:
            return None
        y = "F.conv2d(%s, %s, %s, %d, %d, 1, %d)" % (x, self.weight((out, c // g, k, k), out), self.bias(out), stride, p, g)
        y = self.r.choice(["%s", "torch.relu(%s)", "F.relu6(%s)", "%s"]) % y
        return self.quantise(y, out, (h + 2 * p - k) // stride + 1, (w + 2 * p - k) // stride + 1, self.scale(s * 8 * c // g * k))

    def unary(self, image):
        x, c, h, w, s = image
        kind = self.r.choice(["relu", "neg", "hardtanh", "sigmoid", "rescale"])
        if kind == "sigmoid":
            self.exact = False
            return self.quantise("torch.sigmoid(%s)" % x, c, h, w, 2.0 ** -7)
        return self.quantise({"relu": "torch.relu(%s)", "neg": "-%s", "hardtanh": "F.hardtanh(%s, -1.0, 2.0)", "rescale": "%s"}[kind] % x, c, h, w, s * self.r.choice([0.5, 1, 2]))

    def pool(self, image):
        x, c, h, w, s = image
        if h < 2 or w < 2:
            return None
        kind = self.r.choice(["max", "avg", "up"])
        if kind == "up":
            return (("F.interpolate(%s, scale_factor=2.0)" % x), c, 2 * h, 2 * w, s) if h * w < 60 else None
        return self.quantise("F.%s_pool2d(%s, 2)" % (kind, x), c, h // 2, w // 2, s)

    def binary(self, image):
        x, c, h, w, s = image
        others = [o for o in self.images if o[2:4] == (h, w)]
        y = self.r.choice(others)
        if self.r.random() < 0.4:
            return self.quantise("torch.cat([%s, %s], 1)" % (x, y[0]), c + y[1], h, w, max(s, y[4]))
        if y[1] != c:
            return None
        if self.r.random() < 0.6:
            return self.quantise("%s + %s" % (x, y[0]), c, h, w, 2 * max(s, y[4]))
        return self.quantise("%s * %s" % (x, y[0]), c, h, w, s * y[4] * 64)

    def step(self):
        image = self.r.choice(self.images[-3:])
        made = self.r.choice([self.conv, self.conv, self.unary, self.pool, self.binary])(image)
        if made:
            self.images.append(made)

    def head(self):
        x, c, h, w, s = self.images[-1]
        if c * h * w <= 2000:
            out = self.r.randint(1, 20)
            y = "F.linear(torch.flatten(%s, 1), %s, %s)" % (x, self.weight((out, c * h * w), out), self.bias(out))
            self.quantise(y, out, 1, 1, self.scale(s * 8 * c))

    def text(self):
        made = "".join("        %s\n" % line for line in self.made or ["pass"])
        body = ["        " + line for line in self.body] + ["        return (%s,)" % ", ".join("%s * %r" % (y, 1 / s) for y, s in self.results)]
        return HEAD % (made, "\n".join(body))


def check(ctsc, seed, folder):
    """What went wrong; None: nothing."""
    program = Program(seed)
    path, want = os.path.join(folder, "net%d.py" % seed), os.path.join(folder, "want.pt")
    with open(path, "w") as f:
        f.write(program.text())
    spec = ["--input", "float32[%s]:-4..4" % ",".join(map(str, program.sizes))]
    for level in range(4):
        how = ["--output", want] if level == 0 else ["--expect", want, "--rtol", "0", "--atol", "0" if program.exact else "1"]
        p = subprocess.run([ctsc, "run", path, "--opt", str(level), "--no-winograd"] + spec + how, capture_output=True, text=True, timeout=300)
        if p.returncode:
            return "seed %d, level %d: %s\n%s" % (seed, level, (p.stderr + p.stdout).strip(), program.text())
    return None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--ctsc", default="build/ctsc")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--count", type=int, default=20)
    a.add_argument("--keep", help="where programs stay")
    args = a.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        wrong = [w for w in (check(args.ctsc, args.seed + i, folder) for i in range(args.count)) if w]
    print("\n\n".join(wrong + ["%d networks, %d differ" % (args.count, len(wrong))]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
