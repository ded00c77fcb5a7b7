# SPDX-License-Identifier: Apache-2.0
"""Writes tests/unit/optimizer_cases.h: what PyTorch's optimisers and schedules make of a parameter, step by step.

    python3 tests/unit/make_optimizer_cases.py > tests/unit/optimizer_cases.h      (PyTorch 1.13)

Parameter, gradients and results are float64. The gradient of step t is sin(p + t + i): easily made again, changing its sign. lbfgs minimises
Rosenbrock's function.
"""
import math
import torch

OPTIM = {"sgd": "SGD", "adagrad": "Adagrad", "rmsprop": "RMSprop", "adadelta": "Adadelta", "adam": "Adam", "adamw": "AdamW", "adamax": "Adamax",
         "nadam": "NAdam", "radam": "RAdam", "asgd": "ASGD", "rprop": "Rprop"}
CASES = [
    ("sgd", {"lr": 0.1}), ("sgd", {"lr": 0.1, "momentum": 0.9}), ("sgd", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    ("sgd", {"lr": 0.1, "momentum": 0.8, "nesterov": True, "maximize": True}),
    ("adagrad", {"lr": 0.1}), ("adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.01, "initial_accumulator_value": 0.2}),
    ("rmsprop", {"lr": 0.05}), ("rmsprop", {"lr": 0.05, "momentum": 0.7, "centered": True, "weight_decay": 0.01}), ("rmsprop", {"lr": 0.05, "momentum": 0.5}),
    ("adadelta", {}), ("adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("adam", {"lr": 0.05}), ("adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}), ("adam", {"lr": 0.05, "betas": (0.5, 0.8), "maximize": True}),
    ("adamw", {"lr": 0.05}), ("adamw", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.3}),
    ("adamax", {"lr": 0.05}), ("adamax", {"weight_decay": 0.1}), ("nadam", {"lr": 0.05}), ("nadam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("radam", {"lr": 0.05}), ("radam", {"lr": 0.05, "betas": (0.9, 0.9), "weight_decay": 0.1}),
    ("asgd", {"lr": 0.05}), ("asgd", {"lr": 0.05, "t0": 2, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    ("rprop", {}), ("rprop", {"lr": 0.1, "etas": (0.4, 1.5), "step_sizes": (1e-3, 0.3)}),
]
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("eta_minus", "eta_plus"), "step_sizes": ("step_min", "step_max")}
STEPS = 8


def settings(kw):
    out = []
    for key, v in kw.items():
        out += list(zip(PAIRS[key], v)) if key in PAIRS else [(key, float(v))]
    return ", ".join('{"%s", %r}' % s for s in out) or '{0}'


def run(name, kw):
    p = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    opt = getattr(torch.optim, OPTIM[name])([p], **{"lr": 1e-3, **kw} if name == "sgd" else kw)
    rows = []
    for t in range(STEPS):
        p.grad = torch.sin(p.detach() + t + torch.arange(3))
        opt.step()
        rows.append(p.detach().tolist())
    return rows


def rosenbrock(kw):
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([p], **kw)
    rows = []

    def closure():
        opt.zero_grad()
        loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2
        loss.backward()
        return loss
    for _ in range(3):
        loss = opt.step(closure)
        rows.append(p.detach().tolist() + [loss.item()])
    return rows


SCHEDULES = [
    ("step", "StepLR", {"step_size": 3, "gamma": 0.5}), ("multistep", "MultiStepLR", {"milestones": [2, 5, 5], "gamma": 0.5}),
    ("exponential", "ExponentialLR", {"gamma": 0.9}), ("linear", "LinearLR", {"total_iters": 4}), ("linear", "LinearLR", {"start_factor": 0.5, "end_factor": 0.1}),
    ("cosine", "CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}), ("onecycle", "OneCycleLR", {"max_lr": 1.0, "total_steps": 12}),
    ("onecycle", "OneCycleLR", {"max_lr": 1.0, "total_steps": 12, "three_phase": True, "anneal_strategy": "linear"}),
    ("plateau", "ReduceLROnPlateau", {"patience": 1, "factor": 0.5, "cooldown": 1}), ("lambda", "LambdaLR", {}),
]


def schedule(cls, kw):
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    if cls == "LambdaLR":
        kw = {"lr_lambda": lambda e: 0.95 ** e}
    s = getattr(torch.optim.lr_scheduler, cls)(opt, **kw)
    rows = [opt.param_groups[0]["lr"]]
    for e in range(11):
        opt.step()
        s.step(max(1.0, 3.0 - e)) if cls == "ReduceLROnPlateau" else s.step()
        rows.append(opt.param_groups[0]["lr"])
    return rows, opt.param_groups[0]["momentum"]


def schedule_settings(kw):
    out = []
    for key, v in kw.items():
        if key == "milestones":
            out += [("milestone", float(m)) for m in v]
        elif key == "anneal_strategy":
            out.append(("linear", 1.0))
        else:
            out.append((key.lower(), float(v)))
    return ", ".join('{"%s", %r}' % s for s in out) or '{0}'


def table(rows):
    return "{%s}" % ", ".join("{%s}" % ", ".join("%.17g" % x for x in r) for r in rows)


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* optimizer_cases.h - written by tests/unit/make_optimizer_cases.py with PyTorch %s. */" % torch.__version__.split("+")[0])
print("static const optimizer_case optimizer_cases[] = {")
for name, kw in CASES:
    print('    {"%s", {%s}, %s},' % (name, settings(kw), table(run(name, kw))))
print("};\n\nstatic const lbfgs_case lbfgs_cases[] = {")
for kw in ({"lr": 0.1}, {"line_search_fn": "strong_wolfe"}, {"lr": 0.5, "history_size": 2, "max_iter": 10, "line_search_fn": "strong_wolfe"}):
    s = ", ".join('{"%s", %r}' % (("strong_wolfe", 1.0) if k == "line_search_fn" else (k, float(v))) for k, v in kw.items())
    print("    {{%s}, %s}," % (s, table(rosenbrock(kw))))
print("};\n\nstatic const schedule_case schedule_cases[] = {")
for name, cls, kw in SCHEDULES:
    rows, momentum = schedule(cls, kw)
    print('    {"%s", {%s}, {%s}, %.17g},' % (name, schedule_settings(kw), ", ".join("%.17g" % x for x in rows), momentum))
print("};")
