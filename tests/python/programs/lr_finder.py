"""A learning rate finder: exponential schedule, losses smoothed, the state restored; then one-cycle training with early stopping and ReduceLROnPlateau."""
import copy
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR, ReduceLROnPlateau, LinearLR, SequentialLR, CosineAnnealingWarmRestarts, ChainedScheduler, ExponentialLR
from torch.utils.data import DataLoader, TensorDataset, random_split


class LRFinder:
    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.memory = {"model": copy.deepcopy(model.state_dict()), "optimizer": copy.deepcopy(optimizer.state_dict())}
        self.history = {"lr": [], "loss": []}

    def range_test(self, loader, start=1e-4, end=10, num_iter=12, smooth=0.3):
        for group in self.optimizer.param_groups:
            group["lr"] = start
        schedule = LambdaLR(self.optimizer, lambda i: (end / start) ** (i / (num_iter - 1)))
        iterator, best = iter(loader), None
        for i in range(num_iter):
            try:
                x, y = next(iterator)
            except StopIteration:
                iterator = iter(loader)
                x, y = next(iterator)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            value = loss.item()
            if i:
                value = smooth * value + (1 - smooth) * self.history["loss"][-1]
            self.history["lr"].append(schedule.get_last_lr()[0])
            self.history["loss"].append(value)
            schedule.step()
            best = value if best is None else min(best, value)
            if not math.isfinite(value) or value > 5 * best:
                print("stopped at", i)
                break

    def reset(self):
        self.model.load_state_dict(self.memory["model"])
        self.optimizer.load_state_dict(self.memory["optimizer"])


class EarlyStopping:
    def __init__(self, patience=3, delta=1e-3):
        self.patience, self.delta, self.best, self.counter, self.state = patience, delta, math.inf, 0, None

    def __call__(self, loss, model):
        if loss < self.best - self.delta:
            self.best, self.counter, self.state = loss, 0, {k: v.clone() for k, v in model.state_dict().items()}
        else:
            self.counter += 1
        return self.counter >= self.patience


def main():
    torch.manual_seed(7)
    x = torch.rand(96, 4) * 2 - 1
    y = torch.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.05 * torch.randn(96, 1)
    train, valid = random_split(TensorDataset(x, y), (64, 32), generator=torch.Generator().manual_seed(0))
    loader = DataLoader(train, batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(1))
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    finder = LRFinder(model, optimizer, nn.MSELoss())
    finder.range_test(loader)
    print([f"{v:.2e}" for v in finder.history["lr"]])
    print(["%.3f" % v for v in finder.history["loss"][:6]])
    finder.reset()
    print(optimizer.param_groups[0]["lr"], len(optimizer.state))
    schedule = OneCycleLR(optimizer, max_lr=0.1, total_steps=4 * 5, pct_start=0.3)
    for epoch in range(5):
        for a, b in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            optimizer.step()
            schedule.step()
        print(epoch, ["%.5f" % v for v in schedule.get_last_lr()], "%.3f" % optimizer.param_groups[0]["momentum"])
    stop, plateau = EarlyStopping(), ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1, threshold=1e-3)
    optimizer.param_groups[0]["lr"] = 0.05
    vx, vy = map(torch.stack, zip(*valid))
    for epoch in range(10):
        model.train()
        for a, b in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            optimizer.step()
        model.eval()
        with torch.inference_mode():
            loss = nn.functional.mse_loss(model(vx), vy).item()
        plateau.step(loss)
        if stop(loss, model):
            print("early stop")
            break
    print(stop.best < 0.5, plateau.best == stop.best or True, len(stop.state))
    w = nn.Parameter(torch.zeros(1))
    opt = torch.optim.SGD([w], lr=1.0)
    for make in (lambda: SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=3), ExponentialLR(opt, 0.5)], milestones=[3]), lambda: CosineAnnealingWarmRestarts(opt, 3, T_mult=2),
                 lambda: ChainedScheduler([LinearLR(opt, 0.5, total_iters=2), ExponentialLR(opt, 0.9)])):
        for group in opt.param_groups:
            group["lr"] = 1.0
            group.pop("initial_lr", None)
        s, rates = make(), []
        for _ in range(8):
            rates.append(round(opt.param_groups[0]["lr"], 5))
            opt.step()
            s.step()
        print(type(s).__name__, rates)


if __name__ == "__main__":
    main()
