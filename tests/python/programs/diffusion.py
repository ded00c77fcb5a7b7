"""A denoising diffusion model: noise schedules, sinusoidal time embeddings, training on predicted noise, DDPM and DDIM sampling with a guidance scale."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def cosine_beta_schedule(timesteps, s=0.008):
    steps = timesteps + 1
    x = torch.linspace(0, timesteps, steps, dtype=torch.float64)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    return torch.clip(1 - (alphas_cumprod[1:] / alphas_cumprod[:-1]), 0, 0.999)


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1))).float()


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = torch.exp(torch.arange(half, device=x.device) * -(math.log(10000) / (half - 1)))
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, time):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time, cout * 2))
        self.conv1, self.norm, self.conv2 = nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.res = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        scale, shift = self.mlp(t)[:, :, None, None].chunk(2, dim=1)
        h = F.silu(self.norm(self.conv1(x)) * (scale + 1) + shift)
        return self.conv2(h) + self.res(x)


class Denoiser(nn.Module):
    def __init__(self, classes=2, dim=8):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, 16))
        self.label = nn.Embedding(classes + 1, 16)
        self.null = classes
        self.blocks = nn.ModuleList([ResBlock(1, dim, 16), ResBlock(dim, dim, 16)])
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.out = nn.Conv2d(dim, 1, 1)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t, y):
        emb = self.time(t) + self.label(y)
        for b in self.blocks:
            x = b(x, emb)
        n, c, h, w = x.shape
        seq = x.flatten(2).transpose(1, 2)
        seq = seq + self.attn(seq, seq, seq, need_weights=False)[0]
        return self.out(seq.transpose(1, 2).reshape(n, c, h, w))


torch.manual_seed(0)
T = 20
betas = cosine_beta_schedule(T)
alphas = 1.0 - betas
bar = torch.cumprod(alphas, dim=0)
prev = F.pad(bar[:-1], (1, 0), value=1.0)
posterior = betas * (1.0 - prev) / (1.0 - bar)
print(bar[::5], posterior[:3], torch.linspace(1e-4, 0.02, 5))
labels = torch.tensor([0, 1] * 8)
images = torch.zeros(16, 1, 6, 6)
images[labels == 0, :, 1:3] = 1
images[labels == 1, :, :, 3:5] = 1
images = images * 2 - 1
model = Denoiser()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(10):
    t = torch.randint(0, T, (16,)).long()
    noise = torch.randn_like(images)
    noisy = extract(bar.sqrt(), t, images.shape) * images + extract((1 - bar).sqrt(), t, images.shape) * noise
    y = torch.where(torch.rand(16) < 0.2, torch.full_like(labels, model.null), labels)
    weight = extract(torch.minimum(bar / (1 - bar), torch.tensor(5.0)), t, images.shape)
    loss = (F.mse_loss(model(noisy, t, y), noise, reduction="none") * weight.clamp(min=0.1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 0:
        print(step, "%.4f" % loss)


@torch.inference_mode()
def sample(n, y, guidance=1.5):
    x = torch.randn(n, 1, 6, 6)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        eps_c, eps_u = model(torch.cat([x, x]), t.repeat(2), torch.cat([y, torch.full_like(y, model.null)])).chunk(2)
        eps = eps_u + guidance * (eps_c - eps_u)
        mean = extract(1 / alphas.sqrt(), t, x.shape) * (x - extract(betas / (1 - bar).sqrt(), t, x.shape) * eps)
        x = mean + (extract(posterior, t, x.shape).sqrt() * torch.randn_like(x) if i else 0.0)
    return x.clamp_(-1, 1)


@torch.no_grad()
def ddim(x, y, steps=5):
    times = torch.linspace(T - 1, 0, steps).round().long().tolist()
    for a, b in zip(times, times[1:] + [-1]):
        t = torch.full((x.shape[0],), a)
        eps = model(x, t, y)
        x0 = ((x - (1 - bar[a]).sqrt() * eps) / bar[a].sqrt()).clip(-1, 1).float()
        x = (x0 if b < 0 else bar[b].sqrt() * x0 + (1 - bar[b]).sqrt() * eps).float()
    return x


model.eval()
out = sample(4, torch.tensor([0, 1, 0, 1]))
print(out.shape, out.mean((1, 2, 3)), out.isfinite().all())
a = ddim(torch.randn(2, 1, 6, 6, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1]))
print(a.flatten(1).mean(1), a.dtype)
