"""Stores, groups that are made of them, and the three ways to find one another."""
import datetime
import os
import tempfile
import torch
import torch.distributed as dist

r, n, port = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["MASTER_PORT"])


def show(*values):
    print(r, *values, flush=True)


store = dist.TCPStore("127.0.0.1", port, n, r == 0, timeout=datetime.timedelta(seconds=20))
store.set("k%d" % r, "v%d" % r)
show(store.get("k0"), store.get("k%d" % (n - 1)))
store.add("c", 2)
store.add("b", 1)
while int(store.add("b", 0)) < n:
    pass
show(store.add("c", 0), store.check(["k0"]), store.check(["zz"]))
try:
    store.wait(["never"], datetime.timedelta(milliseconds=100))
except RuntimeError as e:
    show(type(e).__name__)
key = "cs%d" % r
show(store.compare_set(key, "", "one"), store.compare_set(key, "one", "two"), store.compare_set(key, "x", "y"), store.delete_key(key), store.delete_key(key))
dist.PrefixStore("p", store).set(key, "1")
store.append(key + "a", "x")
store.append(key + "a", "y")
local = dist.HashStore()
local.set("a", "b")
show(store.get("p/" + key), store.get(key + "a"), local.get("a"), local.num_keys())
dist.init_process_group("gloo", store=dist.PrefixStore("pg", store), rank=r, world_size=n)
own = dist.new_subgroups(group_size=n // 2)[0]
x = torch.ones(1) * r
dist.all_reduce(x, group=own)
show(x.item(), dist.get_process_group_ranks(own), dist.get_backend(), dist.get_backend_config())
ends = dist.new_group([0, n - 1])
if r in (0, n - 1):
    x, y = torch.ones(1) * r, torch.ones(1) * r
    dist.broadcast(x, n - 1, group=ends)
    dist.broadcast(y, group_src=0, group=ends)
    show(x.item(), y.item(), dist.get_group_rank(ends, n - 1))
dist.barrier()
dist.destroy_process_group()
dist.init_process_group("gloo", init_method="file://%s/ctsc-stores-%d" % (tempfile.gettempdir(), port), rank=r, world_size=n)
x = torch.ones(1) * r
dist.all_reduce(x)
dist.barrier()
dist.destroy_process_group()
show("file", x.item(), dist.is_initialized())
