"""Variables that are None before a branch gives them a value, an int beside a float, indices that are computed, optimisers beside a model."""
import torch
from torch import nn, optim


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = 0.5

    def forward(self, x):
        mask = None
        if x.size(0) > 1:
            mask = torch.full((x.size(0), x.size(0)), 2.0)
            mask = torch.triu(mask)
        y = x * 1
        if mask is not None:
            y = y + mask
        return y * (self.dropout if self.training else 1)


class Grid(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rows, self.width = 2, width
        self.parts = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(2 * width)])
        with torch.no_grad():
            for i, p in enumerate(self.parts):
                p.weight.fill_(i + 1)

    def forward(self, x):
        for i in range(self.rows):
            total = None
            for k in range(self.width):
                if total is None:
                    total = self.parts[i * self.width + k](x)
                else:
                    total = total + self.parts[i * self.width + k](x)
            x = total / self.width
        return x


class Tasks(nn.Module):
    """Methods that this instance never calls do not compile."""

    def __init__(self, task):
        super().__init__()
        self.task = task

    def classify(self, x):
        return self.projection(x.reshape(x.shape[0], -1))

    def forecast(self, x):
        return x + 1

    def forward(self, x):
        if self.task == "long" or self.task == "short":
            return self.forecast(x)
        if self.task == "classify":
            return self.classify(x)
        return None


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.masked = Masked()
        self.grid = Grid(3)
        self.tasks = Tasks("short")

    def forward(self):
        print(float(self.masked(torch.ones(2, 2)).sum()), float(self.masked(torch.ones(1, 1))))  # expect: 10. 1.
        print(float(self.grid(torch.ones(1, 1))))  # expect: 10.
        print(float(self.tasks(torch.ones(1))))  # expect: 2.
        return 0


net = Main()
optimizer = optim.AdamW(net.parameters(), lr=3e-4, amsgrad=True)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1)
assert len(optimizer.param_groups[0]['params']) == 6 and scheduler.get_last_lr() == [3e-4]
# expect: 0
