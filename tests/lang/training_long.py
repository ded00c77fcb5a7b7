# A loop that trains: what its rounds have made is released, or this would need 800 MB. What stays in lists and closures stays.
# args: --max-bytes 400000000
import torch
from torch import nn

model = nn.Linear(1000, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(1000, 1000)
kept, last = [], {}


def remember(i, t):
    kept.append(t)
    return lambda: (i, t)


for i in range(200):
    opt.zero_grad()
    h = x * 2
    loss = (model(h) ** 2).mean()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        last[i] = remember(i, x[0, :3] * i)

print([t.tolist() for t in kept])  # expect: [[0.0, 0.0, 0.0], [50.0, 50.0, 50.0], [100.0, 100.0, 100.0], [150.0, 150.0, 150.0]]
print([f()[1].sum().item() for f in last.values()])  # expect: [0.0, 150.0, 300.0, 450.0]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = model

    def forward(self):
        return self.fc(torch.ones(2, 1000)).shape


net = torch.jit.script(Net())
# expect: [2, 1]
