"""torch.jit.load at module level: attributes, calls, and a program that has loaded modules as its parts."""
import torch
from torch import Tensor, nn

net = torch.jit.load('part.pt')
x = torch.ones(1, 2)
print(net.original_name, type(net).__name__, isinstance(net, nn.Module))
print([name for name, _ in net.named_parameters()], list(net.state_dict()), net.inner is net.again)
print(net.training, net.names, net.table, net.maybe, net.inner.shift.tolist())
print(net(x).tolist(), net(x, plus=1.0).tolist(), net.forward(x, 2.0).tolist())
print(net.calls, net.total(2), net.names, net.maybe.tolist())

net.calls = 40
with torch.no_grad():
    net.inner.fc.weight.fill_(2.0)
net.inner.shift.data = torch.zeros(2)
print(net(x).tolist(), net.total(1), net.names)
print(torch.jit.load('part.pt')(x).tolist(), torch.jit.load('part.pt').calls)

frozen = torch.jit.freeze(net)
print(list(frozen.named_parameters()), hasattr(frozen, 'total'), frozen(x).tolist(), net.calls, frozen.calls)


def message(f):
    try:
        f()
    except Exception as e:
        return type(e).__name__ + ': ' + str(e)


print(message(lambda: torch.jit.load('absent.pt')))
print(message(lambda: net.absent))
print(message(lambda: net()))
print(message(lambda: net(x, 1.0, 2)))
print(message(lambda: net(x, x=x)))
print(message(lambda: net(x, y=x)))
print(message(lambda: net('x')))
print(message(lambda: net.inner[0]))
print(message(lambda: torch.jit.freeze(torch.jit.load('part.pt').train())))


@torch.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Main(nn.Module):
    stage: Stage

    def __init__(self):
        super().__init__()
        self.net = net
        self.stage = net.inner
        self.scale = net.scale
        self.modes = [net.mode]
        self.all = nn.Sequential(torch.jit.load('part.pt'), nn.ReLU())
        self.frozen = frozen

    def forward(self, x: Tensor):
        return self.net(x, plus=1.0), self.stage(x), self.scale.apply(x), self.all(x), self.frozen(x), self.net.calls, len(self.modes)
