"""torch.distributed.checkpoint: a sharded model with its optimiser, written and read with other placements; what is said of what does not fit."""
import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

dist.init_process_group("gloo")
r, n = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (n,))
held = [tempfile.mkdtemp() if r == 0 else None]
dist.broadcast_object_list(held, src=0)
path = held[0]


def net(seed):
    torch.manual_seed(seed)
    return fully_shard(nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)))


def full(x):
    return x.full_tensor() if isinstance(x, DTensor) else x


def state(m, o, placement, filled):
    model, optim = get_state_dict(m, o)
    big = torch.arange(30.).reshape(10, 3) * filled
    return {"model": model, "optim": optim, "step": 2 * filled, "t": torch.arange(3) * filled, "big": distribute_tensor(big, mesh, [placement]),
            "e": [torch.ones(2) * filled, {"k": "v" * filled}]}


torch.manual_seed(1)
x = torch.rand(8, 5)
m = net(0)
o = torch.optim.AdamW(m.parameters(), 0.05)
for step in range(3):
    m(x).pow(2).sum().backward()
    o.step()
    o.zero_grad()
    if step == 1:
        dcp.save(state(m, o, Shard(0), 1), checkpoint_id=path)
print(r, "trained", [round(full(v).sum().item(), 4) for v in m.state_dict().values()], flush=True)
m = net(5)
o = torch.optim.AdamW(m.parameters(), 0.5)
sd = state(m, o, Shard(1), 0)
dcp.load(sd, checkpoint_id=path)
set_state_dict(m, o, model_state_dict=sd["model"], optim_state_dict=sd["optim"])
print(r, "loaded", sd["step"], sd["t"].tolist(), full(sd["big"]).sum().item(), sd["e"][1], o.param_groups[0]["lr"], flush=True)
m(x).pow(2).sum().backward()
o.step()
print(r, "resumed", [round(full(v).sum().item(), 4) for v in m.state_dict().values()], flush=True)
print(r, len(get_model_state_dict(m, options=StateDictOptions(full_state_dict=True, cpu_offload=True))), flush=True)
for wrong, said in (({"nope": torch.zeros(1)}, "Missing key in checkpoint state_dict: nope."), ({"t": torch.zeros(4)}, "Size mismatch between saved")):
    try:
        dcp.load(wrong, checkpoint_id=path)
    except BaseException as e:
        print(r, type(e).__name__, said in str(e), flush=True)
dist.barrier()
if r == 0:
    shutil.rmtree(path)
dist.destroy_process_group()
