"""Learning-rate schedules."""
import torch
from torch.optim import lr_scheduler as S


def rates(make, steps=8, metric=None, **optimizer):
    w = torch.nn.Parameter(torch.zeros(1))
    opt = torch.optim.SGD([w], lr=0.1, **optimizer)
    schedule = make(opt)
    out = []
    for i in range(steps):
        out.append(round(opt.param_groups[0]["lr"], 5))
        opt.step()
        schedule.step(metric[i]) if metric else schedule.step()
    return out


print(rates(lambda o: S.StepLR(o, 3, gamma=0.1)))
print(rates(lambda o: S.MultiStepLR(o, [2, 5], gamma=0.5)))
print(rates(lambda o: S.ExponentialLR(o, 0.9)))
print(rates(lambda o: S.CosineAnnealingLR(o, T_max=6, eta_min=0.01)))
print(rates(lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2)))
print(rates(lambda o: S.LambdaLR(o, lambda e: 1 / (e + 1))))
print(rates(lambda o: S.MultiplicativeLR(o, lambda e: 0.95)))
print(rates(lambda o: S.LinearLR(o, start_factor=0.25, total_iters=4)))
print(rates(lambda o: S.PolynomialLR(o, total_iters=5, power=2)))
print(rates(lambda o: S.ConstantLR(o, factor=0.5, total_iters=3)))
print(rates(lambda o: S.OneCycleLR(o, max_lr=1.0, total_steps=8), momentum=0.9))
print(rates(lambda o: S.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3), momentum=0.9))
print(rates(lambda o: S.ReduceLROnPlateau(o, patience=1, factor=0.1), metric=[1, 0.9, 0.95, 0.96, 0.97, 0.5, 0.6, 0.7]))
print(rates(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=3), S.ExponentialLR(o, 0.9)], milestones=[3])))
print(rates(lambda o: S.ChainedScheduler([S.ExponentialLR(o, 0.9), S.StepLR(o, 2, 0.5)])))
opt = torch.optim.AdamW([{"params": [torch.nn.Parameter(torch.ones(2))], "lr": 0.5}, {"params": [torch.nn.Parameter(torch.ones(3))]}], lr=0.1, weight_decay=0)
schedule = S.LambdaLR(opt, [lambda e: 0.5 ** e, lambda e: 1.0])
for _ in range(2):
    opt.step()
    schedule.step()
print(schedule.get_last_lr(), schedule.last_epoch, [g["initial_lr"] for g in opt.param_groups])
print(opt)
opt.add_param_group({"params": torch.nn.Parameter(torch.zeros(1)), "lr": 7.0})
print(len(opt.param_groups), opt.param_groups[2]["lr"], opt.defaults["betas"])
