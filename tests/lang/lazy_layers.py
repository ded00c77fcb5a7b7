"""Layers that learn their sizes from an example, and hooks that see keywords; PyTorch prints the same."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.LazyConv2d(4, 3, groups=2), nn.LazyBatchNorm2d(), nn.LazyConvTranspose2d(3, 2), nn.LazyInstanceNorm2d(),
                    nn.ReLU(), nn.Flatten(), nn.LazyLinear(5, bias=False)).eval()
print(type(net[0]).__name__, net[0].has_uninitialized_params())  # expect: LazyConv2d True
y = net(torch.ones(1, 2, 8, 8))
print(net[0], net[1].training, net[6])  # expect: Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), groups=2) False Linear(in_features=147, out_features=5, bias=False)
print([round(p.abs().sum().item(), 3) for p in net.parameters()], round(y.abs().sum().item(), 3))  # expect: [5.908, 0.791, 4.0, 0.0, 7.196, 0.388, 3.0, 0.0, 30.918] 0.593
print(nn.LazyConv1d(3, 2)(torch.zeros(2, 5)).shape)  # expect: torch.Size([3, 4])
same = nn.Sequential(nn.LazyConv2d(4, 3, groups=2), nn.LazyBatchNorm2d(), nn.LazyConvTranspose2d(3, 2)).eval()
same.load_state_dict({k: v for k, v in net.state_dict().items() if int(k[0]) < 3})
print(bool((same(torch.ones(1, 2, 8, 8)) == net[:3](torch.ones(1, 2, 8, 8))).all()), type(same[2]).__name__)  # expect: True ConvTranspose2d


class Scaled(nn.Module):
    def forward(self, x, scale=1.0):
        return x * scale


scaled = Scaled()
scaled.register_forward_pre_hook(lambda module, args, kwargs: (args, dict(kwargs, scale=3.0)), with_kwargs=True)
scaled.register_forward_hook(lambda module, args, kwargs, out: out + kwargs["scale"], with_kwargs=True)
scaled.register_forward_hook(lambda module, args, out: out * len(args))
print(scaled(torch.ones(2), scale=2.0).tolist())  # expect: [6.0, 6.0]


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self):
        return list(self.net(torch.ones(1, 2, 8, 8)).shape)  # expect: [1, 5]
