"""Forward and backward hooks of modules and tensors, features of inner layers."""
import torch
from torch import nn

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
features = {}


def keep(name):
    def hook(module, args, output):
        features[name] = output.detach()
    return hook


handles = [layer.register_forward_hook(keep(str(i))) for i, layer in enumerate(net)]
x = torch.randn(3, 4, requires_grad=True)
out = net(x)
print({k: tuple(v.shape) for k, v in features.items()}, torch.equal(features["2"], out))
for h in handles:
    h.remove()
features.clear()
net(x)
print(features)
seen = []
h = net[0].register_full_backward_hook(lambda m, gi, go: seen.append((type(m).__name__, gi[0].shape, go[0].shape)))
net(x).sum().backward()
print(seen, x.grad.shape)
h.remove()
h = net[2].register_forward_pre_hook(lambda m, args: (args[0] * 0,))
print(torch.allclose(net(x), net[2].bias.expand(3, 2)))
h.remove()
h = net.register_forward_hook(lambda m, args, kwargs, out: out + len(kwargs), with_kwargs=True)
net(x)
h.remove()
y = (x * 2).tanh()
h = y.register_hook(lambda g: print("grad", g.shape) or g * 10)
y.sum().backward()
x.grad = None
h.remove()
w = torch.ones(3, requires_grad=True)
w.register_hook(lambda g: g.clamp(max=1.0))
(w * torch.tensor([0.5, 2.0, 4.0])).sum().backward()
print(w.grad)
z = w * 2
z.retain_grad()
z.sum().backward()
print(z.grad, z.is_leaf, z.grad_fn is not None, w.grad_fn)
print(type(z.grad_fn).__name__, z)
net[0].weight.register_post_accumulate_grad_hook(lambda p: print("done", tuple(p.shape)))
net(x).sum().backward()
