import torch


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(32, 16))

    def forward(self, x):
        return torch.mm(x, self.weight)


class Main(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        y = self.inner(x)
        return torch.tanh(y * 2.0 + 1.0)
