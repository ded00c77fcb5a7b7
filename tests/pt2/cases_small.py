# SPDX-License-Identifier: Apache-2.0
"""Small programs: mutation, pytrees, dynamic shapes, higher-order operators, precision, quantised arithmetic."""
import collections
import dataclasses

import torch
from torch import nn
from torch.export import Dim
import torch.nn.functional as F

CASES = {}


def case(args, *calls, kwargs=None, **options):
    """The class is a case: args of the export, further calls."""
    def add(cls):
        CASES[cls.__name__] = dict(options, module=cls, args=lambda: (args(), kwargs() if kwargs else {}), calls=[(lambda c=c: (c(), kwargs() if kwargs else {})) for c in calls])
        return cls
    return add


def r(*size):
    return torch.randn(*size)


@case(lambda: (r(3),))
class MutatedBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.n.add_(x)
        self.calls += 1
        return self.n * 2 + self.calls


@case(lambda: (r(4, 3, 8, 8),), train=True)
class TrainingNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3)
        self.b = nn.BatchNorm2d(4)

    def forward(self, x):
        return F.relu(self.b(self.c(x)))


@case(lambda: (r(3, 4),))
class MutatedInput(nn.Module):
    def forward(self, x):
        x.mul_(2)
        y = x.view(-1)
        y[3:5].add_(1)
        return x + 1, y


@case(lambda: (r(3, 4),))
class InPlaceViews(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[1] = 0
        y[:, 2:].mul_(3)
        y.t()[0] += 1
        z = torch.zeros(4)
        z[torch.tensor([0, 2])] = y[0, :2]
        return y, z


@case(lambda: (r(5),))
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 5)
        self.b = nn.Linear(5, 5)
        self.b.weight = self.a.weight
        self.register_buffer("v", self.a.weight.detach()[1:3, ::2], persistent=False)

    def forward(self, x):
        return self.b(self.a(x)) + self.v.sum()


@dataclasses.dataclass
class Pair:
    x: torch.Tensor
    y: torch.Tensor
    z: torch.Tensor = None


torch.export.register_dataclass(Pair, serialized_type_name="cases.Pair")
Named = collections.namedtuple("Named", ["left", "right"])
torch.utils._pytree._register_namedtuple(Named, serialized_type_name="cases.Named")


@case(lambda: ({"a": r(2), "b": [r(2), (r(2), r(2))]}, None, 3), kwargs=lambda: {"scale": 2.5, "extra": r(2)})
class Trees(nn.Module):
    def forward(self, d, nothing, n, *, scale, extra):
        a = d["a"] * n + extra
        return {"sum": a, "list": [d["b"][0], {"k": d["b"][1][0] * scale}], "pair": Pair(a, d["b"][1][1]), "none": None, "n": n, "named": Named(a, a + 1)}


BATCH = Dim("batch", min=1, max=64)


@case(lambda: (r(4, 6),), lambda: (r(1, 6),), lambda: (r(9, 6),), dynamic=({0: BATCH},))
class DynamicBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(6, 3)

    def forward(self, x):
        y = self.l(x)
        return y.reshape(x.shape[0] * 3), torch.cat([x, x]).view(2, -1, 6), torch.arange(x.shape[0]) * 2


@case(lambda: (r(4, 6), r(4, 3)), lambda: (r(7, 6), r(7, 3)), dynamic=({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO}))
class DynamicTwo(nn.Module):
    def forward(self, x, y):
        if x.shape[0] > 100:
            return x.sum() + y.sum()
        n = x.shape[1] // 2
        return (x[:, :n] * y).sum(1) / x.shape[0] + float(x.shape[1])


@case(lambda: (r(6), r(7)), lambda: (r(9), r(10)), dynamic=({0: Dim("s")}, {0: Dim("s") + 1}))
class DerivedDim(nn.Module):
    def forward(self, x, y):
        return x + y[1:]


@case(lambda: (torch.tensor([1, 0, 3, 0, 5]),), lambda: (torch.tensor([0, 0, 0, 0, 5]),))
class Unbacked(nn.Module):
    def forward(self, x):
        n = x.nonzero()
        k = x.max().item()
        torch._check(k >= 0)
        torch._check(k < 100)
        return n, torch.zeros(k), x[x > 0]


@case(lambda: (r(3, 4),), lambda: (-r(3, 4).abs(),))
class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.l(x).relu(), lambda x: self.l(x) * 2 - 1, (x,))


@case(lambda: (r(5, 4),), lambda: (r(2, 4),), dynamic=({0: Dim("n", min=1)},))
class CondShape(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 3, lambda x: x.cos() + x.shape[0], lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.exp(), (x,)), (x,))


@case(lambda: (torch.tensor(0), r(3)), lambda: (torch.tensor(4), r(3)))
class While(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, i, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda i, x: (i < 6) & (x.sum() < 100), lambda i, x: (i + 1, self.l(x) + 0.5), (i, x))


@case(lambda: (r(5, 3), r(3)))
class Map(nn.Module):
    def forward(self, xs, y):
        from torch._higher_order_ops.map import map
        return map(lambda x, y: (x * y).relu() + 1, xs, y)


@case(lambda: (r(3), r(6, 3)))
class Scan(nn.Module):
    def forward(self, init, xs):
        from torch._higher_order_ops.scan import scan
        return scan(lambda c, x: (c * 0.5 + x, c.sin() * x), init, xs, reverse=True)


@case(lambda: (r(6, 3),), strict=True)
class AssociativeScan(nn.Module):
    def forward(self, xs):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda a, b: a * b, xs, 0, combine_mode="pointwise")


@case(lambda: (r(4, 8),), rtol=2e-2, atol=2e-2)
class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.l(x)
            z = torch.mm(y, y.t()).float().softmax(1) + torch.einsum("ij,kj->ik", x, x)
        with torch.no_grad():
            return z + y.float().sum()


@case(lambda: (r(4, 8),))
class NoGrad(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x.sin()
        with torch.enable_grad():
            return y.cos() + x


@case(lambda: (r(2, 8),))
class Checkpoint(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(lambda x: self.l(x).relu(), x, use_reentrant=False) + 1


@case(lambda: (r(4, 4), torch.tensor([2, 0])))
class Scalars(nn.Module):
    def forward(self, x, i):
        y = x[i] + 1
        y = 2 - y
        y = torch.where(y > 0, y, 0.5)
        y = y.masked_fill(y > 1, float("-inf")).softmax(-1)
        return y.to(torch.float64), (x > 0).int(), torch.pow(2.0, x), x.clamp(-1, 1).half(), torch.full((2, 2), float("nan")), 1 / (x.abs() + 1), x % 2, x // 0.5


@case(lambda: (r(2, 3, 8, 8),))
class Shapes(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, 2)
        c, d, e = x.split([1, 1, 1], 1)
        f = torch.stack([a, b]).permute(1, 0, 2, 3, 4).contiguous(memory_format=torch.contiguous_format)
        g = x.to(memory_format=torch.channels_last).contiguous()
        return a.flatten(1), F.pad(c, (1, 2, 3, 0)), d.unfold(2, 3, 2), f.squeeze(), x.unbind(0)[1], g, e.expand(2, 4, 8, 8), torch.meshgrid(x[0, 0, 0], x[0, 0, 1], indexing="ij")


@case(lambda: (r(2, 3, 16, 16),))
class Resample(nn.Module):
    def forward(self, x):
        y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        z = F.interpolate(x, size=(9, 7), mode="nearest")
        return y, z, F.adaptive_avg_pool2d(x, (5, 3)), F.adaptive_max_pool2d(x, 4), F.grid_sample(x, torch.zeros(2, 4, 4, 2) + 0.3, align_corners=False), F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2)


@case(lambda: (r(2, 5, 16), r(2, 5, 16)))
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(16, 4, batch_first=True)
        self.e = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, x, y):
        q = x.view(2, 5, 4, 4).transpose(1, 2)
        m = torch.ones(5, 5, dtype=torch.bool).tril()
        return self.a(x, y, y)[0], self.e(x), F.scaled_dot_product_attention(q, q, q, attn_mask=m), F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.3)


@case(lambda: (torch.randint(0, 20, (2, 7)),))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 8)
        self.l = nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True)
        self.g = nn.GRU(12, 5)

    def forward(self, ids):
        y, (h, c) = self.l(self.e(ids))
        return self.g(y)[0], h, c


@case(lambda: (r(3, 5),))
class Reductions(nn.Module):
    def forward(self, x):
        return x.std(), x.var(1, keepdim=True), x.amax((0, 1)), x.max(1), x.topk(2), x.sort(1, descending=True), x.cumsum(0), x.logsumexp(1), x.norm(), x.argmin(), torch.einsum("ij,kj->ik", x, x), x.quantile(0.3), x.median(1), torch.linalg.vector_norm(x, 2, [1])


@case(lambda: (r(3, 5),))
class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = torch.arange(5.0)

    def forward(self, x):
        w = torch.tensor([1.0, 2, 3, 4, 5])
        return x * w + self.t, torch.tensor(7), torch.eye(3), torch.linspace(0, 1, 4), 5, "text", None, True, 2.5


@case(lambda: (r(2, 3, 4),))
class Vmap(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda a: a.t() @ a)(x)


@case(lambda: (r(2, 5, 4), r(4, 4)))
class VmapNested(nn.Module):
    def forward(self, x, y):
        a = torch.vmap(torch.vmap(lambda u, v: u.dot(v)), in_dims=(1, 0))(x, x.transpose(0, 1))
        return a, torch.vmap(lambda u, y: (u + 1, y.t() @ y, u.sum()), in_dims=(0, None), out_dims=(0, -1, 0))(x, y)


@case(lambda: (r(5, 3, 3),))
class GenericScan(nn.Module):
    def forward(self, xs):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda a, b: a @ b, xs, 0, combine_mode="generic")


@case(lambda: (r(2, 4, 5, 8), r(2, 4, 6, 8), r(2, 4, 6, 8), r(2, 1, 5, 6)), lambda: (r(3, 4, 7, 8), r(3, 4, 9, 8), r(3, 4, 9, 8), r(3, 1, 7, 9) - float("inf")),
      dynamic=({0: BATCH, 2: Dim("l", min=2, max=64)}, {0: BATCH, 2: Dim("s", min=2, max=64)}, {0: BATCH, 2: Dim("s", min=2, max=64)},
               {0: BATCH, 2: Dim("l", min=2, max=64), 3: Dim("s", min=2, max=64)}))
class HeadsMask(nn.Module):
    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3), F.scaled_dot_product_attention(q, k, v, attn_mask=mask > 0)


@case(lambda: (r(8, 8),))
class FakeQuantised(nn.Module):
    def forward(self, x):
        import torch.ao.quantization.fx._decomposed  # noqa: F401
        q = torch.ops.quantized_decomposed
        a = q.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        b = q.dequantize_per_tensor(a, 0.05, 3, -128, 127, torch.int8)
        s, z = torch.rand(8) * 0 + 0.04, torch.zeros(8, dtype=torch.int64)
        c = q.quantize_per_channel(x, s, z, 0, -127, 127, torch.int8)
        d = q.dequantize_per_channel(c, s, z, 0, -127, 127, torch.int8)
        e = q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
        f = q.quantize_per_tensor.tensor(x, e[0], e[1], -128, 127, torch.int8)
        g = q.choose_qparams_per_token_asymmetric(x, torch.int8)
        h = q.quantize_per_token(x, g[0], g[1], -128, 127, torch.int8)
        return a, b, c, d, f, q.dequantize_per_token(h, g[0], g[1], -128, 127, torch.int8, torch.float32)


@case(lambda: (torch.randint(0, 255, (2, 4), dtype=torch.uint8),))
class Integers(nn.Module):
    def forward(self, x):
        y = x.int()
        return y << 2, y & 3, y.bitwise_not(), x.long() // 3, torch.bincount(x.flatten().long(), minlength=300)[:5], x.float().sum(dtype=torch.float64), F.one_hot(x.long() % 4, 4)


@case(lambda: (r(2, 4, 6), r(2, 1, 6)))
class Strides(nn.Module):
    """Results that lie as their operands do, so that what is made of them can be viewed."""

    def forward(self, x, y):
        a = (x.transpose(1, 2) * y.transpose(1, 2) + 1).transpose(1, 2).view(8, 6)
        b = x.permute(2, 0, 1).sin().permute(1, 2, 0).view(-1)
        c = x.transpose(1, 2).clone().transpose(1, 2)
        d = c.view(4, 12) * 2
        d.add_(1)
        return a, b, d, x.transpose(0, 2).to(torch.float64).transpose(0, 2).view(2, 24)


@case(lambda: (r(4, 6),), lambda: (r(8, 6),), dynamic=({0: 2 * Dim("h", min=1)},))
class EvenDim(nn.Module):
    def forward(self, x):
        return x.view(2, -1, 6).mean(0), x.shape[0]


@case(lambda: (r(3, 16) * 100, torch.tensor([2, 0])))
class Stored(nn.Module):
    """Dtypes that are kept, converted, compared and moved about, not computed with."""

    def __init__(self):
        super().__init__()
        for dt in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "uint16", "uint32", "uint64"):
            self.register_buffer("b_" + dt, (torch.arange(48).view(3, 16) * 1.25).to(getattr(torch, dt)))

    def forward(self, x, i):
        results = []
        for b in self.buffers():
            y = x.abs().to(b.dtype)
            moved = torch.cat([y, b], 1)[i].t().contiguous()
            results += [moved, b.to(torch.float32) + x, torch.ones_like(b), y[1:, ::2].clone(), b == y, torch.where(x > 0, b, y), b.clone().copy_(x.abs()), b.to(torch.bfloat16)]
        return tuple(results)


@case(lambda: (r(2, 8),))
class Exponents(nn.Module):
    """Scales that are exponents alone, as blocks of 8-bit floats have them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([0.25, 1.5, 6e-39, 3.0]).to(torch.float8_e8m0fnu))

    def forward(self, x):
        s = self.scale.to(torch.float32).repeat_interleave(4).view(2, 8)
        most = x.view(2, 2, 4).abs().amax(-1).to(torch.float8_e8m0fnu)
        codes = most.view(torch.uint8)
        return x * s, most, codes, codes.view(torch.float8_e8m0fnu).float(), torch.cat([most.flatten(), self.scale]), most == self.scale.view(2, 2)


@case(lambda: (r(5, 32), torch.ones(5, 1) * 0.5))
class ScaledProduct(nn.Module):
    """Layers of 8-bit floats as torchao exports them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", r(16, 32).to(torch.float8_e4m3fn))
        self.register_buffer("s", torch.rand(1, 16) + 0.5)

    def forward(self, x, a):
        y = (x / a).to(torch.float8_e4m3fn)
        one, two = torch.tensor(0.5), torch.tensor(2.0)
        p = torch._scaled_mm(y, self.w.t(), one, two, out_dtype=torch.float32)
        q = torch._scaled_mm(y, self.w.t(), a, self.s, bias=torch.ones(16), out_dtype=torch.float32)
        return p, q, torch._scaled_mm(y, self.w.t(), one, two, out_dtype=torch.bfloat16)


def cases():
    return CASES
