"""Sequences: a WaveNet-like stack of dilated convolutions, CTC with greedy decoding, a linear-chain CRF with Viterbi, char-CNN, time-series windows, attention pooling, bidirectional LSTM tagging, mamba-like scans."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


class CausalConv(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.pad, self.conv, self.skip = (d, 0), nn.utils.parametrizations.weight_norm(nn.Conv1d(c, 2 * c, 2, dilation=d)), nn.Conv1d(c, c, 1)

    def forward(self, x):
        a, b = self.conv(F.pad(x, self.pad)).chunk(2, 1)
        h = torch.tanh(a) * torch.sigmoid(b)
        s = self.skip(h)
        return x + s, s


class WaveNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.inp, self.layers, self.out = nn.Conv1d(1, c, 1), nn.ModuleList(CausalConv(c, 2 ** i) for i in range(3)), nn.Conv1d(c, 1, 1)

    def forward(self, x):
        h, skips = self.inp(x), 0
        for l in self.layers:
            h, s = l(h)
            skips = skips + s
        return self.out(F.relu(skips))


series = torch.sin(torch.arange(120) * 0.3) + 0.05 * torch.randn(120)
windows = series.unfold(0, 17, 4)
print(windows.shape, windows[1, :3])
net = WaveNet()
opt = torch.optim.RAdam(net.parameters(), lr=2e-2, weight_decay=1e-4, decoupled_weight_decay=True)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4, T_mult=2, eta_min=1e-4)
for i in range(8):
    pred = net(windows[:, None, :-1])
    loss = F.l1_loss(pred[:, 0], windows[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step(i + 1)
print(round(loss.item(), 5), "%.5f" % sched.get_last_lr()[0], net.layers[1].conv.parametrizations.weight.original0.shape)
x = windows[:1, None, :-1].clone().requires_grad_()
net(x)[0, 0, 5].backward()
print((x.grad[0, 0] != 0).int())


class CRF(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.trans, self.start, self.end = nn.Parameter(torch.randn(k, k) * 0.1), nn.Parameter(torch.zeros(k)), nn.Parameter(torch.zeros(k))

    def score(self, e, y, m):
        b = torch.arange(e.size(0))
        s = self.start[y[:, 0]] + e[b, 0, y[:, 0]]
        for t in range(1, e.size(1)):
            s = s + (self.trans[y[:, t - 1], y[:, t]] + e[b, t, y[:, t]]) * m[:, t]
        return s + self.end[y.gather(1, m.long().sum(1, keepdim=True) - 1)[:, 0]]

    def norm(self, e, m):
        a = self.start + e[:, 0]
        for t in range(1, e.size(1)):
            n = torch.logsumexp(a.unsqueeze(2) + self.trans + e[:, t].unsqueeze(1), 1)
            a = torch.where(m[:, t].unsqueeze(1), n, a)
        return torch.logsumexp(a + self.end, 1)

    def decode(self, e, m):
        a, back = self.start + e[:, 0], []
        for t in range(1, e.size(1)):
            n, i = (a.unsqueeze(2) + self.trans + e[:, t].unsqueeze(1)).max(1)
            back.append(i)
            a = torch.where(m[:, t].unsqueeze(1), n, a)
        paths = []
        for b in range(e.size(0)):
            n = int(m[b].sum())
            tag = (a[b] + self.end).argmax().item()
            path = [tag]
            for i in reversed(back[:n - 1]):
                tag = i[b, tag].item()
                path.append(tag)
            paths.append(path[::-1])
        return paths


class Tagger(nn.Module):
    def __init__(self, v=12, k=3):
        super().__init__()
        self.emb, self.lstm, self.proj, self.crf = nn.Embedding(v, 8), nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True, dropout=0.2), nn.Linear(12, k), CRF(k)

    def emissions(self, x):
        return self.proj(self.lstm(self.emb(x))[0])


tagger = Tagger()
tok = torch.randint(0, 12, (6, 7))
tags = (tok + tok.roll(1, 1)) % 3
mask = torch.arange(7)[None] < torch.tensor([7, 7, 5, 4, 3, 2])[:, None]
opt = torch.optim.Adamax(tagger.parameters(), lr=5e-2)
for i in range(10):
    e = tagger.emissions(tok)
    loss = (tagger.crf.norm(e, mask) - tagger.crf.score(e, tags, mask)).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(tagger.parameters(), 0.5)
    opt.step()
print(round(loss.item(), 4), tagger.crf.trans.grad.abs().sum())
tagger.eval()
with torch.no_grad():
    print(tagger.crf.decode(tagger.emissions(tok), mask)[:3], tags[:2])
logits = nn.Parameter(torch.randn(12, 2, 5))
target, tl = torch.tensor([[1, 2, 3], [2, 4, 0]]), torch.tensor([3, 2])
opt = torch.optim.ASGD([logits], lr=0.5)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
for i in range(30):
    loss = ctc(logits.log_softmax(2), target, torch.tensor([12, 10]), tl)
    opt.zero_grad()
    loss.backward()
    opt.step()
best = logits.argmax(2).T
print(round(loss.item(), 4), [[int(k) for k in torch.unique_consecutive(b[:n]) if k] for b, n in zip(best, (12, 10))])


def scan(a, b):
    while True:
        return torch.cumsum(b / torch.cumprod(a, 1), 1) * torch.cumprod(a, 1)


a, b = torch.rand(2, 9) * 0.5 + 0.5, torch.randn(2, 9)
h, want = torch.zeros(2), []
for t in range(9):
    h = a[:, t] * h + b[:, t]
    want.append(h)
print(torch.allclose(scan(a, b), torch.stack(want, 1), atol=1e-4))


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Parameter(torch.randn(d))

    def forward(self, x, mask):
        w = torch.einsum("btd,d->bt", x, self.q).masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.einsum("bt,btd->bd", w, x)


p = Pool(4)
v = torch.randn(2, 5, 4)
print(p(v, torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool()).detach(), nn.EmbeddingBag(6, 3, mode="mean")(torch.tensor([0, 2, 4, 5]), torch.tensor([0, 3])).shape)
rnn = nn.RNN(3, 4, nonlinearity="relu", bias=False)
o, hN = rnn(torch.randn(5, 3))
print(o.shape, hN.shape, [tuple(w.shape) for w in rnn.all_weights[0]], rnn)
gru = nn.GRUCell(3, 4)
lc = nn.LSTMCell(3, 4)
h1 = gru(torch.ones(2, 3))
h2, c2 = lc(torch.ones(2, 3), (h1, h1))
print(h1[0], h2[0], c2[0])
