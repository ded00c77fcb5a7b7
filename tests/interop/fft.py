#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random cases of the Fourier transforms, stft and istft, compared with PyTorch: shapes, dtypes, values, errors.

    /usr/bin/python3 tests/interop/fft.py --ctsc build/ctsc [--count N] [--seed S] [-k NAME]

Values may differ by rtol of the largest one.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

LINE = """def f(x: Tensor, n: Optional[int], dim: int, norm: Optional[str]) -> Tensor:
    return torch.fft.{call}(x, n, dim, norm)
"""
GRID = """def f(x: Tensor, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]) -> Tensor:
    return torch.fft.{call}(x, s, dim, norm)
"""
PLANE = """def f(x: Tensor, s: Optional[List[int]], dim: List[int], norm: Optional[str]) -> Tensor:
    return torch.fft.{call}(x, s, dim, norm)
"""
SHIFT = """def f(x: Tensor, dim: Optional[List[int]]) -> Tensor:
    return torch.fft.{call}(x, dim)
"""
FREQ = """def f(n: int, d: float) -> Tensor:
    return torch.fft.{call}(n, d)
"""
STFT = """def f(x: Tensor, n_fft: int, hop: Optional[int], win: Optional[int], window: Optional[Tensor], center: bool, mode: str,
      normalized: bool, onesided: Optional[bool], cplx: Optional[bool]) -> Tensor:
    return torch.stft(x, n_fft, hop, win, window, center, mode, normalized, onesided, cplx)
"""
ISTFT = """def f(x: Tensor, n_fft: int, hop: Optional[int], win: Optional[int], window: Optional[Tensor], center: bool,
      normalized: bool, onesided: Optional[bool], length: Optional[int], cplx: bool) -> Tensor:
    return torch.istft(x, n_fft, hop, win, window, center, normalized, onesided, length, cplx)
"""
SOURCES = {"stft": STFT, "istft": ISTFT}
for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    SOURCES["fft_" + name] = LINE.format(call=name)
    SOURCES["fft_%sn" % name] = GRID.format(call=name + "n")
    SOURCES["fft_%s2" % name] = PLANE.format(call=name + "2")
for name in ("fftshift", "ifftshift"):
    SOURCES["fft_" + name] = SHIFT.format(call=name)
for name in ("fftfreq", "rfftfreq"):
    SOURCES["fft_" + name] = FREQ.format(call=name)

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128] * 4 + [torch.int64, torch.bool, torch.int8, torch.float16]
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 21, 25, 30, 32, 49, 64, 67, 97, 100, 121, 127, 128, 131, 134, 256, 360,
           512, 997, 1000, 1024, 1536, 2048, 2053, 4096, 5000, 6859, 8192]


def make(rng, sizes, dtype):
    """Random numbers, at times in memory in another order."""
    order = list(range(len(sizes)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    real = {torch.complex64: torch.complex128, torch.complex128: torch.complex128}.get(dtype, torch.float64)
    t = torch.randn([sizes[i] for i in order], dtype=real)
    if not dtype.is_floating_point and not dtype.is_complex:
        t = t * 5
    t = t.to(dtype).permute([order.index(i) for i in range(len(sizes))])
    return t


def length(rng, most=8192):
    return rng.choice([n for n in LENGTHS if n <= most]) if rng.random() < 0.8 else rng.randint(1, most)


def resized(rng, n):
    r = rng.random()
    return -1 if r < 0.15 else max(0 if r > 0.97 else 1, n + rng.randint(-4, 4)) if r < 0.6 else n


def fft_case(rng, name):
    dtype = rng.choice(DTYPES)
    if name.endswith("shift"):
        x = make(rng, [rng.randint(0, 7) for _ in range(rng.randint(0, 4))], dtype)
        dims = None if rng.random() < 0.4 else [rng.randint(-4, 4) for _ in range(rng.randint(0, 2))]
        return x, dims
    if name.endswith("freq"):
        return rng.randint(0, 40), rng.choice([1.0, 0.1, 3.0, 0.0, -2.5])
    if name in ("stft", "istft"):
        return stft_case(rng, name)
    norm = rng.choice([None, None, "backward", "forward", "ortho", "ortho", "wrong" if rng.random() < 0.1 else "ortho"])
    ndim = rng.randint(1, 4) if rng.random() < 0.98 else 0
    if (name[4:5] == "r" or name.startswith("fft_ih")) and rng.random() < 0.9:
        dtype = rng.choice([d for d in DTYPES if not d.is_complex])
    sizes = [length(rng, 40 if ndim > 2 else 300 if ndim == 2 else 8192) if rng.random() < 0.98 else 0 for _ in range(ndim)]
    if name[-1] not in "2n":
        at = rng.randrange(ndim) if ndim else 0
        if ndim > 1:
            sizes = [rng.choice([1, 2, 3, 5, 9, 17]) for _ in range(ndim)]
            sizes[at] = length(rng, 8192 if ndim == 2 else 1500)
        n = None if rng.random() < 0.5 else max(rng.choice([0, 1, 1, 1]), sizes[at] + rng.randint(-9, 9)) if ndim else None
        return make(rng, sizes, dtype), n, at - ndim if rng.random() < 0.5 else at if rng.random() < 0.97 else 7, norm
    some = rng.sample(range(ndim), rng.randint(1, ndim)) if ndim else []
    if name[-1] == "2":
        some = rng.sample(range(ndim), 2) if ndim > 1 else [-1, -2]
    dims = [d - ndim if rng.random() < 0.5 else d for d in some]
    if rng.random() < 0.03:
        dims = dims + [rng.choice([0, 0, 5, -9])]
    if name[-1] == "n" and rng.random() < 0.3:
        dims, some = None, list(range(ndim))
        if rng.random() < 0.5:
            some = some[rng.randrange(ndim):] if ndim else []
    s = None if rng.random() < 0.4 else [resized(rng, sizes[d]) if ndim and abs(d) < ndim else 1 for d in some]
    return make(rng, sizes, dtype), s, dims, norm


def stft_case(rng, name):
    dtype = rng.choice([torch.float32, torch.float64, torch.float32, torch.complex64, torch.complex128])
    n = rng.choice([1, 4, 5, 8, 16, 25, 64, 100, 400])
    hop = None if rng.random() < 0.4 else rng.randint(1, max(1, n // 2))
    win = None if rng.random() < 0.5 else max(1, n - rng.randint(-1, n // 2))
    window = None
    if rng.random() < 0.6:
        window = (torch.rand(win or n) + 0.3).to(rng.choice([torch.float32, torch.float64, torch.float32, torch.complex64]))
    center, normalized = rng.random() < 0.6, rng.random() < 0.5
    onesided = rng.choice([None, None, True, False])
    batch = [rng.randint(1, 3)] if rng.random() < 0.5 else []
    if name == "stft":
        x = make(rng, batch + [rng.randint(max(1, n - 3), 4 * n + 50)], dtype)
        mode = rng.choice(["reflect", "constant", "replicate", "circular"])
        return x, n, hop, win, window, center, mode, normalized, onesided, rng.choice([None, True, True, False])
    full = onesided is False or (onesided is None and rng.random() < 0.4)
    x = make(rng, batch + [n if full else n // 2 + 1, rng.randint(1, 9)], rng.choice([torch.complex64, torch.complex128]))
    if rng.random() < 0.2:
        x = torch.view_as_real(x)
    lengths = None if rng.random() < 0.6 else rng.randint(1, 4 * n)
    return x, n, hop, win, window, center, normalized, onesided, lengths, bool(full) and rng.random() < 0.5


def wider(v):
    if isinstance(v, torch.Tensor):
        return v.to(torch.complex128) if v.is_complex() else v.double() if v.is_floating_point() else v.double()
    return v


def compare(got, want, fn, inputs):
    if got.dtype != want.dtype or got.shape != want.shape:
        return "%s%s instead of %s%s" % (got.dtype, list(got.shape), want.dtype, list(want.shape)), 0, True
    if not want.numel() or not (want.is_floating_point() or want.is_complex()):
        return ("" if torch.equal(got, want) else "values differ"), 0, True
    try:
        exact = fn(*[wider(v) for v in inputs])
    except Exception:
        exact = wider(want)
    exact = exact.to(torch.complex128)
    got = got.to(torch.complex128)
    nan = torch.isnan(exact.abs())
    if not torch.equal(nan, torch.isnan(got.abs())):
        return "NaN differ", 0, True
    if torch.isinf(exact.abs()).any():
        return ("" if torch.equal(got[~nan], exact[~nan]) else "values differ"), 0, True
    if nan.all():
        return "", 0, True
    most = exact[~nan].abs().max().item()
    error = (got - exact)[~nan].abs().max().item() / (most or 1)
    single = (torch.float32, torch.complex64)
    small = want.dtype in single or isinstance(inputs[0], torch.Tensor) and inputs[0].dtype in single
    return ("" if error <= (1.3e-6 if small else 1e-13) else "off by %g of the largest" % error), error, small


WORST = {"float": 0.0, "double": 0.0}


def script(name, folder):
    """The function of SOURCES, compiled, and the same as a module."""
    text = SOURCES[name]
    module = support.load_text(folder, name, "import torch\nfrom torch import Tensor\nfrom typing import List, Optional\n\n" + text
                               + "\nclass Main(torch.nn.Module):\n" + re.sub("(?m)^(?=.)", "    ", text.replace("def f(", "def forward(self, ")))
    return torch.jit.script(module.f), torch.jit.script(module.Main())


def check(function, name, inputs):
    want, error = function.expect(inputs)
    p, got = function.run()
    if error is not None:
        text = support.message(error).split(" : ")[-1].split(") ")[-1].strip()
        said = text.lower() in p.stderr.lower()
        if p.returncode and not said:
            return "error %r\n    instead of %r" % (p.stderr.strip().split("\n")[0][:200], text), True
        return "" if p.returncode else "no error %r" % text, True
    if p.returncode:
        return "exit %d: %s" % (p.returncode, p.stderr.strip()[:300]), False
    why, off, small = compare(got, want, function.fn, inputs)
    kind = "float" if small else "double"
    WORST[kind] = max(WORST[kind], off)
    return why, False


if __name__ == "__main__":
    failed = support.random_cases(__doc__, "fft", SOURCES, script, fft_case, check, count=8)
    print("largest error %.2g (float), %.2g (double)" % (WORST["float"], WORST["double"]))
    sys.exit(1 if failed else 0)
