"""A training harness as people write it: a Trainer class with callbacks, a learning-rate range test, curriculum sampling, layer-wise rates, freezing schedules, SAM and Lookahead optimisers, checkpoints to disk and resumption, seeds, JSON logs."""
import json
import os
import random
import tempfile
from collections import defaultdict
from pathlib import Path
import torch
from torch import nn, optim
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, _LRScheduler, LRScheduler
from torch.utils.data import DataLoader, Dataset, Sampler
import torch.nn.functional as F


def seed_everything(seed=42):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)


seed_everything()


class Spirals(Dataset):
    def __init__(self, n=90):
        t = torch.linspace(0.2, 1, n // 3)
        self.x = torch.cat([torch.stack([t * torch.cos(4 * t + k * 2.0944), t * torch.sin(4 * t + k * 2.0944)], 1) for k in range(3)]) + 0.02 * torch.randn(n // 3 * 3, 2)
        self.y = torch.arange(3).repeat_interleave(n // 3)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i], "id": i}


class Curriculum(Sampler):
    def __init__(self, data):
        self.data, self.frac, self.order = data, 0.4, data.x.norm(dim=1).argsort(descending=True)

    def __iter__(self):
        n = len(self)
        return iter(self.order[:n][torch.randperm(n)].tolist())

    def __len__(self):
        return int(len(self.data) * self.frac)


class SAM(Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]), p=2)
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old"] = p.data.clone()
                p.add_(p.grad * (g["rho"] / (norm + 1e-12)))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.data = self.state[p]["old"]
        self.base.step()
        if zero_grad:
            self.zero_grad()


class Lookahead(Optimizer):
    def __init__(self, inner, k=3, alpha=0.5):
        self.inner, self.k, self.alpha, self.n = inner, k, alpha, 0
        self.param_groups, self.state, self.defaults = inner.param_groups, defaultdict(dict), inner.defaults
        self.slow = [[p.clone().detach() for p in g["params"]] for g in self.param_groups]

    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.n += 1
        if self.n % self.k == 0:
            with torch.no_grad():
                for g, slow in zip(self.param_groups, self.slow):
                    for p, q in zip(g["params"], slow):
                        q.add_(p - q, alpha=self.alpha)
                        p.copy_(q)
        return loss

    def zero_grad(self):
        self.inner.zero_grad()


class SignSGD(Optimizer):
    def __init__(self, params, lr=1e-2, beta=0.9):
        if lr < 0.0:
            raise ValueError("Invalid learning rate: {}".format(lr))
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["m"] = 0, torch.zeros_like(p, memory_format=torch.preserve_format)
                state["step"] += 1
                state["m"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                p.add_(state["m"].sign(), alpha=-group["lr"])
        return loss


class PolyWarm(LRScheduler):
    def __init__(self, optimizer, warm, total, power=2.0, last_epoch=-1):
        self.warm, self.total, self.power = warm, total, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        s = self.last_epoch
        f = (s + 1) / self.warm if s < self.warm else max(0.0, 1 - (s - self.warm) / (self.total - self.warm)) ** self.power
        return [b * f for b in self.base_lrs]


def make():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.PReLU(), nn.Linear(24, 3))


data = Spirals()


def range_test(lo=1e-4, hi=1.0, n=12):
    net = make()
    opt = optim.SGD(net.parameters(), lr=lo)
    sched = LambdaLR(opt, lambda i: (hi / lo) ** (i / (n - 1)))
    log, avg = [], 0.0
    for i in range(n):
        loss = F.cross_entropy(net(data.x), data.y)
        avg = 0.7 * avg + 0.3 * loss.item()
        log.append((round(opt.param_groups[0]["lr"], 6), round(avg / (1 - 0.7 ** (i + 1)), 4)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    return log


print(range_test())


class Trainer:
    def __init__(self, net, opt, sched, sampler=None, callbacks=()):
        self.net, self.opt, self.sched, self.callbacks, self.log, self.epoch = net, opt, sched, callbacks, [], 0
        self.loader = DataLoader(data, batch_size=16, sampler=sampler, shuffle=sampler is None)

    def loss(self, b):
        return F.cross_entropy(self.net(b["x"]), b["y"])

    def fit(self, epochs):
        for _ in range(epochs):
            self.net.train()
            total = seen = 0
            for b in self.loader:
                loss = self.loss(b)
                loss.backward()
                if isinstance(self.opt, SAM):
                    self.opt.first_step(zero_grad=True)
                    self.loss(b).backward()
                    self.opt.second_step(zero_grad=True)
                else:
                    self.opt.step()
                    self.opt.zero_grad()
                total, seen = total + loss.item() * len(b["y"]), seen + len(b["y"])
            if self.sched:
                self.sched.step()
            self.net.eval()
            with torch.no_grad():
                acc = (self.net(data.x).argmax(1) == data.y).float().mean().item()
            self.log.append({"epoch": self.epoch, "loss": round(total / seen, 4), "acc": round(acc, 3), "n": seen})
            self.epoch += 1
            for c in self.callbacks:
                c(self)
        return self.log


net = make()
groups = [{"params": l.parameters(), "lr": 0.2 * 0.8 ** (2 - i)} for i, l in enumerate(m for m in net if isinstance(m, nn.Linear))]
opt = optim.SGD(groups, lr=0.1, momentum=0.9)
print([round(g["lr"], 4) for g in opt.param_groups])
cur = Curriculum(data)
print(json.dumps(Trainer(net, opt, PolyWarm(opt, 2, 6), cur, [lambda t: setattr(cur, "frac", min(1.0, cur.frac + 0.2))]).fit(4)))
for name, o in (("sam", lambda ps: SAM(ps, optim.SGD, lr=0.1, momentum=0.9)), ("lookahead", lambda ps: Lookahead(optim.Adam(ps, lr=1e-2))), ("sign", lambda ps: SignSGD(ps, 5e-3)), ("rprop", lambda ps: optim.Rprop(ps, lr=1e-3))):
    net = make()
    print(name, Trainer(net, o(net.parameters()), None).fit(2))


def freeze(t):
    for p in t.net[0].parameters():
        p.requires_grad_(t.epoch >= 2)


with tempfile.TemporaryDirectory() as d:
    path = Path(d) / "last.ckpt"
    net = make()
    opt = optim.AdamW(net.parameters(), lr=1e-2)
    sched = PolyWarm(opt, 1, 8)

    def keep(t):
        torch.save({"net": t.net.state_dict(), "opt": t.opt.state_dict(), "sched": t.sched.state_dict(), "epoch": t.epoch, "rng": torch.get_rng_state(), "log": t.log}, path)
    a = Trainer(net, opt, sched, callbacks=[freeze, keep])
    a.fit(2)
    first = a.fit(2)[-1]
    ck = torch.load(path, weights_only=True)
    print(sorted(ck), ck["epoch"], ck["sched"]["last_epoch"], len(ck["opt"]["state"]))
    ck2 = None
    net2 = make()
    opt2 = optim.AdamW(net2.parameters(), lr=1e-2)
    sched2 = PolyWarm(opt2, 1, 8)
    net2.load_state_dict(ck["net"])
    opt2.load_state_dict(ck["opt"])
    sched2.load_state_dict(ck["sched"])
    torch.set_rng_state(ck["rng"])
    b = Trainer(net2, opt2, sched2)
    b.epoch = ck["epoch"]
    s = torch.get_rng_state()
    x = a.fit(1)[-1]
    torch.set_rng_state(s)
    y = b.fit(1)[-1]
    print(x, y, x == y, os.path.getsize(path) > 1000)
print(first)
try:
    SignSGD(make().parameters(), lr=-1)
except ValueError as e:
    print("ValueError", e)
try:
    optim.SGD([], lr=0.1)
except ValueError as e:
    print("ValueError", e)
try:
    optim.Adam([torch.ones(2)], lr=-1)
except ValueError as e:
    print("ValueError", e)
try:
    optim.SGD([{"params": [torch.ones(1, requires_grad=True)]}])
    optim.SGD(torch.ones(2), lr=1)
except (TypeError, ValueError) as e:
    print(type(e).__name__, str(e)[:80])
