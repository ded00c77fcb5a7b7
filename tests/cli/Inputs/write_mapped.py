import torch


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, n: int):
        seen = self.seen
        for i in range(n):
            seen[i] = seen[i] + float(i + 1)
        return seen
