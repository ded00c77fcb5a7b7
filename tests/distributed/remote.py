"""Remote calls: values, references that are passed on, exceptions, time-outs."""
import os
import time
import torch
import torch.distributed.rpc as rpc

r, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, k):
        self.value += k
        return self.value


def scale(x, k=2):
    return x * k


def use(ref, k):
    return ref.rpc_sync().add(k)


def keep(ref):
    return ref


def fail(kind):
    raise kind("x")


@rpc.functions.async_execution
def later(to, x):
    return rpc.rpc_async(to, scale, args=(x,)).then(lambda f: f.wait() + 1)


def show(*values):
    print(r, *values, flush=True)


rpc.init_rpc("worker%d" % r, rank=r, world_size=n)
last = "worker%d" % (n - 1)
if r == 0:
    show(rpc.rpc_sync("worker1", scale, args=(torch.arange(3),), kwargs={"k": 3}).tolist(), rpc.rpc_sync(last, later, args=("worker1", 4)))
    show([f.wait() for f in [rpc.rpc_async(i % n, scale, args=(i,)) for i in range(8)]])
    ref = rpc.remote("worker1", Counter, args=(5,))
    show(ref.rpc_sync().add(1), ref.remote().add(2).to_here(), rpc.rpc_sync(last, use, args=(ref, 3)), rpc.rpc_sync("worker1", use, args=(ref, 4)))
    mine = rpc.RRef(Counter(100))
    show(rpc.rpc_sync(last, use, args=(mine, 1)), rpc.rpc_sync(last, keep, args=(ref,)).rpc_sync().add(1), mine.local_value().value, mine.is_owner())
    for kind in (ValueError, TypeError, KeyError):
        for ask in (lambda: rpc.rpc_sync("worker1", fail, args=(kind,)), lambda: rpc.remote("worker1", fail, args=(kind,)).to_here()):
            try:
                ask()
            except Exception as e:
                show(type(e).__name__, "WorkerInfo(id=1, name=worker1)" in str(e))
    for bad in (lambda: rpc.rpc_sync("worker1", time.sleep, args=(1,), timeout=0.2), lambda: rpc.rpc_sync("nobody", scale), lambda: rpc.rpc_sync("worker1", 5),
                ref.local_value):
        try:
            bad()
        except Exception as e:
            show(type(e).__name__, str(e)[:20])
rpc.shutdown()
try:
    rpc.rpc_sync("worker1", scale)
except RuntimeError as e:
    show(e)
