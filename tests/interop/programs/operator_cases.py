# SPDX-License-Identifier: Apache-2.0
"""Arguments for tests/interop/operators.py: CASES maps an overload to a function that makes them."""
import torch
import torch.nn.functional as F


class Maker:
    """Random choices of one case: a dtype, shapes, options."""

    def __init__(self, rng):
        self.rng = rng
        self.dtype = rng.choice([torch.float32] * 4 + [torch.float64] * 3 + [torch.bfloat16])
        self.single = rng.choice([torch.float32, torch.float64])

    def one(self, *values):
        return self.rng.choice(values)

    def int(self, low, high):
        return self.rng.randint(low, high)

    def shape(self, low=0, high=3):
        return [self.int(0 if self.rng.random() < 0.05 else 1, 6) for _ in range(self.int(low, high))]

    def t(self, shape, dtype=None, scale=2.0):
        """Normal numbers, at times in memory in another order."""
        t = torch.randn(shape, dtype=torch.float64) * scale
        if self.rng.random() < 0.3 and len(shape) > 1:
            t = t.transpose(0, -1).contiguous().transpose(0, -1)
        return t.to(dtype or self.dtype)

    def unit(self, shape, dtype=None):
        return (torch.rand(shape, dtype=torch.float64) * 0.9 + 0.05).to(dtype or self.dtype)

    def index(self, shape, n):
        return torch.randint(0, max(n, 1), shape)


CASES = {}


def case(*keys):
    def add(f):
        for key in keys:
            CASES[key] = f
        return f
    return add


def pointwise(key, *options):
    def make(m):
        shape = m.shape()
        x = m.t(shape, scale=4.0)
        x[x > 3] = m.one(0.0, -3.0, 1.0, 30.0)
        return [m.t(shape), x] + [m.one(*o) for o in options]
    CASES[key] = make


for name in ("sigmoid_backward", "tanh_backward", "silu_backward", "mish_backward", "hardswish_backward", "hardsigmoid_backward"):
    pointwise(name)
pointwise("gelu_backward", ("none", "tanh"))
pointwise("infinitely_differentiable_gelu_backward")
pointwise("hardtanh_backward", (-1.0, -2.5), (1.0, 3.0))
pointwise("hardshrink_backward", (0.5, 0.0, 3.0))
pointwise("softshrink_backward", (0.5, 0.0, 3.0))
pointwise("threshold_backward", (0.0, 1.0))
pointwise("leaky_relu_backward", (0.01, -0.5), (False, True))
pointwise("softplus_backward", (1.0, 2.0), (20.0, 1.5))
pointwise("logit_backward", (None, 0.1, -1.0))


@case("elu_backward")
def elu(m):
    shape = m.shape()
    return m.t(shape), m.one(1.0, 0.5, -1.0), m.one(1.0, 1.05), m.one(1.0, 0.3), m.one(True, False), m.t(shape)


@case("log_sigmoid_backward")
def log_sigmoid(m):
    shape = m.shape()
    x = m.t(shape)
    return m.t(shape), x, torch.exp(-x.abs())


@case("prelu_backward")
def prelu(m):
    shape = m.shape(1, 4)
    n = m.one(1, shape[1] if len(shape) > 1 else 1)
    m.dtype = m.single
    return m.t(shape), m.t(shape), m.t([n])


@case("rrelu_with_noise_backward")
def rrelu(m):
    shape = m.shape()
    return m.t(shape), m.t(shape), m.unit(shape), 0.1, 0.4, m.one(True, False), False


@case("glu_backward")
def glu(m):
    shape, dim = m.shape(1, 3), -1
    half = list(shape)
    shape[dim] *= 2
    m.dtype = m.single
    return m.t(half), m.t(shape), dim


@case("glu_jvp")
def glu_jvp(m):
    shape = [3, 4]
    x = m.t([3, 8])
    return F.glu(x.float(), 1).to(m.dtype), x, m.t([3, 8]), 1


@case("glu_backward_jvp")
def glu_backward_jvp(m):
    m.dtype = m.single
    g, x = m.t([3, 4]), m.t([3, 8])
    return torch.ops.aten.glu_backward(g, x, 1), g, x, m.t([3, 4]), m.t([3, 8]), 1


@case("native_dropout_backward")
def dropout(m):
    shape = m.shape()
    return m.t(shape), m.t(shape) > 0, 1.25


@case("_masked_scale")
def masked_scale(m):
    shape = m.shape()
    return m.t(shape), (m.t(shape) > 0).to(m.dtype), 1.25


def loss(key, *options):
    def make(m):
        shape, reduction = m.shape(1), m.int(0, 2)
        m.dtype = m.single
        return [m.t(shape if reduction == 0 else []), m.t(shape), m.t(shape), reduction] + [m.one(*o) for o in options]
    CASES[key] = make


loss("mse_loss_backward")
loss("smooth_l1_loss_backward", (1.0, 0.5))
loss("huber_loss_backward", (1.0, 0.5))
loss("soft_margin_loss_backward")


@case("binary_cross_entropy_backward")
def bce(m):
    shape, reduction = m.shape(1), m.int(0, 2)
    m.dtype = m.single
    return m.t(shape if reduction == 0 else []), m.unit(shape), m.unit(shape), m.one(None, m.unit(shape)), reduction


@case("nll_loss_backward")
def nll(m):
    n, c, reduction = m.int(1, 6), m.int(2, 5), m.int(0, 2)
    m.dtype = m.single
    lone = m.rng.random() < 0.3
    target = m.index([] if lone else [n], c)
    return (m.t([n] if reduction == 0 and not lone else []), m.t([c] if lone else [n, c]), target, m.one(None, m.unit([c])), reduction,
            m.one(-100, 1), m.t([]).abs())


@case("nll_loss2d_backward")
def nll2d(m):
    n, c, h, w, reduction = m.int(1, 3), m.int(2, 5), m.int(1, 4), m.int(1, 4), m.int(0, 2)
    m.dtype = m.single
    return (m.t([n, h, w] if reduction == 0 else []), m.t([n, c, h, w]).contiguous(), m.index([n, h, w], c), m.one(None, m.unit([c])), reduction,
            m.one(-100, 1), m.t([]).abs())


@case("multi_margin_loss_backward")
def multi_margin(m):
    n, c, reduction = m.int(1, 6), m.int(2, 5), m.int(0, 2)
    m.dtype = m.single
    return (m.t([n] if reduction == 0 else []), m.t([n, c]), m.index([n], c), m.one(1.0, 2.0), m.one(1.0, 0.5), m.one(None, m.unit([c])),
            reduction)


@case("multilabel_margin_loss_backward")
def multilabel(m):
    n, c, reduction = m.int(1, 4), m.int(2, 5), m.int(0, 2)
    m.dtype = m.single
    x, target = m.t([n, c]), torch.stack([torch.randperm(c) for _ in range(n)])
    for row in target:
        if m.rng.random() < 0.8:
            row[m.int(0, c - 1)] = -1
    is_target = torch.ops.aten.multilabel_margin_loss_forward(x, target, reduction)[1]
    return m.t([n] if reduction == 0 else []), x, target, reduction, is_target


@case("_softmax_backward_data", "_log_softmax_backward_data")
def softmax(m):
    shape = m.shape(1, 3)
    x = m.t(shape)
    dim = m.int(-len(shape), len(shape) - 1)
    return m.t(shape), torch.softmax(x, dim), dim, {torch.float32: 6, torch.float64: 7, torch.bfloat16: 15}[m.dtype]


@case("_masked_softmax_backward")
def masked_softmax(m):
    m.dtype = torch.float32
    shape = [2, 3, 4]
    mask = m.t(shape) > 1
    return m.t(shape), torch._masked_softmax(m.t(shape), mask, 2, 1), mask, 2


@case("select_backward")
def select(m):
    shape = [m.int(1, 5) for _ in range(m.int(1, 3))]
    dim = m.int(-len(shape), len(shape) - 1)
    index = m.int(-shape[dim], shape[dim] - 1)
    return m.t(list(torch.zeros(shape).select(dim, index).shape)), shape, dim, index


@case("slice_backward")
def slice_(m):
    shape = [m.int(1, 7) for _ in range(m.int(1, 3))]
    dim = m.int(0, len(shape) - 1)
    start, step = m.int(0, shape[dim] - 1), m.int(1, 3)
    end = m.int(start, shape[dim])
    return m.t(list(torch.ops.aten.slice(torch.zeros(shape), dim, start, end, step).shape)), shape, dim, start, end, step


@case("diagonal_backward")
def diagonal(m):
    shape, dims, offset = [m.int(2, 5) for _ in range(3)], m.one((0, 1), (1, 2), (-1, 0)), m.int(-2, 2)
    return m.t(list(torch.diagonal(torch.zeros(shape), offset, *dims).shape)), shape, offset, dims[0], dims[1]


@case("diag_backward")
def diag(m):
    d = m.int(-2, 2)
    shape = m.one([3], [4, 4], [3, 5])
    return m.t(list(torch.diag(torch.zeros(shape), d).shape)), shape, d


@case("trace_backward")
def trace(m):
    return m.t([]), m.one([3, 3], [2, 5], [5, 2])


@case("index_select_backward")
def index_select(m):
    return m.t([3, 4, 2]), m.one([3, 5, 2], [3, 7, 2]), 1, m.index([4], 5)


@case("unfold_backward")
def unfold(m):
    shape = [m.int(3, 7) for _ in range(m.int(1, 3))]
    dim, step = m.int(0, len(shape) - 1), m.int(1, 3)
    size = m.int(1, shape[dim])
    return m.t(list(torch.zeros(shape).unfold(dim, size, step).shape), m.single), shape, dim, size, step


@case("masked_select_backward")
def masked_select(m):
    x, mask = m.t([3, 4]).contiguous(), m.t(m.one([3, 4], [4], [2, 3, 4])) > 0
    return m.t([x.masked_select(mask).numel()]), x, mask


@case("value_selecting_reduction_backward")
def value_selecting(m):
    keep = m.one(True, False)
    x = m.t([3, 4, 2])
    v, i = x.max(1, keepdim=keep)
    return m.t(list(v.shape)), 1, i, [3, 4, 2], keep


@case("cumprod_backward")
def cumprod(m):
    m.dtype = m.single
    x = m.t(m.one([5], [3, 4], [2, 5, 3]))
    x[x.abs() < m.one(0.0, 1.0)] = 0
    dim = m.int(0, x.dim() - 1)
    return m.t(list(x.shape)), x, dim, x.cumprod(dim)


@case("cummaxmin_backward")
def cummaxmin(m):
    x = m.t(m.one([5], [3, 4], [2, 0, 3]), m.single)
    dim = m.int(0, x.dim() - 1)
    return m.t(list(x.shape), x.dtype), x, torch.cummax(x, dim)[1], dim


def resample(key, n, align):
    def make(m):
        m.dtype = m.single
        sizes, out = [m.int(1, 6 - n) + 1 for _ in range(n)], [m.int(1, 9 - n) for _ in range(n)]
        scales = [m.one(None, o / s) for o, s in zip(out, sizes)]
        lead = [m.int(1, 2), m.int(1, 3)]
        corners = [m.one(True, False)] if align else []
        if key.endswith(".vec"):
            factors = m.one(None, [m.one(0.7, 1.5, 2.0) for _ in sizes])
            out = [int(s * f) for s, f in zip(sizes, factors)] if factors else out
            return [m.t(lead + out), None if factors else out, lead + sizes] + corners + [factors]
        return [m.t(lead + out), out, lead + sizes] + corners + scales
    CASES[key] = make


for suffix in ("", ".vec"):
    for n in (1, 2, 3):
        resample("upsample_nearest%dd_backward%s" % (n, suffix), n, False)
        resample("_upsample_nearest_exact%dd_backward%s" % (n, suffix), n, False)
    for name, n in (("linear", 1), ("bilinear", 2), ("trilinear", 3), ("bicubic", 2)):
        resample("upsample_%s%dd_backward%s" % (name, n, suffix), n, True)
    for name in ("bilinear", "bicubic"):
        resample("_upsample_%s2d_aa_backward%s" % (name, suffix), 2, True)


def padding(key, n):
    def make(m):
        m.dtype = m.single
        x = m.t([2] * m.int(1, 2) + [m.int(3, 6) for _ in range(n)])
        pads = [m.int(0, 2) for _ in range(2 * n)]
        y = getattr(torch.ops.aten, key[:-9])(x, pads)
        g = m.t(list(y.shape))
        if m.rng.random() < 0.3:
            g[..., 0] = float("inf")
        return g, x, pads
    CASES[key] = make


def pooling(n):
    def average(m):
        m.dtype = m.single
        x = m.t([2] * m.int(1, 2) + [m.int(4, 8) for _ in range(n)])
        kernel = [m.int(2, 4) for _ in range(n)]
        options = [kernel, m.one([], [m.int(1, 3) for _ in range(n)]), [m.int(0, k // 2) for k in kernel], m.one(True, False),
                   m.one(True, False), m.one(None, None, 3)]
        y = getattr(torch.ops.aten, "avg_pool%dd" % n)(x, *options)
        return [m.t(list(y.shape)), x] + options

    def largest(m):
        m.dtype = m.single
        x = m.t([2] * m.int(1, 2) + [m.int(5, 8) for _ in range(n)])
        kernel = [m.int(2, 3) for _ in range(n)]
        options = [kernel, m.one([], [m.int(1, 3) for _ in range(n)]), [m.int(0, k // 2) for k in kernel], m.one([1], [2]), m.one(True, False)]
        y, i = getattr(torch.ops.aten, "max_pool%dd_with_indices" % n)(x, *options)
        return [m.t(list(y.shape)), x] + options + [i]

    def adaptive(m):
        m.dtype = m.single
        x = m.t([2] * m.int(1, 2) + [m.int(2, 8) for _ in range(n)])
        return m.t(list(x.shape[:-n]) + [m.int(1, 5) for _ in range(n)]), x

    def adaptive_max(m):
        g, x = adaptive(m)
        y, i = getattr(torch.ops.aten, "adaptive_max_pool%dd" % n)(x, list(g.shape[-n:]))
        return g, x, i

    def fractional(m):
        m.dtype = m.single
        lead = [2] * m.int(1, 2)
        x, kernel, out = m.t(lead + [m.int(6, 8) for _ in range(n)]), [2] * n, [m.int(1, 4) for _ in range(n)]
        samples = torch.rand([2] * 2 + [n] if len(lead) == 2 else [1, 2, n], dtype=x.dtype)
        y, i = getattr(torch.ops.aten, "fractional_max_pool%dd" % n)(x, kernel, out, samples)
        return m.t(list(y.shape)), x, kernel, out, i
    CASES["avg_pool%dd_backward" % n] = average
    CASES["max_pool%dd_with_indices_backward" % n] = largest
    CASES["_adaptive_avg_pool%dd_backward" % n] = adaptive
    CASES["adaptive_max_pool%dd_backward" % n] = adaptive_max
    CASES["fractional_max_pool%dd_backward" % n] = fractional


for n in (1, 2, 3):
    padding("reflection_pad%dd_backward" % n, n)
    padding("replication_pad%dd_backward" % n, n)
pooling(2)
pooling(3)


def masks(m, n):
    mask = [m.rng.random() < 0.7 for _ in range(n)]
    return mask


@case("native_layer_norm_backward")
def layer_norm(m):
    m.dtype = m.single
    shape = [m.int(3, 5) for _ in range(m.int(1, 3))]  # of one or two elements single precision knows too little
    inner = shape[-m.int(1, len(shape)):]
    x, w, b = m.t(shape), m.t(inner), m.t(inner)
    y, mean, rstd = torch.native_layer_norm(x, inner, w, b, 1e-5)
    mask = masks(m, 3)
    lone = not mask[1] and not mask[2] and m.one(True, False)
    return m.t(shape), x, inner, mean, rstd, None if lone else w, None if lone else b, mask


@case("native_group_norm_backward")
def group_norm(m):
    m.dtype = m.single
    g, n, hw = m.int(1, 3), m.int(1, 3), m.int(3, 5)
    c = g * m.int(1, 3)
    x, w = m.t([n, c, hw]).contiguous(), m.t([c])
    y, mean, rstd = torch.native_group_norm(x, w, w, n, c, hw, g, 1e-5)
    return m.t([n, c, hw]).contiguous(), x, mean, rstd, w, n, c, hw, g, masks(m, 3)


@case("native_batch_norm_backward")
def batch_norm(m):
    m.dtype = m.single
    c, train = m.int(1, 4), m.one(True, False)
    shape = [m.int(2, 4), c] + [m.int(1, 3) for _ in range(m.int(0, 2))]
    x, w, rm, rv = m.t(shape), m.one(None, m.t([c])), m.t([c]), m.unit([c])
    y, mean, rstd = torch.native_batch_norm(x, w, w, rm.clone(), rv.clone(), train, 0.1, 1e-5)
    return m.t(shape), x, w, rm, rv, mean, rstd, train, 1e-5, masks(m, 3) if w is not None else [True, False, False]


@case("_weight_norm_interface_backward")
def weight_norm(m):
    m.dtype = m.single
    v, dim = m.t([3, 4]).contiguous(), m.int(0, 1)
    g = m.t([3, 1] if dim == 0 else [1, 4])
    w, norms = torch._weight_norm_interface(v, g.contiguous(), dim)
    return m.t([3, 4]).contiguous(), v, g.contiguous(), norms, dim


@case("convolution_backward")
def convolution(m):
    m.dtype = m.single
    n, groups, transposed = m.int(1, 3), m.int(1, 2), m.one(True, False)
    cin, cout = groups * m.int(1, 3), groups * m.int(1, 3)
    kernel, stride = [m.int(1, 3) for _ in range(n)], [m.int(1, 2) for _ in range(n)]
    pad, dilation = [m.int(0, 1) for _ in range(n)], [m.int(1, 2) for _ in range(n)]
    extra = [m.int(0, s - 1) if transposed else 0 for s in stride]
    x = m.t([m.int(1, 2), cin] + [m.int(5, 7) for _ in range(n)])
    w = m.t([cin, cout // groups] + kernel if transposed else [cout, cin // groups] + kernel)
    y = torch.convolution(x, w, None, stride, pad, dilation, transposed, extra, groups)
    mask = masks(m, 3)
    mask[1] |= mask[2]  # the bias' gradient brings the weight's along in some of PyTorch's ways
    return m.t(list(y.shape)), x, w, [cout], stride, pad, dilation, transposed, extra, groups, mask


@case("conv_tbc_backward")
def conv_tbc(m):
    m.dtype = m.single
    x, w, b, pad = m.t([6, 2, 3]).contiguous(), m.t([m.int(1, 3), 3, 4]).contiguous(), m.t([4]), m.int(0, 2)
    return m.t(list(torch.conv_tbc(x, w, b, pad).shape)).contiguous(), x, w, b, pad


@case("embedding_dense_backward")
def embedding(m):
    m.dtype = m.single
    shape = m.shape(1, 2)
    return m.t(shape + [3]), m.index(shape, 5), m.int(5, 6), m.one(-1, 2), m.one(True, False)


@case("_cdist_backward")
def cdist(m):
    m.dtype, p = m.single, m.one(0.0, 1.0, 1.5, 2.0, 3.0, float("inf"))
    lead = m.one([], [2])
    a, b = m.t(lead + [3, 4]).contiguous(), m.t(lead + [2, 4]).contiguous()
    a[..., 0, :] = b[..., 0, :]
    d = torch.ops.aten._cdist_forward(a, b, p, 2)
    return m.t(list(d.shape)).contiguous(), a, b, p, d


@case("_pdist_backward")
def pdist(m):
    m.dtype, p = m.single, m.one(0.0, 1.0, 1.5, 2.0, 3.0, float("inf"))
    x = m.t([5, 3]).contiguous()
    d = torch.ops.aten._pdist_forward(x, p)
    return m.t([10]), x, p, d


@case("affine_grid_generator_backward")
def affine_grid(m):
    m.dtype, n = m.single, m.int(2, 3)
    sizes = [m.int(1, 3) for _ in range(n + 2)]
    return m.t([sizes[0]] + sizes[2:] + [n]).contiguous(), sizes, m.one(True, False)


def gradient(key, spacing, dims):
    def make(m):
        m.dtype = m.single
        x = m.t([m.int(3, 5) for _ in range(2)], m.one(m.single, m.single, torch.int64))
        dim = m.one(*dims)
        count = len(dim) if isinstance(dim, list) else 1 if isinstance(dim, int) else 2
        order = [m.int(1, 2)]
        if spacing == "tensors":
            at = range(2) if dim is None else [dim] if isinstance(dim, int) else dim
            return [x, [torch.rand([x.shape[d]], dtype=m.single).cumsum(0) for d in at], dim] + order
        step = {"scalar": m.one(1.0, 0.5), "scalars": [m.one(0.5, 2.0) for _ in range(count)], "none": m.one(None, 2.0)}
        return [x] + ([step[spacing]] if spacing else []) + [dim] + order
    CASES[key] = make


LISTS = ([0, 1], [1], [-1, 0])
gradient("gradient.scalarint", "none", (None, 0, -1))
gradient("gradient.scalararray", "scalar", LISTS)
gradient("gradient.array", None, LISTS)
gradient("gradient.tensorarrayint", "tensors", (None, 1))
gradient("gradient.tensorarray", "tensors", LISTS)


@case("_thnn_differentiable_lstm_cell_backward")
def lstm(m):
    m.dtype = m.single
    bias = m.one(True, False)
    n, h = m.int(1, 3), m.int(1, 4)
    b = [m.t([4 * h]) if bias else None for _ in range(2)]
    hy = m.one(None, m.t([n, h]))
    return hy, m.t([n, h]) if hy is None else m.one(None, m.t([n, h])), m.t([n, 4 * h]), m.t([n, 4 * h]), b[0], b[1], m.t([n, h]), m.t([n, h])


@case("_thnn_differentiable_gru_cell_backward")
def gru(m):
    m.dtype = m.single
    bias = m.one(True, False)
    n, h = m.int(1, 3), m.int(1, 4)
    b = [m.t([3 * h]) if bias else None for _ in range(2)]
    return m.t([n, h]), m.t([n, 3 * h]), m.t([n, 3 * h]), m.t([n, h]), b[0], b[1]


@case("batch_norm_update_stats")
def update_stats(m):
    m.dtype, c = m.single, m.int(1, 4)
    return m.t([3, c] + m.one([], [4])), m.one(None, m.t([c])), m.unit([c]), 0.1


@case("flatten_dense_tensors")
def flatten_tensors(m):
    return [m.t([m.int(1, 3) for _ in range(m.int(1, 3))]) for _ in range(3)],


@case("unflatten_dense_tensors")
def unflatten_tensors(m):
    return m.t([18]), [m.t(s) for s in ([2, 3], [4], [0, 2], [2, 2, 2])]


@case("_pack_sequence")
def pack(m):
    return m.t([5, 2]), torch.tensor([3, 2]), m.one(None, torch.tensor([1, 0, 2])), None


@case("_pack_padded_sequence_backward")
def pack_padded(m):
    first, m.dtype = m.one(True, False), m.single
    sizes = [3, 5, 2] if first else [5, 3, 2]
    counts = m.one([3, 2, 2, 1], [3, 3, 1, 1, 1])
    return m.t([sum(counts), 2]).contiguous(), sizes, torch.tensor(counts), first


@case("linalg_diagonal")
def linalg_diagonal(m):
    return m.t([2, 3, 4]), m.int(-2, 2), m.one(-2, 0), -1


@case("vander")
def vander(m):
    return m.t([m.int(1, 5)], m.one(torch.float32, torch.float64, torch.int64, torch.int32)), m.one(None, 0, 1, 4), m.one(True, False)


@case("_dim_arange")
def dim_arange(m):
    return m.t([3, 4]), m.int(-2, 1)


@case("_grad_sum_to_size")
def sum_to_size(m):
    return m.t([2, 3, 4]), m.one(None, [3, 1], [4], [2, 3, 4])


@case("_size_if_not_equal")
def size_if(m):
    return m.one([2, 3], [3]), [2, 3]


@case("sym_numel")
def numel(m):
    return m.t(m.shape()),


@case("is_non_overlapping_and_dense", "_debug_has_internal_overlap")
def dense(m):
    return m.one(m.t([3, 4]).t(), m.t([3, 4])[:, ::2], m.t([3, 1]).expand(3, 4), m.t([2, 0]), m.t([5, 4, 3]).permute(1, 2, 0), m.t([4])[::2]),


@case("to_dense")
def to_dense(m):
    return m.t([2, 3]), m.one(None, 6, 7)


@case("_to_cpu")
def to_cpu(m):
    return [m.t([2]), m.t([3, 1])],
