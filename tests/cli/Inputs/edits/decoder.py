from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


class Main(nn.Module):
    max_len: int

    def __init__(self, vocab: int = 12, hidden: int = 8, max_len: int = 6):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, vocab)
        self.max_len = max_len
        self.eos = 0

    def step(self, token: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        h = self.cell(self.embed(token), h)
        return self.out(h), h

    def forward(self, h: Tensor, start: int = 1) -> Tuple[List[int], Tensor]:
        tokens: List[int] = [start]
        score = torch.zeros(1)
        n = 0
        while n < self.max_len:
            token = torch.tensor([tokens[-1]])
            logits, h = self.step(token, h)
            probs = torch.log_softmax(logits, dim=-1)
            value, index = probs.max(dim=-1)
            score = score + value
            best = int(index.item())
            if best == self.eos:
                break
            tokens.append(best)
            n += 1
        return tokens, score
