"""Hooks on modules and tensors: activations, Grad-CAM, feature extraction, gradient statistics, hook removal and order, kwargs, always_call, global hooks, backward hooks that change gradients."""
import torch
from torch import nn
import torch.nn.functional as F
from collections import defaultdict

torch.manual_seed(6)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(4, 3)

    def forward(self, x, scale=1.0):
        return self.fc(self.pool(self.features(x)).flatten(1)) * scale


net = Small()
acts, grads = {}, {}
handles = [net.features[2].register_forward_hook(lambda m, i, o: acts.__setitem__("conv", o.detach())), net.features[2].register_full_backward_hook(lambda m, gi, go: grads.__setitem__("conv", go[0]))]
x = torch.rand(2, 1, 8, 8)
out = net(x)
out[:, 1].sum().backward()
w = grads["conv"].mean((2, 3), keepdim=True)
cam = F.relu((w * acts["conv"]).sum(1, keepdim=True))
cam = F.interpolate(cam, size=(8, 8), mode="bilinear", align_corners=False)
print(cam.shape, cam.mean(), acts["conv"].shape, grads["conv"].abs().sum())
for h in handles:
    h.remove()
print(len(net.features[2]._forward_hooks), len(net.features[2]._backward_hooks))
order = []
h = [net.fc.register_forward_pre_hook(lambda m, a: order.append("pre")), net.fc.register_forward_hook(lambda m, a, o: order.append("post")), net.fc.register_forward_hook(lambda m, a, o: order.append("first"), prepend=True), net.fc.register_full_backward_pre_hook(lambda m, g: order.append("bpre")), net.fc.register_full_backward_hook(lambda m, gi, go: order.append("bpost"))]
net(x).sum().backward()
print(order)
[i.remove() for i in h]


def kw(module, args, kwargs):
    kwargs["scale"] = kwargs.get("scale", 1.0) * 2
    return args, kwargs


def kwout(module, args, kwargs, output):
    print("kwargs", kwargs)
    return output + 1


h1, h2 = net.register_forward_pre_hook(kw, with_kwargs=True), net.register_forward_hook(kwout, with_kwargs=True)
base = (net(x, scale=3.0) - 1) / 6
h1.remove(), h2.remove()
print(torch.allclose(base, net(x), atol=1e-5))
h = net.fc.register_forward_hook(lambda m, a, o: o * 0)
print(net(x).abs().sum())
h.remove()
h = net.features.register_full_backward_hook(lambda m, gi, go: tuple(None if g is None else g * 2 for g in gi))
x2 = x.clone().requires_grad_()
net(x2).sum().backward()
g2, x2.grad = x2.grad, None
h.remove()
net(x2).sum().backward()
print(torch.allclose(g2, 2 * x2.grad))
stats = defaultdict(list)
for n, p in net.named_parameters():
    p.grad = None
    p.register_hook(lambda g, n=n: stats[n].append((round(g.mean().item(), 5), tuple(g.shape))))
F.cross_entropy(net(x), torch.tensor([0, 2])).backward()
print(sorted((k, [(abs(m), s) for m, s in v]) for k, v in stats.items()))
p = net.fc.bias
p.register_post_accumulate_grad_hook(lambda q: print("accumulated", q.grad.shape))
net(x).sum().backward()
t = torch.ones(3, requires_grad=True)
h = t.register_hook(lambda g: g.clamp(max=0.5))
(t * torch.tensor([0.1, 1.0, 2.0])).sum().backward()
print(t.grad)
h.remove()
calls = []
with nn.modules.module.register_module_forward_hook(lambda m, i, o: calls.append(type(m).__name__)) if False else torch.no_grad():
    gh = nn.modules.module.register_module_forward_hook(lambda m, i, o: calls.append(type(m).__name__))
    net(x)
    gh.remove()
print(calls)


class Boom(nn.Module):
    def forward(self, x):
        raise RuntimeError("boom")


b = Boom()
b.register_forward_hook(lambda m, i, o: print("called anyway", o), always_call=True)
try:
    b(x)
except RuntimeError as e:
    print(e)


class FeatureExtractor(nn.Module):
    def __init__(self, model, layers):
        super().__init__()
        self.model, self._features = model, {l: torch.empty(0) for l in layers}
        for l in layers:
            dict(model.named_modules())[l].register_forward_hook(self.save(l))

    def save(self, layer_id):
        def fn(_, __, output):
            self._features[layer_id] = output
        return fn

    def forward(self, x):
        self.model(x)
        return self._features


f = FeatureExtractor(net, ["features.1", "pool"])(x)
print({k: v.shape for k, v in f.items()})


class VerboseExecution(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        for name, layer in self.model.named_children():
            layer.__name__ = name
            layer.register_forward_hook(lambda layer, _, output: print(f"{layer.__name__}: {output.shape}"))

    def forward(self, x):
        return self.model(x)


VerboseExecution(net)(x)
y = torch.randn(2, 2, requires_grad=True)
z = y * 2
z.retain_grad()
z.sum().backward()
print(z.grad, z.grad_fn.name(), str(z.grad_fn).split(' at ')[0])
with torch.autograd.graph.save_on_cpu():
    (y ** 2).sum().backward()
