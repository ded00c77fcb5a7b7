"""Attributes, options and keys whose names are known while compiling: beyond PyTorch's front end."""
import torch
from torch import nn
from torch.autograd import Variable
from torch.distributions import MultivariateNormal

SCALES = [1, 2, 3]
OPTIONS = {"gain": 2.0, "sizes": [1, 2], "name": "a"}
FUNCTIONS = {"relu": torch.relu, "neg": torch.neg}


class Main(nn.Module):
    WIDTHS = [4.0, 5.0]

    def __init__(self):
        super().__init__()
        self.count = 3
        self.kind = "neg"
        self.options = {"rate": 0.5, "sizes": [3, 4], "act": True}
        for i in range(3):
            setattr(self, "add%d" % i, Add(10 ** i))
        self.parts = nn.ModuleDict({"0": Add(1000), "1": Add(2000), "neg": Add(5)})

    def forward(self):
        x = torch.zeros(2)
        for i in range(self.count):
            x = getattr(self, f"add{i}")(x)
        for i in range(3):
            layer = getattr(self, "add{}".format(i))
            x = layer(x) + getattr(self, "add" + str(i)).n
        for i in range(2):
            x = self.parts[str(i)](x)
        for key in self.parts:
            x = self.parts[key](x)
        x = self.parts[self.kind](x)
        if self.options["act"] and not torch.cuda.is_available():
            x = x * self.options["rate"] + self.options["sizes"][1]
        x = x * self.options.get("missing", 2) + OPTIONS["gain"] * self.WIDTHS[1]
        for s in SCALES:
            x = x + s
        x = FUNCTIONS[self.kind](x) + Variable(torch.ones(1)) + torch.FloatTensor([[1.0, 2.0]]) + torch.LongTensor([1, 2])
        assert torch.IntTensor(2, 3).dim() == 2
        print(int(x[0, 0]), int(x[0, 1]))


class Add(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x + self.n


fresh = torch.ones(2)
print(fresh.new([1, 2]).tolist(), fresh.new(2, 3).shape, fresh.new(torch.Size([3])).shape, torch.spmm(torch.eye(2), torch.ones(2, 1)).tolist())
# expect: [1.0, 2.0] torch.Size([2, 3]) torch.Size([3]) [[1.0], [1.0]]
normal = MultivariateNormal(torch.tensor([1.0, 2.0]), torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
print(round(float(normal.log_prob(torch.zeros(2))), 4), round(float(normal.entropy()), 4))
# expect: -4.1177 3.1177
# expect: -6364 -6362
# expect: None
