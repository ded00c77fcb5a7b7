"""Image transforms in plain torch as torchvision writes them: Compose, normalise, flips, crops, jitter, rotation by affine grids, mixup, cutmix, cutout, random erasing, augment pipelines, colour spaces, blur."""
import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

torch.manual_seed(13)
random.seed(13)


class Compose:
    def __init__(self, ts):
        self.ts = ts

    def __call__(self, x):
        for t in self.ts:
            x = t(x)
        return x

    def __repr__(self):
        return "Compose(" + ", ".join(type(t).__name__ for t in self.ts) + ")"


class ToTensor:
    def __call__(self, pic):
        t = torch.tensor(pic, dtype=torch.uint8)
        return t.permute(2, 0, 1).contiguous().to(dtype=torch.get_default_dtype()).div(255)


class Normalize(nn.Module):
    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, t: Tensor) -> Tensor:
        if not self.inplace:
            t = t.clone()
        mean = torch.as_tensor(self.mean, dtype=t.dtype, device=t.device).view(-1, 1, 1)
        std = torch.as_tensor(self.std, dtype=t.dtype, device=t.device).view(-1, 1, 1)
        return t.sub_(mean).div_(std)


class RandomFlip(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x.flip(-1) if torch.rand(1) < self.p else x


class RandomCrop(nn.Module):
    def __init__(self, size, padding):
        super().__init__()
        self.size, self.padding = size, padding

    @staticmethod
    def get_params(x, out):
        h, w = x.shape[-2:]
        return torch.randint(0, h - out + 1, size=(1,)).item(), torch.randint(0, w - out + 1, size=(1,)).item()

    def forward(self, x):
        x = F.pad(x, [self.padding] * 4, mode="reflect")
        i, j = self.get_params(x, self.size)
        return x[..., i:i + self.size, j:j + self.size]


class ColorJitter(nn.Module):
    def forward(self, x):
        b, c, s = (float(torch.empty(1).uniform_(0.6, 1.4)) for _ in range(3))
        for op in torch.randperm(3):
            if op == 0:
                x = (x * b).clamp(0, 1)
            elif op == 1:
                x = (c * x + (1 - c) * gray(x).mean()).clamp(0, 1)
            elif op == 2:
                x = (s * x + (1 - s) * gray(x)).clamp(0, 1)
        return x


def gray(x):
    r, g, b = x.unbind(dim=-3)
    return (0.2989 * r + 0.587 * g + 0.114 * b).unsqueeze(dim=-3)


def rotate(x, angle):
    a = math.radians(angle)
    theta = torch.tensor([[math.cos(a), math.sin(a), 0], [-math.sin(a), math.cos(a), 0]])
    grid = F.affine_grid(theta[None], [1, *x.shape], align_corners=False)
    return F.grid_sample(x[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]


def rgb2hsv(img):
    r, g, b = img.unbind(-3)
    maxc, minc = torch.max(img, -3).values, torch.min(img, -3).values
    eqc = maxc == minc
    cr = maxc - minc
    s = cr / torch.where(eqc, torch.ones_like(maxc), maxc)
    crd = torch.where(eqc, torch.ones_like(maxc), cr)
    rc, gc, bc = (maxc - r) / crd, (maxc - g) / crd, (maxc - b) / crd
    hr = (maxc == r) * (bc - gc)
    hg = ((maxc == g) & (maxc != r)) * (2.0 + rc - bc)
    hb = ((maxc != g) & (maxc != r)) * (4.0 + gc - rc)
    return torch.stack((torch.fmod((hr + hg + hb) / 6.0 + 1.0, 1.0), s, maxc), dim=-3)


def blur(x, k=5, sigma=1.0):
    t = torch.linspace(-(k - 1) / 2, (k - 1) / 2, k)
    pdf = torch.exp(-0.5 * (t / sigma).pow(2))
    k1 = pdf / pdf.sum()
    k2 = torch.mm(k1[:, None], k1[None, :]).expand(x.shape[-3], 1, k, k)
    return F.conv2d(F.pad(x[None], [k // 2] * 4, mode="reflect"), k2, groups=x.shape[-3])[0]


def erase(x, p=0.9, scale=(0.1, 0.3), ratio=(0.3, 3.3), value=None):
    if torch.rand(1) >= p:
        return x
    c, h, w = x.shape
    for _ in range(10):
        area = h * w * torch.empty(1).uniform_(scale[0], scale[1]).item()
        log = torch.log(torch.tensor(ratio))
        r = torch.exp(torch.empty(1).uniform_(log[0], log[1])).item()
        eh, ew = int(round(math.sqrt(area * r))), int(round(math.sqrt(area / r)))
        if not (eh < h and ew < w):
            continue
        v = torch.empty([c, eh, ew], dtype=torch.float32).normal_() if value is None else torch.full((c, eh, ew), value)
        i, j = torch.randint(0, h - eh + 1, size=(1,)).item(), torch.randint(0, w - ew + 1, size=(1,)).item()
        x = x.clone()
        x[..., i:i + eh, j:j + ew] = v
        break
    return x


pic = [[[(r * 30 + c * 7 + k * 11) % 256 for k in range(3)] for c in range(8)] for r in range(8)]
tf = Compose([ToTensor(), RandomCrop(8, 2), RandomFlip(), ColorJitter(), Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
print(tf)
batch = torch.stack([tf(pic) for _ in range(6)])
print(batch.shape, batch.mean((0, 2, 3)), batch.std(), batch[3, 0, 0])
img = ToTensor()(pic)
print(rotate(img, 30)[0, 3], rgb2hsv(img)[:, 2, 2], blur(img)[1, 1], gray(img)[0, 0, :4])
print(erase(img).sum(), erase(img, value=0.0).sum())
y = torch.randint(0, 4, (6,))
lam = torch.distributions.Beta(0.4, 0.4).sample().item()
perm = torch.randperm(6)
mixed = torch.lerp(batch[perm], batch, lam)
oh = F.one_hot(y, 4).float()
print(round(lam, 4), mixed.sum(), (lam * oh + (1 - lam) * oh[perm])[0])
rx, ry = torch.randint(8, (1,)).item(), torch.randint(8, (1,)).item()
r = 0.5 * math.sqrt(1 - lam)
x1, y1, x2, y2 = (int(v) for v in torch.tensor([rx - r * 8, ry - r * 8, rx + r * 8, ry + r * 8]).clamp(0, 8).tolist())
cm = batch.clone()
cm[:, :, y1:y2, x1:x2] = batch.roll(1, 0)[:, :, y1:y2, x1:x2]
print(cm.sum(), 1 - (x2 - x1) * (y2 - y1) / 64)
q = (img * 255).to(torch.uint8)
print(q[0, :2, :3], q.float().div(16).floor().mul(16).to(torch.uint8)[0, 0, :4], torch.where(q < 128, q, 255 - q).sum(), q.bitwise_and(0xF0).sum(), torch.histc(img, 4, 0, 1), (q >> 4).max(), q.max() - q.min())
five = torch.stack([img[:, :4, :4], img[:, :4, -4:], img[:, -4:, :4], img[:, -4:, -4:], img[:, 2:6, 2:6]])
print(five.mean((1, 2, 3)), F.interpolate(five, size=6, mode="bilinear", antialias=True, align_corners=False)[0, 0, 0], F.interpolate(q[None].float(), scale_factor=0.5, mode="area").shape, img.unfold(1, 4, 4).unfold(2, 4, 4).shape, img.unfold(1, 4, 2)[0, 1, 0])
cov = torch.cov(batch.flatten(2).permute(1, 0, 2).reshape(3, -1))
e, v = torch.linalg.eigh(cov)
print(e, (v @ torch.diag(e) @ v.T - cov).abs().max() < 1e-5, torch.quantile(img, torch.tensor([0.1, 0.9])), img.rot90(1, (1, 2))[0, 0], torch.clamp_max(img, 0.3).mean(), img.amax((1, 2)), torch.aminmax(img), img.sort(-1, descending=True).indices[0, 0])
seq = nn.Sequential(RandomFlip(1.0), Normalize([0.5] * 3, [0.5] * 3))
s = torch.jit.script(Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]))
print(torch.allclose(s(img), Normalize([0.5] * 3, [0.5] * 3)(img)), seq(img)[0, 0, :3])
