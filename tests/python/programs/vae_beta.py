"""A convolutional VAE and a VQ-VAE: KL annealing, reparametrisation, straight-through codes with EMA updates, interpolation, make_grid-like arrangement, BCE losses."""
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
imgs = torch.zeros(64, 1, 8, 8)
for i in range(64):
    r, c = i // 8 % 6, i % 6
    imgs[i, 0, r:r + 3, c:c + 2] = 1
loader = DataLoader(TensorDataset(imgs), batch_size=16, shuffle=True, drop_last=True)


class VAE(nn.Module):
    def __init__(self, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.1), nn.Flatten())
        self.mu, self.logvar = nn.Linear(64, z), nn.Linear(64, z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.Unflatten(1, (16, 2, 2)), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ELU(), nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-8, 8)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


model = VAE().to(device)
opt = optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    beta = min(1.0, epoch / 3)
    tot = [0.0, 0.0]
    for (x,) in loader:
        x = x.to(device)
        out, mu, logvar = model(x)
        bce = F.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x)
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
        opt.zero_grad()
        (bce + beta * kld).backward()
        opt.step()
        tot[0] += bce.item()
        tot[1] += kld.item()
    print(epoch, *["%.3f" % (t / len(loader)) for t in tot])
model.eval()
with torch.no_grad():
    a, b = (model.mu(model.enc(imgs[i:i + 1])) for i in (0, 20))
    path = torch.stack([torch.lerp(a, b, w) for w in torch.linspace(0, 1, 4).tolist()]).squeeze(1)
    grid = model.dec(path).sigmoid()
    row = grid.permute(1, 2, 0, 3).reshape(8, 32)
    print(row.shape, row.mean(), row[4, ::8], F.binary_cross_entropy(grid, imgs[:4]))


class Quantizer(nn.Module):
    def __init__(self, k, d, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(k, d))
        self.register_buffer("size", torch.zeros(k))
        self.register_buffer("avg", self.codes.clone())

    def forward(self, z):
        flat = z.movedim(1, -1).reshape(-1, z.size(1))
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.t() + self.codes.pow(2).sum(1)
        idx = dist.argmin(1)
        q = F.embedding(idx, self.codes).view(z.size(0), *z.shape[2:], -1).movedim(-1, 1)
        if self.training:
            onehot = F.one_hot(idx, len(self.codes)).type(z.dtype)
            self.size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
            self.avg.mul_(self.decay).add_(onehot.t() @ flat.detach(), alpha=1 - self.decay)
            n = self.size.sum()
            cluster = (self.size + 1e-5) / (n + len(self.codes) * 1e-5) * n
            self.codes.copy_(self.avg / cluster.unsqueeze(1))
        commit = F.mse_loss(q.detach(), z)
        p = torch.bincount(idx, minlength=len(self.codes)).float() / idx.numel()
        return z + (q - z).detach(), commit, torch.exp(-(p * (p + 1e-10).log()).sum())


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.q = nn.Sequential(nn.Conv2d(1, 6, 4, 2, 1), nn.ReLU(), nn.Conv2d(6, 3, 1)), Quantizer(8, 3)
        self.d = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(6, 1, 3, padding="same"))

    def forward(self, x):
        q, c, p = self.q(self.e(x))
        return self.d(q), c, p


vq = VQVAE()
opt = optim.AdamW(vq.parameters(), lr=1e-2, amsgrad=True)
for step in range(12):
    x = imgs[torch.randint(0, 64, (16,))]
    out, c, p = vq(x)
    loss = F.mse_loss(out, x) + 0.25 * c
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.4f} {c.item():.4f} {p.item():.3f}", vq.q.size)
print([tuple(v.shape) for v in vq.state_dict().values()][-3:], sum(b.numel() for b in vq.buffers()))
