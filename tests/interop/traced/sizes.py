# Numbers from sizes, and what is computed from them, follow the input.
import torch
from torch import nn

FOLLOWED = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(32, 6))
        self.fc = nn.Linear(6, 4)
        self.unused = nn.Linear(2, 2)
        self.register_parameter("absent", None)

    def windows(self, x, size):
        b, n, c = x.shape
        return x.view(b, n // size, size, c).permute(0, 2, 1, 3).reshape(b * size, -1, c)

    def forward(self, x):
        b, n = x.shape[:2]
        x = x + self.table[:n] + self.table[n - 2]
        y = self.windows(x, 2)
        half = n // 2
        first, second = x[:, :half], x[:, half:]
        grid = torch.arange(n, device=x.device).unsqueeze(0).expand(b, -1)
        zeros = x.new_zeros(b, *x.shape[1:-1], 2 * half)
        scale = x.size(-1) ** -0.5 + float(n)
        flat = self.fc(x).view((-1, x.size(1) * 4))
        return y * scale, first - second, grid, zeros, flat / x.numel(), x.shape[0], torch.full((n, max(2, 1)), n % 5)


def examples():
    return (torch.randn(2, 4, 6),), (torch.randn(3, 8, 6),), (torch.randn(1, 2, 6),)
