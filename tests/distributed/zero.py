"""ZeroRedundancyOptimizer, functional collectives."""
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
import torch.distributed._functional_collectives as fc
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
torch.manual_seed(0); m=nn.Sequential(nn.Linear(5,9),nn.ReLU(),nn.Linear(9,9),nn.ReLU(),nn.Linear(9,2)); d=DDP(m)
o=ZeroRedundancyOptimizer(d.parameters(),optimizer_class=torch.optim.Adam,lr=0.01)
torch.manual_seed(1); X,Y=torch.rand(8*n,5),torch.rand(8*n,2)
for s in range(4):
    o.zero_grad(); l=nn.functional.mse_loss(d(X[r::n]),Y[r::n]); l.backward(); o.step(); print(r,s,round(l.item(),6),flush=True)
print(r,[len(g["params"]) for g in o.param_groups],[len(g["params"]) for g in o.optim.param_groups],[round(float(p.sum()),4) for p in m.parameters()],flush=True)
try: o.state_dict()
except RuntimeError as e: print(r,str(e)[:70],flush=True)
o.consolidate_state_dict(to=0)
if r==0: sd=o.state_dict(); print(r,sorted(sd["state"]),sorted(sd["state"][0]),sd["param_groups"][0]["params"],round(float(sd["state"][2]["exp_avg"].sum()),5),flush=True)
held=[sd if r==0 else None]; dist.broadcast_object_list(held,src=0); o.load_state_dict(held[0]); o.zero_grad(); nn.functional.mse_loss(d(X[r::n]),Y[r::n]).backward(); o.step(); print(r,[round(float(p.sum()),4) for p in m.parameters()],flush=True)
x=torch.arange(4.)+r
print(r,fc.all_reduce(x,"sum",dist.group.WORLD).tolist(),fc.all_gather_tensor(x,0,dist.group.WORLD).tolist(),fc.reduce_scatter_tensor(x,"sum",0,dist.group.WORLD).tolist(),fc.broadcast(x,1,dist.group.WORLD).tolist(),fc.all_gather_tensor(x.view(2,2),1,dist.group.WORLD).tolist(),flush=True)
dist.barrier(); dist.destroy_process_group()
