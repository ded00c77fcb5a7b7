"""Averages of weights: EMA by hand with swapped parameters, swa_utils' AveragedModel, update_bn and SWALR, EMA of buffers."""
from contextlib import contextmanager
from copy import deepcopy

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


class EMA:
    def __init__(self, model, decay):
        self.decay, self.shadow, self.backup = decay, {}, {}
        for name, p in model.named_parameters():
            if p.requires_grad:
                self.shadow[name] = p.data.clone()

    def update(self, model):
        for name, p in model.named_parameters():
            if p.requires_grad:
                self.shadow[name].mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    @contextmanager
    def average_parameters(self, model):
        for name, p in model.named_parameters():
            self.backup[name] = p.data
            p.data = self.shadow[name]
        try:
            yield
        finally:
            for name, p in model.named_parameters():
                p.data = self.backup.pop(name)


class ModelEMA(nn.Module):
    """As timm has it."""

    def __init__(self, model, decay=0.9):
        super().__init__()
        self.module = deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    def _update(self, model, update_fn):
        with torch.no_grad():
            for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
                ema_v.copy_(update_fn(ema_v, model_v))

    def update(self, model):
        self._update(model, update_fn=lambda e, m: self.decay * e + (1. - self.decay) * m)


torch.manual_seed(0)
x, y = torch.randn(40, 3), torch.randn(40, 1)
model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
ema, ema2 = EMA(model, 0.9), ModelEMA(model)
swa = AveragedModel(model)
ema3 = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
swa_scheduler = SWALR(opt, anneal_strategy="linear", anneal_epochs=3, swa_lr=0.02)
loader = [(x[i:i + 10], y[i:i + 10]) for i in range(0, 40, 10)]
for epoch in range(5):
    for a, b in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        opt.step()
        ema.update(model)
        ema2.update(model)
        ema3.update_parameters(model)
    if epoch >= 2:
        swa.update_parameters(model)
        swa_scheduler.step()
    print(epoch, "%.4f" % loss, "%.4f" % opt.param_groups[0]["lr"], swa.n_averaged.item(), ema3.n_averaged.item())
update_bn(loader, swa)
for net in (model, swa, ema2.module, ema3):
    net.eval()
    print(type(net).__name__, "%.4f" % nn.functional.mse_loss(net(x), y))
before = model[0].weight.data_ptr()
with ema.average_parameters(model):
    print("%.4f" % nn.functional.mse_loss(model(x), y), model[0].weight.data_ptr() == before)
print(model[0].weight.data_ptr() == before, "%.4f" % nn.functional.mse_loss(model(x), y))
print(list(swa.state_dict())[:3], ema2.module[1].num_batches_tracked, sum(p.numel() for p in ema2.parameters() if p.requires_grad))
with torch.no_grad():
    torch._foreach_mul_([p for p in model.parameters()], 0.5)
    print(torch._foreach_norm(list(model.parameters()))[0])
