# SPDX-License-Identifier: Apache-2.0
"""Programs of our own: operators in bulk, control flow exported with strict=True, caches and counters that are written, sizes that follow from elements."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops import map as hmap
from torch.export import Dim

CASES = {}
T = torch.randn


def case(args, **kw):
    def add(cls):
        CASES["program." + cls.__name__] = dict(module=cls, args=args, **kw)
        return cls

    return add


def a(*sizes):
    return lambda: (tuple(T(*x) for x in sizes), {})


@case(a((3, 4)), calls=[a((3, 4)), lambda: ((-T(3, 4).abs(),), {})])
class CondBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(4))
        self.l = nn.Linear(4, 4)
        self.m = nn.Linear(4, 4)

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: self.l(x) + self.n, lambda x: self.m(x).sin(), (x,))
        self.n.add_(y.mean(0).detach())
        return y, self.n * 2


@case(a((4, 6, 3)), dynamic=({0: Dim("n", min=1, max=50)},), calls=[a((9, 6, 3)), a((1, 6, 3))])
class MapLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, xs):
        return hmap(lambda x: (self.l(x), x.sum(0)), xs)


@case(a((7, 2, 4)))
class ScanGru(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.GRUCell(4, 5)

    def forward(self, xs):
        def f(h, x):
            h = self.c(x, h)
            return h, h.clone() * 2

        h0 = torch.zeros(2, 5)
        return scan(f, h0, xs)


@case(a((7, 2, 4)))
class ScanReverse(nn.Module):
    def forward(self, xs):
        def f(h, x):
            s = h["s"] + x
            return {"s": s, "p": h["p"] * 0.5 + s}, (s.clone(), h["p"].clone())

        return scan(f, {"s": torch.zeros(2, 4), "p": torch.ones(2, 4)}, xs, reverse=True)


@case(a((6, 3)))
class AssocMax(nn.Module):
    def forward(self, x):
        return associative_scan(lambda p, q: torch.maximum(p, q), x, 0, combine_mode="generic"), associative_scan(
            lambda p, q: p * 0.9 + q, x, 0, reverse=True, combine_mode="generic"
        )


@case(a((4, 8)))
class AutoNested(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.LayerNorm(8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.a(x)
            z = torch.softmax(y, -1)
            with torch.no_grad():
                w = self.a(y.float())
            m = torch.matmul(z, z.t().to(z.dtype))
        return y.float(), z.float(), w.float(), m.float(), self.b(x)


CASES["program.AutoNested"].update(rtol=2e-2, atol=2e-2)


@case(lambda: ((torch.tensor([3, 1, 0, 5]), T(4, 6)), {}), calls=[lambda: ((torch.tensor([0, 0, 1, 6]), T(4, 6)), {})])
class Lengths(nn.Module):
    def forward(self, n, x):
        m = torch.arange(x.shape[1])[None, :] < n[:, None]
        k = n.max().item()
        torch._check(k >= 0)
        torch._check(k <= x.shape[1])
        y = x.masked_fill(~m, 0)
        return y[:, :k].sum(), x.masked_select(m).sum(), m.nonzero().shape[0]


@case(
    lambda: ((T(2, 4, 10, 8), T(2, 2, 12, 8), T(2, 2, 12, 8)), {}),
    dynamic=({0: Dim("b"), 2: Dim("q")}, {0: Dim("b"), 2: Dim("k")}, {0: Dim("b"), 2: Dim("k")}),
    calls=[a((3, 4, 5, 8), (3, 2, 6, 8), (3, 2, 6, 8))],
)
class Gqa(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True), F.scaled_dot_product_attention(
            q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), is_causal=True, scale=0.3
        )


@case(lambda: ((T(2, 6, 16),), {"mask": torch.rand(2, 6) > 0.3}))
class Mha(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True), 2, enable_nested_tensor=False)
        self.d = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True, activation="gelu")

    def forward(self, x, mask):
        mask = mask.clone()
        mask[:, 0] = False
        y = self.e(x, src_key_padding_mask=mask)
        return self.d(x, y, memory_key_padding_mask=mask)


@case(a((2, 3, 9, 10)))
class Samplers(nn.Module):
    def forward(self, x):
        g = F.affine_grid(torch.tensor([[[0.9, 0.1, 0.1], [-0.1, 0.8, 0.2]]]).expand(2, 2, 3), [2, 3, 6, 7], align_corners=False)
        return (
            F.grid_sample(x, g, align_corners=False),
            F.grid_sample(x, g, mode="bicubic", padding_mode="reflection", align_corners=True),
            F.interpolate(x, scale_factor=(1.5, 0.7), mode="bilinear"),
            F.interpolate(x, size=(5, 20), mode="bicubic", antialias=True),
            F.interpolate(x, scale_factor=2.0, mode="nearest-exact"),
            F.pixel_unshuffle(x[:, :, :8], 2),
            F.unfold(x, 3, 2, 1, 2),
            F.fold(F.unfold(x, 3), (9, 10), 3),
            F.adaptive_max_pool2d(x, (3, 4)),
            F.fractional_max_pool2d(x, 2, output_size=(4, 4), _random_samples=torch.full((2, 3, 2), 0.4)),
            F.lp_pool2d(x, 3, 2),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        )


@case(a((2, 5, 12)))
class Rnns(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(12, 7, 2, batch_first=True, bidirectional=True, proj_size=3)
        self.g = nn.GRU(12, 6, batch_first=True, bidirectional=True)
        self.r = nn.RNN(12, 4, nonlinearity="relu", batch_first=True)

    def forward(self, x):
        return self.l(x), self.g(x), self.r(x)


@case(a((6, 6)))
class Lina(nn.Module):
    def forward(self, x):
        s = x @ x.t() + torch.eye(6)
        return (
            torch.linalg.cholesky(s),
            torch.linalg.solve(s, x),
            torch.linalg.inv(s),
            torch.linalg.det(s),
            torch.linalg.slogdet(s),
            torch.linalg.eigvalsh(s),
            torch.linalg.qr(s)[1].abs(),
            torch.linalg.svdvals(x),
            torch.linalg.matrix_norm(x),
            torch.linalg.pinv(x[:4]),
            torch.matrix_exp(x * 0.1),
            torch.linalg.matrix_power(s, 3),
            torch.triangular_solve(x, s.triu())[0],
            torch.cdist(x, s),
            torch.linalg.cond(s),
        )


CASES["program.Lina"].update(rtol=1e-2, atol=1e-2)


@case(lambda: ((T(3, 20), torch.randint(0, 20, (3, 5))), {}))
class Scatter(nn.Module):
    def forward(self, x, i):
        u = x.gather(1, i)
        return (
            x.scatter(1, i[:, :1], u[:, :1]),
            torch.zeros(3, 20).scatter_add(1, i, u),
            torch.zeros(3, 20).scatter_reduce(1, i, u, "amax", include_self=False),
            x.index_add(0, torch.tensor([0, 2]), x[:2]),
            x.index_copy(1, torch.tensor([3, 4]), u[:, :2]),
            x.index_fill(0, torch.tensor([1]), 2.0),
            torch.bincount(i.flatten(), minlength=20),
            torch.histc(x, 10),
            torch.searchsorted(x.sort(1)[0], u),
            torch.bucketize(x, torch.tensor([-1.0, 0, 1])),
            x.topk(4)[0],
            x.kthvalue(3)[0],
            x.mode()[0],
            x.msort(),
            torch.unique_consecutive(i.sort()[0].flatten(), return_counts=False).sum(),
            x.take(i),
            torch.take_along_dim(x, i, 1),
            x.put(i[:1, :2], u[:1, :2]),
            x.masked_scatter(x > 0, x.abs()),
        )


@case(a((2, 30)))
class Spectral(nn.Module):
    def forward(self, x):
        s = torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)
        return (
            s.abs(),
            torch.istft(s, 8, 4, window=torch.hann_window(8)),
            torch.fft.rfft(x).real,
            torch.fft.irfft(torch.fft.rfft(x), 30),
            torch.view_as_real(torch.fft.fft2(x)),
            torch.fft.fftshift(x),
            torch.angle(s),
        )


@case(a((2, 3, 8, 8)), train=True, calls=[a((2, 3, 8, 8))])
class Training(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 6, 3)
        self.b = nn.BatchNorm2d(6)
        self.g = nn.GroupNorm(2, 6)
        self.i = nn.InstanceNorm2d(6, affine=True, track_running_stats=True)

    def forward(self, x):
        return self.i(self.g(self.b(self.c(x))))


@case(lambda: ((torch.randint(0, 10, (3, 5)),), {}))
class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 6, padding_idx=0, max_norm=1.0)
        self.b = nn.EmbeddingBag(10, 4, mode="max")
        self.c = nn.EmbeddingBag(10, 4, mode="sum", include_last_offset=True)

    def forward(self, i):
        return self.b(i), self.c(i.flatten(), torch.tensor([0, 4, 9, 15])), F.one_hot(i, 10)


@case(a((2, 4, 6)))
class Convs(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 6, 3, padding="same", padding_mode="circular", dilation=2)
        self.t = nn.ConvTranspose1d(6, 4, 3, 2, 1, 1, groups=2)
        self.w = torch.nn.utils.parametrizations.weight_norm(nn.Linear(11, 3))
        self.s = torch.nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
        self.o = torch.nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))

    def forward(self, x):
        return self.o(self.s(self.w(self.t(self.a(x))[..., :11])))


@case(lambda: ((torch.randint(-100, 100, (4, 5)), torch.randint(1, 9, (4, 5), dtype=torch.int32), torch.randint(0, 255, (4, 5), dtype=torch.uint8)), {}))
class Ints(nn.Module):
    def forward(self, a, b, c):
        return (
            a // b,
            a % b,
            torch.div(a, b, rounding_mode="trunc"),
            a.bitwise_and(b),
            a << 2,
            b >> 1,
            ~c,
            c.bitwise_xor(3),
            torch.gcd(a, b.long()),
            a.float().frexp(),
            (a > 3).any(1),
            (c > 3).all(),
            a.cumsum(1),
            b.cumprod(0),
            a.sum(dtype=torch.int32),
            a.prod(1),
            a.abs().float().log2().floor().int(),
            c.float().mean(),
            torch.logical_xor(a, b),
            a.clamp(-3, 5),
            torch.bitwise_left_shift(a, 1),
            a.sign(),
            b.pow(2),
            torch.argsort(a, dim=1, stable=True),
            torch.fmod(a, b),
            torch.count_nonzero(a, 1),
            torch.diff(a),
            torch.isin(a, b),
            a.median(1),
            torch.nanmedian(a.float()),
            a.float().quantile(0.3, 1),
            torch.std_mean(a.float(), 1),
            torch.cummax(a, 1),
            a.float().logcumsumexp(0),
            torch.renorm(a.float(), 2, 0, 3.0),
        )


@case(lambda: ((torch.complex(T(3, 4), T(3, 4)),), {}))
class Cplx(nn.Module):
    def forward(self, z):
        return (
            (z * z.conj()).real,
            torch.view_as_real(z @ z.mH),
            z.abs(),
            torch.polar(z.abs(), z.angle()),
            torch.view_as_complex(torch.view_as_real(z) * 2),
            z.exp().imag,
            torch.linalg.norm(z),
            z.sum(),
            (z.t()[1:] / 2).resolve_conj(),
        )


@case(a((4, 5)))
class Special(nn.Module):
    def forward(self, x):
        p = x.abs() + 0.5
        s = torch.special
        return (
            s.erfcx(x),
            s.i0e(x),
            s.i1(x),
            s.ndtri(x.sigmoid()),
            s.log_ndtr(x),
            s.xlog1py(x, p),
            s.zeta(p + 1, p),
            s.polygamma(1, p),
            s.multigammaln(p + 2, 2),
            s.gammainc(p, p),
            s.bessel_j0(x),
            s.entr(p),
            torch.sinc(x),
            torch.hypot(x, p),
            torch.nextafter(x, p),
            torch.copysign(x, p),
            torch.logaddexp2(x, p),
            torch.float_power(p, 2),
            torch.heaviside(x, p),
            torch.digamma(p),
            torch.lgamma(p),
            torch.erfinv(x.tanh()),
            torch.logit(x.sigmoid()),
            torch.nan_to_num(x / 0),
            torch.signbit(x),
            torch.ldexp(x, torch.tensor(2)),
            torch.addcdiv(x, p, p, value=2),
            s.softmax(x, 1),
            torch.frac(x),
            torch.celu(x),
            F.glu(x[:, :4]),
            F.rrelu(x),
            F.hardshrink(x),
            F.softplus(x, 2, 1),
            F.logsigmoid(x),
            F.mish(x),
            F.gumbel_softmax(x, hard=False) * 0,
        )


@case(a((4, 5)))
class ViewsInPlace(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[1:3, ::2] += 1
        y.t()[0].mul_(3)
        y.diagonal().zero_()
        v = y.view(2, 10)
        v[:, 3] = -1
        z = torch.zeros(3, 6)
        z[:, 1:3] = x[:3, :2]
        z.index_put_((torch.tensor([0, 1]), torch.tensor([5, 5])), torch.tensor([9.0, 8.0]), accumulate=True)
        w = torch.stack([x, y])
        w.unbind(0)[0].copy_(x * 2)
        a, b = w.chunk(2)
        a.sub_(b)
        return y, v, z, w, x.as_strided((2, 2), (1, 2), 1), y.narrow(0, 1, 2).flatten(), torch.split(x, [1, 3]), x.unflatten(1, (5, 1)), x.movedim(0, 1), x.swapaxes(0, 1)


@case(lambda: ((T(3, 8),), {"k": torch.tensor(2)}), calls=[lambda: ((T(3, 8),), {"k": torch.tensor(6)})])
class ItemSlices(nn.Module):
    def forward(self, x, k):
        n = k.item()
        torch._check(n >= 1)
        torch._check(n < 8)
        return x[:, :n].sum(1), x.narrow(1, 0, n).mean(), torch.arange(n).sum(), torch.zeros(n, 2).shape[0], F.pad(x, (0, n)), x.new_full((n,), 3.0).sum()


@case(a((5, 3)), dynamic=({0: Dim("n", min=2, max=100)},), calls=[a((8, 3)), a((3, 3))])
class CondDynamic(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 6, lambda x: x.sum(0), lambda x: x.mean(0), (x,))


@case(lambda: ((torch.tensor([[9, 9, 9], [2, 5, 7]]), T(2, 3)), {}))
class WhileTensorList(nn.Module):
    def forward(self, n, x):
        def c(i, n, x):
            return (n > 3).any() & (i < 20)

        def b(i, n, x):
            return i + 1, torch.where(n > 3, n - 2, n), x * 1.1

        return while_loop(c, b, (torch.tensor(0), n, x))


@case(a((2, 3, 16, 16)), dynamic=({0: Dim("b", min=1, max=16)},), calls=[a((1, 3, 16, 16)), a((5, 3, 16, 16))])
class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def blk(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(2, o), nn.ReLU())

        self.d1, self.d2, self.m = blk(3, 8), blk(8, 16), blk(16, 16)
        self.u2, self.u1 = nn.ConvTranspose2d(16, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.c2, self.c1 = blk(32, 16), blk(16, 8)
        self.o = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.m(F.avg_pool2d(b, 2))
        y = self.c2(torch.cat([self.u2(c), b], 1))
        return self.o(self.c1(torch.cat([self.u1(y), a], 1)))


@case(lambda: ((torch.randint(0, 50, (2, 6)), torch.tensor(0)), {}), calls=[lambda: ((torch.randint(0, 50, (2, 6)), torch.tensor(4)), {})])
class KvCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 16)
        self.q = nn.Linear(16, 48)
        self.register_buffer("k", torch.zeros(2, 4, 16, 4))
        self.register_buffer("v", torch.zeros(2, 4, 16, 4))

    def forward(self, i, pos):
        x = self.e(i)
        q, k, v = self.q(x).view(2, 6, 3, 4, 4).permute(2, 0, 3, 1, 4)
        at = pos + torch.arange(6)
        self.k.index_copy_(2, at, k)
        self.v[:, :, at] = v
        m = torch.arange(16)[None, :] <= at[:, None]
        return F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=m).transpose(1, 2).flatten(2)


@case(a((1, 2, 12)))
class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.Linear(12, 4)
        self.w = nn.Parameter(T(4, 12, 12) * 0.2)

    def forward(self, x):
        p, i = self.r(x).softmax(-1).topk(2)
        y = torch.einsum("btd,btkde->btke", x, self.w[i])
        return (y * p[..., None]).sum(2)


@case(lambda: ((T(3, 4), torch.tensor(True)), {}), calls=[lambda: ((T(3, 4), torch.tensor(False)), {})], strict=True)
class StrictCond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x, p):
        return torch.cond(p, lambda x: self.a(x).relu(), lambda x: self.b(x) * 2, (x,))


@case(lambda: ((torch.tensor(0), T(3, 3)), {}), strict=True)
class StrictWhile(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, i, x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, self.a(x).tanh()), (i, x))


@case(a((6, 4)), strict=True)
class StrictScan(nn.Module):
    def forward(self, x):
        return scan(lambda c, v: (c * 0.5 + v, (c - v).sin()), torch.zeros(4), x, dim=0)


@case(a((2, 6, 4)), strict=True)
class StrictAssoc(nn.Module):
    def forward(self, x):
        return associative_scan(lambda a, b: a + b, x, 1, combine_mode="pointwise"), associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x.sigmoid(), x), 1, combine_mode="pointwise", reverse=True
        )


@case(a((5, 4)), strict=True)
class StrictMap(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 2)

    def forward(self, x):
        return hmap(lambda r, k: {"p": self.a(r), "q": r * k}, x, torch.tensor(2.0))


@case(lambda: ((T(3, 4), torch.randint(0, 4, (3,))), {}), train=True)
class JointLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, t):
        return F.cross_entropy(self.a(x), t)


@case(lambda: ((torch.zeros(5, dtype=torch.int64), T(5, 3)), {}), calls=[lambda: ((torch.tensor([0, 1, 1, 0, 1]), T(5, 3)), {})])
class NonzeroRows(nn.Module):
    def forward(self, m, x):
        i = torch.nonzero(m).squeeze(1)
        y = x[i]
        return y.sum(0), y.shape[0], x.index_select(0, i).abs().sum(), torch.where(m[:, None] > 0, x, -x), m.bool().sum().item() + 1


@case(a((8,)), calls=[a((8,))])
class Ring(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("buf", torch.zeros(4, 8))
        self.register_buffer("at", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.buf.index_copy_(0, (self.at % 4)[None], x[None])
        self.at.add_(1)
        return self.buf.mean(0), self.at * 1


@case(a((2, 4, 16)), dynamic=({0: Dim("b"), 1: Dim("t", min=2, max=64)},), calls=[a((3, 7, 16)), a((4, 2, 16))])
class Rope(nn.Module):
    def forward(self, x):
        b, t, d = x.shape
        f = 1.0 / 10000 ** (torch.arange(0, d, 2) / d)
        p = torch.arange(t)[:, None] * f
        c, s = p.cos(), p.sin()
        u, v = x[..., ::2], x[..., 1::2]
        y = torch.stack([u * c - v * s, u * s + v * c], -1).flatten(-2)
        m = torch.full((t, t), float("-inf")).triu(1)
        return torch.softmax(y @ y.mT / d**0.5 + m, -1) @ x, y.reshape(b, -1), x.new_ones(t + 1, b * 2)


def cases():
    return CASES
