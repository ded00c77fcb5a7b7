"""Text classification: vocabulary, collate with offsets, EmbeddingBag, TextCNN, a bidirectional LSTM with attention, class weights, accumulation of gradients, anomaly detection."""
import collections
import re

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

texts = [("good", "a great film, truly great fun"), ("bad", "a dull film and a waste of time"), ("good", "fun and clever, a joy"), ("bad", "boring, dull, bad"),
         ("good", "clever plot, great cast"), ("bad", "waste of a great cast"), ("good", "a joy to watch"), ("bad", "bad plot, bad cast, boring")]


def tokenize(text):
    return re.findall(r"[a-z]+", text.lower())


class Vocab:
    def __init__(self, lines, min_freq=1, specials=("<pad>", "<unk>")):
        counts = collections.Counter(t for line in lines for t in tokenize(line))
        self.itos = list(specials) + sorted(t for t, n in counts.items() if n >= min_freq)
        self.stoi = {t: i for i, t in enumerate(self.itos)}

    def __call__(self, text):
        return [self.stoi.get(t, 1) for t in tokenize(text)]

    def __len__(self):
        return len(self.itos)


class Reviews(Dataset):
    def __init__(self, rows, vocab):
        self.rows, self.vocab = rows, vocab

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.vocab(self.rows[i][1]), dtype=torch.int64), int(self.rows[i][0] == "good")


def collate_bag(batch):
    tokens, labels = zip(*batch)
    offsets = torch.tensor([0] + [len(t) for t in tokens[:-1]]).cumsum(dim=0)
    return torch.cat(tokens), offsets, torch.tensor(labels)


def collate_pad(batch):
    batch.sort(key=lambda b: len(b[0]), reverse=True)
    tokens, labels = zip(*batch)
    return nn.utils.rnn.pad_sequence(tokens, batch_first=True), torch.tensor([len(t) for t in tokens]), torch.as_tensor(labels)


class TextCNN(nn.Module):
    def __init__(self, n, dim=8, filters=4, sizes=(2, 3)):
        super().__init__()
        self.embed = nn.Embedding(n, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, filters, k, padding=k - 1) for k in sizes])
        self.fc = nn.Linear(filters * len(sizes), 2)

    def forward(self, x, lengths):
        x = self.embed(x).permute(0, 2, 1)
        return self.fc(torch.cat([F.relu(c(x)).max(dim=2)[0] for c in self.convs], 1))


class AttentiveLSTM(nn.Module):
    def __init__(self, n, dim=8, hidden=6):
        super().__init__()
        self.embed = nn.Embedding(n, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        self.score, self.fc = nn.Linear(2 * hidden, 1), nn.Linear(2 * hidden, 2)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(x), lengths.cpu(), batch_first=True)
        out, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        weights = self.score(out).squeeze(-1).masked_fill(x == 0, -1e9).softmax(-1)
        return self.fc(torch.einsum("bl,bld->bd", weights, out))


if __name__ == "__main__":
    torch.manual_seed(0)
    vocab = Vocab(t for _, t in texts)
    data = Reviews(texts, vocab)
    print(len(vocab), vocab("great new film"), data[0])
    bag = nn.Sequential()
    emb, fc = nn.EmbeddingBag(len(vocab), 8, mode="mean"), nn.Linear(8, 2)
    opt = torch.optim.SGD([*emb.parameters(), *fc.parameters()], lr=1.0)
    loader = DataLoader(data, batch_size=4, shuffle=True, collate_fn=collate_bag)
    for epoch in range(3):
        for tokens, offsets, labels in loader:
            loss = F.cross_entropy(fc(emb(tokens, offsets)), labels, weight=torch.tensor([1.0, 1.5]))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(emb.parameters(), 0.1)
            opt.step()
        print("bag", epoch, "%.4f" % loss)
    print(nn.EmbeddingBag(5, 2, mode="sum", _weight=torch.arange(10.).view(5, 2))(torch.tensor([[0, 1], [3, 4]]), per_sample_weights=torch.tensor([[1., 2.], [.5, .5]])))
    for make in (TextCNN, AttentiveLSTM):
        model = make(len(vocab))
        opt = torch.optim.NAdam(model.parameters(), lr=0.02) if False else torch.optim.Adamax(model.parameters(), lr=0.02)
        weights = [2.0 if label == "good" else 1.0 for label, _ in texts]
        sampler = WeightedRandomSampler(weights, num_samples=8, replacement=True)
        accumulation = 2
        for epoch in range(3):
            opt.zero_grad()
            for i, (x, lengths, labels) in enumerate(DataLoader(data, batch_size=2, sampler=sampler, collate_fn=collate_pad)):
                loss = F.cross_entropy(model(x, lengths), labels) / accumulation
                loss.backward()
                if (i + 1) % accumulation == 0:
                    opt.step()
                    opt.zero_grad()
            print(make.__name__, epoch, "%.4f" % (loss * accumulation))
        model.eval()
        x, lengths, labels = collate_pad([data[i] for i in range(len(data))])
        print(model(x, lengths).softmax(1)[:, 1], labels)
    with torch.autograd.set_detect_anomaly(True):
        try:
            z = torch.zeros(2, requires_grad=True)
            (torch.sqrt(z) * 0).sum().backward()
        except RuntimeError as e:
            print("anomaly:", str(e).split(",")[0])
    print(torch.isnan(torch.tensor([1.0, float("nan")])).any(), F.softmax(torch.tensor([1e30, -1e30]), 0))
