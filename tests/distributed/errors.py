"""What is refused, and as what: wrong arguments of collectives, groups without this rank, DistributedDataParallel; uneven inputs (join)."""
import datetime, time, torch, torch.distributed as dist, torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.algorithms.join import Join
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20)); r,n=dist.get_rank(),dist.get_world_size()
def t(name,f,msg=False):
    try: f(); print(r,name,"ok")
    except Exception as e: print(r,name,type(e).__name__,[c.__name__ for c in type(e).__mro__][:3], str(e).splitlines()[0][:110] if msg else "")
x=torch.ones(3)
t("op", lambda: dist.all_reduce(x, op="sum"))
t("list", lambda: dist.all_reduce([x]), True)
t("bigroot", lambda: dist.broadcast(x, src=n+7))
t("gatherlist", lambda: dist.gather(x, [torch.ones(3)]*n if r==1 else None, dst=0))
t("scatterlen", lambda: dist.scatter(x, [x]*(n+1) if r==0 else None, src=0) if r==0 else None)
t("allgather_len", lambda: dist.all_gather([torch.empty(3)]*(n-1), x))
t("agit", lambda: dist.all_gather_into_tensor(torch.empty(3*n+1), x))
t("rst", lambda: dist.reduce_scatter_tensor(torch.empty(3), torch.empty(3*n+1)))
t("a2a", lambda: dist.all_to_all_single(torch.empty(n), torch.empty(n), [1]*(n+1), [1]*n))
t("dt", lambda: dist.all_gather([torch.empty(3,dtype=torch.int32)]*n, x))
t("self", lambda: dist.send(x, dst=r))
t("neg", lambda: dist.new_group([0,0]))
t("grp", lambda: dist.new_group([n+2]))
t("twice", lambda: dist.init_process_group("gloo"), True)
t("backend", lambda: dist.Backend("nope").upper())
t("bool", lambda: dist.all_reduce(torch.tensor([True,False])))
t("bxor float", lambda: dist.all_reduce(torch.ones(2), op=dist.ReduceOp.BXOR))
t("sparse?", lambda: dist.broadcast(torch.ones(2).to_sparse(), 0) if False else None)
g=dist.new_group([0]); 
t("nonmember", lambda: dist.all_reduce(torch.ones(1), group=g)); t("rank", lambda: print(r,"rank in g",dist.get_rank(g), dist.get_world_size(g)))
t("ggr", lambda: print(r, dist.get_global_rank(g,0))); t("ggr2", lambda: print(r, dist.get_group_rank(g,1)))
t("type", lambda: dist.send(3, dst=(r+1)%n), True)
t("barrier ids", lambda: dist.barrier(device_ids=["a"]))
t("monitored", lambda: dist.monitored_barrier(timeout=datetime.timedelta(seconds=10)))
t("ddp nograd", lambda: DDP(nn.ReLU()), True)
m=nn.Linear(2,2); [p.requires_grad_(False) for p in m.parameters()]
t("ddp frozen", lambda: DDP(m), True)
class Two(nn.Module):
    def __init__(s): super().__init__(); s.a=nn.Linear(2,2); s.b=nn.Linear(2,2)
    def forward(s,x): return s.a(x)
torch.manual_seed(0); d=DDP(Two())
def unused():
    for _ in range(2): d(torch.ones(1,2)).sum().backward()
t("unused", unused, True)
d=DDP(Two(), find_unused_parameters=True); t("found", lambda: [d(torch.ones(1,2)).sum().backward() for _ in range(2)]); print(r, d.module.b.weight.grad is None)
# join
torch.manual_seed(1); m=DDP(nn.Linear(3,1)); opt=torch.optim.SGD(m.parameters(),lr=0.1)
with m.join():
    for i in range(2+r):
        opt.zero_grad(); m(torch.full((2,3),float(i+r))).sum().backward(); opt.step()
print(r,"join",[round(v,5) for v in m.module.weight.flatten().tolist()])
m=DDP(nn.Linear(3,1)); 
def thrown():
    with m.join(throw_on_early_termination=True):
        for i in range(2+r): m(torch.ones(2,3)).sum().backward()
t("throw", thrown, True)
time.sleep(0.3)
