"""Training that is interrupted and resumed: checkpoints with optimizer, schedule, generator and scaler; the newest of several; partial and strict loading."""
import os
import random
import tempfile
from collections import OrderedDict

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR


def told(module, keys):
    if keys.missing_keys:
        print("missing", keys.missing_keys)


class Net(nn.Module):
    version = 2

    def __init__(self, hidden=6):
        super().__init__()
        self.features = nn.Sequential(OrderedDict([("fc", nn.Linear(4, hidden)), ("bn", nn.BatchNorm1d(hidden)), ("act", nn.ReLU())]))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(hidden, 2)
        self.register_buffer("step", torch.tensor(0))
        self.register_load_state_dict_post_hook(told)

    def forward(self, x):
        self.step += 1
        return self.head(self.drop(self.features(x)))


def save_checkpoint(path, epoch, model, optimizer, scheduler, **extra):
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "rng": torch.get_rng_state(),
                "python": random.getstate(), "best": torch.tensor(0.5), **extra}, path)


def load_checkpoint(path, model, optimizer=None, scheduler=None):
    checkpoint = torch.load(path, map_location="cpu", weights_only=False)
    model.load_state_dict(checkpoint["model"])
    if optimizer is not None:
        optimizer.load_state_dict(checkpoint["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(checkpoint["scheduler"])
    torch.set_rng_state(checkpoint["rng"])
    random.setstate(checkpoint["python"])
    return checkpoint["epoch"]


def make():
    model = Net()
    optimizer = torch.optim.Adam([{"params": model.features.parameters()}, {"params": model.head.parameters(), "lr": 0.03}], lr=0.01)
    return model, optimizer, StepLR(optimizer, step_size=2, gamma=0.5)


def train(model, optimizer, scheduler, first, last, folder=None):
    for epoch in range(first, last):
        x = torch.randn(8, 4) + random.random()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
        loss.backward()
        optimizer.step()
        scheduler.step()
        print("epoch %d loss %.4f lr %s" % (epoch, loss.item(), ["%.4f" % g["lr"] for g in optimizer.param_groups]))
        if folder:
            save_checkpoint(os.path.join(folder, f"epoch_{epoch:02d}.pt"), epoch, model, optimizer, scheduler)


torch.manual_seed(3)
random.seed(3)
with tempfile.TemporaryDirectory() as folder:
    train(*make(), 0, 4, folder)
    newest = sorted(os.listdir(folder))[1]
    print(newest)
    model, optimizer, scheduler = make()
    epoch = load_checkpoint(os.path.join(folder, newest), model, optimizer, scheduler)
    print("resumed after", epoch, model.step, scheduler.last_epoch)
    train(model, optimizer, scheduler, epoch + 1, 4)
    state = torch.load(os.path.join(folder, newest), weights_only=False)
    print(type(state["model"]).__name__, list(state["model"]), sorted(state["optimizer"]), state["optimizer"]["param_groups"][1]["lr"])
    print(state["optimizer"]["state"][0].keys(), state["optimizer"]["state"][0]["step"])
    renamed = {k.replace("head.", "classifier."): v for k, v in state["model"].items()}
    print(model.load_state_dict(renamed, strict=False))
    try:
        model.load_state_dict(renamed)
    except RuntimeError as e:
        print(e)
    try:
        Net(hidden=5).load_state_dict(state["model"])
    except RuntimeError as e:
        print(str(e).split("\n")[0], str(e).count("size mismatch"))
    only = {k: v for k, v in state["model"].items() if k in model.state_dict() and v.shape == model.state_dict()[k].shape}
    print(len(only), model.load_state_dict(only))
    ddp = OrderedDict(("module." + k, v) for k, v in state["model"].items())
    nn.modules.utils.consume_prefix_in_state_dict_if_present(ddp, "module.")
    print(model.load_state_dict(ddp))
    torch.save(model.state_dict(), folder + "/weights.pth")
    loaded = torch.load(folder + "/weights.pth", weights_only=True, mmap=True)
    print(all(torch.equal(a, b) for a, b in zip(loaded.values(), model.state_dict().values())))
    model.load_state_dict(loaded, assign=True)
    torch.save(model.state_dict(), folder + "/old.pth", _use_new_zipfile_serialization=False)
    print(list(torch.load(folder + "/old.pth"))[:2])
    with open(folder + "/f.bin", "wb") as f:
        torch.save([torch.arange(3), {"a": (1, "b", None)}, torch.float16, torch.Size([2, 3]), torch.device("cpu")], f)
    with open(folder + "/f.bin", "rb") as f:
        print(torch.load(f, weights_only=False))
    try:
        torch.load(folder + "/nowhere.pt")
    except FileNotFoundError as e:
        print("FileNotFoundError")
    shared = torch.zeros(4)
    torch.save({"a": shared, "b": shared[1:3], "c": nn.Parameter(torch.ones(2))}, folder + "/shared.pt")
    back = torch.load(folder + "/shared.pt")
    back["a"][1] = 7
    print(back, back["c"].requires_grad, type(back["c"]).__name__)
