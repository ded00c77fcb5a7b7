#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random cases of complex tensors, compared with PyTorch: arithmetic, elementary functions, reductions, shapes, indexing, products.

    /usr/bin/python3 tests/interop/complex.py --ctsc build/ctsc [--count N] [--seed S] [-k NAME]

Each expression below is a scripted function; each of its cases runs at optimisation levels 0 and 3.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

COMPLEX = (torch.complex64, torch.complex128)

# Arguments by the letters of a row's second column:
#   z  complex tensor                   w  another one, of a shape that broadcasts, of any dtype
#   y  like z: shape and dtype          r  real numbers of z's shape        m  bool, z's shape
#   c  complex number, i  float number, s  index tensor for z's first dim   d  dim
#   A, B  matrices that multiply, E, F  batches of them, V  vector for A, C  what A B can be added to
UNARY = """abs neg conj conj_physical resolve_conj sgn reciprocal square sqrt rsqrt exp log log2 log10 sin cos tan asin acos atan sinh
 cosh tanh asinh acosh atanh sigmoid sinc angle isnan isinf isfinite isreal logical_not clone zeros_like ones_like positive
 sum mean prod any all count_nonzero norm ravel
 floor ceil trunc round frac sign erf expm1 log1p exp2 relu sort argmax amax median signbit isposinf nan_to_num bitwise_not deg2rad
 logit digamma lgamma nansum""".split()
BINARY = """add sub mul div pow eq ne logical_and logical_or logical_xor where lt le gt ge maximum minimum fmax fmod remainder floor_divide
 atan2 xlogy hypot copysign heaviside bitwise_and""".split()
CASES = {"u_" + n: ("z", "torch.%s(z)" % n) for n in UNARY if n not in ("sort",)}
CASES["u_sort"] = ("z", "torch.sort(z)[0]")
CASES.update({"b_" + n: ("zw", "torch.%s(z, w)" % n) for n in BINARY if n != "where"})
CASES.update({
    "add_alpha": ("zwc", "torch.add(z, w, alpha=c)"),
    "sub_alpha": ("zwc", "torch.sub(z, w, alpha=c)"),
    "rsub": ("zwi", "torch.rsub(z, w, alpha=i)"),
    "add_number": ("zc", "z + c"), "number_sub": ("zc", "c - z"), "mul_float": ("zi", "z * i"), "div_number": ("zc", "z / c"),
    "number_div": ("zc", "c / z"), "real_add": ("rc", "r + c"), "real_mul": ("rc", "r * c"), "real_eq": ("rc", "r == c"),
    "pow_number": ("zc", "z ** c"), "pow_float": ("zi", "z ** i"), "pow_2": ("z", "z ** 2"), "pow_3": ("z", "z ** 3"),
    "pow_0": ("z", "z ** 0"), "pow_1": ("z", "z ** 1"), "pow_half": ("z", "z ** 0.5"), "pow_minus": ("z", "z ** -1"),
    "pow_minus2": ("z", "z ** -2"), "number_pow": ("zc", "c ** z"), "float_pow": ("zi", "i ** z"), "real_pow": ("rc", "r ** c"),
    "float_power": ("zw", "torch.float_power(z, w)"), "ldexp": ("zr", "torch.ldexp(z, r)"),
    "where": ("mzw", "torch.where(m, z, w)"), "where_number": ("mz", "torch.where(m, z, 2.5)"),
    "lerp": ("zyc", "torch.lerp(z, y, c)"), "lerp_float": ("zyi", "torch.lerp(z, y, i)"), "lerp_tensor": ("zy", "torch.lerp(z, y, y)"),
    "addcmul": ("zwyc", "torch.addcmul(z, w, y, value=c)"), "addcdiv": ("zywi", "torch.addcdiv(z, y, w, value=i)"),
    "isclose": ("zy", "torch.isclose(z, y, 0.1, 0.5, True)"), "allclose": ("zy", "torch.allclose(z, y, 0.5, 3.0)"),
    "equal": ("zy", "torch.equal(z, y)"),
    "clamp": ("z", "torch.clamp(z, 0.0, 1.0)"), "clamp_min": ("z", "torch.clamp_min(z, 0.0)"),
    "masked_fill": ("zmc", "z.masked_fill(m, c)"), "masked_fill_real": ("rmc", "r.masked_fill(m, c)"),
    "fill_": ("zc", "z.clone().fill_(c)"), "fill_real": ("rc", "r.clone().fill_(c)"), "full_like": ("zc", "torch.full_like(z, c)"),
    "full": ("zc", "torch.full([2, 3], c)"), "new_full": ("zc", "z.new_full([2], c)"),
    "zeros": ("z", "torch.zeros([2, 3], dtype=z.dtype)"), "ones": ("z", "torch.ones([3], dtype=torch.complex128)"),
    "eye": ("z", "torch.eye(3, dtype=z.dtype)"), "tensor": ("c", "torch.tensor(c)"),
    "to_double": ("z", "z.to(torch.complex128)"), "to_float": ("z", "z.to(torch.float32)"), "to_int": ("z", "z.to(torch.int64)"),
    "to_bool": ("r", "r.to(torch.complex64)"), "from_real": ("r", "r.to(torch.complex128) * 2.0"),
    "copy_": ("zr", "z.clone().copy_(r)"), "copy_down": ("zr", "r.clone().copy_(z)"),
    "add_": ("zw", "z.clone().add_(w)"), "mul_": ("zw", "z.clone().mul_(w)"), "div_": ("zc", "z.clone().div_(c)"),
    "abs_": ("z", "z.clone().abs_()"), "add_real_": ("rc", "r.clone().add_(c)"), "conj_physical_": ("z", "z.clone().conj_physical_()"),
    "out": ("zy", "torch.mul(z, y, out=torch.empty([0], dtype=z.dtype))"), "abs_out": ("zr", "torch.abs(z, out=torch.zeros([0], dtype=r.dtype))"),
    "alpha_real": ("rc", "torch.add(r, r, alpha=c)"), "addcmul_real": ("rc", "torch.addcmul(r, r, r, value=c)"),
    "real": ("z", "torch.real(z)"), "imag": ("z", "torch.imag(z) * 2"), "polar": ("r", "torch.polar(r, r)"),
    "part_write": ("zr", "torch.real(z).copy_(r)"), "view_as_real": ("z", "torch.view_as_real(z)"),
    "silu": ("z", "torch.nn.functional.silu(z)"), "l1_loss": ("zy", "torch.nn.functional.l1_loss(z, y)"),
    # reductions
    "sum_dim": ("zd", "z.sum(d)"), "sum_keep": ("zd", "z.sum([d], True)"), "sum_dtype": ("r", "r.sum(dtype=torch.complex64)"),
    "sum_real": ("z", "z.sum(dtype=torch.float64)"), "mean_dim": ("zd", "z.mean([d])"), "prod_dim": ("zd", "z.prod(d)"),
    "any_dim": ("zd", "z.any(d)"), "all_dim": ("zd", "z.all(d)"), "count_dim": ("zd", "z.count_nonzero(d)"),
    "cumsum": ("zd", "z.cumsum(d)"), "cumprod": ("zd", "z.cumprod(d)"), "var": ("z", "z.var()"), "std_dim": ("zd", "z.std([d], False)"),
    "var_mean": ("zd", "torch.var_mean(z, [d], True)[1]"), "std_mean": ("zd", "torch.std_mean(z, [d], True)[0]"),
    "norm_p": ("zi", "z.norm(i)"), "norm_dim": ("zd", "z.norm(1.0, [d])"), "norm_dtype": ("z", "torch.norm(z, 2, dtype=torch.complex128)"),
    "vector_norm": ("zid", "torch.linalg.vector_norm(z, i, [d])"), "vector_norm_wrong": ("r", "torch.linalg.vector_norm(r, 2, dtype=torch.complex128)"),
    "matrix_norm": ("A", "torch.linalg.matrix_norm(A)"), "matrix_norm_1": ("A", "torch.linalg.matrix_norm(A, 1)"),
    "dist": ("zy", "torch.dist(z, y, 2.0)"), "trapezoid": ("zd", "torch.trapezoid(z, dim=d)"), "diff": ("zd", "torch.diff(z, dim=d)"),
    "softmax": ("zd", "torch.softmax(z, d)"), "cummax": ("zd", "torch.cummax(z, d)[0]"), "renorm": ("A", "torch.renorm(A, 2.0, 0, 1.0)"),
    "topk": ("z", "torch.topk(z, 1)[0]"), "logcumsumexp": ("zd", "torch.logcumsumexp(z, d)"), "cov": ("A", "torch.cov(A)"),
    # shapes and indexing
    "cat": ("zy", "torch.cat([z, y], 0)"), "cat_mixed": ("zr", "torch.cat([z, r], 0)"), "stack": ("zy", "torch.stack([z, y], -1)"),
    "roll": ("zd", "z.roll([2], [d])"), "flip": ("zd", "z.flip([d])"), "transpose": ("zd", "z.transpose(0, d).contiguous()"),
    "index_select": ("zs", "z.index_select(0, s)"), "index": ("zs", "z[s]"), "index_add": ("zsc", "z.index_add(0, s, z.index_select(0, s), alpha=2.0)"),
    "index_put": ("zsc", "z.clone().index_put_([s], z.index_select(0, s), accumulate=True)"), "index_fill": ("zsc", "z.index_fill(0, s, c)"),
    "take": ("zs", "z.take(s)"), "masked_select": ("zm", "z.masked_select(m)"), "nonzero": ("z", "z.nonzero()"),
    "scatter_add": ("zs", "torch.zeros_like(z).flatten().scatter_add(0, s, z.flatten()[:1].expand_as(s).contiguous())"),
    "gather": ("zs", "z.flatten().gather(0, s)"), "tril": ("A", "A.tril()"), "mH": ("A", "A.mH.contiguous()"), "adjoint": ("E", "E.adjoint().contiguous()"),
    "setitem": ("zc", "torch.ones([3], dtype=z.dtype).index_fill(0, torch.tensor([1]), c)"), "pad": ("z", "torch.nn.functional.pad(z, [1, 2])"),
    "item": ("z", "z.flatten()[0].item()"), "repeat": ("z", "z.repeat_interleave(2)"), "unfold": ("A", "A.unfold(0, 1, 1)"),
    # products
    "mm": ("AB", "torch.mm(A, B)"), "mm_t": ("AB", "torch.mm(B.t(), A.t())"), "mm_conj": ("A", "torch.mm(A, A.conj().t())"),
    "matmul": ("EF", "torch.matmul(E, F)"), "matmul_2d": ("EB", "torch.matmul(E, B)"), "bmm": ("EF", "torch.bmm(E, F)"),
    "mv": ("AV", "torch.mv(A, V)"), "addmm": ("CABci", "torch.addmm(C, A, B, beta=c, alpha=i)"), "addmm_real": ("c", "torch.addmm(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2), alpha=c)"),
    "baddbmm": ("CEFc", "torch.baddbmm(C, E, F, beta=1, alpha=c)"), "addmv": ("AVc", "torch.addmv(A[:, 0], A, V, beta=0, alpha=c)"),
    "outer": ("V", "torch.outer(V, V)"), "addr": ("Vc", "torch.addr(torch.zeros([1], dtype=V.dtype), V, V, beta=c, alpha=c)"),
    "kron": ("Az", "torch.kron(A.contiguous(), z.contiguous())"), "einsum": ("EF", "torch.einsum('bij,bjk->bik', E, F)"), "einsum_trace": ("AB", "torch.einsum('ij,jk->', A, B)"),
    "tensordot": ("AB", "torch.tensordot(A, B, [[1], [0]])"), "linear": ("A", "torch.nn.functional.linear(A, A)"), "inner": ("A", "torch.inner(A, A)"),
    "chain_matmul": ("AB", "torch.linalg.multi_dot([A, B])"), "matrix_power": ("A", "torch.matrix_power(torch.mm(A, A.t()), 3)"),
    "mm_mixed": ("A", "torch.mm(A, torch.real(A).t())"), "cross": ("z", "torch.cross(torch.ones([3], dtype=z.dtype), torch.ones([3], dtype=z.dtype) * 2, 0)"),
    # several operators in a row: would be one kernel, were the tensors real
    "chain": ("zyc", "torch.sigmoid(z * y + c) * torch.exp(-z).abs() - y.conj()"),
    "chain_sum": ("zy", "((z - y) * (z - y).conj()).sum(0).abs()"), "chain_mixed": ("zri", "(torch.real(z) * r + i).relu() * z"),
})
# Debian's PyTorch gets these wrong (its BLAS returns complex numbers another way): compared with sums of products.
EXPECTED = {
    "dot": ("V", "torch.dot(V, V)", lambda V: (V * V).sum()), "vdot": ("V", "torch.vdot(V, V * 1j)", lambda V: (V.conj() * (V * 1j)).sum()),
    "matmul_1d": ("V", "torch.matmul(V, V)", lambda V: (V * V).sum()),
}
CASES.update({k: v[:2] for k, v in EXPECTED.items()})
TYPES = {"c": "complex", "i": "float", "d": "int"}
RESULTS = {"allclose": "bool", "equal": "bool", "item": "number"}
# PyTorch's vectors and the rest of a tensor treat infinities and overflow differently here: ordinary numbers only.
ORDINARY = ("u_sgn", "u_asin", "u_acos", "u_atan", "u_reciprocal", "u_rsqrt")
WHOLE = ("u_median", "u_sort", "topk", "u_argmax", "u_amax", "item")  # not of empty tensors, which PyTorch answers at times
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, math.inf, -math.inf, math.nan, 1e-30, 1e20]


def parts(rng, n, special):
    return torch.tensor([rng.choice(SPECIAL) if rng.random() < special else rng.gauss(0, 2) for _ in range(n)], dtype=torch.float64)


def make(rng, sizes, dtype, special=0.0):
    """Random numbers, at times in memory in another order."""
    order = list(range(len(sizes)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    n = math.prod(sizes)
    t = parts(rng, n, special)
    if dtype.is_complex:
        t = torch.complex(t, parts(rng, n, special))
    elif not dtype.is_floating_point:
        t = torch.nan_to_num(t * 2, posinf=3, neginf=-3).clamp(-100, 100)
    t = t.to(dtype).reshape([sizes[i] for i in order])
    return t.permute([order.index(i) for i in range(len(sizes))])


def draw(rng, name):
    letters = CASES[name][0]
    dtype = rng.choice(COMPLEX)
    ndim = rng.choice([0, 1, 1, 2, 2, 3])
    if "d" in letters or "s" in letters or name.startswith("cat"):
        ndim = max(ndim, 1)
    if name in ("kron", "u_sort", "topk"):
        ndim = 2
    big = rng.random() < 0.15 and ndim == 1 and name not in ("u_prod", "u_median")
    sizes = [rng.randint(500, 3000) if big else rng.choice([1, 2, 3, 5, 7, 17]) if rng.random() < 0.96 or "s" in letters or name in WHOLE else 0 for _ in range(ndim)]
    special = 0.15 if name[:2] in ("u_", "b_") and name not in ORDINARY and rng.random() < 0.4 and not big else 0.0
    m, k, n, b = (rng.choice([1, 2, 3, 8, 33, 70]) for _ in range(4))
    if name in ("addmv", "matrix_norm", "linear"):
        b = 1
    made = []
    for letter in letters:
        if letter == "z":
            made.append(make(rng, sizes, dtype, special))
        elif letter == "y":
            made.append(make(rng, sizes, dtype, 0.0))
        elif letter == "w":
            shape = [1 if rng.random() < 0.2 else s for s in sizes][rng.choice([0, 0, 0, 1]) if sizes else 0:]
            other = rng.choice(COMPLEX + COMPLEX + (torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16))
            made.append(make(rng, shape if rng.random() < 0.85 else [], other, special))
        elif letter == "r":
            made.append(make(rng, sizes, torch.float64 if dtype == torch.complex128 else torch.float32))
        elif letter == "m":
            made.append(make(rng, sizes, torch.bool))
        elif letter == "c":
            made.append(rng.choice([complex(rng.gauss(0, 1), rng.gauss(0, 1)), 1j, complex(2, 0), complex(0.5, -1)]))
        elif letter == "i":
            made.append(rng.choice([0.5, 2.0, 1.0, 3.0, -1.5]))
        elif letter == "s":
            made.append(torch.tensor([rng.randrange(max(sizes[0], 1)) for _ in range(rng.randint(1, 4))]))
        elif letter == "d":
            made.append(rng.randrange(-ndim, ndim))
        else:
            shape = {"A": [m, k], "B": [k, n], "V": [k], "C": [1, n] if rng.random() < 0.5 else [m, n], "E": [b, m, k], "F": [b, k, n]}[letter]
            made.append(make(rng, shape, dtype))
    return tuple(made)


def pairs(t):
    return torch.view_as_real(t.to(torch.complex128).resolve_conj()) if t.is_complex() else t.to(torch.float64)


def compare(got, want, dtype):
    if not isinstance(want, torch.Tensor):
        same = type(got) is type(want) and (got == want or got != got or abs(got - want) < 1e-5 * abs(want))
        return "" if same else "%r instead of %r" % (got, want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return "%s%s instead of %s%s" % (got.dtype, list(got.shape), want.dtype, list(want.shape))
    if not (want.is_complex() or want.is_floating_point()):
        return "" if torch.equal(got, want) else "values differ"
    g, w = pairs(got), pairs(want)
    tolerance = 2e-12 if dtype in (torch.complex128, torch.float64) else 1e-4
    # A part is as exact as the number it belongs to, or its row of numbers.
    finite = torch.where(torch.isfinite(w), w.abs(), torch.zeros_like(w))
    scale = finite.amax(-1, keepdim=True) if w.dim() and w.shape[-1] else finite
    off = ((g - w).abs() > tolerance * (scale + 1e-3)) | (torch.isnan(g) != torch.isnan(w)) | (torch.isinf(w) & (g != w))
    if not off.any():
        return ""
    at = off.reshape(-1).nonzero()[0].item() // (2 if want.is_complex() else 1)
    return "%s instead of %s (%d of %d)" % (got.reshape(-1)[at].item(), want.reshape(-1)[at].item(), int(off.sum()), off.numel())


def precision(inputs, want):
    """The narrowest of all floating dtypes: what the values are good to."""
    seen = [v.dtype for v in list(inputs) + [want] if isinstance(v, torch.Tensor) and (v.is_complex() or v.is_floating_point())]
    return torch.float64 if all(d in (torch.complex128, torch.float64) for d in seen) else torch.float32


def check(function, name, inputs):
    want, error = function.expect(inputs, EXPECTED[name][2] if name in EXPECTED else None)
    for level in ("0", "3"):
        p, got = function.run("--opt", level)
        if error is not None:
            text = support.message(error)
            if not p.returncode or text.lower() not in p.stderr.lower():
                return "level %s: %r\n    instead of the error %r" % (level, p.stderr.strip().split("\n")[0][:200], text), True
            continue
        if p.returncode:
            return "level %s: exit %d: %s" % (level, p.returncode, p.stderr.strip()[:300]), False
        why = compare(got, want, precision(inputs, want))
        if why:
            return "level %s: %s" % (level, why), False
    return "", error is not None


def script(name, folder):
    """The function of a row, compiled, and the same as a module."""
    letters, expression = CASES[name]
    names = ", ".join("%s: %s" % (c, TYPES.get(c, "Tensor")) for c in letters)
    body = "(%s) -> %s:\n    return %s\n" % (names, RESULTS.get(name, "Tensor"), expression)
    body = body.replace("-> number", "")
    module = support.load_text(folder, "case_" + name, "import torch\nfrom torch import Tensor\nfrom torch.types import Number as number\n\ndef f" + body
                               + "\nclass Main(torch.nn.Module):\n    def forward(self, " + body[1:].replace("\n    return", "\n        return"))
    return torch.jit.script(module.f), torch.jit.script(module.Main())


if __name__ == "__main__":
    sys.exit(1 if support.random_cases(__doc__, "complex", CASES, script, draw, check, count=4) else 0)
