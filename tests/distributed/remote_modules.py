"""torch.distributed.rpc: methods of remote objects, exceptions, time-outs, modules in other processes, distributed autograd and optimisers."""
import os, time, torch, torch.distributed.rpc as rpc, torch.nn as nn
import torch.distributed.autograd as da
from torch.distributed.optim import DistributedOptimizer
from torch.distributed.nn import RemoteModule
r,n=int(os.environ["RANK"]),int(os.environ["WORLD_SIZE"])
class Counter:
    def __init__(s,k): s.k=k
    def add(s,x): s.k+=x; return s.k
    def boom(s): raise KeyError("gone")
    @staticmethod
    def st(x): return x*3
    @classmethod
    def cl(cls,x): return cls.__name__+str(x)
    @rpc.functions.async_execution
    def later(s,to,x): return rpc.rpc_async(to,torch.add,(x,s.k)).then(lambda f:f.wait()*2)
@rpc.functions.async_execution
def chain(to,x): return rpc.rpc_async(to,torch.mul,(x,2)).then(lambda f:f.wait()+1)
def slow(x): time.sleep(1.5); return x
def nested(to): return rpc.rpc_sync(to, torch.neg, (torch.ones(2),))
def whoami(): return rpc.get_worker_info().name
def use(rref): return rref.to_here()+1
def raises(): raise ValueError("bad value")
class Net(nn.Module):
    def __init__(s,a,b): super().__init__(); s.l=nn.Linear(a,b); nn.init.constant_(s.l.weight,0.1); nn.init.zeros_(s.l.bias)
    def forward(s,x): return s.l(x)
    def params(s): return [rpc.RRef(p) for p in s.parameters()]
def t(name,f):
    try: print(r,name,f())
    except Exception as e: print(r,name,type(e).__name__,str(e).splitlines()[0][:60] if name!="timeout" else "")
rpc.init_rpc(f"w{r}",rank=r,world_size=n,rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=8,rpc_timeout=30))
to=f"w{(r+1)%n}"
t("sync",lambda: rpc.rpc_sync(to,torch.add,(torch.ones(2),2)).tolist())
t("info",lambda: rpc.rpc_sync(rpc.get_worker_info(to),whoami)); t("rank to",lambda: rpc.rpc_sync((r+1)%n,whoami)); t("self",lambda: rpc.rpc_sync(f"w{r}",whoami))
t("nested",lambda: rpc.rpc_sync(to,nested,(f"w{r}",)).tolist()); t("chain",lambda: rpc.rpc_sync(to,chain,(f"w{(r+2)%n}",torch.ones(2))).tolist())
c=rpc.remote(to,Counter,(r,)); t("owner",lambda: (c.owner().name,c.owner().id,c.is_owner(),c.owner_name()))
t("proxy",lambda: (c.rpc_sync().add(5),c.rpc_async().add(2).wait(),c.remote().add(1).to_here()))
t("boom",lambda: c.rpc_sync().boom()); t("static",lambda: (rpc.rpc_sync(to,Counter.st,(4,)),rpc.rpc_sync(to,Counter.cl,(4,)))); t("later",lambda: c.rpc_sync().later(f"w{r}",torch.ones(1)).tolist())
t("local",lambda: c.local_value()); own=rpc.RRef(torch.arange(3)); t("own",lambda: (own.is_owner(),own.local_value().tolist(),own.to_here().tolist(),own.confirmed_by_owner()))
t("pass",lambda: rpc.rpc_sync(to,use,(own,)).tolist()); t("rr",lambda: rpc.remote(to,use,(rpc.remote(to,torch.add,(torch.ones(1),1)),)).to_here().tolist())
t("raises",lambda: rpc.rpc_sync(to,raises)); t("raises2",lambda: rpc.remote(to,raises).to_here()); t("timeout",lambda: rpc.rpc_sync(to,slow,(1,),timeout=0.3)); t("nobody",lambda: rpc.rpc_sync("nobody",whoami))
t("futs",lambda: [x.tolist() for x in torch.futures.wait_all([rpc.rpc_async(to,torch.mul,(torch.ones(1),i)) for i in range(3)])]); t("lambda",lambda: rpc.rpc_sync(to,lambda: 1))
t("callable",lambda: rpc.rpc_sync(to,3)); t("gtype",lambda: (rpc.get_worker_info().name, type(rpc.get_worker_info()).__name__, repr(rpc.get_worker_info())))
m=rpc.remote(to,Net,(3,2))
def step():
    with da.context() as cid:
        x=torch.ones(2,3,requires_grad=True); loss=m.rpc_sync().forward(x).sum(); da.backward(cid,[loss]); ps=m.rpc_sync().params(); opt=DistributedOptimizer(torch.optim.SGD,ps,lr=0.1); opt.step(cid)
        return loss.item(), da.get_gradients(cid)[x].tolist(), [p.to_here().flatten().tolist() for p in ps]
t("autograd",step)
rm=RemoteModule(f"{to}/cpu",Net,args=(3,2)); t("remote module",lambda: (rm.forward(torch.ones(1,3)).tolist(), rm.forward_async(torch.ones(1,3)).wait().tolist(), len(rm.remote_parameters()), rm.get_module_rref().owner().name))
rpc.shutdown(); t("after",lambda: rpc.rpc_sync(to,whoami))
