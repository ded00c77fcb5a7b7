# Programs with collectives (_c10d_functional::*): each rank runs its archive of exported/, which exported/make.py wrote.
import os
import sys

import torch
import torch.distributed as dist

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exported")
SHAPES = {"columns_rows": (4, 8), "sequence": (2, 4, 8), "attention": (2, 6, 16), "redistribute": (4, 8), "ring": (4, 2), "transformer": (2, 8)}
SAME = ("columns_rows", "attention", "transformer") # whose input is the same on all ranks
GRADIENTS = ("columns_rows", "sequence", "attention", "scripted")

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


def load(path):
    if "ctsc" in sys.modules:
        import ctsc
        return ctsc.load(path)
    return torch.jit.load(path) if path.endswith(".pt") else torch.export.load(path).module()


def told(name, i, y):
    y = y.float()
    weights = torch.arange(1, y.numel() + 1).to(torch.float32) / y.numel()
    print(rank, name, i, list(y.shape), "%.4f %.4f" % (y.sum().item(), (y.flatten() * weights).sum().item()))
    return (y.flatten() * weights).sum()


for name in ("functional", "functional_bf16", "in_place", "columns_rows", "sequence", "attention", "redistribute", "written", "ring", "transformer", "scripted"):
    paths = [p for p in (os.path.join(HERE, form) for form in ("%s.%d-%d.pt2" % (name, rank, size), "%s.%d.pt2" % (name, size), "%s.%d.pt" % (name, size))) if os.path.exists(p)]
    if not paths:
        continue
    run, shape = load(paths[0]), SHAPES.get(name, (8, 4))
    count = 1
    for s in shape:
        count *= s
    x = (torch.arange(count) % 11).reshape(shape)
    x = x if name == "transformer" else x.to(torch.float32) / 4
    if name not in SAME:
        x = x + rank
    x = x.to(torch.bfloat16) if name.endswith("bf16") else x
    for again in range(4 if name in ("attention", "transformer") else 1): # the same, once it is compiled
        with torch.no_grad():
            out = run(x)
    for i, y in enumerate(out if isinstance(out, (tuple, list)) else [out]):
        told(name, i, y)
    if name in GRADIENTS:
        x.requires_grad_()
        out = run(x)
        sum(told(name + " again", i, y) * (rank + i + 1) for i, y in enumerate(out if isinstance(out, (tuple, list)) else [out])).backward()
        told(name + " gradient", 0, x.grad)
dist.destroy_process_group()
