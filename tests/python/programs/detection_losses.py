"""Vision heads: anchors, IoU, NMS by hand, focal and dice losses, RoI by grid_sample, Hungarian-free matching, pixel shuffle, unfold patches, interpolate modes, class maps."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


def box_iou(a, b):
    area = lambda t: (t[:, 2] - t[:, 0]).clamp(0) * (t[:, 3] - t[:, 1]).clamp(0)
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    return inter / (area(a)[:, None] + area(b) - inter)


def nms(boxes, scores, thr):
    order, keep = scores.argsort(descending=True), []
    while order.numel():
        i = order[0]
        keep.append(i.item())
        if order.numel() == 1:
            break
        order = order[1:][box_iou(boxes[i][None], boxes[order[1:]])[0] <= thr]
    return torch.tensor(keep)


def anchors(size, stride, scales):
    ys, xs = torch.meshgrid(torch.arange(size) * stride, torch.arange(size) * stride, indexing="ij")
    c = torch.stack([xs, ys], -1).reshape(-1, 1, 2) + stride / 2
    wh = torch.tensor([[s, s * r] for s in scales for r in (0.5, 1, 2)]).float()[None]
    return torch.cat([c - wh / 2, c + wh / 2], -1).reshape(-1, 4)


a = anchors(4, 8, (6, 12))
gt = torch.tensor([[2.0, 2, 12, 14], [15, 10, 30, 28]])
iou = box_iou(gt, a)
best, which = iou.max(0)
print(a.shape, iou.shape, best.topk(3), which[best > 0.3], (iou > 0.4).nonzero())
s = torch.rand(len(a))
keep = nms(a, s, 0.3)
print(keep, s[keep][:4])


def sigmoid_focal(x, t, alpha=0.25, gamma=2.0):
    p = x.sigmoid()
    ce = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    pt = p * t + (1 - p) * (1 - t)
    return ((alpha * t + (1 - alpha) * (1 - t)) * (1 - pt) ** gamma * ce).sum()


class Head(nn.Module):
    def __init__(self, c=6, k=2):
        super().__init__()
        self.back = nn.Sequential(nn.Conv2d(3, c, 3, 2, 1), nn.GroupNorm(2, c), nn.Mish(), nn.Conv2d(c, c, 3, 2, 1, groups=2), nn.Hardswish(), nn.MaxPool2d(2, ceil_mode=True))
        self.cls, self.reg = nn.Conv2d(c, 6 * k, 1), nn.Conv2d(c, 6 * 4, 1)
        nn.init.constant_(self.cls.bias, -math.log((1 - 0.01) / 0.01))

    def forward(self, x):
        f = self.back(x)
        B = x.size(0)
        c = self.cls(f).view(B, 6, -1, *f.shape[-2:]).permute(0, 3, 4, 1, 2).reshape(B, -1, 2)
        r = self.reg(f).view(B, 6, 4, *f.shape[-2:]).permute(0, 3, 4, 1, 2).flatten(1, 3)
        return c, r, f


net = Head()
opt = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9, dampening=0.1, weight_decay=1e-3)
labels = torch.zeros(len(a), 2)
pos = best > 0.25
labels[pos, which[pos]] = 1
for it in range(5):
    c, r, f = net(torch.randn(2, 3, 32, 32))
    loss_c = sigmoid_focal(c, labels.expand_as(c)) / pos.sum()
    tgt = ((gt[which[pos]] - a[pos]) / 8).expand(2, -1, -1)
    loss_r = F.smooth_l1_loss(r[:, pos], tgt, beta=0.11)
    giou = 1 - box_iou(a[pos][:3] + r[0, pos][:3], gt).diagonal().mean()
    (loss_c + loss_r + 0.1 * giou).backward()
    opt.step()
    opt.zero_grad()
    print(round(loss_c.item(), 4), round(loss_r.item(), 4), round(giou.item(), 4))
feat = torch.arange(32.0).view(1, 2, 4, 4)
theta = torch.tensor([[[0.5, 0, 0.2], [0, 0.5, -0.1]]])
grid = F.affine_grid(theta, (1, 2, 3, 3), align_corners=False)
for mode in ("bilinear", "nearest", "bicubic"):
    print(mode, F.grid_sample(feat, grid, mode=mode, padding_mode="border", align_corners=False)[0, 0])
for kw in (dict(scale_factor=1.5, mode="bilinear", align_corners=True), dict(size=(6, 5), mode="bicubic", align_corners=False), dict(scale_factor=2, mode="nearest"), dict(size=2, mode="area"), dict(size=(3, 3), mode="bilinear", antialias=True), dict(scale_factor=0.5, mode="nearest-exact")):
    o = F.interpolate(feat, **kw)
    print(kw, o.shape, o[0, 0, 0], o.sum())
patches = F.unfold(feat, 2, stride=2)
print(patches.shape, F.fold(patches, (4, 4), 2, stride=2).equal(feat), F.pixel_shuffle(torch.arange(16.0).view(1, 4, 2, 2), 2)[0, 0, 0], F.pixel_unshuffle(feat, 2).shape, F.channel_shuffle(torch.arange(4.0).view(1, 4, 1, 1), 2).flatten())


def dice(logits, target, eps=1e-6):
    p = logits.softmax(1)
    oh = F.one_hot(target, 3).permute(0, 3, 1, 2).float()
    inter = (p * oh).sum((2, 3))
    return 1 - ((2 * inter + eps) / (p.sum((2, 3)) + oh.sum((2, 3)) + eps)).mean()


logits, tgt = torch.randn(2, 3, 4, 4, requires_grad=True), torch.randint(0, 3, (2, 4, 4))
tgt[0, 0] = 255
loss = F.cross_entropy(logits, tgt, ignore_index=255, weight=torch.tensor([1.0, 2.0, 0.5])) + dice(logits, tgt.clamp(max=2))
loss.backward()
print(loss, logits.grad[0, :, 0].abs().sum(), logits.grad.sum())
hist = torch.bincount(3 * tgt[tgt < 3] + logits.argmax(1)[tgt < 3], minlength=9).view(3, 3)
print(hist, hist.diag() / (hist.sum(0) + hist.sum(1) - hist.diag()))
print(F.adaptive_avg_pool2d(feat, (2, 3))[0, 0], F.max_pool2d(feat, 2, return_indices=True)[1][0, 0], F.avg_pool2d(feat, 3, 1, 1, count_include_pad=False)[0, 0, 0], F.lp_pool2d(feat, 2, 2)[0, 0, 0], F.local_response_norm(feat, 2)[0, 0, 0], F.pad(feat, (1, 1, 0, 0), mode="circular")[0, 0, 0], F.pad(feat, (1, 0, 0, 1), value=9)[0, 0, -1], F.instance_norm(feat)[0, 0, 0])
print(nn.CrossEntropyLoss()(torch.eye(3), torch.eye(3).softmax(1)), nn.NLLLoss2d()(torch.randn(1, 3, 2, 2).log_softmax(1), torch.zeros(1, 2, 2, dtype=torch.long)) if False else "", nn.KLDivLoss(reduction="batchmean", log_target=True)(torch.rand(2, 3).log_softmax(1), torch.rand(2, 3).log_softmax(1)), nn.TripletMarginLoss()(torch.zeros(2, 3), torch.ones(2, 3), 2 * torch.ones(2, 3)), nn.CosineEmbeddingLoss(margin=0.1)(torch.ones(2, 3), -torch.ones(2, 3), torch.tensor([1, -1])), nn.HuberLoss(delta=0.5)(torch.zeros(2), torch.ones(2)), nn.PoissonNLLLoss()(torch.ones(2), torch.ones(2)), nn.GaussianNLLLoss()(torch.zeros(2), torch.ones(2), torch.ones(2)), nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.ones(1, 2)), nn.CTCLoss()(torch.randn(5, 1, 4).log_softmax(2), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])))
