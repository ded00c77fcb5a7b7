"""A word language model: LSTM with tied weights, truncated backpropagation, packed sequences, perplexity, variational dropout, repackaged hidden states."""
import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence, PackedSequence


class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class LockedDropout(nn.Module):
    def forward(self, x, dropout=0.5):
        if not self.training or not dropout:
            return x
        m = x.data.new(1, x.size(1), x.size(2)).bernoulli_(1 - dropout)
        return x * (m / (1 - dropout)).expand_as(x)


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop, self.lock = nn.Dropout(dropout), LockedDropout()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def forward(self, input, hidden):
        emb = self.lock(self.drop(self.encoder(input)), 0.1)
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return torch.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


words = ("the cat sat on the mat and the dog sat on the cat while the mat lay under the dog <eos> " * 3).split()
corpus = Dictionary()
ids = torch.tensor([corpus.add_word(w) for w in words]).type(torch.int64)
torch.manual_seed(1111)
train_data, bptt = batchify(ids, 4), 5
print(train_data.shape, len(corpus))
criterion = nn.NLLLoss()
for kind, tied in (("LSTM", True), ("GRU", False)):
    model = RNNModel(kind, len(corpus), 12, 12, 2, tie_weights=tied)
    lr = 2.0
    print(model, len(list(model.parameters())))
    for epoch in range(3):
        model.train()
        total, n, hidden = 0.0, 0, model.init_hidden(4)
        for i in range(0, train_data.size(0) - 1, bptt):
            seq_len = min(bptt, len(train_data) - 1 - i)
            data, targets = train_data[i:i + seq_len], train_data[i + 1:i + 1 + seq_len].reshape(-1)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total, n = total + loss.item(), n + 1
        print("| epoch {:3d} | lr {:02.2f} | loss {:5.2f} | ppl {:8.2f}".format(epoch, lr, total / n, math.exp(total / n)))
        lr /= 4.0 if epoch else 1.0
    model.eval()
    with torch.no_grad():
        hidden, word, said = model.init_hidden(1), torch.tensor([[0]]), []
        for _ in range(6):
            output, hidden = model(word, hidden)
            weights = output.squeeze().div(0.7).exp()
            word.fill_(int(torch.multinomial(weights, 1)[0]))
            said.append(word.item() < len(corpus))
        print(said)
sequences = [torch.randn(n, 3) for n in (2, 4, 1)]
padded = pad_sequence(sequences, batch_first=True, padding_value=-1.0)
packed = pack_padded_sequence(padded, torch.tensor([2, 4, 1]), batch_first=True, enforce_sorted=False)
print(padded.shape, packed.batch_sizes, packed.sorted_indices, isinstance(packed, PackedSequence), packed.data.shape)
rnn = nn.LSTM(3, 5, bidirectional=True, batch_first=True)
out, (h, c) = rnn(packed)
unpacked, lengths = pad_packed_sequence(out, batch_first=True)
print(unpacked.shape, lengths, h.shape, torch.allclose(h[0, 2], unpacked[2, 0, :5], atol=1e-6))
print(rnn(pack_sequence(sequences, enforce_sorted=False))[1][0].sum().allclose(h.sum(), atol=1e-5), nn.LSTM(3, 4, proj_size=2)(torch.randn(5, 1, 3))[1][0].shape)
cell, state = nn.GRUCell(3, 4), torch.zeros(2, 4)
for t in range(3):
    state = cell(torch.ones(2, 3) * t, state)
print(state.shape, nn.RNN(3, 4, nonlinearity="relu")(torch.randn(2, 1, 3))[0].min() >= 0)
