"""Modules without memory: built on device meta, filled later by to_empty or load_state_dict(assign=True), called with other weights, counted."""
import copy

import torch
from torch import nn


def attempt(f):
    try:
        return f()
    except (RuntimeError, NotImplementedError) as e:
        return type(e).__name__


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
