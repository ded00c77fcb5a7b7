# SPDX-License-Identifier: Apache-2.0
# input: int64[2,5]:4
# Embeddings and recurrent layers.
import torch
from torch import nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 6)
        self.lstm = nn.LSTM(6, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(8, 3)

    def forward(self, ids: torch.Tensor):
        y, (h, c) = self.lstm(self.table(ids))
        z, last = self.gru(y.transpose(0, 1))
        return z, last, h, c
