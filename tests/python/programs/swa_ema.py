"""Averaged models: SWA with SWALR and update_bn, EMA through multi_avg_fn, gradient accumulation, parameter groups added on the way, ReduceLROnPlateau, OneCycle, checkpoints resumed."""
import io
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_multi_avg_fn, get_ema_avg_fn
from torch.optim.lr_scheduler import *
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(11)
xs = torch.randn(96, 5)
ys = (xs[:, :1] * 2 - xs[:, 1:2].tanh() + 0.1 * torch.randn(96, 1))
loader = DataLoader(TensorDataset(xs, ys), 16, shuffle=True, generator=torch.Generator().manual_seed(5))
make = lambda: nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 1))
model = make()
loss_fn = nn.SmoothL1Loss(beta=0.5)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
swa = AveragedModel(model)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
ema2 = AveragedModel(model, avg_fn=lambda a, p, n: 0.9 * a + 0.1 * p, use_buffers=True)
sched = CosineAnnealingLR(opt, T_max=4)
swa_sched = SWALR(opt, swa_lr=0.02, anneal_epochs=2, anneal_strategy="linear")
for epoch in range(7):
    acc = 2
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y) / acc
        loss.backward()
        if (i + 1) % acc == 0:
            opt.step()
            opt.zero_grad()
            ema.update_parameters(model)
            ema2.update_parameters(model)
    if epoch >= 4:
        swa.update_parameters(model)
        swa_sched.step()
    else:
        sched.step()
    print(epoch, round(loss.item(), 4), round(opt.param_groups[0]["lr"], 5), swa.n_averaged, ema.n_averaged.item())
update_bn(loader, swa)
for m in (model, swa, ema, ema2):
    m.eval()
    print(type(m).__name__, round(loss_fn(m(xs), ys).item(), 4), list(m.state_dict())[:3])
print(swa.module[1].running_mean[:4])
buf = io.BytesIO()
torch.save({"epoch": 7, "model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "rng": torch.get_rng_state(), "swa": swa.state_dict()}, buf)
buf.seek(0)
ck = torch.load(buf, map_location="cpu", weights_only=True)
m2 = make()
print(m2.load_state_dict(ck["model"]))
o2 = torch.optim.SGD(m2.parameters(), lr=1.0, momentum=0.9, nesterov=True)
o2.load_state_dict(ck["opt"])
print(o2)
s2 = AveragedModel(m2)
s2.load_state_dict(ck["swa"])
x = torch.randn(4, 5)
for m, o in ((model, opt), (m2, o2)):
    m.train()
    o.zero_grad()
    m(x).square().mean().backward()
    o.step()
print(all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), m2.state_dict().values())))
extra = nn.Parameter(torch.zeros(3))
o2.add_param_group({"params": [extra], "lr": 0.5, "momentum": 0.0, "nesterov": False})
(extra - 1).square().sum().backward()
o2.step()
print(extra, [g["lr"] for g in o2.param_groups], len(o2.state))
plateau = ReduceLROnPlateau(o2, mode="min", factor=0.3, patience=1, threshold=1e-2, cooldown=1, min_lr=[1e-4, 1e-3])
for v in (1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5):
    plateau.step(v)
    print([round(g["lr"], 6) for g in o2.param_groups], plateau.num_bad_epochs, end="; ")
print()
a = torch.optim.AdamW([torch.zeros(2, requires_grad=True)], lr=1e-2)
cyc = OneCycleLR(a, max_lr=0.1, total_steps=10, pct_start=0.3, three_phase=True)
seq = []
for i in range(10):
    seq.append((round(a.param_groups[0]["lr"], 5), round(a.param_groups[0]["betas"][0], 4)))
    a.step()
    if i < 9:
        cyc.step()
print(seq)
b = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
s = SequentialLR(b, [LinearLR(b, 0.1, total_iters=3), ChainedScheduler([ExponentialLR(b, 0.9), StepLR(b, 2, 0.5)]) if False else ExponentialLR(b, 0.9), PolynomialLR(b, 4, power=2.0)], milestones=[3, 6])
lrs = []
for _ in range(10):
    lrs.append(round(b.param_groups[0]["lr"], 5))
    b.step()
    s.step()
print(lrs)
for f in (lambda o: CyclicLR(o, 0.1, 1.0, step_size_up=2, mode="triangular2"), lambda o: CosineAnnealingWarmRestarts(o, 2, 2), lambda o: MultiStepLR(o, [1, 3], 0.1), lambda o: MultiplicativeLR(o, lambda e: 0.5), lambda o: ConstantLR(o, 0.2, 2)):
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    sch = f(o)
    r = []
    for _ in range(6):
        r.append(round(o.param_groups[0]["lr"], 5))
        o.step()
        sch.step()
    print(type(sch).__name__, r, sorted(k for k in sch.state_dict() if not k.startswith("_"))[:4])
try:
    OneCycleLR(a, max_lr=0.1)
except ValueError as e:
    print("ValueError", e)
try:
    o2.load_state_dict(ck["opt"])
except ValueError as e:
    print("ValueError", e)
