"""torch.compile as programs call it: decorators with options, modules whose compiled form trains and saves, fullgraph and dynamic, disable, devices as contexts."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(29)


@torch.compile
def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x ** 3)))


@torch.compile(fullgraph=True, dynamic=True, backend="eager")
def norm(x, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + eps)


@torch.compile(backend="eager", disable=True)
def branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


x = torch.randn(3, 4)
print(gelu.__name__ if hasattr(gelu, "__name__") else "gelu", torch.allclose(norm(x), F.layer_norm(x, (4,)), atol=1e-5), norm(x[:2]).shape, norm(torch.randn(5, 6)).shape)
print(branch(torch.ones(2)), branch(-torch.ones(2)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


net = Net()
fast = torch.compile(net, mode="reduce-overhead", backend="eager") if False else torch.compile(net, backend="eager")
print(isinstance(fast, nn.Module), len(list(fast.parameters())), sorted(fast.state_dict())[0].split(".")[-2:])
opt = torch.optim.AdamW(fast.parameters(), lr=0.05)
y = torch.tensor([0, 1, 1])
for i in range(5):
    loss = F.cross_entropy(fast(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 5), torch.allclose(fast(x), net(x), atol=1e-6))
fast.eval()
print(net.training, fast.training)
with torch.no_grad():
    print(fast(x).argmax(1))
net.compile(backend="eager")
print(net(x).shape)
with torch.device("cpu"):
    print(nn.Linear(2, 2).weight.device, torch.zeros(1).device)
print(torch.compiler.is_compiling(), torch.compiler.disable(lambda v: v * 2)(torch.ones(1)))
v = torch.nn.Parameter(torch.ones(3))
torch.compile(lambda p: (p * p).sum(), backend="eager")(v).backward()
print(v.grad)
