"""Backward passes through remote calls, DistributedOptimizer."""
import os, torch, torch.nn as nn, torch.distributed.rpc as rpc, torch.distributed.autograd as dist_autograd
from torch.distributed.optim import DistributedOptimizer
from torch import optim
r,n=int(os.environ["RANK"]),int(os.environ["WORLD_SIZE"])
class Part(nn.Module):
    def __init__(s,seed,i,o): super().__init__(); torch.manual_seed(seed); s.l=nn.Linear(i,o)
    def forward(s,x): return torch.tanh(s.l(x))
    def params(s): return [rpc.RRef(p) for p in s.parameters()]
    def total(s): return [round(float(p.sum()),5) for p in s.parameters()]
def nested(x, to): return rpc.rpc_sync(to, torch.mul, args=(x, 3)) + x
rpc.init_rpc(f"worker{r}",rank=r,world_size=n)
if r==0:
    a=torch.arange(3.).requires_grad_(); b=torch.ones(3).requires_grad_()
    with dist_autograd.context() as cid:
        c=rpc.rpc_sync("worker1",torch.add,args=(a,b)); d=rpc.rpc_sync("worker1",torch.mul,args=(c,a))
        print(r,c.requires_grad,d.tolist(),flush=True)
        dist_autograd.backward(cid,[d.sum()]); g=dist_autograd.get_gradients(cid); print(r,len(g),g[a].tolist(),g[b].tolist(),a.grad is None,flush=True)
    with dist_autograd.context() as cid:
        y=rpc.rpc_sync("worker1",nested,args=(a,"worker0")); dist_autograd.backward(cid,[y.sum()]); print(r,y.tolist(),dist_autograd.get_gradients(cid)[a].tolist(),flush=True)
    with dist_autograd.context() as cid:
        y=rpc.remote("worker1",torch.mul,args=(a,b)).to_here(); dist_autograd.backward(cid,[y.sum()]); g=dist_autograd.get_gradients(cid); print(r,y.tolist(),g[a].tolist(),g[b].tolist(),flush=True)
    p=[rpc.remote(f"worker{i%n}",Part,args=(i,4,4)) for i in range(1,3)]
    refs=[q for m in p for q in m.rpc_sync().params()]; print(r,len(refs),flush=True)
    o=DistributedOptimizer(optim.SGD,refs,lr=0.1,momentum=0.9)
    torch.manual_seed(9); x,t=torch.rand(5,4),torch.rand(5,4)
    for step in range(4):
        with dist_autograd.context() as cid:
            h=p[0].rpc_sync().forward(x); y=p[1].rpc_async().forward(h).wait(); l=nn.functional.mse_loss(y,t); dist_autograd.backward(cid,[l]); o.step(cid); print(r,step,round(l.item(),6),flush=True)
    print(r,[m.rpc_sync().total() for m in p],flush=True)
    try:
        with dist_autograd.context() as cid: pass
        dist_autograd.get_gradients(cid)
    except RuntimeError as e: print(r,"Could not find autograd context with id" in str(e),flush=True)
rpc.shutdown(); print(r,"down",flush=True)
