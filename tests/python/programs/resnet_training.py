"""A residual network from scratch: augmentation, weight decay without norms and biases, warm-up and cosine, label smoothing, mixup, top-k accuracy, meters."""
import math
from functools import partial
from typing import Callable, List, Optional, Type

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, groups=groups, bias=False)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeeze):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, squeeze, 1), nn.Conv2d(squeeze, channels, 1)

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * self.fc2(F.silu(self.fc1(s))).sigmoid()


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        keep = 1 - self.p
        mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        return x.div(keep) * mask


class Bottleneck(nn.Module):
    def __init__(self, planes, stride=1, norm_layer: Optional[Callable[..., nn.Module]] = None, drop=0.0):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1, self.bn1 = conv3x3(planes, planes, stride), norm_layer(planes)
        self.conv2, self.bn2 = conv3x3(planes, planes, groups=planes), norm_layer(planes)
        self.se, self.drop = SqueezeExcitation(planes, 2), DropPath(drop)
        self.down = nn.AvgPool2d(stride, ceil_mode=True) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.se(self.bn2(self.conv2(out)))
        return F.relu(self.down(x) + self.drop(out))


class Net(nn.Module):
    def __init__(self, block: Type[Bottleneck] = Bottleneck, classes=5):
        super().__init__()
        self.stem = nn.Sequential(conv3x3(3, 8), nn.BatchNorm2d(8), nn.Hardswish())
        self.stages = nn.Sequential(*[block(8, s, partial(nn.BatchNorm2d, eps=1e-3), d) for s, d in ((1, 0.0), (2, 0.1), (2, 0.2))])
        self.pool, self.drop, self.fc = nn.AdaptiveAvgPool2d(1), nn.Dropout(0.1), nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.drop(self.pool(self.stages(self.stem(x))).flatten(1)))


class AverageMeter(object):
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.sum = self.count = self.val = 0

    def update(self, val, n=1):
        self.val, self.sum, self.count = val, self.sum + val * n, self.count + n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def augment(x):
    if torch.rand(1).item() < 0.5:
        x = x.flip(-1)
    padded = F.pad(x, (1, 1, 1, 1), mode="reflect")
    i, j = torch.randint(0, 3, (2,)).tolist()
    x = padded[..., i:i + x.shape[-2], j:j + x.shape[-1]]
    mean, std = torch.tensor([0.1, 0.0, -0.1]).view(3, 1, 1), torch.tensor([1.0, 1.1, 0.9]).view(3, 1, 1)
    x = (x - mean) / std
    k = int(torch.randint(0, 6, ()))
    x[..., k:k + 2, k:k + 2] = 0
    return x


def mixup(x, y, classes, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    index = torch.randperm(x.size(0))
    onehot = F.one_hot(y, classes).float()
    return lam * x + (1 - lam) * x[index], lam * onehot + (1 - lam) * onehot[index]


def main():
    torch.manual_seed(42)
    torch.backends.cudnn.benchmark = True
    centres = torch.randn(5, 3, 8, 8)
    y = torch.arange(20) % 5
    x = centres[y] + 0.3 * torch.randn(20, 3, 8, 8)
    model = Net().to(memory_format=torch.channels_last)
    print(sum(p.numel() for p in model.parameters()), [tuple(p.shape) for p in model.stages[1].conv2.parameters()])
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    rest = [p for n, p in model.named_parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD([{"params": decay}, {"params": rest, "weight_decay": 0.0}], lr=0.05, momentum=0.9, weight_decay=1e-2, nesterov=True)
    total, warm = 8, 2
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: (s + 1) / warm if s < warm else 0.5 * (1 + math.cos(math.pi * (s - warm) / (total - warm))))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses, top1, top3 = AverageMeter("Loss", ":.4f"), AverageMeter("Acc@1", ":6.2f"), AverageMeter("Acc@3", ":6.2f")
    for epoch in range(4):
        model.train()
        for index in torch.randperm(20).split(10):
            images, target = augment(x[index]).contiguous(memory_format=torch.channels_last), y[index]
            mixed, soft = mixup(images, target, 5) if epoch % 2 else (images, target)
            output = model(mixed)
            loss = criterion(output, soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            acc1, acc3 = accuracy(output, target, topk=(1, 3))
            losses.update(loss.item(), images.size(0))
            top1.update(acc1[0].item(), images.size(0))
            top3.update(acc3[0].item(), images.size(0))
        print(f"Epoch: [{epoch}]\t{losses}\t{top1}\t{top3}\t{scheduler.get_last_lr()[0]:.4f}")
    model.eval()
    with torch.no_grad():
        out = model(x)
    print(out.shape, "%.4f" % criterion(out, y), out.argmax(1).bincount(minlength=5).sum())
    conf = torch.zeros(5, 5, dtype=torch.int64)
    conf.index_put_((y, out.argmax(1)), torch.ones(20, dtype=torch.int64), accumulate=True)
    print(conf.sum(1), conf.trace() == (out.argmax(1) == y).sum())


if __name__ == "__main__":
    main()
