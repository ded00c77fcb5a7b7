"""async_save: what is saved is what was there when it was called, the future is done when files are whole, saves come one after the other, and failures reach result()."""
import os
import shutil
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

dist.init_process_group("gloo")
r, n = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (n,))
held = [tempfile.mkdtemp() if r == 0 else None]
dist.broadcast_object_list(held, src=0)
path = held[0]
saving = dist.new_group() # PyTorch needs one of its own
big = distribute_tensor(torch.arange(24.).reshape(8, 3), mesh, [Shard(0)])
state = {"big": big, "t": torch.ones(3), "step": {"n": 1, "list": [torch.zeros(2), "a"]}}
first = dcp.async_save(state, checkpoint_id=path + "/a", process_group=saving)
big.to_local().mul_(100)
state["t"].zero_()
state["step"]["list"][0].add_(7)
total = torch.ones(4) * (r + 1)
for i in range(20): # collectives of the program meanwhile
    dist.all_reduce(total)
    total /= n
one_by_one = "ctsc" not in sys.modules # whose saves wait for those before; PyTorch's hang
if one_by_one:
    first.result()
second = dcp.async_save(state, checkpoint_id=path + "/a", process_group=saving)
if one_by_one:
    second.result()
third = dcp.async_save(state, checkpoint_id=path + "/b", process_group=saving)
print(r, type(first).__module__, type(first).__name__, "%.4f" % total.sum().item())
for f in (first, second, third):
    f.result()
    print(r, f.done(), f.exception() is None)
for name in ("a", "b"):
    print(r, name, os.path.exists(path + "/" + name + "/.metadata"))
    new = {"big": distribute_tensor(torch.zeros(8, 3), mesh, [Shard(1)]), "t": torch.full((3,), 5.), "step": {"n": 0, "list": [torch.zeros(2), ""]}}
    dcp.load(new, checkpoint_id=path + "/" + name)
    print(r, name, new["big"].full_tensor().sum().item(), new["t"].tolist(), new["step"]["n"], new["step"]["list"][0].tolist())
dcp.async_save({"t": torch.ones(3) * 4}, checkpoint_id=path + "/c", process_group=saving).result()
dcp.save({"t": torch.ones(3) * 6}, checkpoint_id=path + "/d")
with open(path + "/file", "w") as f:
    f.write("no folder")
dist.barrier()
bad = dcp.async_save({"t": torch.ones(3)}, checkpoint_id=path + "/file/e", process_group=saving)
try:
    bad.result()
except BaseException as e:
    print(r, type(e).__name__, type(bad.exception()).__name__)
good = dcp.async_save({"t": torch.ones(3) * 9}, checkpoint_id=path + "/f", process_group=saving)
good.result()
new = {"t": torch.zeros(3)}
dcp.load(new, checkpoint_id=path + "/f")
print(r, new["t"].tolist())
dist.barrier()
if r == 0:
    shutil.rmtree(path)
dist.destroy_process_group()
