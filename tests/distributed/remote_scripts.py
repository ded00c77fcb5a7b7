"""torch.distributed.rpc and scripts: scripted functions and modules in other processes, and calls of other processes within scripts."""
import os
from typing import Dict, List, Optional, Tuple

import torch
import torch.distributed.rpc as rpc
from torch import Tensor
from torch.distributed.rpc import rpc_sync

r, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


@torch.jit.script
def scaled(x: Tensor, by: int = 2) -> Tensor:
    return x * by


@torch.jit.script
def parts(x: Tensor, names: List[str], more: Optional[Dict[str, Tensor]] = None) -> Tuple[Tensor, int, List[str]]:
    if more is not None:
        for k, v in more.items():
            x = x + v
            names.append(k)
    return x, len(names), names


@torch.jit.script
def refused(x: Tensor) -> Tensor:
    if x.dim() == 1:
        raise ValueError("one dimension is too few")
    return x


@torch.jit.script
def nothing(x: Tensor) -> None:
    x.add_(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((2, 2), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.w


def make():
    return torch.jit.script(Net())


@torch.jit.script
def both(to: str, x: Tensor) -> Tensor:
    first = rpc.rpc_async(to, scaled, (x,), {"by": 3})
    second = rpc.rpc_async(to, scaled, (x, 5))
    return first.wait() + rpc_sync(to, scaled, (x,)) + second.wait()


@torch.jit.script
def spread(to: List[str], x: Tensor) -> List[Tensor]:
    waiting = [
        rpc.rpc_async(
            t, scaled,
            (x,),
        ) for t in to]
    return [w.wait() for w in waiting]


@torch.jit.script
def counted(to: str, x: Tensor) -> int:
    given = (x, ["a", "b"])
    a, k, names = rpc.rpc_async(to, parts, given, {"more": {"c": x, "d": x}}).wait()
    b, m, _ = rpc_sync(to, parts, (x, names), {}, 20.0)
    rpc_sync(to, nothing, (x,))
    return k * 10 + m + int(a.sum().item()) + int(b.sum().item())


@torch.jit.script
def asked(to: str, x: Tensor) -> Tensor:
    return rpc_sync(to, refused, (x,))


class Caller(torch.nn.Module):
    def __init__(self, to: str):
        super().__init__()
        self.to_whom = to

    def forward(self, x: Tensor) -> Tensor:
        pending = rpc.rpc_async(self.to_whom, scaled, (x, 4), {}, 30.0)
        return pending.wait() - 1


@torch.jit.script
def later(to: str, x: Tensor):
    return rpc.rpc_async(to, scaled, (x, 7))


rpc.init_rpc("worker%d" % r, rank=r, world_size=n)
to = "worker%d" % ((r + 1) % n)
x = torch.arange(4.).reshape(2, 2) + r
print(r, "by name", rpc.rpc_sync(to, scaled, args=(x,)).tolist(), rpc.rpc_async(to, scaled, args=(x,), kwargs={"by": -1}).wait().tolist(), flush=True)
print(r, "kept there", rpc.remote(to, scaled, args=(x, 10)).to_here().tolist(), flush=True)
print(r, "a module", rpc.remote(to, make).rpc_sync().forward(x).tolist(), flush=True)
try:
    rpc.rpc_sync(to, refused, args=(x[0],))
except Exception as e:
    print(r, "refused", "one dimension is too few" in str(e), flush=True)
print(r, "both", both(to, x).tolist(), both("worker%d" % r, x).tolist(), flush=True)
print(r, "spread", [t.sum().item() for t in spread(["worker%d" % i for i in range(n)], x)], flush=True)
print(r, "counted", counted(to, x), flush=True)
print(r, "asked", asked(to, x).tolist(), flush=True)
try:
    asked(to, x[0])
except Exception as e:
    print(r, "refused there", "one dimension is too few" in str(e), flush=True)
print(r, "a module calls", torch.jit.script(Caller(to))(x).tolist(), flush=True)
print(r, "later", later(to, x).wait().tolist(), flush=True)
try:
    both("nobody", x)
except Exception as e:
    print(r, "nobody", "nobody" in str(e), flush=True)
rpc.shutdown()
