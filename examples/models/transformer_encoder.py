# SPDX-License-Identifier: Apache-2.0
# A text classifier on a transformer encoder: token 0 is padding and is masked.
#
#   ctsc run examples/models/transformer_encoder.py --input 'int64[2,12]:ones'
import math

import torch
import torch.nn as nn
from torch import Tensor


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 512):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)


class TextClassifier(nn.Module):
    def __init__(
        self,
        ntoken: int,
        d_model: int,
        nhead: int,
        d_hid: int,
        nlayers: int,
        nclasses: int,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(ntoken, d_model, padding_idx=0)
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        layer = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, nlayers, norm=nn.LayerNorm(d_model))
        self.head = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh(), nn.Dropout(dropout), nn.Linear(d_model, nclasses))

    def forward(self, tokens: Tensor) -> Tensor:
        padding = tokens == 0
        x = self.embedding(tokens) * math.sqrt(self.d_model)
        x = self.pos_encoder(x)
        x = self.encoder(x, src_key_padding_mask=padding)
        kept = torch.logical_not(padding).unsqueeze(-1).to(x.dtype)
        pooled = (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1.0)
        return self.head(pooled)


class Main(TextClassifier):
    def __init__(self):
        super().__init__(ntoken=128, d_model=32, nhead=4, d_hid=64, nlayers=2, nclasses=5)
