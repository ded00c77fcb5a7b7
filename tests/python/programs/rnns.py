"""Recurrent layers: LSTM, GRU, RNN, cells, packed and padded sequences, bidirectional, a character model."""
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
seqs = [torch.randn(n, 4) for n in (5, 2, 3)]
padded = pad_sequence(seqs, batch_first=True)
lengths = torch.tensor([len(s) for s in seqs])
print(padded.shape, pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], padding_value=-1))
packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
print(packed.batch_sizes, packed.sorted_indices, packed.data.shape, type(packed).__name__)
lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True, bidirectional=True, dropout=0.0)
print(lstm, [n for n, _ in lstm.named_parameters()][:4])
out, (h, c) = lstm(packed)
unpacked, n = pad_packed_sequence(out, batch_first=True)
print(unpacked.shape, n, h.shape, c.shape, isinstance(out, PackedSequence))
alone, _ = lstm(seqs[1][None])
print(torch.allclose(unpacked[1, :2], alone[0], atol=1e-5), unpacked[1, 2:].abs().sum().item())
for cls in (nn.GRU, nn.RNN):
    layer = cls(4, 3)
    y, state = layer(padded.transpose(0, 1))
    y2, _ = layer(pack_sequence(seqs, enforce_sorted=False))
    print(cls.__name__, y.shape, state.shape, y2.data.shape, y.mean())
cell, state = nn.LSTMCell(4, 3), None
for t in range(3):
    state = cell(padded[:, t], state)
print(state[0].shape, nn.GRUCell(4, 3)(padded[:, 0]).shape, lstm(torch.randn(7, 4))[0].shape)
gru = nn.GRU(3, 5, batch_first=True)
x = torch.randn(2, 4, 3, requires_grad=True)
o, hn = gru(x, torch.zeros(1, 2, 5))
o.sum().backward()
print(x.grad.shape, gru.weight_hh_l0.grad.abs().sum() > 0, torch.allclose(o[:, -1], hn[0]))
try:
    pack_padded_sequence(padded, lengths, batch_first=True)
except RuntimeError as e:
    print(str(e)[:70])
text = "hello world, hello torch"
chars = sorted(set(text))
index = {ch: i for i, ch in enumerate(chars)}
data = torch.tensor([index[ch] for ch in text])


class CharModel(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(n, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, n)

    def forward(self, x, state=None):
        y, state = self.rnn(self.embed(x), state)
        return self.out(y), state


model = CharModel(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for i in range(60):
    logits, _ = model(data[None, :-1])
    loss = nn.functional.cross_entropy(logits.view(-1, len(chars)), data[1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 0.5)
state, ch, made = None, data[:1], "h"
for _ in range(10):
    logits, state = model(ch[None], state)
    ch = logits[0, -1].argmax().reshape(1)
    made += chars[ch.item()]
print(made[:5])
