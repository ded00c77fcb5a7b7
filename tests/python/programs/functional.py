"""torch.nn.functional: activations, losses, padding, pooling, interpolation, convolution."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.linspace(-2, 2, 5)
for name in ("relu", "gelu", "silu", "elu", "selu", "celu", "softplus", "softsign", "hardtanh", "hardswish", "hardsigmoid", "leaky_relu", "logsigmoid", "mish", "relu6",
             "tanhshrink", "softshrink", "hardshrink", "tanh", "sigmoid"):
    print(name, getattr(F, name)(x))
print(F.gelu(x, approximate="tanh"), F.softmax(x, dim=0), F.log_softmax(x, -1), F.softmin(x, 0), F.glu(torch.arange(4.)), F.threshold(x, 0.1, 20), F.prelu(x, torch.tensor([0.1])))
logits, target = torch.randn(4, 3), torch.tensor([0, 2, 1, 1])
print(F.cross_entropy(logits, target), F.cross_entropy(logits, target, reduction="none"), F.cross_entropy(logits, target, weight=torch.tensor([1., 2., .5]), ignore_index=2))
print(F.cross_entropy(logits, F.softmax(torch.randn(4, 3), 1)), F.nll_loss(F.log_softmax(logits, 1), target, reduction="sum"))
p, q = torch.rand(4), torch.rand(4)
print(F.mse_loss(p, q), F.l1_loss(p, q), F.smooth_l1_loss(p, q, beta=0.5), F.huber_loss(p, q), F.binary_cross_entropy(p, q), F.binary_cross_entropy_with_logits(p, q, pos_weight=torch.tensor(2.)))
print(F.kl_div(p.log(), q, reduction="batchmean"), F.cosine_similarity(p, q, dim=0), F.pairwise_distance(p[None], q[None]), F.hinge_embedding_loss(p, torch.tensor([1, -1, 1, -1])),
      F.margin_ranking_loss(p, q, torch.ones(4)), F.triplet_margin_loss(logits, logits.roll(1, 0), logits.flip(0)), F.poisson_nll_loss(p, q), F.gaussian_nll_loss(p, q, torch.ones(4)))
im = torch.arange(16.).view(1, 1, 4, 4)
print(F.pad(im, (1, 0, 0, 1), value=-1), F.pad(im, (1, 1, 2, 0), mode="reflect").shape, F.pad(im, (1, 1, 1, 1), "circular")[0, 0, 0])
print(F.max_pool2d(im, 2), F.avg_pool2d(im, 2, stride=1), F.adaptive_max_pool2d(im, (1, 2)), F.lp_pool2d(im, 2, 2))
values, indices = F.max_pool2d(im, 2, return_indices=True)
print(indices, F.max_unpool2d(values, indices, 2))
print(F.interpolate(im, scale_factor=2, mode="nearest")[0, 0, :2], F.interpolate(im, size=(2, 3), mode="bilinear", align_corners=False), F.interpolate(im, size=3, mode="bicubic", align_corners=True))
print(F.conv2d(im, torch.ones(1, 1, 2, 2), padding="same"), F.conv_transpose2d(im, torch.ones(1, 1, 2, 2), stride=2).shape, F.conv1d(torch.ones(1, 2, 5), torch.ones(2, 1, 3), groups=2))
print(F.unfold(im, 2, stride=2), F.fold(F.unfold(im, 2, stride=2), 4, 2, stride=2).equal(im))
print(F.one_hot(torch.tensor([0, 2]), 4), F.embedding(torch.tensor([[1, 0]]), torch.eye(3)), F.normalize(torch.tensor([[3., 4.]])), F.layer_norm(p, (4,)), F.linear(p, torch.eye(4), q).equal(p + q))
grid = F.affine_grid(torch.tensor([[[1., 0, 0], [0, 1, 0]]]), (1, 1, 4, 4), align_corners=False)
print(F.grid_sample(im, grid, align_corners=False).allclose(im, atol=1e-5), F.pixel_shuffle(torch.arange(4.).view(1, 4, 1, 1), 2), F.group_norm(im, 1).mean().abs() < 1e-5)
attention = F.scaled_dot_product_attention(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4), is_causal=True)
print(attention.shape, F.dropout(p, 0.5, training=False).equal(p), F.batch_norm(im, torch.zeros(1), torch.ones(1)).allclose(im, atol=1e-3), F.bilinear(p[None], q[None], torch.ones(1, 4, 4)).shape)
print(F.ctc_loss(torch.randn(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [2, 3]]), torch.tensor([5, 5]), torch.tensor([2, 1])).ndim, F.gumbel_softmax(logits, hard=True).sum(1))
