"""What is checked before anything is sent, and stores that not all processes wait for."""
import datetime
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
r = dist.get_rank()


def refused(name, call, whole=True):
    try:
        print(r, name, call(), flush=True)
    except Exception as e:
        print(r, name, type(e).__name__, str(e).split("\n")[0][:150] if whole else "", flush=True)


refused("two subgroups", lambda: dist.new_subgroups_by_enumeration([[0], [1, 0]]))
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
fully_shard(model[0])
fully_shard(model)
refused("prefetch", lambda: model.set_modules_to_forward_prefetch([model[0]]))
refused("plain module", lambda: model.set_modules_to_forward_prefetch([model[1]]))
refused("plain module, backward", lambda: model.set_modules_to_backward_prefetch([model[1]]))
refused("twice", lambda: fully_shard(model))

# The first process has a store and waits for nobody; the other one does not wait for it to be told.
port = [0]
if r == 0:
    store = dist.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)
    port = [store.port]
dist.broadcast_object_list(port)
if r == 1:
    store = dist.TCPStore("127.0.0.1", port[0], 2, False, timeout=datetime.timedelta(seconds=3))
    store.set("k", "v")
print(r, store.get("k"), flush=True)
refused("key", lambda: store.set(3, "v"), False)
refused("key of a prefix", lambda: dist.PrefixStore("p", store).set(3, "v"), False)
dist.barrier()
dist.destroy_process_group()
