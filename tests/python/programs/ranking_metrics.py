"""Recommenders and metrics: matrix factorisation with embeddings, BPR, two towers with in-batch negatives, AUC, NDCG, precision-recall, k-means, PCA, KNN, t-SNE-like gradients, calibration, bootstrap."""
import torch
from torch import nn, optim
import torch.nn.functional as F

torch.manual_seed(19)
users, items = 20, 15
U, V = torch.randn(users, 3), torch.randn(items, 3)
ratings = (U @ V.T + 0.3 * torch.randn(users, items))
obs = torch.rand(users, items) < 0.5
ui = obs.nonzero()


class MF(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.u, self.i = nn.Embedding(users, d), nn.Embedding(items, d)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mu = nn.Parameter(torch.zeros(()))
        for e in (self.u, self.i):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bi):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(-1) + self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1) + self.mu


mf = MF()
opt = optim.Adagrad(mf.parameters(), lr=0.3, lr_decay=1e-3, initial_accumulator_value=0.1)
for epoch in range(5):
    tot = 0.0
    for b in ui[torch.randperm(len(ui))].split(32):
        loss = F.mse_loss(mf(b[:, 0], b[:, 1]), ratings[b[:, 0], b[:, 1]])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    print(epoch, round(tot / len(ui), 4))
bpr = MF()
opt = optim.Adadelta(bpr.parameters(), lr=1.0, rho=0.9)
for step in range(10):
    u = torch.randint(0, users, (64,))
    pos = torch.multinomial(obs[u].float() + 1e-9, 1)[:, 0]
    neg = torch.multinomial((~obs[u]).float() + 1e-9, 1)[:, 0]
    loss = -F.logsigmoid(bpr(u, pos) - bpr(u, neg)).mean() + 1e-3 * sum(p.pow(2).sum() for p in bpr.parameters())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 4))


def auc(s, y):
    order = s.argsort()
    ranks = torch.empty_like(order).scatter_(0, order, torch.arange(1, len(s) + 1))
    p = y.sum()
    return ((ranks[y].sum() - p * (p + 1) / 2) / (p * (~y).sum())).item()


def ndcg(scores, rel, k):
    top = scores.topk(k, dim=1).indices
    disc = 1 / torch.log2(torch.arange(k) + 2.0)
    dcg = (rel.gather(1, top) * disc).sum(1)
    ideal = (rel.sort(1, descending=True).values[:, :k] * disc).sum(1)
    return (dcg / ideal.clamp(min=1e-9)).mean()


with torch.no_grad():
    full = bpr(torch.arange(users)[:, None].expand(-1, items), torch.arange(items).expand(users, -1))
    print(round(auc(full.flatten(), obs.flatten()), 5), ndcg(full, obs.float(), 5))
    s, y = torch.rand(40), torch.rand(40) < 0.4
    thr = s.sort(descending=True)
    tp = y[thr.indices].cumsum(0)
    prec, rec = tp / torch.arange(1, 41), tp / y.sum()
    ap = ((rec - F.pad(rec[:-1], (1, 0))) * prec).sum()
    tpr = torch.cat([torch.zeros(1), rec])
    fpr = torch.cat([torch.zeros(1), (~y[thr.indices]).cumsum(0) / (~y).sum()])
    print(ap, torch.trapezoid(tpr, fpr), auc(s, y), torch.trapz(tpr, dx=0.1))
    bins = torch.bucketize(s, torch.linspace(0, 1, 6)[1:-1])
    conf = torch.zeros(5).index_add_(0, bins, s) / torch.bincount(bins, minlength=5)
    acc = torch.zeros(5).index_add_(0, bins, y.float()) / torch.bincount(bins, minlength=5)
    print((conf - acc).abs(), bins[:8])
    boot = torch.stack([y[torch.randint(0, 40, (40,))].float().mean() for _ in range(50)])
    print(boot.quantile(torch.tensor([0.025, 0.5, 0.975])), boot.std(), torch.median(boot), boot.mode())
a, b = nn.Linear(6, 4), nn.Linear(5, 4)
xa, xb = torch.randn(8, 6), torch.randn(8, 5)
t = nn.Parameter(torch.tensor(0.07).log())
opt = optim.SGD([*a.parameters(), *b.parameters(), t], lr=0.1)
for _ in range(5):
    ea, eb = F.normalize(a(xa), dim=-1), F.normalize(b(xb), dim=-1)
    logits = ea @ eb.T / t.exp()
    y = torch.arange(8)
    loss = (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    t.data.clamp_(-4, 0)
print(round(loss.item(), 4), t.exp().item(), (logits.argmax(1) == y).float().mean())
pts = torch.cat([torch.randn(20, 2) + c for c in torch.tensor([[0.0, 0], [5, 5], [0, 5]])])
c = pts[torch.randperm(60)[:3]].clone()
for _ in range(8):
    lab = torch.cdist(pts, c).argmin(1)
    c = torch.stack([pts[lab == k].mean(0) if (lab == k).any() else c[k] for k in range(3)])
print(c[c[:, 0].argsort()], torch.bincount(lab).sort().values)
m = pts - pts.mean(0)
u, sv, vh = torch.linalg.svd(m, full_matrices=False)
print(sv, (sv ** 2 / (sv ** 2).sum()), (m @ vh.T)[:2].abs(), torch.pca_lowrank(pts, q=2)[1].shape, torch.corrcoef(pts.T)[0, 1])
d = torch.cdist(pts[:10], pts)
knn = d.topk(4, largest=False)
print(knn.indices[0], torch.mode(lab[knn.indices[:, 1:]], 1).values.eq(lab[:10]).all(), d.kthvalue(2, 1).values[:3])
P = torch.exp(-torch.cdist(pts, pts).pow(2) / 4)
P = P.fill_diagonal_(0) / P.sum()
Y = (1e-2 * torch.randn(60, 2)).requires_grad_()
opt = optim.SGD([Y], lr=20.0, momentum=0.5)
for i in range(15):
    n = (1 + torch.cdist(Y, Y, compute_mode="donot_use_mm_for_euclid_dist").pow(2)).reciprocal()
    n = n - torch.diag(n.diagonal())
    kl = (P.clamp(min=1e-12) * (P.clamp(min=1e-12).log() - (n / n.sum()).clamp(min=1e-12).log())).sum()
    opt.zero_grad()
    kl.backward()
    opt.step()
print("%.3f" % kl.item(), Y.grad.shape)
print(torch.triu(torch.ones(3, 3), 1).nonzero().T, torch.vander(torch.tensor([1.0, 2, 3])), torch.diff(torch.tensor([1, 4, 9])), torch.cummax(torch.tensor([1, 3, 2]), 0), torch.renorm(pts[:2], 2, 0, 1.0), torch.gradient(torch.tensor([1.0, 4, 9, 16]))[0], torch.nanmean(torch.tensor([1.0, float("nan"), 3])), torch.count_nonzero(pts > 0, 0), torch.heaviside(torch.tensor([-1.0, 0, 1]), torch.tensor(0.5)), torch.tensor_split(torch.arange(7), 3), torch.hsplit(torch.arange(4.0).view(2, 2), 2)[1], torch.dstack([torch.ones(2), torch.zeros(2)]).shape)
