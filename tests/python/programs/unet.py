"""Segmentation by a U-Net: transposed convolutions, skip connections, Dice and focal losses, IoU, boundary pixels ignored."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout, mid=None):
        mid = mid or cout
        super().__init__(nn.Conv2d(cin, mid, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(inplace=True),
                         nn.Conv2d(mid, cout, kernel_size=3, padding=1, bias=False), nn.InstanceNorm2d(cout, affine=True), nn.PReLU(cout))


class Up(nn.Module):
    def __init__(self, cin, cout, bilinear):
        super().__init__()
        if bilinear:
            self.up, self.conv = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), DoubleConv(cin + cin // 2, cout)
        else:
            self.up, self.conv = nn.ConvTranspose2d(cin, cin // 2, kernel_size=2, stride=2), DoubleConv(cin, cout)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        dy, dx = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, channels=1, classes=3, width=4, bilinear=False):
        super().__init__()
        self.inc = DoubleConv(channels, width)
        self.down = nn.ModuleList(nn.Sequential(nn.MaxPool2d(2), DoubleConv(width * 2 ** i, width * 2 ** (i + 1))) for i in range(2))
        self.up = nn.ModuleList(Up(width * 2 ** (i + 1), width * 2 ** i, bilinear) for i in reversed(range(2)))
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        xs = [self.inc(x)]
        for d in self.down:
            xs.append(d(xs[-1]))
        x = xs.pop()
        for u in self.up:
            x = u(x, xs.pop())
        return self.outc(x)


def dice_loss(logits, target, eps=1e-6):
    probs = logits.softmax(1)
    onehot = F.one_hot(target.clamp(min=0), logits.shape[1]).permute(0, 3, 1, 2).type_as(probs)
    valid = (target >= 0).unsqueeze(1)
    probs, onehot = probs * valid, onehot * valid
    inter, total = (probs * onehot).sum((0, 2, 3)), probs.add(onehot).sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (total + eps)).mean()


def focal_loss(logits, target, gamma=2.0):
    logp = F.log_softmax(logits, 1)
    ce = F.nll_loss(logp, target, ignore_index=-1, reduction="none")
    pt = torch.exp(-ce)
    return ((1 - pt) ** gamma * ce)[target != -1].mean()


def iou(pred, target, classes):
    out = []
    for c in range(classes):
        p, t = pred == c, target == c
        union = (p | t).sum().item()
        out.append(float("nan") if union == 0 else round((p & t).sum().item() / union, 3))
    return out


torch.manual_seed(0)
yy, xx = torch.meshgrid(torch.arange(13), torch.arange(14), indexing="ij")
images, masks = [], []
for k in range(4):
    disc = ((yy - 4 - k) ** 2 + (xx - 5) ** 2) < 12
    box = (yy > 7) & (xx > 8 + k % 2)
    mask = torch.where(disc, 1, torch.where(box, 2, 0))
    edge = F.max_pool2d(mask.float()[None], 3, 1, 1)[0] != -F.max_pool2d(-mask.float()[None], 3, 1, 1)[0]
    images.append((mask.float() - 1 + 0.1 * torch.randn(13, 14)).unsqueeze(0))
    masks.append(mask.masked_fill(edge & (mask == 0), -1))
x, y = torch.stack(images), torch.stack(masks)
print(x.shape, y.unique(return_counts=True))
for bilinear in (False, True):
    torch.manual_seed(1)
    net = UNet(bilinear=bilinear)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-2, weight_decay=1e-8, momentum=0.5)
    for epoch in range(5):
        logits = net(x)
        ce, dice, focal = F.cross_entropy(logits, y, ignore_index=-1), dice_loss(logits, y), focal_loss(logits, y)
        loss = ce + dice + 0.5 * focal
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm=5.0)
        optimizer.step()
        print("%d ce %.3f dice %.3f focal %.3f" % (epoch, ce.item(), dice.item(), focal.item()))
    print(sum(p.numel() for p in net.parameters()), logits.argmax(1).shape, iou(logits.argmax(1), y, 3)[0] > 0.1)
