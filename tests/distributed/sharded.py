"""fully_shard: steps as of the whole network, clipping, accumulation, mixed precision, copies of shards, with tensor parallelism."""
import torch, torch.nn as nn, torch.distributed as dist, torch.nn.functional as F, os
from torch.distributed.fsdp import fully_shard, FSDPModule, MixedPrecisionPolicy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
class Block(nn.Module):
    def __init__(s): super().__init__(); s.a=nn.Linear(6,10); s.b=nn.Linear(10,6)
    def forward(s,x): return x+s.b(torch.relu(s.a(x)))
class Net(nn.Module):
    def __init__(s): super().__init__(); s.i=nn.Linear(4,6); s.layers=nn.ModuleList([Block() for _ in range(3)]); s.o=nn.Linear(6,3)
    def forward(s,x):
        x=s.i(x)
        for l in s.layers: x=l(x)
        return s.o(x)
torch.manual_seed(0); ref=Net(); torch.manual_seed(0); m=Net()
for l in m.layers: fully_shard(l)
fully_shard(m)
print(r,type(m).__name__,isinstance(m,FSDPModule),type(m.layers[0]).__name__,flush=True)
for k,p in list(m.named_parameters())[:4]: print(r,k,type(p).__name__,tuple(p.shape),p.placements,tuple(p.to_local().shape),flush=True)
o=torch.optim.Adam(m.parameters(),0.05); ro=torch.optim.Adam(ref.parameters(),0.05)
torch.manual_seed(5); X,Y=torch.rand(8*n,4),torch.rand(8*n,3)
for step in range(4):
    l=F.mse_loss(m(X[r::n]),Y[r::n]); l.backward(); F.mse_loss(ref(X),Y).backward()
    tn=nn.utils.clip_grad_norm_(m.parameters(),0.5); rn=nn.utils.clip_grad_norm_(ref.parameters(),0.5)
    tn=tn.full_tensor() if isinstance(tn,DTensor) else tn
    print(r,step,round(l.item(),6),round(tn.item(),5),round(rn.item(),5),type(m.o.weight.grad).__name__,m.o.weight.grad.placements,flush=True)
    o.step(); o.zero_grad(); ro.step(); ro.zero_grad()
print(r,"eq",all(torch.allclose(p.full_tensor(),q,atol=1e-4) for p,q in zip(m.parameters(),ref.parameters())),flush=True)
sd=o.state_dict(); print(r,type(sd["state"][0]["exp_avg"]).__name__,tuple(sd["state"][0]["exp_avg"].shape),sd["state"][0]["exp_avg"].placements,flush=True)
print(r,[round(float(v.full_tensor().sum()),4) for v in m.state_dict().values()][:4],flush=True)
# accumulation
m.set_requires_gradient_sync(False); F.mse_loss(m(X[r::n]),Y[r::n]).backward(); print(r,m.o.weight.grad is None,flush=True)
m.set_requires_gradient_sync(True); F.mse_loss(m(X[r::n]),Y[r::n]).backward(); print(r,round(float(m.o.weight.grad.full_tensor().sum()),4),flush=True)
with torch.no_grad(): print(r,round(m(X).sum().item(),4),flush=True)
# mixed
torch.manual_seed(0); mm=fully_shard(nn.Sequential(nn.Linear(4,8),nn.ReLU(),nn.Linear(8,2)),mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16,reduce_dtype=torch.float32),reshard_after_forward=False)
y=mm(X[r::n]); print(r,y.dtype,flush=True); y.sum().backward(); print(r,mm[0].weight.dtype,mm[0].weight.grad.dtype,round(mm[0].weight.grad.full_tensor().sum().item(),1),flush=True)
mm.unshard(); print(r,tuple(mm[0].weight.shape),flush=True); mm.reshard(); print(r,type(mm[0].weight).__name__,flush=True)
print(r,mm,flush=True)
if n==4:
    mesh=init_device_mesh("cpu",(2,2),mesh_dim_names=("rep","sh")); torch.manual_seed(0); h=fully_shard(Net(),mesh=mesh); print(r,h.i.weight.placements,flush=True)
    F.mse_loss(h(X[r::n]),Y[r::n]).backward(); print(r,round(float(h.i.weight.grad.full_tensor().sum()),5),flush=True)
    from torch.distributed.tensor.parallel import parallelize_module, ColwiseParallel, RowwiseParallel
    mesh=init_device_mesh("cpu",(2,2),mesh_dim_names=("dp","tp")); torch.manual_seed(0); h=Net()
    for l in h.layers: parallelize_module(l,mesh["tp"],{"a":ColwiseParallel(),"b":RowwiseParallel()}); fully_shard(l,mesh=mesh["dp"])
    fully_shard(h,mesh=mesh["dp"]); print(r,h.layers[0].a.weight.placements,h.layers[0].b.weight.placements,h.layers[0].a.weight.device_mesh,tuple(h.layers[0].a.weight.to_local().shape),flush=True)
    d=mesh.get_local_rank("dp"); F.mse_loss(h(X[d::2]),Y[d::2]).backward(); ref.zero_grad(); torch.manual_seed(0); ref=Net(); F.mse_loss(ref(X),Y).backward()
    print(r,[torch.allclose(p.grad.full_tensor(),q.grad,atol=1e-5) for p,q in zip(h.parameters(),ref.parameters())],flush=True)
    print(r,[torch.allclose(p.full_tensor(),q,atol=1e-5) for p,q in zip(h.parameters(),ref.parameters())],flush=True)
dist.destroy_process_group()
