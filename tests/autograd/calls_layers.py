# SPDX-License-Identifier: Apache-2.0
"""Calls whose derivatives gradcheck.py checks: activations, convolutions, pooling, norms, embeddings, losses, resampling (see there for the form)."""

F = "torch.nn.functional."
NN = "torch._C._nn."
VISION = "torch.ops.torchvision."

ACTIVATIONS = [(F + name + "(a)", "2,4") for name in (
    "relu relu6 hardtanh hardsigmoid hardswish hardshrink softshrink leaky_relu elu celu selu gelu silu mish softplus logsigmoid glu tanhshrink "
    "softsign").split()] + [
    (F + "gelu(a, approximate='tanh')", "2,3"),
    (F + "threshold(a, 0.1, 2.0)", "2,3"),
    (F + "softplus(a, 2.0, 0.5)", "2,4"),
    (F + "celu(a, 1.7)", "2,4"),
    (F + "glu(a, 0)", "4,3"),
    ("torch.relu_(x)", "2,3", "x = a * 2"),
    (F + "elu(x, inplace=True)", "2,3", "x = a * 2"),
    (F + "leaky_relu(x, 0.2, inplace=True)", "2,3", "x = a * 2"),
    (F + "prelu(a, b)", "2,3,2 3"),
    (F + "prelu(a, b)", "2,3 1"),
    (F + "rrelu(a, 0.1, 0.3)", "2,3"),
    (F + "softmax(a, 1)", "2,3"),
    (F + "softmax(a, 0)", "3"),
    (F + "softmin(a, 0)", "3,2"),
    (F + "log_softmax(a, -2)", "3,2"),
    (F + "dropout(a, 0.4, True)", "3,4", "torch.manual_seed(4)", "own"),
    (F + "dropout2d(a, 0.4, True)", "2,3,2,1", "torch.manual_seed(4)", "own"),
    (F + "alpha_dropout(a, 0.4, True)", "3,4", "torch.manual_seed(4)", "own"),
    (F + "feature_alpha_dropout(a, 0.4, True)", "2,3,2", "torch.manual_seed(4)", "own"),
    ("torch.native_dropout(a, 0.4, True)[0]", "3,4", "torch.manual_seed(4)", "own"),
]

CONVOLUTIONS = [
    (F + "conv1d(a, b, c)", "2,2,5 3,2,2 3"),
    (F + "conv1d(a, b, c, padding='same')", "1,2,5 3,2,2 3"),
    (F + "conv1d(a, b)", "2,5 2,2,3"),
    (F + "conv2d(a, b, c, stride=2, padding=1, groups=2)", "1,4,4,3 2,2,3,2 2"),
    (F + "conv2d(a, b, None, 1, 0, [2, 1])", "1,1,5,3 2,1,2,2"),
    # small images are done together
    (F + "conv2d(a, b, c, 1, 1)", "3,2,3,4 2,2,3,3 2"),
    (F + "conv_transpose2d(a, b, None, 2, 1)", "2,2,2,3 2,1,3,3"),
    (F + "conv3d(a, b, c)", "1,1,2,3,3 2,1,2,2,2 2"),
    (F + "conv_transpose1d(a, b, c, stride=2, padding=1, output_padding=1)", "1,2,3 2,3,3 3"),
    (F + "conv_transpose2d(a, b, c, [1, 2], [1, 0], [1, 2], 2, [2, 3])", "1,2,3,2 2,1,2,2 2"),
    (F + "conv_transpose3d(a, b)", "1,1,2,2,2 1,2,1,2,2"),
    ("torch.conv_tbc(a, b, c, 1)", "3,1,2 2,2,2 2"),
    (VISION + "deform_conv2d(a, b, c, d, e, 1, 1, 1, 1, 1, 1, 1, 1, True)", "1,2,3,3 2,2,2,2 1,8,4,4 1,4,4,4 2", "first"),
]

POOLS = [
    (F + "max_pool1d(a, 2, 1)", "1,2,4"),
    (F + "max_pool2d(a, 2, 2, 1, 1, True)", "1,1,3,4"),
    (F + "max_pool2d(a, 2, return_indices=True)[0]", "1,4,4"),
    (F + "max_pool2d(a, (3, 2), (2, 1), 0, (1, 2))", "3,2,6,5"),
    (F + "max_pool3d(a, 2)", "1,1,2,2,4"),
    (F + "avg_pool1d(a, 3, 2, 1)", "1,2,5"),
    (F + "avg_pool2d(a, [2, 3], 2, 1, True, False)", "1,1,4,5"),
    (F + "avg_pool2d(a, 2, divisor_override=3)", "1,1,4,4"),
    (F + "avg_pool3d(a, 2, 1)", "1,1,2,3,2"),
    (F + "adaptive_avg_pool1d(a, 2)", "1,2,5"),
    (F + "adaptive_avg_pool2d(a, [2, 3])", "1,1,3,4"),
    (F + "adaptive_avg_pool2d(a, 1)", "1,2,3,2"),
    (F + "adaptive_avg_pool3d(a, 2)", "1,1,3,3,2"),
    (F + "adaptive_max_pool1d(a, 2)", "1,2,5"),
    (F + "adaptive_max_pool2d(a, 2)", "1,1,3,4"),
    (F + "adaptive_max_pool3d(a, [1, 2, 2])", "1,1,2,3,3"),
    (NN + "fractional_max_pool2d(a, [2, 2], [2, 2], torch.full([1, 1, 2], 0.4, dtype=torch.float64))[0]", "1,1,5,4"),
    (F + "lp_pool1d(a, 3.0, 2)", "1,2,4+"),
    (F + "max_unpool1d(a, b, 2)", "1,1,2 1,1,2i"),
    (F + "max_unpool2d(a, b, 2)", "1,2,2 1,2,2i"),
    (F + "unfold(a, [2, 2], 1, 1, 2)", "1,2,3,3"),
    (F + "fold(a, [3, 3], [2, 2])", "1,4,4"),
    (F + "pixel_shuffle(a, 2)", "1,4,1,2"),
    (F + "pixel_unshuffle(a, 2)", "1,1,2,4"),
    ("torch.channel_shuffle(a, 2)", "1,4,1,2"),
    (F + "pad(a, [-1, 1, 1, -2], 'circular')", "1,1,4,3"),
] + [(F + f"pad(a, {pads}, '{mode}')", sizes) for mode in ("constant", "reflect", "replicate", "circular")
     for pads, sizes in (("[1, 2]", "1,2,3"), ("[1, 0, 2, 1]", "1,1,3,2"), ("[1, 0, 0, 1, 1, 1]", "1,1,2,2,2"))]

NORMS = [
    (F + "batch_norm(a, None, None, b, c, True)", "3,2,2 2 2"),
    (F + "batch_norm(a, None, None, None, None, True)", "4,2"),
    (F + "batch_norm(a, torch.zeros([2], dtype=torch.float64), torch.full([2], 2.0, dtype=torch.float64), b, c)", "3,2 2 2"),
    ("torch.native_batch_norm(a, b, None, None, None, True, 0.1, 1e-5)[0]", "3,2,2 2"),
    (F + "instance_norm(a, None, None, b, c)", "2,2,3 2 2"),
    (F + "layer_norm(a, [3], b, c)", "2,3 3 3"),
    (F + "layer_norm(a, [2, 3])", "2,2,3"),
    (F + "group_norm(a, 2, b, c)", "2,4,2 4 4"),
    ("torch.native_group_norm(a, b, None, 2, 4, 2, 2, 1e-5)", "2,4,2 4", "3"),
    (F + "local_response_norm(a, 2)", "1,3,2"),
    ("torch._weight_norm(a, b, 0)", "2,3 2,1"),
    ("torch._weight_norm(a, b, 1)", "2,3 1,3"),
    (F + "rms_norm(a, [3], b)", "2,3 3"),
]

EMBEDDINGS = [
    (F + "embedding(a, b)", "2,2i 4,2"),
    (F + "embedding(torch.tensor([0, 2, 0]), a, 1)", "3,2"),
    (F + "embedding_bag(a, b, torch.tensor([0, 2, 2]), mode='sum', per_sample_weights=c)", "4i 4,2 4"),
    (F + "embedding_bag(a, b, torch.tensor([0, 2, 2]), mode='mean', padding_idx=1)", "4i 4,2"),
    (F + "embedding_bag(a, b, torch.tensor([0, 2, 2]), mode='max')", "4i 4,2"),
]

PROBABLE = "x = torch.sigmoid(a)"
LOSSES = [(F + call[:-1] + f", reduction='{how}')", *rest) for how in ("none", "mean", "sum") for call, *rest in (
    ("mse_loss(a, b)", "2,3 2,3"),
    ("l1_loss(a, b)", "2,3 2,3"),
    ("smooth_l1_loss(a, b, beta=0.7)", "2,3 2,3"),
    ("huber_loss(a, b, delta=0.7)", "2,3 2,3"),
    ("poisson_nll_loss(a, b)", "2,3 2,3"),
    ("kl_div(a, b)", "2,3 2,3+"),
    ("kl_div(a, b, log_target=True)", "2,3 2,3"),
    ("gaussian_nll_loss(a, b, c)", "2,3 2,3 2,3+"),
    ("binary_cross_entropy(x, b, w)", "2,3 2,3+", PROBABLE, "w = torch.full([3], 0.3, dtype=torch.float64)"),
    ("binary_cross_entropy_with_logits(a, b, pos_weight=w)", "2,3 2,3", "w = torch.full([3], 0.3, dtype=torch.float64)"),
    ("hinge_embedding_loss(a, t, 0.4)", "3", "t = torch.tensor([1, -1, -1])"),
    ("margin_ranking_loss(a, b, t, 0.2)", "3 3", "t = torch.tensor([1, -1, 1])"),
    ("soft_margin_loss(a, t)", "3", "t = torch.tensor([1., -1., 1.], dtype=torch.float64)"),
    ("multilabel_soft_margin_loss(a, t)", "2,2", "t = torch.tensor([[1, 0], [0, 1]])"),
    ("multi_margin_loss(a, t, 2)", "2,3", "t = torch.tensor([2, 0])"),
    ("multilabel_margin_loss(a, t)", "2,3", "t = torch.tensor([[1, 2, -1], [0, -1, 1]])"),
    ("triplet_margin_loss(a, b, c)", "2,3 2,3 2,3"),
    ("cosine_embedding_loss(a, b, t, 0.1)", "2,3 2,3", "t = torch.tensor([1, -1])"),
    ("nll_loss(a, t, w, ignore_index=1)", "3,3", "t = torch.tensor([2, 1, 0])", "w = torch.tensor([0.2, 0.5, 0.7], dtype=torch.float64)"),
    ("nll_loss(a, t)", "2,2,2,1", "t = torch.tensor([[[1], [0]], [[0], [1]]])"),
    ("nll_loss(a, t)", "1,2,3", "t = torch.tensor([[1, 0, 1]])"),
    ("cross_entropy(a, t, label_smoothing=0.1)", "3,3", "t = torch.tensor([2, 1, 0])"),
    ("cross_entropy(a, t, w, ignore_index=1, label_smoothing=0.1)", "3,3", "t = torch.tensor([2, 1, 0])",
     "w = torch.tensor([0.2, 0.5, 0.7], dtype=torch.float64)"),
    ("cross_entropy(a, b, label_smoothing=0.1)", "2,3,2 2,3,2"),
    ("ctc_loss(torch.log_softmax(a, 2), t, torch.tensor([4, 3]), torch.tensor([2, 1]))", "4,2,3", "t = torch.tensor([[1, 1], [2, 1]])", "first"),
)]

GRIDS = [(F + f"grid_sample(a, b * 0.7, '{mode}', '{padding}', {align})", sizes)
         for mode, sizes in (("bilinear", "1,1,3,3 1,2,2,2"), ("bicubic", "1,1,4,3 1,1,2,2"), ("bilinear", "1,1,2,3,2 1,1,1,2,3"))
         for padding in ("zeros", "border", "reflection") for align in (False, True)]

RESAMPLED = [(F + f"interpolate(a, {how}, mode='{mode}')", sizes)
             for mode, sizes in (("nearest", "1,1,3"), ("nearest", "1,1,3,2"), ("nearest", "1,1,2,2,2"), ("nearest-exact", "1,1,3,2"), ("linear", "1,1,3"),
                                 ("bilinear", "1,1,3,2"), ("bicubic", "1,1,3,2"), ("trilinear", "1,1,2,2,2"), ("area", "1,1,3,2"))
             for how in ("size=4", "scale_factor=1.6")] + [
    (F + "interpolate(a, size=[5, 3], mode='bilinear', align_corners=True)", "1,1,3,2"),
    (F + "interpolate(a, size=[2, 3], mode='bicubic', antialias=True)", "1,1,4,4"),
    (F + "affine_grid(a, [1, 1, 2, 3])", "1,2,3"),
    (VISION + "roi_align(a, r, 0.8, 2, 2, 2, True)", "1,1,5,5", "r = torch.tensor([[0., 0.5, 1., 4., 4.5]], dtype=torch.float64)"),
    (VISION + "roi_align(a, r, 0.8, 2, 2, -1, False)", "1,1,5,5", "r = torch.tensor([[0., -2., 1., 9., 4.5]], dtype=torch.float64)"),
    (VISION + "roi_pool(a, r, 1.0, 2, 2)[0]", "1,1,5,5", "r = torch.tensor([[0., 1., 1., 4., 4.]], dtype=torch.float64)"),
    (VISION + "ps_roi_align(a, r, 1.0, 2, 2, 2)[0]", "1,4,4,4", "r = torch.tensor([[0., 0.5, 1., 3., 3.]], dtype=torch.float64)"),
    # torchvision's derivative, which is not that of what it computes outside of the image
    (VISION + "ps_roi_pool(a, r, 1.0, 2, 2)[0]", "1,4,5,5", "own", "r = torch.tensor([[0., 0., 1., 3., 3.]], dtype=torch.float64)"),
]

CALLS = ACTIVATIONS + CONVOLUTIONS + POOLS + NORMS + EMBEDDINGS + LOSSES + GRIDS + RESAMPLED
