from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(200, 136)
        self.second = nn.Linear(136, 3)
        self.third = nn.Linear(3, 2)

    def forward(self, x):
        return self.third(self.second(self.first(x)))
