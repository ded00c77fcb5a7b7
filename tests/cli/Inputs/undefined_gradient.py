import torch


class Net(torch.nn.Module):
    """A gradient that nobody has asked for is typed as a tensor, and is none."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def scaled(self, g: torch.Tensor):
        return g * 2

    def forward(self, kind: int):
        g = self.weight.grad
        if kind == 0:
            return g.zero_()
        if kind == 1:
            return self.weight.detach().copy_(g)
        if kind == 2:
            return self.scaled(g)
        return torch.softmax(g, 0)
