# SPDX-License-Identifier: Apache-2.0
"""In which order results lie in memory: strides of operators on images with channels last and on reversed ones, against what torch 2.15 gives; traced, at all levels of optimisation;
and what follows from it: which calls share memory, which are refused."""
import pytest

import ctsc as torch
from ctsc.nn import functional as F

r = torch.randn(2, 8, 5, 6)


def images():
    last = torch.randn(2, 8, 5, 6).contiguous(memory_format=torch.channels_last)
    reversed_ = torch.randn(6, 5, 8, 2).permute(3, 2, 1, 0)
    return last, reversed_


# an operator, the strides of its result where channels are last, and where all dims are reversed
CASES = [
    (lambda x: x.softmax(1), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.log_softmax(-1), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.cumsum(1), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.cumprod(2), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.roll(1, 1), (240, 1, 48, 8), (240, 30, 6, 1)),
    (lambda x: x.tril(), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.gather(0, torch.zeros(x.shape, dtype=torch.long)), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.index_select(1, torch.tensor([0, 1])), (60, 30, 6, 1), (60, 30, 6, 1)),
    (lambda x: x.masked_fill(x>0, 1.), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.masked_fill(torch.ones(x.shape, dtype=torch.bool), 1.), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.masked_scatter(x>0, r), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.group_norm(x, 2), (240, 1, 48, 8), (240, 30, 6, 1)),
    (lambda x: F.layer_norm(x, x.shape[2:]), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.instance_norm(x), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.local_response_norm(x, 3), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.cosine_similarity(x, x, 2), (48, 6, 1), (48, 6, 1)),
    (lambda x: x.tile(2, 1), (480, 60, 6, 1), (480, 60, 6, 1)),
    (lambda x: x.renorm(2, 0, 1.), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.scatter(0, torch.zeros(x.shape, dtype=torch.long), 1.), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.scatter_add(0, torch.zeros(x.shape, dtype=torch.long), r), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.index_add(0, torch.tensor([0]), r[:1]), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.index_copy(0, torch.tensor([0]), r[:1]), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.index_fill(0, torch.tensor([0]), 1.), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.index_put((torch.tensor([0]), ), torch.tensor(1.)), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.topk(2, 1)[0], (60, 30, 6, 1), (60, 30, 6, 1)),
    (lambda x: x.sort(1)[0], (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x@x.transpose(-1, -2), (200, 25, 5, 1), (200, 25, 5, 1)),
    (lambda x: F.pad(x, (1, 2)), (360, 1, 72, 8), (360, 45, 9, 1)),
    (lambda x: F.pad(x, (-1, 2)), (280, 1, 56, 8), (280, 35, 7, 1)),
    (lambda x: F.pad(x, (0, 0, 0, 0, 1, 1)), (300, 1, 60, 10), (300, 30, 6, 1)),
    (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (448, 1, 64, 8), (448, 56, 8, 1)),
    (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), (448, 1, 64, 8), (448, 56, 8, 1)),
    (lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), (448, 56, 8, 1), (448, 56, 8, 1)),
    (lambda x: x.flip(1), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.sum(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.sum(0), (30, 6, 1), (30, 6, 1)),
    (lambda x: x.mean((2, 3), keepdim=True), (8, 1, 1, 1), (8, 1, 1, 1)),
    (lambda x: x.amax(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.var(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.max(1, keepdim=True)[0], (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.argmax(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.norm(dim=1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.logsumexp(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.prod(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: (x>0).all(1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: F.prelu(x, torch.ones(x.shape[1])), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.glu(x, 1), (120, 1, 24, 4), (1, 2, 8, 40)),
    (lambda x: F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1])), (240, 1, 48, 8), (240, 30, 6, 1)),
    (lambda x: F.avg_pool2d(x, 2), (48, 1, 24, 8), (48, 6, 3, 1)),
    (lambda x: F.max_pool2d(x, 2), (48, 1, 24, 8), (48, 6, 3, 1)),
    (lambda x: F.adaptive_avg_pool2d(x, 2), (32, 1, 16, 8), (32, 4, 2, 1)),
    (lambda x: F.adaptive_avg_pool2d(x, 1), (8, 1, 8, 8), (8, 1, 1, 1)),
    (lambda x: F.adaptive_max_pool2d(x, 2), (32, 1, 16, 8), (32, 4, 2, 1)),
    (lambda x: F.lp_pool2d(x, 2, 2), (48, 1, 24, 8), (48, 6, 3, 1)),
    (lambda x: F.interpolate(x, scale_factor=2), (960, 1, 96, 8), (960, 120, 12, 1)),
    (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), (960, 1, 96, 8), (960, 120, 12, 1)),
    (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (960, 1, 96, 8), (960, 120, 12, 1)),
    (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), (960, 1, 96, 8), (960, 120, 12, 1)),
    (lambda x: F.interpolate(x, size=(2, 2), mode="area"), (32, 1, 16, 8), (32, 4, 2, 1)),
    (lambda x: F.pixel_shuffle(x, 2), (240, 1, 24, 2), (240, 120, 12, 1)),
    (lambda x: F.channel_shuffle(x, 2), (240, 1, 48, 8), (240, 30, 6, 1)),
    (lambda x: F.unfold(x, 2), (640, 20, 1), (640, 20, 1)),
    (lambda x: torch.cat([x, x], 1), (480, 1, 96, 16), (480, 30, 6, 1)),
    (lambda x: torch.cat([x, x.contiguous()], 1), (480, 30, 6, 1), (480, 30, 6, 1)),
    (lambda x: torch.cat([x.contiguous(), x], 1), (480, 30, 6, 1), (480, 30, 6, 1)),
    (lambda x: torch.cat([x[:, :2], x[:, 2:]], 1), (240, 1, 48, 8), (240, 30, 6, 1)),
    (lambda x: torch.cat([x]), (240, 1, 48, 8), (240, 30, 6, 1)),
    (lambda x: x.clone(), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.double(), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.to(torch.float32, copy=True), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x[:, ::2].double(), (120, 1, 24, 4), (1, 2, 8, 40)),
    (lambda x: x[:, ::2].clone(), (120, 1, 24, 4), (1, 2, 8, 40)),
    (lambda x: torch.zeros_like(x[:, ::2]), (120, 1, 24, 4), (1, 2, 8, 40)),
    (lambda x: x.new_zeros(x.shape), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: torch.bernoulli(x.sigmoid()), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.dropout(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.dropout(x, training=False), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.dropout2d(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.alpha_dropout(x, training=True), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x+x.contiguous(), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.contiguous()+x, (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x+torch.randn(x.shape[1], 1, 1), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.randn(x.shape[1], 1, 1)+x, (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.where(x>0, x, 0.), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.where((x>0).contiguous(), x, 0.), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: torch.lerp(x, x, 0.5), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: 1-x, (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.clamp(0, 1), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.silu(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.gelu(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.softplus(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.elu(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.celu(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.mish(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.hardsigmoid(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.logsigmoid(x), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.rrelu(x), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.threshold(x, 0, 0), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.relu6(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.selu(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.softsign(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.tanhshrink(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.linear(x, torch.randn(3, x.shape[-1])), (120, 15, 3, 1), (120, 15, 3, 1)),
    (lambda x: F.linear(x.movedim(1, -1), torch.randn(3, x.shape[1])), (90, 18, 3, 1), (90, 18, 3, 1)),
    (lambda x: torch.einsum("bchw, bdhw->bcd", x, x), (64, 8, 1), (64, 8, 1)),
    (lambda x: x[:, [0, 1]], (60, 30, 6, 1), (1, 10, 2, 20)),
    (lambda x: x[[0, 1]], (240, 1, 48, 8), (240, 1, 8, 40)),
    (lambda x: x[:, :, [0, 1]], (96, 1, 8, 16), (1, 4, 2, 32)),
    (lambda x: x.diff(dim=1), (210, 1, 42, 7), (1, 2, 14, 70)),
    (lambda x: torch.cross(x[:, :3], x[:, :3], 1), (90, 30, 6, 1), (90, 30, 6, 1)),
    (lambda x: x.cummax(1)[0], (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.kthvalue(1, 1, keepdim=True)[0], (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.median(1, keepdim=True)[0], (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.mode(1, keepdim=True)[0], (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: x.unfold(2, 2, 1).contiguous(), (384, 48, 12, 2, 1), (384, 48, 12, 2, 1)),
    (lambda x: x.rot90(1, (2, 3)), (240, 1, 8, 48), (1, 2, 80, 16)),
    (lambda x: torch.addcmul(x, x, x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.flatten(1), (240, 1), (240, 1)),
    (lambda x: x.reshape(2, -1), (240, 1), (240, 1)),
    (lambda x: x.repeat_interleave(2, 1), (480, 30, 6, 1), (480, 30, 6, 1)),
    (lambda x: x[:, :1].expand_as(x).clone(), (240, 30, 6, 1), (1, 10, 2, 80)),
    (lambda x: x[:, :1].expand_as(x)+1, (240, 30, 6, 1), (1, 10, 2, 80)),
    (lambda x: x[:, :1].expand_as(x).double(), (240, 30, 6, 1), (1, 10, 2, 80)),
    (lambda x: x.contiguous(), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: x.clone().mul_(2), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.nan_to_num(), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.isclose(x, x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.bucketize(x, torch.tensor([0., 1.])), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid(), reduction="none"), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.mse_loss(x, x, reduction="none"), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.l1_loss(x, x, reduction="none"), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: F.smooth_l1_loss(x, x, reduction="none"), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.complex(x, x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.polar(x, x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.view_as_real(torch.complex(x, x)), (480, 2, 96, 16, 1), (2, 4, 32, 160, 1)),
    (lambda x: torch.complex(x, x).real*2, (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: x.angle(), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: (x>0)&(x<1), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.rand_like(x), (240, 1, 48, 8), (1, 2, 16, 80)),
    (lambda x: torch.trapezoid(x, dim=1), (30, 6, 1), (30, 6, 1)),
    (lambda x: x.quantile(0.5, 1, keepdim=True), (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: torch.std_mean(x, 1, keepdim=True)[0], (30, 30, 6, 1), (30, 30, 6, 1)),
    (lambda x: F.fold(F.unfold(x, 2), x.shape[2:], 2), (240, 30, 6, 1), (240, 30, 6, 1)),
    (lambda x: torch.cdist(x, x), (200, 25, 5, 1), (200, 25, 5, 1)),
    (lambda x: torch.tensordot(x, x, ([1], [1])), (1800, 360, 60, 30, 6, 1), (1800, 360, 60, 30, 6, 1)),
]


def seen(t):
    """Strides, but of dims of one element, which may have any."""
    return tuple(0 if size == 1 else stride for size, stride in zip(t.shape, t.stride()))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_operator(case):
    f, *want = CASES[case]
    for x, strides in zip(images(), want):
        y = f(x)
        assert seen(y) == tuple(0 if size == 1 else stride for size, stride in zip(y.shape, strides))


POINTWISE = [
    lambda x: torch.tanh(x) * 2 - x.abs(),
    lambda x: torch.where(x > 0, x, x * 0.5).transpose(1, 2) + 1,
    lambda x: (x[:, ::2] + 1).double(),
    lambda x: x - x.mean((2, 3), keepdim=True),
    lambda x: torch.softmax(x * 2, 1) + x,
    lambda x: (x.permute(0, 2, 3, 1) * 3).flatten(2).sin(),
    lambda x: F.layer_norm(x * 2, [6]) * x,
    lambda x: torch.relu(x.unsqueeze(1)).squeeze(1).expand(2, 8, 5, 6) + x[:, :1],
]


@pytest.mark.parametrize("case", range(len(POINTWISE)))
@pytest.mark.parametrize("level", range(4))
def test_traced(case, level):
    f = POINTWISE[case]
    for x in images():
        m = torch.jit.trace(f, (x,))
        m.set_opt(level)
        want = f(x)
        for _ in range(4):
            got = m(x)
            assert got.stride() == want.stride() and torch.allclose(got, want, atol=1e-5)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Conv2d(8, 16, 3, padding=1)
        self.n = torch.nn.BatchNorm2d(16)
        self.b = torch.nn.Conv2d(16, 16, 1)

    def forward(self, x):
        y = torch.relu(self.n(self.a(x)))
        return F.max_pool2d(y + self.b(y), 2), y.flatten(2)


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("weights", [False, True])
def test_network(level, weights):
    net = Net().eval()
    if weights:
        net = net.to(memory_format=torch.channels_last)
    for kind, x in enumerate((*images(), r)):
        m = torch.jit.trace(net, (x,))
        m.set_opt(level)
        last = weights or kind == 0
        for _ in range(3):
            y, flat = m(x)
            assert y.is_contiguous(memory_format=torch.channels_last) == last
            assert y.is_contiguous() == (not last)
            assert flat.is_contiguous() == (not last)


def test_copies_are_copies():
    image = torch.arange(48, dtype=torch.uint8).reshape(1, 4, 4, 3)
    x = image.permute(0, 3, 1, 2).float() / 255
    before = x.clone()
    y = x.contiguous()
    y -= 0.5
    assert torch.equal(x, before) and not torch.equal(x, y)
    flat = x.flatten()
    flat += 1
    assert torch.equal(x, before)
    rows = torch.randn(3, 4) + 1
    same = rows.contiguous()
    same += 1
    assert torch.equal(rows, same)


def test_view_is_refused():
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        (torch.randn(3, 4).t() + 1).view(-1)
    assert (torch.randn(3, 4).t() + 1).reshape(-1).shape == (12,)


def test_formats():
    x = torch.randn(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3) and torch.equal(last, x)
    assert last.to(memory_format=torch.channels_last) is last or last.data_ptr() == last.to(
        memory_format=torch.channels_last).data_ptr()
    assert last.clone().stride() == last.stride()
    assert last.clone(memory_format=torch.contiguous_format).is_contiguous()
    assert last.contiguous().is_contiguous() and last.contiguous().data_ptr() != last.data_ptr()
    assert torch.empty_like(last, memory_format=torch.contiguous_format).is_contiguous()
    assert torch.zeros_like(last).stride() == last.stride()
    assert torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert last.double().stride() == last.half().stride() == last.stride()
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.randn(3, 4).contiguous(memory_format=torch.channels_last)


def test_scatters_into_views():
    """They copy all of the memory that the tensor lies in."""
    x = torch.arange(24.).reshape(3, 8)[:, 1::2]
    for y in (x.select_scatter(torch.ones(4), 0, 1), x.slice_scatter(torch.ones(3, 2), 1, 0, 2), x.diagonal_scatter(torch.ones(3))):
        assert y.stride() == (8, 2) and y.storage_offset() == 1 and y.untyped_storage().nbytes() == 96
        assert y[2, 3] == 23 and y.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    assert x.t().select_scatter(torch.ones(3), 0, 0).stride() == (2, 8)
    d = torch.arange(6.).reshape(2, 3).t()
    y = d.slice_scatter(torch.ones(1, 2), 0, 0, 1)
    assert y.stride() == (1, 3) and y.tolist() == [[1, 1], [1, 4], [2, 5]]
    assert torch.arange(3.).expand(2, 3).select_scatter(torch.ones(3), 0, 0).stride() == (3, 1)
    b = torch.arange(8.)[2:] # as_strided counts from the start of the memory
    assert b.as_strided_scatter(torch.ones(2), (2,), (1,), 3).tolist() == [2, 1, 1, 5, 6, 7]
    assert b.as_strided_scatter(torch.ones(2), (2,), (1,)).tolist() == [1, 1, 4, 5, 6, 7]


# of matrices and Fourier transforms: the strides where x [2, 3, 4] is row-major, and where its first dim is innermost
MATRICES = [
    (lambda x, s: torch.linalg.solve(s, s[..., 0]), (1, 2), (1, 2)),
    (lambda x, s: torch.linalg.qr(x)[1], (12, 1, 3), (12, 1, 3)),
    (lambda x, s: torch.linalg.qr(x, mode="complete")[1], (12, 1, 3), (12, 1, 3)),
    (lambda x, s: torch.linalg.eig(s)[1], (9, 1, 3), (9, 1, 3)),
    (lambda x, s: torch.linalg.matrix_power(s, -1), (9, 1, 3), (9, 1, 3)),
    (lambda x, s: torch.linalg.cholesky(s), (9, 1, 3), (9, 1, 3)),
    (lambda x, s: torch.linalg.inv(s.to(torch.complex64)), (9, 1, 3), (9, 1, 3)),
    (lambda x, s: torch.linalg.lstsq(x.mT.to(torch.complex64), x.mT.to(torch.complex64))[0], (12, 1, 4), (12, 1, 4)),
    (lambda x, s: torch.linalg.svd(x.to(torch.complex64))[2], (16, 1, 4), (16, 1, 4)),
    (lambda x, s: torch.fft.fft(x, dim=0), (1, 8, 2), (1, 2, 6)),
    (lambda x, s: torch.fft.fft(x, dim=1), (12, 1, 3), (3, 1, 6)),
    (lambda x, s: torch.fft.fft(x, n=7, dim=1), (28, 1, 7), (28, 1, 7)),
    (lambda x, s: torch.fft.ifft(x.to(torch.complex64), dim=1), (12, 1, 3), (3, 1, 6)),
    (lambda x, s: torch.fft.rfft(x, dim=0), (1, 8, 2), (1, 2, 6)),
    (lambda x, s: torch.fft.irfft(x, dim=1), (16, 1, 4), (4, 1, 8)),
    (lambda x, s: torch.fft.hfft(x, dim=0), (1, 8, 2), (1, 2, 6)),
    (lambda x, s: torch.fft.fft2(x), (12, 4, 1), (12, 1, 3)),
    (lambda x, s: torch.fft.fftn(x, dim=(2, 0)), (4, 8, 1), (1, 8, 2)),
    (lambda x, s: torch.fft.rfftn(x, dim=(2, 0)), (1, 8, 2), (1, 8, 2)),
    (lambda x, s: torch.fft.irfftn(x, dim=(1, 0)), (1, 2, 6), (1, 2, 6)),
    (lambda x, s: torch.fft.ihfftn(x, dim=(2, 0)), (4, 8, 1), (4, 8, 1)),
    (lambda x, s: torch.fft.hfftn(x, dim=(2, 0)), (1, 8, 2), (1, 8, 2)),
    (lambda x, s: torch.stft(x[:, :, 0].mT, 2, 1, window=torch.hann_window(2), center=False, return_complex=True), (2, 1, 6), (2, 1, 6)),
    (lambda x, s: F.scaled_dot_product_attention(x[None], x[None], x[None]), (24, 12, 4, 1), (24, 12, 4, 1)),
    (lambda x, s: F.scaled_dot_product_attention(x.transpose(0, 1)[None], x.transpose(0, 1)[None], x.transpose(0, 1)[None]), (12, 4, 12, 1), (24, 8, 4, 1)),
    (lambda x, s: F.scaled_dot_product_attention(x[None], x[None], x[None, ..., :2]), (12, 6, 2, 1), (12, 6, 2, 1)),
    (lambda x, s: F.scaled_dot_product_attention(x[None], x[None, :1], x[None, :1]), (24, 12, 4, 1), (24, 12, 4, 1)),
    (lambda x, s: torch.unique(x, dim=2), (3, 1, 6), (3, 1, 6)),
    (lambda x, s: torch.unique(x, dim=1), (4, 8, 1), (4, 8, 1)),
    (lambda x, s: torch.quantile(x, torch.tensor([0.1, 0.5]).to(x.dtype), dim=1), (1, 8, 2), (1, 8, 2)),
    (lambda x, s: torch.quantile(x, 0.5, dim=1), (4, 1), (4, 1)),
]


@pytest.mark.parametrize("case", range(len(MATRICES)))
def test_matrices(case):
    f, *want = MATRICES[case]
    rows = torch.arange(24.).mul(1.7).sin().reshape(2, 3, 4)
    for x, strides in zip((rows, torch.empty(4, 2, 3).permute(1, 2, 0).copy_(rows)), want):
        s = x @ x.mT + torch.eye(3)
        if not x.is_contiguous():
            s = torch.empty(3, 2, 3).permute(1, 2, 0).copy_(s)
        y = f(x, s)
        assert y.stride() == strides
        z = f(x.contiguous(), s.contiguous())
        assert torch.allclose(torch.view_as_real(y) if y.is_complex() else y, torch.view_as_real(z) if z.is_complex() else z, atol=1e-4)


def test_unique_orders_rows_row_major():
    x = torch.tensor([[[0, 0], [1, 0]], [[0, 1], [0, 0]]])  # its columns as rows: 0 1 0 0, 0 0 1 0
    assert torch.unique(x, dim=2).tolist() == [[[0, 0], [0, 1]], [[1, 0], [0, 0]]]
    assert [t.shape for t in torch.aminmax(torch.tensor(3.), dim=0, keepdim=True)] == [(), ()]


def test_of_empty_tensors():
    assert torch.zeros(0, 3, 3, 6).is_contiguous()
    assert not torch.zeros(0, 3, 3, 6).is_contiguous(memory_format=torch.channels_last)
    x = torch.zeros(2, 0, 3, 4).contiguous(memory_format=torch.channels_last)
    assert x.stride() == (0, 1, 0, 0) and x.is_contiguous(memory_format=torch.channels_last)


def test_of_copies_and_of_integers():
    turned = torch.arange(18.).reshape(3, 2, 3).permute(1, 2, 0)
    assert torch.constant_pad_nd(turned, (0, 0)).stride() == turned.stride() == (3, 1, 6)
    assert torch.constant_pad_nd(turned, (-1, 0)).stride() == (3, 1, 6)
    assert torch.constant_pad_nd(turned, (1, 0)).stride() == (12, 4, 1)
    assert torch.fft.fft(turned.long(), dim=1).stride() == (3, 1, 6)
    assert F.rms_norm(turned, (3,)).stride() == (9, 3, 1)
    last = torch.zeros(2, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    assert torch.native_channel_shuffle(last, 2).stride() == last.stride()
    assert torch.nn.utils.rnn.pad_sequence([torch.ones(3), torch.ones(2)]).stride() == (2, 1)
    one = torch.ones(1, 3).expand(3, 3)
    assert torch.chain_matmul(one).stride() == (3, 1)
    assert torch.unravel_index(torch.tensor([[1, 2], [3, 5]], dtype=torch.uint8), (2, 3))[0].stride() == (4, 2)


def test_ravel_shares_what_is_lazily_negated():
    x = torch.arange(4.).reshape(2, 2)
    negated = torch._neg_view(x).ravel()
    negated[0] = 7
    assert negated.is_neg() and x[0, 0] == -7


LAST = torch.arange(96.).reshape(2, 4, 4, 3).permute(0, 3, 1, 2)
RESIZED = [  # out= of another shape lies as the functional form's result, where PyTorch's kernel makes it
    (lambda x, q: torch.add(x, x, out=q), (48, 1, 12, 3)),
    (lambda x, q: torch.mul(x, 2, out=q), (48, 1, 12, 3)),
    (lambda x, q: torch.where(x > 0, x, x, out=q), (48, 1, 12, 3)),
    (lambda x, q: torch.cat([x, x], 1, out=q), (96, 1, 24, 6)),
    (lambda x, q: torch.ops.aten.avg_pool2d.out(x, [2, 2], out=q), (12, 1, 6, 3)),
    (lambda x, q: torch.cumsum(x, 1, out=q), (48, 16, 4, 1)),
    (lambda x, q: torch.index_select(x, 1, torch.tensor([0, 1]), out=q), (32, 16, 4, 1)),
    (lambda x, q: torch.sum(x, 1, out=q), (16, 4, 1)),
]


@pytest.mark.parametrize("case", range(len(RESIZED)))
def test_of_out_that_is_resized(case):
    f, strides = RESIZED[case]
    q = torch.empty(0)
    assert f(LAST, q) is q and q.stride() == strides
    plain = torch.empty(0)
    f(LAST.contiguous(), plain)
    assert torch.equal(q, plain)
    fits = torch.empty(q.shape)
    assert f(LAST, fits).stride() == fits.contiguous().stride() and torch.equal(fits, q)


def test_of_several_out():
    x = torch.tensor([[3., 1.], [2., 5.]])
    for name, more in (("sort", {"dim": 1}), ("topk", {"k": 1}), ("max", {"dim": 1}), ("median", {"dim": 1}), ("cummax", {"dim": 0})):
        values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
        got, want = getattr(torch, name)(x, **more, out=(values, indices)), getattr(torch, name)(x, **more)
        assert got[0] is values and got.indices is indices and torch.equal(values, want[0]) and torch.equal(indices, want[1])
    with pytest.raises(TypeError):
        torch.add(x, x, out=(x, x))


def test_of_out_of_another_dtype():  # refused, unless the operator converts as it goes
    x = torch.tensor([[3., 1.], [2., 5.]])
    for f in (torch.neg, torch.abs, torch.floor, torch.sign, torch.triu, torch.diag, torch.signbit, lambda x, out: torch.mm(x, x, out=out), lambda x, out: torch.sort(x, out=(out, torch.empty(0, dtype=torch.int64))),
              lambda x, out: torch.heaviside(x, x, out=out), lambda x, out: torch.gather(x, 0, torch.zeros(1, 2, dtype=torch.int64), out=out), lambda x, out: torch.softmax(x, 0, out=out)):
        with pytest.raises(RuntimeError):
            f(x, out=torch.empty(0, dtype=torch.float64))
    for f in (torch.exp, torch.sqrt, lambda x, out: torch.add(x, x, out=out), lambda x, out: torch.cat([x, x], out=out), lambda x, out: torch.stack([x, x], out=out), lambda x, out: torch.kron(x, x, out=out),
              lambda x, out: torch.logsumexp(x, 0, out=out), lambda x, out: torch.linalg.pinv(x, out=out), lambda x, out: torch.fft.hfft(x, out=out), lambda x, out: torch.where(x > 1, x, x.double(), out=out)):
        q = torch.empty(0, dtype=torch.float64)
        assert f(x, out=q) is q and q.numel()
    assert torch.abs(torch.tensor([3 + 4j]), out=torch.empty(0, dtype=torch.float64)).tolist() == [5]
    z, wide = torch.tensor([1j, 0, 4j, 3]), torch.empty(0, dtype=torch.complex128)
    assert torch.var(z, 0, unbiased=False, out=wide).tolist() == 4.375 and torch.logsumexp(torch.zeros(4), 0, out=wide).dtype == torch.complex128
    assert torch.std(z, 0, out=torch.empty(0, dtype=torch.float64)).dtype == torch.float64 and torch.std(x[:, :0], 0, out=wide).shape == (0,)
    flag = torch.empty(0, dtype=torch.bool)
    assert torch.cumprod(torch.tensor(3.), 0, out=flag).item() is True and torch.cumsum(x[:, :0], 1, out=flag).shape == (2, 0)
    for f in (torch.cumprod, torch.std):
        with pytest.raises(RuntimeError):
            f(x, 1, out=flag)


def test_of_dims_of_one():  # a channels-last image of one channel stays one
    x = torch.zeros(2, 3, 4, 1).permute(0, 3, 1, 2)
    assert x.stride() == (12, 1, 4, 1)
    assert x.clone().stride() == (x * 2).stride() == (x * torch.ones(4)).stride() == (12, 1, 4, 1)
    assert (x + x).stride() == x.abs().stride() == (12, 12, 4, 1)


def test_writes_to_overlapping_elements_are_made_one_by_one():
    x = torch.ones(3)
    windows = x.unfold(0, 2, 1)
    windows *= 2
    assert x.tolist() == [2, 4, 2]
    x = torch.zeros(2).expand(3, 2)
    x[0] = 1
    x[:] = torch.tensor(2.)
    assert x.tolist() == [[2, 2]] * 3
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[:] = torch.tensor([3.])
    x.copy_(x)  # nothing is written
    y = torch.arange(6.).reshape(2, 3)
    y[:] = y[0]
    assert y.tolist() == [[0, 1, 2]] * 2
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        y.copy_(y[0])


def test_numbers_that_the_dtype_lacks_are_assigned_as_they_are_filled():
    x = torch.zeros(2, 2, dtype=torch.float16)
    for index in (0, torch.tensor([0])):
        with pytest.raises(RuntimeError, match="without overflow"):
            x[index] = 1e5
    x[0, 0] = 1e5
    assert x[0, 0] == float("inf")
    x = torch.zeros(2, dtype=torch.uint8)
    x[0] = -1
    x[torch.tensor([1])] = -2
    assert x.tolist() == [255, 254]
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 300


def test_random_numbers_are_not_written_into_elements_that_several_share():
    for fill in ("uniform_()", "normal_()", "exponential_()", "geometric_(0.5)", "cauchy_()", "log_normal_()", "bernoulli_()", "bernoulli_(torch.ones(5))", "random_()"):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            eval("torch.empty_strided((3, 5), (1, 0))." + fill)
    assert torch.empty_strided((0, 5), (1, 0)).uniform_().shape == (0, 5)


def test_what_out_resizes_has_the_strides_of_a_factorisation():
    x = torch.eye(5).expand(2, 5, 5) * 2
    for call in (torch.linalg.cholesky, torch.linalg.inv):
        out = torch.empty(3)
        call(x, out=out)
        assert out.stride() == (25, 1, 5) and out.equal(call(x))
        kept = torch.empty(2, 5, 5)
        call(x, out=kept)
        assert kept.stride() == (25, 5, 1) and kept.equal(call(x))
    # rows of a larger result; a composite, whose result is copied
    solution, *rest = (torch.empty(0) for _ in range(4))
    torch.linalg.lstsq(torch.eye(7, 5), torch.ones(7, 3), out=(solution, rest[0], torch.empty(0, dtype=torch.int64), rest[2]))
    assert solution.shape == (5, 3) and solution.stride() == (1, 7)
    out = torch.empty(0)
    torch.cholesky_solve(torch.ones(5, 3), torch.eye(5), out=out)
    assert out.stride() == (3, 1)
    places = torch.nonzero(torch.tensor([[0, 1], [1, 1]]), out=torch.empty(0, dtype=torch.int64))
    assert places.stride() == (1, 3) and places.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_factories_with_out_and_what_it_is():
    out = torch.empty(0)
    assert torch.zeros(2, 3, out=out, dtype=torch.float32, device="cpu") is out and out.shape == (2, 3)
    assert torch.arange(5, out=torch.empty(0, dtype=torch.int64), dtype=torch.int64).tolist() == [0, 1, 2, 3, 4]
    for call in (torch.zeros, torch.ones, torch.empty, torch.eye, torch.arange):
        with pytest.raises(RuntimeError, match=r"dtype Long does not match dtype of out parameter \(Float\)"):
            call(5, out=out, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="scalar type Long but got scalar typeFloat"):
        torch.nonzero(torch.ones(2), out=out)
    with pytest.raises(RuntimeError, match="dtype is wrong, it can only be Int"):
        torch.bucketize(torch.ones(2), torch.ones(1), out=out)


def test_factors_of_renorm_are_rounded_as_their_dtype():
    assert torch.renorm(torch.ones(2, 2), 1, 0, 1.0).tolist() == [[0.5, 0.5]] * 2
    x = torch.renorm(torch.tensor([[0.3, 0.4]], dtype=torch.bfloat16), 2, 0, 0.25)
    assert x.tolist() == [[0.1503906250, 0.2001953125]]


@pytest.mark.parametrize("f", [torch.nan_to_num, F.hardtanh, torch.clone, torch.rand_like, torch.zeros_like, torch.conj_physical])
def test_strides_of_dims_of_size_1_are_kept(f):
    """Results that are made like a tensor (empty_like), where TensorIterator's would be row-major again."""
    def strides(x):
        return f(x).stride()
    assert strides(torch.rand(2, 1, 3, 4).clone(memory_format=torch.channels_last)) == (12, 1, 4, 1)
    assert strides(torch.rand(1, 3).t()) == (1, 3)
    assert strides(torch.rand(2, 1, 3).transpose(0, 1)) == (3, 3, 1)
    assert torch.exp(torch.rand(1, 3).t()).stride() == (1, 1)


def test_formats_of_other_dims():
    for shape in ((), (1,), (1, 1), (1, 1, 1), (0,)):
        assert not torch.zeros(shape).is_contiguous(memory_format=torch.channels_last)
        assert not torch.zeros(shape).is_contiguous(memory_format=torch.channels_last_3d)


def test_masked_fill_of_expanded():
    x = torch.zeros(2).expand(3, 2)
    x.masked_fill_(torch.tensor([[True, False], [False, False], [True, False]]), 7)
    assert x.tolist() == [[7, 0]] * 3
    x = torch.zeros(2, 1).expand(2, 3)
    x.masked_fill_(torch.tensor([False, True, False]), torch.tensor(2.0))
    assert x.tolist() == [[2, 2, 2], [2, 2, 2]]
    with pytest.raises(RuntimeError):
        x.masked_fill_(torch.ones(4, 2, 3, dtype=torch.bool), 1)
    with pytest.raises(RuntimeError, match="more than one element"):
        x.add_(1)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64, torch.uint16, torch.uint32, torch.uint64])
def test_numbers_that_do_not_fit(dtype):
    calls = [lambda v: torch.zeros(2).to(dtype).fill_(v), lambda v: torch.full((2,), v, dtype=dtype),
             lambda v: F.pad(torch.zeros(2).to(dtype), (1, 0), value=v)]
    if dtype in (torch.uint8, torch.int8, torch.int64):
        calls.append(lambda v: torch.linspace(0, v, 2, dtype=dtype))
    for call in calls:
        for v in (float("nan"), float("inf"), 1e30):
            with pytest.raises(RuntimeError, match="without overflow"):
                call(v)
        assert call(2.7).tolist()[-1] in (2, 0)
    assert torch.zeros(1).to(torch.uint16).fill_(-1).tolist() == [65535]


def test_std_beyond_the_variance():
    x = torch.tensor([1.0, 2.0, 3e38])
    assert abs(torch.std(x).item() / 1.7320508482001606e38 - 1) < 1e-6
    assert abs(torch.std(x.bfloat16().unsqueeze(1), 0).item() / 1.7279963945203906e38 - 1) < 1e-2
    assert torch.var(x).item() == float("inf")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_numbers_of_where_and_pow_that_do_not_fit(dtype):
    x = torch.tensor([1, 2]).to(dtype)
    for call in (lambda: torch.where(x == 1, x, 70000), lambda: torch.where(x == 1, -70000, x), lambda: x ** 70000, lambda: x.clone().pow_(70000)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()
    assert torch.where(x == 1, x, 3).tolist() == [1, 3] and (x ** 3).tolist() == [1, 8]
