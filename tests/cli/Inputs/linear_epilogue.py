import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.large, self.wide = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        self.small = torch.nn.Linear(64, 4)

    def forward(self, x):
        y = x + self.wide(torch.nn.functional.gelu(self.large(x)))
        return torch.relu(self.small(y)).relu()
