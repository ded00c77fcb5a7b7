"""Modules that are converted: positions and names of to()'s arguments, modules with a _apply of their own, tensors that are shared, what is refused."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.conv, self.rnn = nn.Linear(2, 2), nn.Conv2d(2, 2, 3), nn.LSTM(2, 2)
        self.tied = self.lin.weight
        self.register_buffer("count", torch.arange(3))
        self.plain = torch.ones(2)

    def _apply(self, fn):
        super()._apply(fn)
        self.plain = fn(self.plain)
        return self


net = nn.Sequential(Net(), nn.Linear(2, 2))
weight = net[0].lin.weight
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def told():
    print(weight.dtype, net[0].plain.dtype, net[0].count.dtype, net[0].tied is net[0].lin.weight is weight, optimizer.param_groups[0]["params"][0] is weight)


for call in ("net.to(torch.float64)", "net.to('cpu', torch.float32, True)", "net.to(torch.zeros(1, dtype=torch.float64))", "net.to(device='cpu', dtype=torch.float32, non_blocking=True)",
             "net.bfloat16()", "net.float()", "net.type(torch.float64)", "net.to(torch.device('cpu'))", "net.to('cpu').float()", "net.cpu()", "net.to_empty(device='cpu')", "net.to()",
             "net.to(device=None)", "net.to(torch.int32)", "net.to('cpu', copy=True)", "net.to([1])", "net.to('nonsense')"):
    try:
        eval(call)
        print(call, end=" ")
        told()
    except (TypeError, RuntimeError) as e:
        print(call, type(e).__name__)
net.to(memory_format=torch.channels_last)
print(net[0].conv.weight.is_contiguous(memory_format=torch.channels_last), net[0].conv.weight.stride())
x = torch.randn(3)
print(x.to(torch.float32) is x, x.to(torch.float32, False, True) is x, x.to("cpu", torch.float64).dtype, x.to(x.half()).dtype, x.cpu() is x)
image = torch.randn(1, 3, 4, 4)
print(image.float(memory_format=torch.channels_last).stride(), image.double(memory_format=torch.channels_last).stride(), image.to(memory_format=torch.channels_last).stride())
print(torch.get_default_device(), torch.zeros(1).device)
with torch.device("cpu"):
    print(torch.zeros(1).device)
