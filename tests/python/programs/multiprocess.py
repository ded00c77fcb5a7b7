"""torch.multiprocessing: shared tensors, Pool, queues, Hogwild, spawned functions; pickled models."""
import os
import pickle

import torch
import torch.multiprocessing as mp
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x)


def square(x):
    return x * x


def fill(tensor, rank):
    tensor[rank] = rank + 1


def spawned(rank, tensor, scale):
    tensor[rank] += scale * rank


def produce(queue, n, done):
    torch.manual_seed(0)
    for i in range(n):
        queue.put((i, torch.full((2,), float(i))))
    queue.put(None)
    done.wait()


def train(model, rank, x, y, lock):
    torch.manual_seed(rank)
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(20):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        with lock:
            opt.step()


def main():
    torch.manual_seed(0)
    ctx = mp.get_context("fork")
    shared = torch.zeros(3)
    shared.share_memory_()
    print(shared.is_shared(), torch.zeros(1).is_shared())
    procs = [ctx.Process(target=fill, args=(shared, r)) for r in range(3)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    print(shared, [p.exitcode for p in procs])
    with ctx.Pool(2) as pool:
        print(pool.map(square, [torch.arange(3), torch.tensor(2.5)]))
        print(pool.starmap(torch.add, [(torch.ones(1), torch.ones(1)), (torch.zeros(2), 3)]))
    queue, done = ctx.Queue(), ctx.Event()
    p = ctx.Process(target=produce, args=(queue, 3, done))
    p.start()
    while True:
        item = queue.get()
        if item is None:
            break
        print(item[0], item[1])
    done.set()
    p.join()
    mp.spawn(spawned, args=(shared, 10.0), nprocs=2, join=True)
    print(shared)
    model = Net()
    model.share_memory()
    x = torch.randn(32, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    first = nn.functional.mse_loss(model(x), y).item()
    lock = ctx.Lock()
    procs = [ctx.Process(target=train, args=(model, r, x, y, lock)) for r in range(2)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    last = nn.functional.mse_loss(model(x), y).item()
    print("%.4f" % first, last < first / 2, all(p.is_shared() for p in model.parameters()))
    again = pickle.loads(pickle.dumps(model))
    print(torch.equal(again(x), model(x)), type(again).__name__)
    print(mp.get_sharing_strategy() in mp.get_all_sharing_strategies(), mp.cpu_count() == os.cpu_count())
    barrier, q = ctx.Barrier(3), ctx.SimpleQueue()
    workers = [ctx.Process(target=lambda r: (barrier.wait(), q.put(torch.tensor(r)), barrier.wait()), args=(r,)) for r in range(2)]
    for w in workers:
        w.start()
    barrier.wait()
    got = sorted(int(q.get()) for _ in workers)
    barrier.wait()
    for w in workers:
        w.join()
    print(got)


if __name__ == "__main__":
    main()
