"""Packed sequences through an encoder, attention over masks, a GRUCell decoder with teacher forcing, bucketed batches, iterable data with workers."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence, PackedSequence, unpad_sequence, unpack_sequence, invert_permutation
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

torch.manual_seed(0)
random.seed(0)
PAD, BOS, EOS = 0, 1, 2


class Reversals(IterableDataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __iter__(self):
        info = get_worker_info()
        lo, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(lo, self.n, step):
            r = random.Random(self.seed + i)
            s = [r.randrange(3, 10) for _ in range(r.randrange(2, 7))]
            yield torch.tensor(s), torch.tensor(s[::-1] + [EOS])


def collate(batch):
    batch.sort(key=lambda p: len(p[0]), reverse=True)
    src, tgt = zip(*batch)
    lens = torch.tensor([len(s) for s in src])
    return pad_sequence(src, batch_first=True, padding_value=PAD), lens, pad_sequence(tgt, batch_first=True, padding_value=PAD)


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, bidirectional=True, batch_first=True, num_layers=2, dropout=0.1)
        self.proj = nn.Linear(2 * dim, dim)

    def forward(self, x, lens):
        packed = pack_padded_sequence(self.embed(x), lens, batch_first=True, enforce_sorted=True)
        out, h = self.rnn(packed)
        out, l = pad_packed_sequence(out, batch_first=True)
        h = torch.tanh(self.proj(torch.cat([h[-2], h[-1]], dim=-1)))
        return self.proj(out), h, l


class Decoder(nn.Module):
    def __init__(self, vocab, dim, embed):
        super().__init__()
        self.embed = embed
        self.cell = nn.GRUCell(2 * dim, dim)
        self.out = nn.Linear(2 * dim, vocab)

    def step(self, tok, h, memory, mask):
        scores = torch.einsum("bd,btd->bt", h, memory).masked_fill(~mask, float("-inf"))
        a = scores.softmax(-1)
        ctx = torch.bmm(a.unsqueeze(1), memory).squeeze(1)
        h = self.cell(torch.cat([self.embed(tok), ctx], -1), h)
        return self.out(torch.cat([h, ctx], -1)), h, a


enc = Encoder(10, 12)
dec = Decoder(10, 12, enc.embed)
params = list({id(p): p for m in (enc, dec) for p in m.parameters()}.values())
print(sum(p.numel() for p in params), len(params))
opt = torch.optim.Adam(params, lr=5e-3, betas=(0.9, 0.98), eps=1e-9)
for epoch in range(3):
    total = n = 0
    for x, lens, y in DataLoader(Reversals(48, epoch), batch_size=8, collate_fn=collate, num_workers=2 if epoch == 2 else 0):
        memory, h, l = enc(x, lens)
        assert torch.equal(l, lens)
        mask = torch.arange(x.size(1))[None] < lens[:, None]
        tok, loss = torch.full((len(x),), BOS), 0.0
        for t in range(y.size(1)):
            logits, h, a = dec.step(tok, h, memory, mask)
            loss = loss + F.cross_entropy(logits, y[:, t], ignore_index=PAD, reduction="sum")
            tok = y[:, t] if random.random() < 0.7 else logits.argmax(-1)
        loss = loss / (y != PAD).sum()
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        total, n = total + loss.item(), n + 1
    print(epoch, n, round(total / n, 4), round(float(norm), 4))
print(enc.embed.weight.grad[PAD].abs().sum())
seqs = [torch.randn(n, 3) for n in (2, 5, 3)]
p = pack_sequence(seqs, enforce_sorted=False)
print(type(p).__name__, p.batch_sizes, p.sorted_indices, p.unsorted_indices, p.data.shape, isinstance(p, PackedSequence), isinstance(p, tuple))
for s, u in zip(seqs, unpack_sequence(p)):
    print(torch.equal(s, u), end=" ")
padded, lens = pad_packed_sequence(p, padding_value=-1.0, total_length=6)
print(padded.shape, lens, padded[-1, 0])
print([tuple(u.shape) for u in unpad_sequence(padded, lens)], invert_permutation(torch.tensor([2, 0, 1])))
lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
out, (h, c) = lstm(p)
print(out.data.shape, h.shape, c.shape, out.data.sum().item() != 0)
o2, lens2 = pad_packed_sequence(out)
print(o2[:, 0].detach())
p2 = p.to(torch.float64)
print(p2.data.dtype, p.is_cuda, p.pin_memory is not None)
try:
    pack_padded_sequence(torch.zeros(3, 2, 1), torch.tensor([1, 3]))
except RuntimeError as e:
    print("RuntimeError", str(e).split("\n")[0])
