import torch
from torch import Tensor, nn
from typing import Tuple


class Main(nn.Module):
    """Recurrent cells with weights of 16 bits (torch.ao.quantization.quantize_dynamic, dtype=torch.float16)."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 5), nn.GRUCell(5, 5), nn.RNNCell(5, 3, nonlinearity="relu")

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        h, c = self.lstm(x)
        g = self.gru(h, c)
        return self.rnn(g), g, c
