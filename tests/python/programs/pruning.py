"""Pruning: magnitudes, structures, global, again, made permanent; benchmarks' and profilers' names; DataParallel; samplers for several processes."""
from collections import OrderedDict

import torch
import torch.nn.utils.prune as prune
from torch import nn
from torch.utils.benchmark import Timer
from torch.utils.data.distributed import DistributedSampler
from torch.utils.hooks import RemovableHandle


class FirstRows(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


torch.manual_seed(0)
layer = nn.Linear(6, 4)
prune.l1_unstructured(layer, name="weight", amount=0.5)
print(sorted(n for n, _ in layer.named_parameters()), [n for n, _ in layer.named_buffers()], layer.weight_mask.sum(), prune.is_pruned(layer))
print(layer.weight, list(layer._forward_pre_hooks.values())[0].__class__.__name__)
prune.ln_structured(layer, name="weight", amount=1, n=2, dim=0)
print(layer.weight_mask, type(list(layer._forward_pre_hooks.values())[0]).__name__)
prune.random_unstructured(layer, name="bias", amount=1)
x = torch.randn(5, 6)
opt = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(3):
    loss = layer(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%.4f" % loss, (layer.weight_orig.grad == 0).sum(), (layer.weight == 0).sum())
prune.remove(layer, "weight")
print(sorted(n for n, _ in layer.named_parameters()), (layer.weight == 0).float().mean(), layer.weight.is_leaf)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 9, 3))
pairs = [(net[0], "weight"), (net[3], "weight")]
prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.3)
print(["%.3f" % (m.weight == 0).float().mean() for m, _ in pairs], sorted(net.state_dict()))
prune.random_structured(net[0], "weight", amount=2, dim=0)
print(net[0].weight_mask.flatten(1).any(1), net(torch.randn(2, 1, 5, 5)).shape)
FirstRows.apply(net[3], "bias")
print(net[3].bias_mask, prune.custom_from_mask(nn.Linear(2, 2), "weight", torch.tensor([[1, 0], [0, 1]])).weight != 0)
for bad in (lambda: prune.l1_unstructured(layer, "weight", 1.5), lambda: prune.l1_unstructured(layer, "weight", 100), lambda: prune.remove(net[1], "weight")):
    try:
        bad()
    except Exception as e:
        print(type(e).__name__, str(e)[:60])
print(sorted(layer._parameters), prune.is_pruned(net[1]))
parallel = nn.DataParallel(net)
print(torch.equal(parallel(torch.ones(1, 1, 5, 5)), net(torch.ones(1, 1, 5, 5))), list(parallel.state_dict())[0], parallel.module is net)
for rank in range(2):
    sampler = DistributedSampler(range(7), num_replicas=2, rank=rank, shuffle=True, seed=3)
    sampler.set_epoch(2)
    print(list(sampler), len(sampler), list(DistributedSampler(range(7), 2, rank, shuffle=False, drop_last=True)))
measured = Timer("x @ x.T", globals={"x": x}).blocked_autorange(min_run_time=0.01)
print(measured.median > 0, measured.mean > 0)
hooks = OrderedDict()
handle = RemovableHandle(hooks)
hooks[handle.id] = print
handle.remove()
print(len(hooks))
