"""Translation of sequences: GRU encoder and decoder with additive attention, teacher forcing, masks, exact-match accuracy; reverses digits."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

PAD, SOS, EOS = 0, 1, 2


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size, padding_idx=PAD)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa, self.Ua, self.Va = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        scores = scores.masked_fill(mask.unsqueeze(1), torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, max_length=6):
        super().__init__()
        self.max_length = max_length
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, hidden, mask, target=None):
        n = encoder_outputs.size(0)
        token = torch.empty(n, 1, dtype=torch.long, device=encoder_outputs.device).fill_(SOS)
        outputs, attentions = [], []
        for i in range(self.max_length):
            embedded = self.embedding(token)
            context, weights = self.attention(hidden.permute(1, 0, 2), encoder_outputs, mask)
            output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
            output = self.out(output)
            outputs.append(output)
            attentions.append(weights)
            if target is not None and random.random() < 0.8:
                token = target[:, i].unsqueeze(1)
            else:
                token = output.topk(1)[1].squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), torch.cat(attentions, dim=1)


def batch(n):
    length = torch.randint(2, 6, (n,))
    source = torch.randint(3, 9, (n, 5))
    source[torch.arange(5)[None, :] >= length[:, None]] = PAD
    target = torch.full((n, 6), PAD)
    for i, k in enumerate(length.tolist()):
        target[i, :k] = source[i, :k].flip(0)
        target[i, k] = EOS
    return source, target


random.seed(0)
torch.manual_seed(0)
encoder, decoder = EncoderRNN(9, 16), AttnDecoderRNN(16, 9)
optimizers = [optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
criterion = nn.NLLLoss(ignore_index=PAD)
for step in range(12):
    source, target = batch(16)
    out, hidden = encoder(source)
    logp, attention = decoder(out, hidden, source == PAD, target)
    loss = criterion(logp.view(-1, logp.size(-1)), target.view(-1))
    for o in optimizers:
        o.zero_grad()
    loss.backward()
    for o in optimizers:
        o.step()
    if step % 3 == 2:
        print("%d %.4f" % (step + 1, loss.item()))
encoder.eval(), decoder.eval()
with torch.no_grad():
    source, target = batch(4)
    out, hidden = encoder(source)
    logp, attention = decoder(out, hidden, source == PAD)
    decoded = logp.argmax(-1)
    valid = target != PAD
    print(decoded.shape, attention.shape, attention.sum(-1)[0], attention[0, :, :][:, source[0] == PAD].sum() < 1e-6)
    print("%.4f" % logp.gather(2, target.unsqueeze(2)).squeeze(2)[valid].mean(), (decoded.eq(target) | ~valid).all(1).float().mean() <= 1)
print(encoder.embedding.weight[PAD].abs().sum(), encoder.embedding.weight.grad[PAD].abs().sum())
