#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training in Python with the package and with PyTorch: the same program, run with both, must give the same losses.

    /usr/bin/python3 tests/interop/python_training.py --ctsc build/ctsc [--steps 200] [--only lstm] [-v]

Each network is trained for 200 steps in float64 by each of four optimisers, from the same seed: initial weights, the order of batches and what dropout draws are each
library's own. Losses must agree to 1e-4 of their size; what was found is printed. Then: one step and state_dict() of all optimisers, whose states are exchanged; rates of
all schedules; batches of loaders; gradients and messages of small programs.

Exit code 77: there is no PyTorch, or the package has not been built (make python).
"""
import argparse
import io
import os
import sys
import warnings

PROGRAM = '''
import math


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(64, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))

    def loss(self, x, y):
        return F.cross_entropy(self(x), y)

    @staticmethod
    def data():
        return torch.randn(96, 1, 8, 8, dtype=torch.float64), torch.randint(0, 5, (96,))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = [p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in self.qkv(self.ln1(x)).split(c, dim=2)]
        a = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
        a = self.drop(F.softmax(a.masked_fill(mask, float("-inf")), dim=-1))
        x = x + self.out((a @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.drop(self.down(F.gelu(self.up(self.ln2(x)))))


class GPT(nn.Module):
    def __init__(self, vocabulary=17, width=24, time=12):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(time, width)
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight
        self.register_buffer("mask", torch.triu(torch.ones(time, time, dtype=torch.bool), 1))

    def forward(self, x):
        h = self.token(x) + self.place(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h, self.mask)
        return self.head(self.ln(h))

    def loss(self, x, y):
        return F.cross_entropy(self(x).flatten(0, 1), y.flatten())

    @staticmethod
    def data():
        text = torch.randint(0, 17, (48, 13))
        return text[:, :-1], text[:, 1:]


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(6, 20, num_layers=2, batch_first=True, bidirectional=True), nn.Linear(40, 3)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])

    def loss(self, x, y):
        return F.mse_loss(self(x), y)

    @staticmethod
    def data():
        x = torch.randn(48, 9, 6, dtype=torch.float64)
        return x, torch.randn(48, 3, dtype=torch.float64) + x.sum(1)[:, :3]


def optimizer(name, parameters):
    if name == "SGD":
        return torch.optim.SGD(parameters, lr=0.02, momentum=0.9, weight_decay=1e-3, nesterov=True)
    if name == "LBFGS":
        return torch.optim.LBFGS(parameters, lr=0.02, max_iter=2, history_size=20)
    return {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}[name](parameters, lr=2e-3)


def losses(kind, name, steps):
    torch.manual_seed(7)
    model = kind().double()
    opt = optimizer(name, model.parameters())
    whole = name == "LBFGS" # which needs the same function all the time, and one that does not sink to where only rounding is left
    loader = DataLoader(TensorDataset(*kind.data()), batch_size=96 if whole else 16, shuffle=not whole)
    found = []
    model.train(not whole)
    while len(found) < steps:
        for x, y in loader:
            def closure():
                opt.zero_grad()
                loss = model.loss(x, y)
                if whole:
                    loss = loss + 0.06 * sum(p.pow(2).sum() for p in model.parameters())
                loss.backward()
                if not whole:
                    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                return loss
            found.append(float(opt.step(closure)))
            if len(found) == steps:
                break
    return found, {k: v.tolist() for k, v in model.state_dict().items() if v.numel() < 30}


OPTIMIZERS = [("SGD", dict(lr=0.1, momentum=0.9, dampening=0.1)), ("SGD", dict(lr=0.1)), ("Adagrad", {}), ("Adadelta", {}), ("RMSprop", dict(momentum=0.5, centered=True)),
              ("Adam", dict(amsgrad=True, weight_decay=0.1)), ("AdamW", dict(maximize=True)), ("Adamax", {}), ("NAdam", {}), ("RAdam", {}),
              ("ASGD", dict(lambd=0.1, t0=1)), ("Rprop", {}), ("LBFGS", dict(lr=0.5, max_iter=3)), ("LBFGS", dict(line_search_fn="strong_wolfe", max_iter=4))]


def begin(name, settings):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    groups = list(model.parameters()) if name == "LBFGS" else [{"params": model[0].parameters(), "lr": 0.03}, {"params": model[2].parameters()}]
    return model, getattr(torch.optim, name)(groups, **settings)


def go_on(model, opt, steps=4):
    torch.manual_seed(4)
    x, y = torch.randn(10, 4, dtype=torch.float64), torch.randn(10, 2, dtype=torch.float64)
    for _ in range(steps):
        def closure():
            opt.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            return loss
        opt.step(closure)
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist()


SCHEDULES = {
    "StepLR": "s.StepLR(o, 3, 0.5)", "MultiStepLR": "s.MultiStepLR(o, [2, 5, 5], 0.3)", "ExponentialLR": "s.ExponentialLR(o, 0.9)",
    "ConstantLR": "s.ConstantLR(o, 0.5, 4)", "LinearLR": "s.LinearLR(o, 0.25, 0.9, 6)", "PolynomialLR": "s.PolynomialLR(o, 7, 2.0)",
    "CosineAnnealingLR": "s.CosineAnnealingLR(o, 5, 0.01)", "CosineAnnealingWarmRestarts": "s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01)",
    "CyclicLR": "s.CyclicLR(o, 0.01, 0.2, 3, 4, mode='triangular2', cycle_momentum=m)", "CyclicLR exp": "s.CyclicLR(o, 0.01, 0.2, 3, mode='exp_range', gamma=0.9, cycle_momentum=m)",
    "OneCycleLR": "s.OneCycleLR(o, 0.3, 20)", "OneCycleLR three": "s.OneCycleLR(o, [0.3, 0.1], 20, anneal_strategy='linear', three_phase=True)",
    "LambdaLR": "s.LambdaLR(o, lambda e: 0.9 ** e)", "MultiplicativeLR": "s.MultiplicativeLR(o, lambda e: 1 / (e + 1))",
    "SequentialLR": "s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [4])",
    "ChainedScheduler": "s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])",
}


def rates(text, sgd):
    ps = [nn.Parameter(torch.zeros(2)) for _ in range(2)]
    o = torch.optim.SGD([{"params": ps[:1], "lr": 0.2}, {"params": ps[1:]}], lr=0.1, momentum=0.9) if sgd else torch.optim.Adam([{"params": ps[:1], "lr": 0.2}, {"params": ps[1:]}], lr=0.1)
    s = torch.optim.lr_scheduler
    schedule = eval(text, {"o": o, "s": s, "m": sgd})
    found = []
    for i in range(19):
        found.append([(g["lr"], g.get("momentum", g.get("betas"))) for g in o.param_groups])
        if i == 9: # kept and begun again
            kept = schedule.state_dict()
            schedule.load_state_dict(kept)
        o.step()
        schedule.step()
    return found


def plateau():
    o = torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=1.0)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, "min", 0.5, 1, cooldown=1, min_lr=0.05)
    found = []
    for metric in (3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1):
        s.step(metric)
        found.append(o.param_groups[0]["lr"])
    return found


def batches():
    found = []
    torch.manual_seed(11)
    data = TensorDataset(torch.arange(23), torch.arange(23.) * 2)
    for options in (dict(batch_size=5, shuffle=True), dict(batch_size=4, shuffle=True, drop_last=True), dict(batch_size=None), dict(batch_size=3),
                    dict(batch_size=6, shuffle=True, generator=torch.Generator().manual_seed(5)), dict(batch_size=7, shuffle=True, num_workers=2)):
        for _ in range(2):
            found.append([[t.tolist() for t in b] for b in DataLoader(data, **options)])
    sampler = torch.utils.data.WeightedRandomSampler([0.1, 0.5, 0.2], 9)
    found.append(list(sampler))
    found.append(list(torch.utils.data.RandomSampler(data, replacement=True, num_samples=40)))
    found.append([list(p.indices) for p in torch.utils.data.random_split(data, [10, 13])])
    return found


def message(f, *args):
    try:
        result = f(*args)
    except Exception as e:
        return type(e).__mro__[-3].__name__ if False else str(e).split("\\n")[0]
    return [round(v, 12) for v in result.reshape(-1).tolist()] if isinstance(result, torch.Tensor) else result


def small():
    x = torch.tensor([1., -2., 3.], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([[0.5, 1., -1.], [2., 0., 1.]], dtype=torch.float64, requires_grad=True)

    def twice():
        y = (x * x).sum()
        y.backward()
        y.backward()

    def changed():
        y = x.exp()
        z = y.sum()
        y.mul_(2)
        z2 = y.sum()
        torch.autograd.grad(y.exp().sum() * 0 + z2, x)
        v = x.sigmoid()
        v.add_(1)
        return torch.autograd.grad(v.sum(), x)[0]

    def view():
        y = x.clone()
        y[1] = x[0] * 3
        y[0:1].mul_(x[2])
        return torch.autograd.grad(y.sum(), x)[0]

    def second():
        g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
        return torch.autograd.grad((g * g).sum(), x)[0]

    def accumulated():
        x.grad = None
        for _ in range(3):
            (w @ x).pow(2).sum().backward()
        g = x.grad.clone()
        x.grad = w.grad = None
        return g

    def retained():
        y = x * 2
        y.retain_grad()
        y.pow(2).sum().backward()
        return y.grad

    def only():
        x.grad = w.grad = None
        (w @ x).sum().backward(inputs=[w])
        return w.grad if x.grad is None else None

    def decorated():
        @torch.no_grad()
        def f():
            return (x * 2).requires_grad, torch.is_grad_enabled()
        with torch.set_grad_enabled(False):
            inner = torch.is_grad_enabled()
            with torch.enable_grad():
                again = (x * 2).requires_grad
        return [f(), inner, again, torch.is_grad_enabled()]

    def leaf():
        y = x * 2
        y.requires_grad = False

    def leaves():
        y = x * 2
        return [x.is_leaf, y.is_leaf, y.detach().is_leaf, y.detach().requires_grad, y.data.requires_grad, y.requires_grad]

    def complex_one():
        z = torch.complex(x, x * 2)
        return torch.autograd.grad((z * z.conj()).real.sum(), x)[0]

    def wrong_grad():
        x.grad = torch.zeros(2, dtype=torch.float64)

    def data_set():
        p = nn.Parameter(torch.zeros(3))
        p.data = torch.ones(2, 2, dtype=torch.float64)
        (p * 3).sum().backward()
        return p.grad

    def unused():
        return torch.autograd.grad(x.sum(), [x, w])

    def unbound():
        a, b, c = x.clone().unbind()
        a.mul_(2)

    F2 = torch.autograd.functional
    found = [message(f) for f in (
        twice, changed, view, second, accumulated, retained, only, decorated, leaf, leaves, complex_one, wrong_grad, data_set, unused, unbound,
        lambda: x.add_(1), lambda: (x * 2).backward(), lambda: torch.zeros(2).sum().backward(), lambda: torch.arange(3).requires_grad_(),
        lambda: x.numpy(), lambda: torch.autograd.grad(x.sum(), x, torch.ones(2)), lambda: F2.jacobian(lambda v: v ** 2 @ w.detach().t(), x),
        lambda: F2.hessian(lambda v: (v ** 3).prod(), x), lambda: F2.vjp(lambda v: v ** 3, x, torch.ones_like(x))[1], lambda: F2.jvp(lambda v: v ** 3, x, torch.ones_like(x))[1],
        lambda: x.detach().numpy().sum(), lambda: nn.utils.clip_grad_norm_([x], 0.1), lambda: x.grad if x.grad is not None else 0)]
    return found
'''


def world(T, data):
    nn = T.nn
    scope = {"torch": T, "nn": nn, "F": nn.functional, "DataLoader": data.DataLoader, "TensorDataset": data.TensorDataset}
    exec(compile(PROGRAM, "<program>", "exec"), scope)
    return scope


def difference(got, want):
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(got, want))


def close(got, want):
    if isinstance(want, (list, tuple)):
        return isinstance(got, (list, tuple)) and len(got) == len(want) and all(close(a, b) for a, b in zip(got, want))
    if isinstance(want, dict):
        return isinstance(got, dict) and list(got) == list(want) and all(close(got[k], want[k]) for k in want)
    if isinstance(want, float) and isinstance(got, (float, int)):
        return abs(got - want) <= 1e-9 + 1e-9 * abs(want)
    return got == want


class Checks:
    def __init__(self, verbose):
        self.verbose, self.failed, self.count = verbose, 0, 0

    def same(self, what, got, want):
        self.count += 1
        if not close(got, want):
            self.failed += 1
            print("DIFFERS: %s\n  ctsc:    %s\n  PyTorch: %s" % (what, str(got)[:600], str(want)[:600]))
        elif self.verbose:
            print("%s: as PyTorch" % what)


def curves(checks, ours, theirs, steps, only):
    for net in ("CNN", "GPT", "LSTM"):
        for name in ("SGD", "Adam", "AdamW", "LBFGS"):
            if only and only.lower() not in (net + " " + name).lower():
                continue
            got, state = ours["losses"](ours[net], name, steps)
            want, other = theirs["losses"](theirs[net], name, steps)
            worst = difference(got, want)
            checks.count += 1
            print("%-4s %-5s %d steps: loss %.6f -> %.6f, largest relative difference %.1e" % (net, name, steps, want[0], want[-1], worst), flush=True)
            if not worst <= 1e-4 or list(state) != list(other):
                checks.failed += 1
                print("DIFFERS: %s %s" % (net, name))


def states(checks, C, T, ours, theirs):
    for name, settings in theirs["OPTIMIZERS"]:
        if name == "NAdam" and not T.__version__.startswith("1."):
            continue # computes something else since 2.0
        what = "%s(%s)" % (name, ", ".join("%s=%r" % s for s in settings.items()))
        model, opt = ours["begin"](name, settings)
        tmodel, topt = theirs["begin"](name, settings)
        checks.same(what, ours["go_on"](model, opt), theirs["go_on"](tmodel, topt))
        # each goes on with what the other has saved
        kept, tkept = io.BytesIO(), io.BytesIO()
        C.save({"model": model.state_dict(), "opt": opt.state_dict()}, kept)
        T.save({"model": tmodel.state_dict(), "opt": topt.state_dict()}, tkept)
        want, mine = theirs["go_on"](tmodel, topt), ours["go_on"](model, opt)
        checks.same(what + ", second part", mine, want)
        kept.seek(0)
        tkept.seek(0)
        loaded, theirs_loaded = C.load(tkept), T.load(kept)
        missing = set(loaded["opt"]["param_groups"][0]) - set(theirs_loaded["opt"]["param_groups"][0]) - {"differentiable", "capturable", "fused", "decoupled_weight_decay"}
        checks.same(what + ", keys of param_groups that ctsc does not save", sorted(missing), [])
        for scope, state, label in ((ours, loaded, "PyTorch's state in ctsc"), (theirs, theirs_loaded, "ctsc's state in PyTorch")):
            again, again_opt = scope["begin"](name, settings)
            again.load_state_dict(state["model"])
            again_opt.load_state_dict(state["opt"])
            got = scope["go_on"](again, again_opt)
            checks.count += 1
            if difference(got, want) > 1e-6: # step and the like are float32 in the state
                checks.failed += 1
                print("DIFFERS: %s, %s" % (what, label))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", required=True)
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--only")
    ap.add_argument("-v", action="store_true", dest="verbose")
    args = ap.parse_args()
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(args.ctsc)), "python"))
    warnings.simplefilter("ignore")
    try:
        import torch
        import torch.utils.data
        import ctsc
        import ctsc.data
    except ImportError as e:
        print("skipped: %s" % e)
        return 77
    torch.set_num_threads(1)
    ours, theirs = world(ctsc, ctsc.data), world(torch, torch.utils.data)
    checks = Checks(args.verbose)
    curves(checks, ours, theirs, args.steps, args.only)
    if not args.only:
        states(checks, ctsc, torch, ours, theirs)
        for name, text in theirs["SCHEDULES"].items():
            for sgd in (True, False):
                checks.same(name, ours["rates"](text, sgd), theirs["rates"](text, sgd))
        checks.same("ReduceLROnPlateau", ours["plateau"](), theirs["plateau"]())
        for i, (got, want) in enumerate(zip(ours["batches"](), theirs["batches"]())):
            checks.same("batches %d" % i, got, want)
        for i, (got, want) in enumerate(zip(ours["small"](), theirs["small"]())):
            checks.same("small program %d" % i, got, want)
    print("%d of %d agree" % (checks.count - checks.failed, checks.count))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
