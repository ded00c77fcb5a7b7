"""Contrastive learning: two views, the NT-Xent loss with a mask, cosine similarities, momentum encoder with a queue, linear probe."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


class Augment:
    def __init__(self, sigma, generator):
        self.sigma, self.generator = sigma, generator

    def __call__(self, x):
        noise = torch.normal(0.0, self.sigma, size=x.shape, generator=self.generator)
        keep = torch.bernoulli(torch.full(x.shape, 0.9), generator=self.generator)
        return (x + noise) * keep


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = F.normalize(torch.cat((z1, z2), 0), dim=1)
    sim = torch.matmul(z, z.t()) / temperature
    mask = torch.eye(2 * n, dtype=torch.bool, device=sim.device)
    sim = sim.masked_fill(mask, float("-inf"))
    target = torch.arange(2 * n).roll(n)
    return F.cross_entropy(sim, target), (sim.argmax(1) == target).float().mean()


class MoCo(nn.Module):
    def __init__(self, encoder, dim=8, K=16, m=0.9, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = encoder, copy.deepcopy(encoder)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        n, ptr = keys.shape[0], int(self.queue_ptr)
        self.queue[:, ptr:ptr + n] = keys.T
        self.queue_ptr[0] = (ptr + n) % self.K

    def forward(self, a, b):
        q = F.normalize(self.encoder_q(a), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(b), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        self._enqueue(k)
        return logits, torch.zeros(logits.shape[0], dtype=torch.long)


torch.manual_seed(5)
g = torch.Generator().manual_seed(11)
centres = torch.randn(4, 10) * 2
labels = torch.arange(4).repeat_interleave(4)
data = centres[labels] + 0.3 * torch.randn(16, 10)
encoder = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
augment = Augment(0.1, g)
for step in range(8):
    loss, accuracy = nt_xent(encoder(augment(data)), encoder(augment(data)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{step} {loss.item():.4f} {accuracy:.3f}")
moco = MoCo(encoder)
opt = torch.optim.SGD([p for p in moco.parameters() if p.requires_grad], lr=0.05)
for step in range(4):
    logits, target = moco(augment(data)[:8], augment(data)[:8])
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)(logits, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4), moco.queue_ptr.item(), round(moco.queue.norm().item(), 4))
encoder.eval()
with torch.no_grad():
    features = F.normalize(encoder(data))
sims = F.cosine_similarity(features[:, None], features[None], dim=-1)
same = labels[:, None] == labels[None]
print(sims[same].mean() > sims[~same].mean(), sims.shape)
k = sims.fill_diagonal_(-2).topk(3, dim=1).indices
print(labels[k].mode(dim=1).values)
emb = nn.Embedding(4, 8, max_norm=1.0)
probe = nn.CosineEmbeddingLoss(margin=0.1)
print(probe(features, emb(labels), torch.where(torch.arange(16) % 2 == 0, 1, -1)))
print(F.triplet_margin_with_distance_loss(features[:2], features[2:4], features[8:10], distance_function=lambda a, b: 1 - F.cosine_similarity(a, b), margin=0.5))
