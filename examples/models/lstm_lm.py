# SPDX-License-Identifier: Apache-2.0
# A word language model: embedding, two LSTM layers, and a decoder that shares the embedding's weights.
#
#   ctsc run examples/models/lstm_lm.py --input 'int64[5,2]:ones'
from typing import Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(
        self, tokens: Tensor, hidden: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if hidden is None:
            hidden = self.init_hidden(tokens.size(1))
        emb = self.drop(self.encoder(tokens))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    @torch.jit.export
    def init_hidden(self, bsz: int) -> Tuple[Tensor, Tensor]:
        weight = self.decoder.weight
        h = torch.zeros(self.nlayers, bsz, self.nhid, dtype=weight.dtype, device=weight.device)
        return h, torch.zeros_like(h)

    @torch.jit.export
    def generate(self, start: int, length: int) -> Tensor:
        """The likeliest continuation of one word."""
        hidden = self.init_hidden(1)
        token = torch.tensor([[start]])
        words = [token]
        for _ in range(length):
            scores, hidden = self.forward(token, hidden)
            token = scores[-1].argmax().reshape(1, 1)
            words.append(token)
        return torch.cat(words).flatten()


class Main(RNNModel):
    def __init__(self):
        super(Main, self).__init__(ntoken=200, ninp=32, nhid=32, nlayers=2, dropout=0.2, tie_weights=True)
