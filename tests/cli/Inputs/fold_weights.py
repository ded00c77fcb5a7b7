import torch


class Main(torch.nn.Module):
    """A convolution whose channels come last, one of too few results, a factor behind a norm, a transposed one."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 24, 3, padding=1, bias=False)
        self.first_norm = torch.nn.BatchNorm2d(24)
        self.last = torch.nn.Conv2d(24, 24, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(24)
        self.back = torch.nn.ConvTranspose2d(24, 16, 2, stride=2, bias=False)
        self.back_norm = torch.nn.BatchNorm2d(16)
        self.few = torch.nn.Conv1d(3, 2, 3, bias=False)
        self.few_norm = torch.nn.BatchNorm1d(2)
        for m in (self.first_norm, self.norm, self.back_norm, self.few_norm):
            torch.nn.init.uniform_(m.weight, 0.5, 2)
            torch.nn.init.uniform_(m.running_var, 0.5, 2)
            torch.nn.init.uniform_(m.running_mean)

    def forward(self, x):
        x1 = torch.relu(self.first_norm(self.first(x)))
        y = torch.relu(self.back_norm(self.back(self.norm(self.last(x1)) * 3.0)))
        return y, self.few_norm(self.few(x.flatten(2))) * 0.5


entry = Main
