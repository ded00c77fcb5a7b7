# SPDX-License-Identifier: Apache-2.0
"""More small programs: higher-order operators within one another, what changes buffers and arguments, containers of arguments, numbers as arguments, sizes that depend on elements."""
import collections
import dataclasses
import math
import typing

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

CASES = {}


def case(args, *calls, kwargs=None, **options):
    """The class is a case: args of the export, further calls."""
    def add(cls):
        CASES[cls.__name__] = dict(options, module=cls, args=lambda: (args(), kwargs() if kwargs else {}), calls=[(lambda c=c: (c(), kwargs() if kwargs else {})) for c in calls])
        return cls
    return add


def r(*size):
    return torch.randn(*size)


B = Dim("b", min=1, max=64)


# Higher-order operators


@case(lambda: (r(4, 3),), lambda: (-r(4, 3).abs(),))
class CondInCond(nn.Module):
    def forward(self, x):
        def inner(x):
            return torch.cond(x.sum() > 2, lambda x: (x + 1, x.sum()), lambda x: (x - 1, x.prod()), (x,))
        return torch.cond(x.mean() > 0, inner, lambda x: (x * 2, x.max()), (x,))


@case(lambda: (torch.tensor(True), r(3)), lambda: (torch.tensor(False), r(3)))
class CondPredicate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(2.0))
        self.w = nn.Parameter(r(3))

    def forward(self, p, x):
        return torch.cond(p, lambda x: x * self.scale + self.w, lambda x: x.sin() * self.w, (x,))


@case(lambda: (torch.tensor(3), r(4, 4)), lambda: (torch.tensor(0), r(4, 4)))
class CondInWhile(nn.Module):
    def forward(self, n, x):
        from torch._higher_order_ops.while_loop import while_loop
        def body(i, x):
            return i - 1, torch.cond(x.sum() > 0, lambda x: x * 0.5, lambda x: x + 1, (x,))
        return while_loop(lambda i, x: i > 0, body, (n, x))


@case(lambda: (torch.tensor(3), r(4)))
class WhileInWhile(nn.Module):
    def forward(self, n, x):
        from torch._higher_order_ops.while_loop import while_loop
        def body(i, x):
            j = i.clone()
            _, y = while_loop(lambda j, y: j > 0, lambda j, y: (j - 1, y * 1.5), (j, x))
            return i - 1, y
        return while_loop(lambda i, x: i > 0, body, (n, x))


@case(lambda: (torch.tensor(0), torch.tensor(1)))
class WhileIntegers(nn.Module):
    def forward(self, a, b):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda a, b: b < 200, lambda a, b: (b.clone(), a + b), (a, b))


@case(lambda: (r(5, 4), r(5, 4)), lambda: (r(2, 4), r(2, 4)), dynamic=({0: B}, {0: B}))
class WhileSizes(nn.Module):
    def forward(self, x, y):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda i, x: i < y.shape[0], lambda i, x: (i + 1, x + y * x.shape[0]), (torch.tensor(0), x))


@case(lambda: (r(6, 3), r(6, 2), r(4)))
class MapPytree(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, a, b, c):
        from torch._higher_order_ops.map import map
        return map(lambda xs, c: {"y": self.l(xs[0]) + xs[1], "s": xs[1].sum() * c}, (a, b), c)


@case(lambda: (r(6, 3),), lambda: (r(2, 3),), dynamic=({0: B},))
class MapDynamic(nn.Module):
    def forward(self, xs):
        from torch._higher_order_ops.map import map
        return map(lambda x: torch.cond(x.sum() > 0, lambda x: x.exp(), lambda x: -x, (x,)), xs)


@case(lambda: (r(2, 3), torch.zeros(2, 3), r(6, 2, 3)))
class ScanLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(6, 12)

    def forward(self, h, c, xs):
        from torch._higher_order_ops.scan import scan
        def step(carry, x):
            h, c = carry
            i, f, g, o = self.c(torch.cat([x, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            return (h, c), h.clone()
        return scan(step, (h, c), xs)


@case(lambda: (r(3, 7), r(3, 3, 7)))
class ScanDim(nn.Module):
    def forward(self, init, xs):
        from torch._higher_order_ops.scan import scan
        return scan(lambda c, x: (c + x, (c * x, x.sum())), init[:, :3].contiguous(), xs, dim=2)


@case(lambda: (r(3), r(5, 3)), lambda: (r(3), r(2, 3)), dynamic=(None, {0: B}))
class ScanDynamic(nn.Module):
    def forward(self, init, xs):
        from torch._higher_order_ops.scan import scan
        return scan(lambda c, x: (c * 0.9 + x, c.clone()), init, xs)


@case(lambda: (r(4, 7),), strict=True)
class AssociativeScanDim(nn.Module):
    def forward(self, xs):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda a, b: a + b, xs, 1, combine_mode="pointwise"), associative_scan(torch.maximum, xs, 0, reverse=True, combine_mode="pointwise")


@case(lambda: (r(6, 3), r(6, 3)), strict=True)
class AssociativeScanPair(nn.Module):
    """A linear recurrence, as state-space models have it."""

    def forward(self, a, b):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b), 0, combine_mode="pointwise")


@case(lambda: (r(6, 3), r(6, 3)))
class AssociativeScanGenericPair(nn.Module):
    def forward(self, a, b):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b), 0, combine_mode="generic")


@case(lambda: (r(2, 4, 8),))
class CheckpointInLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for l in self.l:
            x = x + torch.utils.checkpoint.checkpoint(lambda x, l=l: F.gelu(l(x)), x, use_reentrant=False)
        return x


@case(lambda: (r(4, 8),), rtol=2e-2, atol=2e-2)
class AutocastNested(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1d(4, 4, 3)
        self.l = nn.Linear(8, 8)
        self.n = nn.LayerNorm(8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.n(self.l(x))
            with torch.autocast("cpu", enabled=False):
                z = y.float() @ x.t()
            w = F.scaled_dot_product_attention(y[None, None].to(torch.bfloat16), x[None, None].to(torch.bfloat16), x[None, None].to(torch.bfloat16))
        return y, z, w.float(), self.c(x[None])


@case(lambda: (r(3, 4),), lambda: (-r(3, 4).abs(),))
class GradModes(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            y = x - self.mean
        with torch.set_grad_enabled(False):
            z = torch.cond(y.sum() > 0, lambda y: self.l(y), lambda y: y * 2, (y,))
        return z, self.mean * 1


# State


@case(lambda: (r(2, 3),), lambda: (r(2, 3),))
class Counters(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("history", torch.zeros(4, 2, 3))
        self.register_buffer("at", torch.zeros((), dtype=torch.long))
        self.register_buffer("seen", torch.zeros(3, dtype=torch.bool), persistent=False)

    def forward(self, x):
        self.history = torch.roll(self.history, 1, 0)
        self.history[0] = x
        self.at.add_(1)
        self.seen |= (x > 1).any(0)
        return self.history.mean(0), self.at.clone(), self.seen.clone()


@case(lambda: (r(1, 2, 1, 4), torch.tensor([3])), lambda: (r(1, 2, 1, 4), torch.tensor([0])))
class StaticCache(nn.Module):
    """A cache of keys as decoders that are exported have it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 8, 4))

    def forward(self, x, position):
        self.k.index_copy_(2, position, x)
        mask = torch.arange(8) <= position
        return F.scaled_dot_product_attention(x, self.k, self.k, attn_mask=mask.view(1, 1, 1, 8))


@case(lambda: (r(3, 4), [r(2), r(2)], {"a": r(3)}))
class MutatedArguments(nn.Module):
    def forward(self, x, l, d):
        x.clamp_(-1, 1)
        l[1].copy_(l[0] * 2)
        d["a"][1:] += 5
        return x.sum() + l[1].sum(), d["a"] * 2


@case(lambda: (r(6, 4),), train=True)
class TrainStep(nn.Module):
    """In training mode, without what is random."""

    def __init__(self):
        super().__init__()
        self.b = nn.BatchNorm1d(4)
        self.l = nn.Linear(4, 4)
        self.i = nn.InstanceNorm1d(6, track_running_stats=True)
        self.d = nn.Dropout(0.0)

    def forward(self, x):
        return self.d(self.l(self.b(x))), self.i(x[None]).mean()


# Arguments


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    more: typing.Dict[str, torch.Tensor]
    scale: float = 1.0
    mask: typing.Optional[torch.Tensor] = None


torch.export.register_dataclass(Batch, serialized_type_name="cases.Batch")


@case(lambda: (Batch(torch.arange(6).view(2, 3), {"w": r(3), "v": r(2, 1)}, 2.0, None), [Batch(torch.arange(3), {}, 1.0, r(3))]))
class DataclassInput(nn.Module):
    def forward(self, b, rest):
        return Batch(b.ids + 1, {"z": b.more["w"] * b.more["v"] * b.scale}, 3.0, rest[0].mask), rest[0].ids * 2


@case(lambda: (collections.OrderedDict(z=r(2), a=r(3)), {2: r(2), 1: r(3)}))
class DictKeys(nn.Module):
    def forward(self, od, d):
        return collections.OrderedDict(second=od["z"] * d[2], first=od["a"] * d[1]), {3: d[1] + 1, 0: d[2]}


@case(lambda: ((r(2), [r(2), {"k": (r(3), None)}], ()),), kwargs=lambda: {"b": [r(3)], "a": (r(2), 4), "flag": True, "mode": "sum"})
class Nested(nn.Module):
    def forward(self, t, *, a, b, flag, mode):
        x, (y, d), e = t
        z = getattr(d["k"][0] + b[0], mode)()
        return [x + a[0] * a[1], (y, [z, None])], len(e), flag


@case(lambda: (r(3), r(2)), kwargs=lambda: {"p": r(3), "q": r(2)})
class Variadic(nn.Module):
    def forward(self, *xs, **ks):
        return [x * 2 for x in xs], {k: v + 1 for k, v in ks.items()}, xs[0] + ks["p"]


@case(lambda: (r(3), None, 2, 0.5, True), kwargs=lambda: {"s": None})
class Optionals(nn.Module):
    def forward(self, x, y, n, f, b, s=None, unused: typing.Optional[torch.Tensor] = None):
        y = x if y is None else y
        return y * n + f if b else y, s, n


@case(lambda: (r(6, 4), 3), lambda: (r(6, 4), 2), dynamic=({}, Dim.DYNAMIC))
class NumberDynamic(nn.Module):
    def forward(self, x, n):
        torch._check(n > 0)
        torch._check(n < 6)
        return x[:n], x.sum() * n, torch.zeros(n, 2), n + 1


@case(lambda: (r(4, 3), r(2)), lambda: (r(7, 3), r(2)), dynamic={"x": {0: Dim.DYNAMIC}, "y": None})
class DynamicByName(nn.Module):
    def forward(self, x, y):
        n = x.shape[0]
        return x.new_ones(n, n), torch.full((n,), n), F.pad(x, (0, 0, 0, n)), x.expand(2, n, 3), n


@case(lambda: ([r(4, 3), r(4, 2)], {"k": r(4)}), lambda: ([r(6, 3), r(6, 2)], {"k": r(6)}), dynamic=([{0: B}, {0: B}], {"k": {0: B}}))
class DynamicNested(nn.Module):
    def forward(self, l, d):
        return torch.cat(l, 1) * d["k"][:, None], l[0].shape[0] * 2 + 1


# Sizes


@case(lambda: (r(7, 10),), dynamic=({0: Dim.AUTO, 1: Dim.AUTO},))
class SizeMath(nn.Module):
    def forward(self, x):
        n, m = x.shape
        a = torch.arange(n // 2 + m % 3)
        b = torch.zeros(torch.sym_max(n, m), torch.sym_min(n, m))
        c = x.reshape(-1)[: (n * m - 1) // 2]
        d = torch.ones((n + 3) // 4 * 4)
        e = x * (n / m) + n ** 2 - math.sqrt(m) + int(n / 2)
        return a, b, c, d, e, x[n // 2:, : m - 1], x[:, -2:], torch.sym_max(n, 4), n * 2 - m, float(n), bool(n > 2)


@case(lambda: (r(2, 3, 8, 12),), lambda: (r(1, 3, 11, 9),), dynamic=({0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},))
class DynamicImage(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.p = nn.MaxPool2d(2, ceil_mode=True)

    def forward(self, x):
        h, w = x.shape[-2:]
        y = self.c(x)
        z = F.interpolate(y, size=(h, w), mode="bilinear", align_corners=False)
        u = F.interpolate(y, scale_factor=2.0, mode="nearest")
        v = F.interpolate(self.p(y), size=y.shape[-2:], mode="bicubic", align_corners=True)
        g = F.pad(x, (0, (4 - w % 4) % 4, 0, (4 - h % 4) % 4))
        return z, u, v, g, F.adaptive_avg_pool2d(y, (2, 3)), F.unfold(x, 3), y.flatten(2).transpose(1, 2).softmax(-1).mean((1, 2))


@case(lambda: (r(3, 9, 8),), lambda: (r(5, 4, 8),), dynamic=({0: Dim.AUTO, 1: Dim.AUTO},))
class DynamicSequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.p = nn.Parameter(r(64, 8))

    def forward(self, x):
        b, t, d = x.shape
        x = x + self.p[:t]
        mask = torch.full((t, t), float("-inf")).triu(1)
        h = x.view(b, t, 2, d // 2).transpose(1, 2)
        y = F.scaled_dot_product_attention(h, h, h, is_causal=True).transpose(1, 2).reshape(b, t, d)
        return self.e(x, mask), torch.einsum("btd,bsd->bts", x, y), x.cumsum(1)[:, -1], torch.arange(t).expand(b, t)


@case(lambda: (torch.tensor([2, 0, 3, 1]), r(4, 3)), lambda: (torch.tensor([1, 1, 0, 0]), r(4, 3)))
class UnbackedSizes(nn.Module):
    def forward(self, counts, x):
        y = x.repeat_interleave(counts, 0)
        n = counts.sum().item()
        torch._check(n >= 0)
        torch._check(n <= 100)
        u = torch.unique(counts)
        m = torch.masked_select(x, x > 0)
        i = torch.nonzero(x > 0.5, as_tuple=True)
        return y * 2, torch.arange(n), u, m.sum(), x[i], torch.zeros(n + 1, 2).sum(1), torch.argwhere(counts > 0)


@case(lambda: (torch.tensor([2, 3]), r(5, 4)), lambda: (torch.tensor([4, 1]), r(5, 4)))
class Lists(nn.Module):
    def forward(self, sizes, x):
        a, b = sizes.tolist()
        torch._check(a >= 0)
        torch._check(b >= 0)
        torch._check(a + b == 5)
        p, q = torch.split(x, [a, b])
        return p.sum(0), q.mean(0), a * 2


@case(lambda: (r(5),), lambda: (r(5),))
class Checks(nn.Module):
    def forward(self, x):
        torch._assert_async(x.isfinite().all())
        torch._check(x.shape[0] > 1, lambda: "too short")
        assert x.dim() == 1
        n = (x > 0).sum().item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        return torch.zeros(n) + 1, torch.arange(n)


# Operators and precision


@case(lambda: (r(2, 3, 8),), rtol=1e-3)
class NewNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.RMSNorm(8)
        self.g = nn.GroupNorm(3, 3)
        self.i = nn.InstanceNorm1d(3, affine=True)

    def forward(self, x):
        q = x.view(2, 3, 2, 4).transpose(1, 2)
        k = q[:, :1]
        return self.n(x), self.g(x), self.i(x), F.rms_norm(x, (3, 8)), F.scaled_dot_product_attention(q, k, k, enable_gqa=True), F.local_response_norm(x, 2), F.normalize(x, dim=1)


@case(lambda: (r(4, 6),))
class Complex(nn.Module):
    def forward(self, x):
        z = torch.complex(x, x.flip(0))
        f = torch.fft.rfft(x)
        p = torch.polar(x.abs(), x)
        return z * z.conj(), f, torch.fft.irfft(f, 6), torch.view_as_real(p), torch.view_as_complex(x.view(4, 3, 2)) * 1j, z.abs(), z.angle(), torch.fft.fft2(z).real, z.imag, (z @ z.mT).real


@case(lambda: (r(300),))
class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.hann_window(64))
        self.register_buffer("mel", torch.rand(33, 10))

    def forward(self, x):
        s = torch.stft(x, 64, 16, window=self.w, return_complex=True)
        p = s.abs() ** 2
        m = torch.matmul(p.T, self.mel).clamp(1e-10).log10()
        return p, torch.maximum(m, m.max() - 8), torch.istft(s, 64, 16, window=self.w, length=300)


@case(lambda: (r(5, 5), torch.tensor([[0, 1, 4], [2, 3, 0], [1, 0, 2], [4, 2, 3], [3, 4, 1]])))
class Indexing(nn.Module):
    def forward(self, x, i):
        y = x.clone()
        y[i[0]] = 1
        y[:, i[1]] += 2
        y[..., 0] = x[..., 1]
        y[x > 1] = 0
        z = torch.zeros(5, 5).scatter_reduce(0, i, x[:, :3], "amax", include_self=False)
        return (y, x[i], x[i, i], x[None, :, i], x[:, None, 1:3], x.gather(1, i), z, x.index_add(1, i[0], torch.ones(5, 3)), x.take_along_dim(i, 1), x.index_select(0, i[1]),
                torch.scatter(x, 1, i, 7.0), x.select_scatter(torch.ones(5), 0, 1), x.slice_scatter(torch.zeros(2, 5), 0, 1, 3), x.diagonal_scatter(torch.ones(5)), torch.index_put(x, (i[0], i[1]), torch.tensor(3.0), accumulate=True), x.masked_fill(x < 0, 0),
                torch.where(x > 0), x.put(i, torch.zeros(5, 3)), x.view(-1)[i.flatten()])


@case(lambda: (torch.randint(0, 8, (3, 6)), r(3, 6)))
class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.EmbeddingBag(8, 4, mode="mean")
        self.m = nn.EmbeddingBag(8, 4, mode="max")
        self.e = nn.Embedding(8, 4, padding_idx=0, max_norm=None)

    def forward(self, i, x):
        return self.b(i), self.m(i), self.e(i), torch.bucketize(x, torch.tensor([-1.0, 0, 1])), torch.searchsorted(torch.arange(8), i), x.histc(5, -2, 2), torch.isin(i, torch.tensor([1, 2])), x.kthvalue(2, 1), x.mode(1), x.cummax(1), torch.unique_consecutive(i.flatten()), i.bincount(minlength=8) if i.dim() == 1 else i.flatten().bincount(minlength=8)


@case(lambda: (r(4, 4), r(3, 4, 4)))
class Linalg(nn.Module):
    def forward(self, a, b):
        s = a @ a.t() + 4 * torch.eye(4)
        return torch.linalg.inv(s), torch.linalg.det(s), torch.linalg.solve(s, a), torch.linalg.cholesky(s), torch.linalg.eigvalsh(s), torch.linalg.svdvals(a), torch.linalg.matrix_norm(b), torch.linalg.matrix_power(a, 3), torch.linalg.slogdet(s), torch.linalg.pinv(s), torch.linalg.matrix_exp(a * 0.1), torch.cdist(a, a), torch.trace(a), torch.tril(b), torch.kron(a[:2, :2], a[2:, 2:]), torch.block_diag(a, b[0]), torch.linalg.cross(b[..., :3], b[..., 1:])


@case(lambda: (r(2, 4, 9, 9),))
class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.ConvTranspose2d(4, 3, 3, 2, output_padding=1)
        self.d = nn.Conv2d(4, 8, 3, dilation=2, groups=4, padding="same", padding_mode="reflect")
        self.l = nn.LPPool2d(2, 3)
        self.m = nn.MaxPool2d(3, return_indices=True)

    def forward(self, x):
        y, i = self.m(x)
        u = F.unfold(x, 3, stride=3)
        a = F.affine_grid(torch.tensor([[[1.0, 0.1, 0], [0, 0.9, 0.2]]]).expand(2, 2, 3), (2, 4, 5, 6), align_corners=False)
        return self.t(x), self.d(x), self.l(x), F.max_unpool2d(y, i, 3), F.fold(u, (9, 9), 3, stride=3), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.grid_sample(x, a, "bicubic", "reflection", False), F.pixel_unshuffle(x[..., :8, :8], 2), F.pad(x, (2, 1, 0, 3), "replicate"), F.pad(x, (1, 1, 1, 1), "circular"), F.interpolate(x, size=(5, 5), mode="area"), F.interpolate(x, (13, 14), mode="bicubic", antialias=True), F.channel_shuffle(x, 2)


@case(lambda: (r(6, 5), torch.tensor([0, 4, 2, 1, 1, 3]), r(6, 5)))
class Losses(nn.Module):
    def forward(self, x, t, y):
        p = x.log_softmax(1)
        return (F.cross_entropy(x, t, label_smoothing=0.1), F.nll_loss(p, t, reduction="none"), F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y, beta=0.5), F.huber_loss(x, y), F.kl_div(p, y.softmax(1), reduction="batchmean"), F.binary_cross_entropy_with_logits(x, y.sigmoid()),
                F.cosine_embedding_loss(x, y, torch.ones(6)), F.triplet_margin_loss(x, y, x.flip(0)), F.multi_margin_loss(x, t), F.soft_margin_loss(x, y.sign()), F.poisson_nll_loss(x, y), F.hinge_embedding_loss(x, y.sign()), F.cosine_similarity(x, y), F.pairwise_distance(x, y))


@case(lambda: (r(4, 5),))
class Functions(nn.Module):
    def forward(self, x):
        a = x.abs() + 0.1
        return (F.silu(x), F.mish(x), F.hardswish(x), F.gelu(x, approximate="tanh"), F.selu(x), F.celu(x), F.softplus(x), F.softshrink(x), F.hardtanh(x), F.glu(x[:, :4]), F.logsigmoid(x), F.threshold(x, 0.1, 20), F.rrelu(x), F.prelu(x, torch.tensor(0.2)), F.tanhshrink(x), F.softsign(x), F.relu6(x), F.hardsigmoid(x), F.softmin(x, 1),
                torch.special.erfcx(x), torch.special.i0e(x), torch.digamma(a), torch.lgamma(a), torch.xlogy(x, a), torch.logit(x.sigmoid()), torch.sinc(x), torch.nan_to_num(x / 0), torch.hypot(x, a), torch.atan2(x, a), torch.heaviside(x, a), torch.copysign(x, -a), torch.frac(x), torch.remainder(x, 0.7), torch.fmod(x, 0.7), torch.logaddexp(x, a), torch.ldexp(x, torch.tensor(2)), torch.polygamma(1, a), torch.lerp(x, a, 0.3), torch.addcmul(x, a, a, value=0.5), torch.clamp(x, min=x.mean()), torch.float_power(a, 2), torch.diff(x), torch.logcumsumexp(x, 1), torch.renorm(x, 2, 0, 1.0), torch.rot90(x), torch.trapezoid(x), torch.std_mean(x, 1), torch.var_mean(x), torch.aminmax(x), torch.nanmean(x), torch.count_nonzero(x), torch.signbit(x), torch.sgn(x), torch.vander(x[0]), torch.cartesian_prod(x[0], x[1]), torch.tensordot(x, x, 2), torch.roll(x, (1, 2), (0, 1)))


@case(lambda: (r(5, 64),))
class Int4Weights(nn.Module):
    """Packed for this processor, as torchao did before 0.12."""

    def __init__(self):
        super().__init__()
        for n in (128, 80):
            codes = torch.randint(0, 16, (n, 64), dtype=torch.int32)
            self.register_buffer("w%d" % n, torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 2))
            self.register_buffer("s%d" % n, r(2, n, 2))

    def forward(self, x):
        mm = torch.ops.aten._weight_int4pack_mm_for_cpu
        return mm(x, self.w128, 32, self.s128), mm(x[:2] * 2, self.w80, 32, self.s80)


# PyTorch 2.15 reads behind weights whose sizes are not multiples of 16
@case(lambda: (r(4, 32), torch.randint(-128, 127, (16, 32), dtype=torch.int8), torch.rand(16)), rtol=2e-2, atol=1e-1)
class Int8Weights(nn.Module):
    def forward(self, x, w, s):
        a = torch.ops.aten._weight_int8pack_mm(x.bfloat16(), w, s.bfloat16())
        b = F.linear(x, w.to(x.dtype)) * s
        return a, b, (w.int() @ w.t().int()), torch._int_mm(w, w.t().contiguous()) if False else w.float().sum()


@case(lambda: (r(2, 5, 6), torch.randint(0, 9, (2, 5))))
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(9, 6)
        self.t = nn.Transformer(6, 2, 1, 1, 12, batch_first=True)
        self.l = nn.LSTMCell(6, 6)
        self.r = nn.RNN(6, 5, nonlinearity="relu")
        self.b = nn.Bilinear(6, 6, 3)

    def forward(self, x, i):
        y = self.e(i)
        m = nn.Transformer.generate_square_subsequent_mask(5)
        h, c = self.l(x[:, 0])
        return self.t(x, y, tgt_mask=m, tgt_is_causal=True), h, c, self.r(x)[0], self.b(x, y)


@case(lambda: (r(4, 6),))
class ManyDtypes(nn.Module):
    def forward(self, x):
        h, b, d = x.half(), x.bfloat16(), x.double()
        i = (x * 10).to(torch.int16)
        return h + 1, b * 2, d.sum(), i // 3, x.to(torch.uint8), (h.float() @ b.float().t()), torch.result_type(h, d) == torch.float64, i.to(torch.bool), (x > 0) + i, h.softmax(1), b.layer_norm((6,)) if hasattr(b, "layer_norm") else F.layer_norm(b, (6,)), x.type_as(d), d.to(h)


@case(lambda: (r(3, 4),))
class SubModules(nn.Module):
    """A module called twice, a list, a dict, and a function of another file's."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.d = nn.ModuleDict({"a.b" if False else "a": nn.ReLU(), "c": nn.Sequential(nn.Linear(4, 4), nn.Tanh())})
        self.p = nn.ParameterList([nn.Parameter(r(4)) for _ in range(2)])
        self.q = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))

    def forward(self, x):
        y = self.d["a"](self.l(self.l(x)))
        for p in self.p:
            y = y * p
        return self.q(self.d["c"](y))


def cases():
    return CASES
