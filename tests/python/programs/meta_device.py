"""Modules without memory: built on device meta, filled later by to_empty or load_state_dict(assign=True), called with other weights, counted."""
import copy

import torch
from torch import nn


def attempt(f):
    try:
        return f()
    except (RuntimeError, NotImplementedError) as e:
        return "NotImplementedError" if isinstance(e, NotImplementedError) else "RuntimeError"


layer = nn.Linear(3, 2, device="meta")
print(layer.weight, layer.weight.stride(), layer.weight.is_meta, type(layer.weight).__name__, layer.weight.is_leaf, layer.bias.device)
with torch.device("meta"):
    big = nn.Sequential(nn.Linear(100000, 100000), nn.BatchNorm1d(100000), nn.LSTM(3, 4), nn.Embedding(10**6, 1000), nn.TransformerEncoderLayer(64, 4))
print(sum(p.numel() for p in big.parameters()), sum(p.numel() * p.element_size() for p in big.parameters()), big[1].running_mean.device, big[1].num_batches_tracked.device)
print({k: tuple(v.shape) for k, v in list(big.state_dict().items())[:8]})


def build():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


torch.manual_seed(0)
small, x = build().eval(), torch.randn(5, 3)
with torch.device("meta"):
    one, two = build().eval(), build().eval()
print(one.load_state_dict(small.state_dict(), assign=True), torch.equal(one(x), small(x)), one[0].weight.device)
two.to_empty(device="cpu").load_state_dict(small.state_dict())
print(torch.equal(two(x), small(x)), two[0].weight.device, type(two[0].weight).__name__)
base = copy.deepcopy(small).to("meta")
models = [build().eval() for _ in range(3)]
params, buffers = torch.func.stack_module_state(models)
outs = torch.func.vmap(lambda p, b, v: torch.func.functional_call(base, (p, b), (v,)), in_dims=(0, 0, None))(params, buffers, x)
print(outs.shape, all(torch.allclose(o, m(x), atol=1e-6) for o, m in zip(outs, models)))
print(attempt(lambda: base(x)) != "", attempt(lambda: base.to("cpu")), attempt(lambda: layer.weight.item()), attempt(lambda: torch.zeros(2).copy_(torch.zeros(2, device="meta"))))
t = torch.zeros(4, 5, device="meta", dtype=torch.float64)
print(t.t().shape, t[0].shape, t.view(20).device, t.half().dtype, t.clone().device, torch.empty_like(t).device, torch.ones_like(t, device="cpu").sum())
print(torch.zeros(3).to("meta"), torch.tensor([1, 2], device="meta"), torch.arange(5, device="meta").shape, torch.full((2, 2), 3.0, device="meta").dtype)
print(nn.Parameter(torch.empty(2, device="meta")), copy.deepcopy(layer).weight.device)
# operators compute sizes, strides and dtypes
big.eval()
with torch.device("meta"):
    x = torch.randn(8, 100000)
    net = nn.Transformer(512, 8, batch_first=True)
    out = net(torch.empty(4, 100, 512), torch.empty(4, 50, 512))
print(big[1](big[0](x)), out.shape, out.stride(), out.grad_fn is not None)
x = torch.empty(3, 4, device="meta")
print(x.t().exp().stride(), (x > 0).dtype, x.sum(1), torch.cat([x, x]).shape, (x @ x.t()).shape, x[:, 1:].shape, x[torch.tensor([0, 2])].shape, x.half() + x.double())
print(torch.linalg.inv(torch.empty(5, 5, device="meta")).shape, torch.linalg.eig(torch.empty(5, 5, device="meta"))[0].dtype, torch.randperm(4, device="meta"))
w = torch.empty(4, 2, device="meta", requires_grad=True)
(x @ w).relu().sum().backward()
print(w.grad, x.add_(1) is x, x.resize_(2, 2).shape)
for f in (lambda: x.nonzero(), lambda: x[x > 0], lambda: torch.unique(x), lambda: x[0, 0].item(), lambda: bool(x[0, 0]), lambda: x.cpu(), lambda: torch.mm(x, torch.empty(3, 3, device="meta")),
          lambda: x + torch.ones(2, 2), lambda: torch.equal(x, x), lambda: x.masked_select(x > 0)):
    print(attempt(f), end=" ")
print()
print(torch.zeros(5, 6, 4).hsplit(2)[0].shape, torch.zeros(5, 6, 4).dsplit(2)[0].shape, torch.zeros(4, 6).vsplit(2)[1].shape, torch.zeros(5, 6).hsplit([1, 4])[1].shape)
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
with FakeTensorMode() as mode:
    a, layer = torch.randn(7, 5), nn.Linear(5, 3)
    b = layer(a).softmax(-1)
    print(type(b).__name__, b.shape, b.stride(), b.dtype, b.device, b.is_meta, isinstance(b, torch.Tensor))
    c = mode.from_tensor(torch.ones(2, 5))
    print(torch.cat([a, c]).shape, c.device, (a.sum(0) > 0).dtype)
    for f in (lambda: a.nonzero(), lambda: a[0, 0].item()):
        try:
            f()
        except (DynamicOutputShapeException, DataDependentOutputException) as e:
            print(type(e).__name__)
print((c @ a.t()).shape, type(c @ a.t()).__name__)
