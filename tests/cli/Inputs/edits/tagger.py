from typing import List, Tuple

import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self, vocab: int = 50, tags: int = 5, dim: int = 8, hidden: int = 6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, tags)

    def decode(self, scores: torch.Tensor) -> List[int]:
        best: List[int] = []
        for t in range(scores.size(1)):
            best.append(int(scores[0, t].argmax().item()))
        return best

    def forward(self, words: torch.Tensor) -> Tuple[torch.Tensor, List[int]]:
        e = self.embed(words)
        h, (hn, cn) = self.lstm(e)
        scores = self.out(h)
        return scores, self.decode(scores)
