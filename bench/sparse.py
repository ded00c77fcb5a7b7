#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse kernels in figures (docs/sparse.md): layers with pruned weights against dense ones, products of sparse matrices against PyTorch's.

    python3 bench/sparse.py [--only layers,convs,matrices] [--threads 1] [--torch] [--rounds 6]

Run by a Python that has the package (or finds it in build/python) and, for archives and --torch, PyTorch. What is compared runs in turns; times are the best of all turns.
"""
import argparse
import os
import sys
import tempfile
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = ("2:4", 0.8, 0.9, 0.95)


def best(run, times):
    least = 1e9
    for _ in range(times):
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least


def in_turns(ways, rounds):
    """Seconds of each way, best of all turns."""
    least = dict.fromkeys(ways, 1e9)
    for _ in range(rounds):
        for name, run in ways.items():
            run()
            once = best(run, 1)
            least[name] = min(least[name], once, best(run, max(2, min(30, int(0.03 / once)))))
    return least


def pruned(torch, w, kind):
    flat = w.detach().clone().flatten()
    if kind == "2:4":
        fours = flat.reshape(-1, 4)
        return fours.scatter(1, fours.abs().argsort(1)[:, :2], 0.0).reshape(w.shape)
    flat[flat.abs().argsort()[:int(flat.numel() * kind)]] = 0
    return flat.reshape(w.shape)


def archive(torch, ctsc, make, kind, folder):
    torch.manual_seed(0)
    net, path = make().eval(), os.path.join(folder, "net.pt")
    for p in net.parameters():
        if p.ndim > 1 and kind:
            p.data = pruned(torch, p.data, kind)
    torch.jit.script(net).save(path)
    with open(path, "rb") as f:
        return ctsc.jit.load(f)


def layers(torch, ctsc, args, folder):
    print("| outputs | inputs | rows | dense, us | 2 of 4 | 80 % | 90 % | 95 % |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for n, k in ((512, 512), (1024, 1024), (4096, 1024), (4096, 4096)):
        nets = {kind: archive(torch, ctsc, lambda n=n, k=k: torch.nn.Linear(k, n), kind, folder) for kind in (None,) + KINDS}
        for rows in (1, 8, 32, 128):
            x = ctsc.randn(rows, k)
            for net in nets.values():
                net(x), net(x)
            times = in_turns({kind: lambda net=net: net(x) for kind, net in nets.items()}, args.rounds)
            print("| %d | %d | %d | %.1f | %s |" % (n, k, rows, times[None] * 1e6, " | ".join("%.2f" % (times[None] / times[kind]) for kind in KINDS)), flush=True)


def convs(torch, ctsc, args, folder):
    print("| channels | image | dense, us | 80 % | 90 % | 95 % |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for c, o, side in ((64, 256, 56), (256, 1024, 14), (512, 2048, 7)):
        def make(c=c, o=o):
            return torch.nn.Sequential(torch.nn.Conv2d(c, o, 1), torch.nn.ReLU(), torch.nn.Conv2d(o, c, 1), torch.nn.ReLU())
        nets = {kind: archive(torch, ctsc, make, kind, folder) for kind in (None,) + KINDS[1:]}
        x = ctsc.randn(1, c, side, side)
        for net in nets.values():
            net(x), net(x)
        times = in_turns({kind: lambda net=net: net(x) for kind, net in nets.items()}, args.rounds)
        print("| %d to %d and back | %d x %d | %.0f | %s |" % (c, o, side, side, times[None] * 1e6, " | ".join("%.2f" % (times[None] / times[kind]) for kind in KINDS[1:])), flush=True)


def matrices(torch, ctsc, args, folder):
    print("| density | columns | ctsc, ms | torch CSR | torch COO |\n| ---: | ---: | ---: | ---: | ---: |")
    for density in (0.001, 0.01, 0.05):
        at = torch.randint(0, 10000, (2, int(1e8 * density)))
        coo = torch.sparse_coo_tensor(at, torch.randn(at.shape[1]), (10000, 10000)).coalesce()
        csr = coo.to_sparse_csr()
        ours = ctsc.sparse_csr_tensor(*(ctsc.tensor(t.numpy()) for t in (csr.crow_indices(), csr.col_indices(), csr.values())), (10000, 10000))
        for columns in (16, 64, 256):
            b = torch.randn(10000, columns)
            here = ctsc.tensor(b.numpy())
            ways = {"ctsc": lambda: ctsc.sparse.mm(ours, here)}
            if args.torch:
                ways.update(csr=lambda: torch.sparse.mm(csr, b), coo=lambda: torch.sparse.mm(coo, b))
            times = in_turns(ways, max(2, args.rounds // 2))
            print("| %g %% | %d | %.2f | %s |" % (density * 100, columns, times["ctsc"] * 1e3, " | ".join("%.2f" % (times[w] / times["ctsc"]) for w in ("csr", "coo") if w in times)), flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default="layers,convs,matrices")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--rounds", type=int, default=6)
    ap.add_argument("--torch", action="store_true")
    args = ap.parse_args()
    sys.path.insert(0, os.path.join(ROOT, "build", "python"))
    warnings.simplefilter("ignore")
    import torch
    import ctsc
    torch.set_num_threads(args.threads)
    ctsc.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only.split(","):
            {"layers": layers, "convs": convs, "matrices": matrices}[name](torch, ctsc, args, folder)
            print()


if __name__ == "__main__":
    main()
