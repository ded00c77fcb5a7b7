#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of ctsc train in PyTorch, and PyTorch's in ctsc.

    /usr/bin/python3 tests/interop/optimizers.py --ctsc build/ctsc

For each optimiser: ctsc trains one epoch of three and keeps a checkpoint. PyTorch loads weights, optimiser state and random numbers from it and trains the
second epoch on the same rows; it saves all of this in the checkpoint's form, ctsc goes on with the third, and so does PyTorch. The weights are the same but for
rounding. What PyTorch's optimiser loaded has the keys that it would have made.

Exits 77 without PyTorch.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
import support  # noqa: E402
from support import torch  # noqa: E402

NET = """
import torch
class Main(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(5, 8)
        self.drop = torch.nn.Dropout(0.3)
        self.b = torch.nn.Linear(8, 2)
    def forward(self, x):
        return self.b(self.drop(torch.tanh(self.a(x))))
"""
CASES = [("sgd", "SGD", {"lr": 0.1, "momentum": 0.9}), ("adagrad", "Adagrad", {}), ("rmsprop", "RMSprop", {"momentum": 0.5, "centered": 1}), ("adadelta", "Adadelta", {}),
         ("adam", "Adam", {"amsgrad": 1}), ("adamw", "AdamW", {}), ("adamax", "Adamax", {}), ("radam", "RAdam", {}), ("asgd", "ASGD", {}), ("rprop", "Rprop", {}),
         ("nadam", "NAdam", {}), ("lbfgs", "LBFGS", {"lr": 0.5, "max_iter": 3, "history_size": 4})]
if not torch.__version__.startswith("1."):
    CASES = [c for c in CASES if c[0] != "nadam"]  # computes something else since 2.0


def train(model, opt, x, y):
    """One epoch of batches of 8 in order."""
    model.train()
    for a, b in zip(x.split(8), y.split(8)):
        def closure():
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(a), b)
            loss.backward()
            return loss
        opt.step(closure)


def check(ctsc, folder, name, cls, settings):
    path = lambda what: os.path.join(folder, what)
    x, y = torch.load(path("data.pt"))
    flags = ["--set", ",".join("%s=%s" % s for s in settings.items())] if settings else []
    command = lambda *more: subprocess.run([ctsc, "train", path("net.py"), "--data", path("data.pt"), "--loss", "mse", "--optimizer", name, "--batch", "8", "--in-order",
                                            *flags, *more], check=True, stdout=subprocess.DEVNULL)
    command("--epochs", "1", "--checkpoint", path("one.ckpt"))
    kept = torch.load(path("one.ckpt"))
    scope = {}
    exec(NET, scope)
    model = scope["Main"]()
    model.load_state_dict(kept["model"])
    kind = {"amsgrad": bool, "centered": bool}
    opt = getattr(torch.optim, cls)(model.parameters(), **{k: kind.get(k, lambda v: v)(v) for k, v in settings.items()})
    opt.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["random"])
    train(model, opt, x, y)
    kept.update(model=dict(model.state_dict()), optimizer=opt.state_dict(), random=torch.get_rng_state(), epoch=2)
    torch.save(kept, path("two.ckpt"))
    train(model, opt, x, y)
    command("--epochs", "3", "--resume", path("two.ckpt"), "-o", path("three.pt"), "--checkpoint", path("three.ckpt"))
    ours, theirs = torch.jit.load(path("three.pt")).state_dict(), model.state_dict()
    for key in theirs:
        if not torch.allclose(ours[key], theirs[key], rtol=1e-4, atol=2e-5):
            return "%s differs by %g" % (key, (ours[key] - theirs[key]).abs().max())
    mine, his = torch.load(path("three.ckpt"))["optimizer"], opt.state_dict()
    keys = lambda d: sorted(k for k in d if k not in ("al",))
    if name != "sgd" or settings.get("momentum"):
        if keys(mine["state"]) != keys(his["state"]) or any(keys(mine["state"][k]) != keys(his["state"][k]) for k in mine["state"]):
            return "other state: %s, not %s" % (keys(mine["state"][0]), keys(his["state"][0]))
    if torch.__version__.startswith("1.") and [keys(g) for g in mine["param_groups"]] != [keys(g) for g in his["param_groups"]]:
        return "other groups: %s, not %s" % (keys(mine["param_groups"][0]), keys(his["param_groups"][0]))
    return ""


def main():
    ctsc = os.path.abspath(support.arguments(__doc__).parse_args().ctsc)
    torch.set_num_threads(1)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        torch.save((torch.randn(40, 5), torch.randn(40, 2)), os.path.join(folder, "data.pt"))
        with open(os.path.join(folder, "net.py"), "w") as f:
            f.write(NET)
        for case in CASES:
            why = check(ctsc, folder, *case)
            failed += why != ""
            print("%s %s%s" % ("FAIL" if why else "ok  ", case[0], ": " + why if why else ""))
    print("optimizers: %d of %d agree with PyTorch %s" % (len(CASES) - failed, len(CASES), torch.__version__))
    return failed != 0


sys.exit(main())
