# SPDX-License-Identifier: Apache-2.0
# Recurrent layers: an LSTM in both directions, a GRU, a plain one.
from typing import Tuple

from torch import Tensor, nn


class Main(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(12, 20, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(40, 24, batch_first=True)
        self.rnn = nn.RNN(24, 8, batch_first=True)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        y, (h, c) = self.lstm(x)
        z, _ = self.gru(y)
        out, last = self.rnn(z)
        return out, last, c + h
