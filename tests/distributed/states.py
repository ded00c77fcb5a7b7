"""ZeroRedundancyOptimizer, and checkpoints of sharded models and optimisers, read by one process too."""
import os, shutil, tempfile, torch, torch.distributed as dist, torch.nn as nn, torch.distributed.checkpoint as dcp
from torch.distributed.optim import ZeroRedundancyOptimizer as Z
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.fsdp import fully_shard
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict, StateDictOptions
from torch.distributed.checkpoint.stateful import Stateful
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
torch.manual_seed(0); m=DDP(nn.Sequential(nn.Linear(4,8),nn.ReLU(),nn.Linear(8,2)))
z=Z(m.parameters(), optimizer_class=torch.optim.Adam, lr=0.05, parameters_as_bucket_view=False)
s=torch.optim.lr_scheduler.StepLR(z,1,0.5)
torch.manual_seed(5+r)
for _ in range(3):
    z.zero_grad(); m(torch.randn(4,4)).pow(2).mean().backward(); z.step(); s.step()
print(r, ["%.4f"%p.sum().item() for p in m.parameters()], z.param_groups[0]["lr"])
z.consolidate_state_dict(0)
if r==0: sd=z.state_dict(); print(r, len(sd["state"]), sorted(sd["state"][0]), sd["param_groups"][0]["params"])
else:
    try: z.state_dict(); print(r,"no error")
    except RuntimeError as e: print(r, str(e)[:60])
z.add_param_group({"params":[nn.Parameter(torch.ones(3))],"lr":0.2}); print(r, len(z.param_groups), len(z.optim.param_groups[1]["params"]) if len(z.optim.param_groups)>1 else None)
path=[tempfile.mkdtemp() if r==0 else None]; dist.broadcast_object_list(path,0); path=path[0]
torch.manual_seed(0); net=nn.Sequential(nn.Linear(5,7),nn.ReLU(),nn.Linear(7,3)); fully_shard(net[0]); fully_shard(net); opt=torch.optim.AdamW(net.parameters(),lr=0.1)
net(torch.ones(2,5)).sum().backward(); opt.step()
class App(Stateful):
    def __init__(s,m,o): s.m,s.o=m,o
    def state_dict(s): a,b=get_state_dict(s.m,s.o); return {"model":a,"optim":b}
    def load_state_dict(s,d): set_state_dict(s.m,s.o,model_state_dict=d["model"],optim_state_dict=d["optim"])
dcp.save({"app":App(net,opt),"step":7,"t":torch.arange(4),"nested":{"a":[1,torch.ones(2)]}}, checkpoint_id=path)
if r==0: print(r, sorted(os.listdir(path)))
net2=nn.Sequential(nn.Linear(5,7),nn.ReLU(),nn.Linear(7,3)); fully_shard(net2[0]); fully_shard(net2); opt2=torch.optim.AdamW(net2.parameters(),lr=0.1)
got={"app":App(net2,opt2),"step":0,"t":torch.zeros(4,dtype=torch.long),"nested":{"a":[0,torch.zeros(2)]}}; dcp.load(got, checkpoint_id=path)
print(r, got["step"], got["t"].tolist(), got["nested"], all(torch.equal(a.to_local(),b.to_local()) for a,b in zip(net.parameters(),net2.parameters())), opt2.state[next(iter(net2.parameters()))]["step"])
md=dcp.FileSystemReader(path).read_metadata(); print(r, sorted(md.state_dict_metadata)[:4], type(md.state_dict_metadata["app.model.0.weight"]).__name__, [tuple(c.sizes) for c in md.state_dict_metadata["app.model.0.weight"].chunks])
g=dist.new_group([0]) 
if r==0:
    plain=nn.Sequential(nn.Linear(5,7),nn.ReLU(),nn.Linear(7,3)); sd={"app":{"model":plain.state_dict()}}; dcp.load(sd, checkpoint_id=path, process_group=g, no_dist=True) if False else dcp.load(sd, checkpoint_id=path, no_dist=True)
    print(r, "%.4f"%sum(v.double().sum().item() for v in sd["app"]["model"].values()))
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
    dcp_to_torch_save(path, path+"/x.pt"); full=torch.load(path+"/x.pt", weights_only=False); print(r, sorted(full), full["step"], tuple(full["app"]["model"]["0.weight"].shape))
dist.barrier()
try: dcp.load({"missing":torch.ones(2)}, checkpoint_id=path)
except BaseException as e: print(r, type(e).__name__)
try: dcp.load({"t":torch.zeros(5,dtype=torch.long)}, checkpoint_id=path)
except BaseException as e: print(r, type(e).__name__)
f=dcp.async_save({"t":torch.arange(3)}, checkpoint_id=path+"/b"); f.result(); q={"t":torch.zeros(3,dtype=torch.long)}; dcp.load(q,checkpoint_id=path+"/b"); print(r,q["t"].tolist())
dist.barrier()
if r==0: shutil.rmtree(path)
dist.destroy_process_group()
