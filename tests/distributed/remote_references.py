"""torch.distributed.rpc and scripts: RRefs as arguments, results and attributes of scripts, and remote within them."""
import os
from typing import Dict, List

import torch
import torch.distributed.rpc as rpc
from torch import Tensor
from torch.distributed.rpc import RRef

r, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


@torch.jit.script
def scaled(x: Tensor, by: int = 2) -> Tensor:
    return x * by


@torch.jit.script
def fetched(ref: RRef[Tensor]) -> Tensor:
    return ref.to_here() + 1


@torch.jit.script
def made(to: str, x: Tensor) -> Tensor:
    ref = rpc.remote(to, scaled, (x, 3))
    return ref.to_here()


@torch.jit.script
def all_of(refs: List[RRef[Tensor]], named: Dict[str, RRef[Tensor]]) -> Tensor:
    total = refs[0].to_here()
    for ref in refs[1:]:
        total = total + ref.to_here()
    return total + named["more"].to_here()


@torch.jit.script
def owned(ref: RRef[Tensor]) -> bool:
    return ref.is_owner()


@torch.jit.script
def whose(ref: RRef[Tensor]) -> str:
    return ref.owner_name()


@torch.jit.script
def back(ref: RRef[Tensor]) -> RRef[Tensor]:
    return ref


@torch.jit.script
def counted(ref: RRef[int]) -> int:
    return ref.to_here() + 1


class Holder(torch.nn.Module):
    def __init__(self, ref):
        super().__init__()
        self.ref = ref

    def forward(self, x: Tensor) -> Tensor:
        return x + self.ref.to_here()


@torch.jit.script
def number() -> int:
    return 41


rpc.init_rpc("w%d" % r, rank=r, world_size=n)
there = "w%d" % ((r + 1) % n)
x = torch.arange(4.0).reshape(2, 2) + r
ref = rpc.remote(there, torch.add, (x, x))
print(r, "fetched", fetched(ref).tolist(), flush=True)
print(r, "made", made(there, x).tolist(), flush=True)
print(r, "several", all_of([ref, rpc.remote(there, scaled, (x,))], {"more": RRef(x)}).tolist(), flush=True)
print(r, "owner", owned(ref), owned(RRef(x)), whose(ref), whose(RRef(x)))
print(r, "the same", back(ref) is ref or back(ref).to_here().tolist() == ref.to_here().tolist(), flush=True)
print(r, "a number", counted(rpc.remote(there, number)))
print(r, "as an attribute", torch.jit.script(Holder(ref))(x).tolist(), flush=True)
print(r, "sent on", rpc.rpc_sync(there, fetched, (RRef(x),)).tolist(), flush=True)
try:
    counted(rpc.remote(there, torch.add, (x, x)))
    print(r, "refused False")
except Exception as e:
    print(r, "refused", True)
rpc.shutdown()
