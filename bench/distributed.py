#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""distributed.py - all_reduce and a step of DistributedDataParallel between processes of one machine, here and in PyTorch, in turns.

    bench/distributed.py --torch PYTHON [--ctsc build/python] [--sizes 1K,...] [--ranks 2,4] [--rounds 3] [--ddp] [--mpi]

PYTHON is an interpreter that has PyTorch, with gloo. Each round runs every engine once, one after the other; what counts is the best round of each: other
work on the machine only ever makes one slower. Bandwidth is the bytes of the tensor by the time of a call, times 2 (n - 1) / n: what each rank has to send
and to receive at least. docs/bench-distributed.md has the results."""
import argparse
import os
import shutil
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = "1K,4K,16K,64K,256K,1M,4M,16M,64M,256M"


# ---- one rank ---------------------------------------------------------------------------------------------------------------------------------


def number(text):
    return int(text[:-1]) << {"K": 10, "M": 20}[text[-1]] if text[-1] in "KM" else int(text)


def timed(calls, call, barrier):
    """Seconds of a call, over `calls` of them."""
    import time
    barrier()
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begun) / calls


def all_reduces(sizes):
    import torch
    import torch.distributed as dist
    for text in sizes.split(","):
        x = torch.zeros(number(text) // 4)
        calls = max(3, min(300, (32 << 20) // number(text)))
        for _ in range(3):
            dist.all_reduce(x)
        best = min(timed(calls, lambda: dist.all_reduce(x), dist.barrier) for _ in range(3))
        if dist.get_rank() == 0:
            print("all_reduce", text, best, flush=True)


class Block:
    """The GPT and the CNN of bench/training, as plain modules of torch."""

    @staticmethod
    def gpt():
        import torch
        from torch import nn

        class Layer(nn.Module):
            def __init__(self, width, heads):
                super().__init__()
                self.heads, self.one, self.two = heads, nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x):
                b, t, w = x.shape
                q, k, v = (y.view(b, t, self.heads, w // self.heads).transpose(1, 2) for y in self.qkv(self.one(x)).chunk(3, -1))
                y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, w)
                x = x + self.out(y)
                return x + self.down(nn.functional.gelu(self.up(self.two(x))))

        class GPT(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.places = nn.Embedding(512, 256), nn.Embedding(128, 256)
                self.layers, self.norm, self.head = nn.Sequential(*[Layer(256, 8) for _ in range(4)]), nn.LayerNorm(256), nn.Linear(256, 512)

            def forward(self, x):
                return self.head(self.norm(self.layers(self.words(x) + self.places(torch.arange(x.shape[1]))))).flatten(0, 1)

        x = torch.randint(0, 512, (8, 64))
        return GPT(), x, torch.randint(0, 512, (8 * 64,))

    @staticmethod
    def cnn():
        import torch
        from torch import nn
        layers, channels = [], 3
        for wide in (32, 64, 128):
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(), nn.MaxPool2d(2)]
            channels = wide
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 256), nn.ReLU(), nn.Linear(256, 10)), torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))


def steps(alone):
    """Seconds of a training step: of this process alone (every rank does the same work), or with its gradients averaged."""
    import torch
    import torch.distributed as dist
    for name in ("gpt", "cnn"):
        torch.manual_seed(0)
        model, x, y = getattr(Block, name)()
        wrapped = model if alone else torch.nn.parallel.DistributedDataParallel(model)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

        def step():
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(wrapped(x), y).backward()
            optimiser.step()
        for _ in range(5):
            step()
        best = min(timed(5, step, dist.barrier) for _ in range(4))
        if dist.get_rank() == 0:
            print(name, "alone" if alone else "ddp", best, flush=True)


def rank_main(args):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group(os.environ.get("BENCH_BACKEND", "gloo"))
    if args.ddp:
        steps(True)
        steps(False)
    else:
        all_reduces(args.sizes)
    dist.destroy_process_group()


# ---- all of them ------------------------------------------------------------------------------------------------------------------------------


def run(command, ranks, env, mpi, more):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = command + [os.path.abspath(__file__), "--rank"] + more
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(ranks), OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", **env)
    if mpi:
        env.update(BENCH_BACKEND="mpi", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        started = [subprocess.Popen([mpi, "--oversubscribe", "-n", str(ranks)] + command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)]
    else:
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if r else None, text=True, env=dict(env, RANK=str(r), LOCAL_RANK=str(r)))
                   for r in range(ranks)]
    outputs = [p.communicate()[0] for p in started]
    return {tuple(line.split()[:2]): float(line.split()[2]) for out in outputs for line in out.splitlines() if len(line.split()) == 3}


def engines(args):
    ours = {"PYTHONPATH": args.ctsc}
    yield "ctsc, gloo", [sys.executable, "-m", "ctsc"], ours, None
    if not args.ddp:
        yield "ctsc, gloo's connections alone", [sys.executable, "-m", "ctsc"], dict(ours, CTSC_DIST_NEAR="0"), None
    if args.mpi:
        yield "ctsc, mpi", [sys.executable, "-m", "ctsc"], ours, shutil.which("mpirun.openmpi") or "mpirun"
    if args.torch:
        yield "PyTorch, gloo", [args.torch], {}, None


def show(args, ranks, best):
    print("\n%d processes" % ranks)
    names = list(best)
    if args.ddp:
        for model in ("gpt", "cnn"):
            for name in names:
                alone, ddp = best[name][model, "alone"], best[name][model, "ddp"]
                print("| %s | %s | %.2f ms | %.2f ms | %+.2f ms |" % (model, name, alone * 1e3, ddp * 1e3, (ddp - alone) * 1e3))
        return
    print("| bytes | " + " | ".join(names) + " |\n| ---: |" + " ---: |" * len(names))
    for text in args.sizes.split(","):
        seconds = [best[n].get(("all_reduce", text)) for n in names]
        print("| %s | " % text + " | ".join("-" if s is None else "%.1f us, %.2f GB/s" % (s * 1e6, number(text) * 2 * (ranks - 1) / ranks / s / 1e9) for s in seconds) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch")
    p.add_argument("--ctsc", default=os.path.join(ROOT, "build", "python"))
    p.add_argument("--sizes", default=SIZES)
    p.add_argument("--ranks", default="2,4")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--ddp", action="store_true")
    p.add_argument("--mpi", action="store_true")
    p.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.rank:
        return rank_main(args)
    more = ["--sizes", args.sizes] + ["--ddp"] * args.ddp
    for ranks in map(int, args.ranks.split(",")):
        best = {}
        for _ in range(args.rounds):
            for name, command, env, mpi in engines(args):
                kept = best.setdefault(name, {})
                for key, seconds in run(command, ranks, env, mpi, more).items():
                    kept[key] = min(seconds, kept.get(key, seconds))
        show(args, ranks, best)


if __name__ == "__main__":
    main()
