"""Single messages, objects, and collectives that the others leave out."""
import os
import torch
import torch.distributed as dist

BACKEND = os.environ.get("BACKEND", "gloo")
dist.init_process_group(BACKEND)
r, n = dist.get_rank(), dist.get_world_size()
after, before = (r + 1) % n, (r - 1) % n


def show(what, *values):
    print(r, what, *[v.tolist() if torch.is_tensor(v) else v for v in values], flush=True)


a, b = torch.arange(4.0) + r, torch.zeros(4)
for w in dist.batch_isend_irecv([dist.P2POp(dist.isend, a, after), dist.P2POp(dist.irecv, b, before)]):
    w.wait()
show("ring", b)
if r == 0:
    show("any", sorted(dist.recv(torch.zeros(2)) for _ in range(n - 1)))
    dist.send(torch.ones(2), 1, tag=7)
    dist.send(torch.zeros(2), 1, tag=8)
    dist.send_object_list([{"a": 1}, (2, 3)], dst=1)
else:
    dist.send(torch.ones(2), 0)
if r == 1:
    x, y, objects = torch.empty(2), torch.empty(2), [None, None]
    dist.recv(x, 0, tag=7)
    dist.recv(y, 0, tag=8)
    dist.recv_object_list(objects, src=0)
    show("tags", x, y, objects)
out = [None]
dist.scatter_object_list(out, [{"for": i} for i in range(n)] if r == 0 else None, src=0)
got = [None] * n if r == n - 1 else None
dist.gather_object(r * "y", got, dst=n - 1)
show("objects", out, got)
parts = [torch.zeros(2) for _ in range(n)]
dist.all_to_all(parts, [torch.full((2,), float(10 * r + k)) for k in range(n)])
whole = torch.zeros(n, dtype=torch.int32)
dist.all_to_all_single(whole, torch.arange(n, dtype=torch.int32) + 100 * r)
show("all_to_all", *parts, whole)
x = torch.zeros(2)
dist.reduce_scatter(x, [torch.full((2,), float(r + k)) for k in range(n)], op=dist.ReduceOp.MAX)
show("reduce_scatter", x)
for op in ("SUM", "MIN", "MAX", "PRODUCT"):
    x = (torch.tensor([1.5, -2.0, 3.25]) * (r + 1)).bfloat16()
    dist.all_reduce(x, getattr(dist.ReduceOp, op))
    show(op, x)
x = torch.tensor([float("nan"), r, -float("inf")])
dist.all_reduce(x, dist.ReduceOp.MAX)
show("nan", x)
x = torch.arange(6.0).reshape(2, 3).t() + r
dist.all_reduce(x)
show("strides", x)
x, y = torch.ones(()) * r, torch.rand(0, 3)
dist.all_reduce(x)
dist.all_reduce(y)
show("small", x, y.shape)
x, y = torch.arange(3_000_000, dtype=torch.float64) * (r + 1), torch.full((2_000_001,), r, dtype=torch.int32)
dist.all_reduce(x)
dist.broadcast(y, n - 1)
show("large", x[-1].item(), x.sum().item(), y.sum().item())
f = dist.all_reduce(torch.ones(2), async_op=True).get_future()
show("future", f.wait()[0], f.then(lambda f: f.value()[0] * 2).wait())
for bad in (lambda: dist.all_reduce(3), lambda: dist.new_group([0, 99]), lambda: dist.init_process_group(BACKEND), lambda: dist.send(torch.ones(1), r),
            lambda: dist.all_reduce(torch.ones(2), op=dist.ReduceOp.BAND), lambda: dist.all_gather([torch.ones(2)] * n, torch.ones(2, dtype=torch.int64)),
            lambda: dist.broadcast(torch.ones(1), src=n), lambda: dist.new_group(timeout=3)):
    try:
        bad()
        show("no error")
    except Exception as e:
        show(type(e).__name__, str(e).splitlines()[0][:60])
if BACKEND == "gloo":
    dist.monitored_barrier()
dist.destroy_process_group()
