# SPDX-License-Identifier: Apache-2.0
# Recurrent layers and embeddings of every kind that ctsc quantize knows.
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.bag = nn.Embedding(40, 32), nn.EmbeddingBag(40, 32, mode="sum")
        self.lstm, self.gru = nn.LSTM(32, 24, 2, batch_first=True, bidirectional=True), nn.GRU(48, 24, bias=False)
        self.rnn, self.cell, self.out = nn.RNN(24, 24), nn.LSTMCell(24, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.table(x) + self.bag(x).unsqueeze(1)
        y = self.gru(self.lstm(y)[0])[0]
        y = self.rnn(y)[0]
        return self.out(self.cell(y[:, -1])[0])


class Written(Net):
    """What ONNX has forms of."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.gru(self.lstm(self.table(x) + self.bag(x).unsqueeze(1))[0])[0]
        zeros = torch.zeros(3, 16)
        h, c = self.cell(y[:, 0], (zeros, zeros))
        return self.out(self.cell(y[:, -1], (h, c))[0])


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(torch.relu(self.fc(torch.relu(self.fc(x)))))
