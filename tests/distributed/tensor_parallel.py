"""A network of transformer blocks, tensor and sequence parallel, beside the whole one."""
import torch, torch.nn as nn, torch.distributed as dist, torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, Replicate, distribute_tensor
from torch.distributed.tensor.parallel import parallelize_module, ColwiseParallel, RowwiseParallel, SequenceParallel, PrepareModuleInput, PrepareModuleOutput, loss_parallel
mesh=init_device_mesh("cpu",(int(__import__("os").environ["WORLD_SIZE"]),)); r,n=dist.get_rank(),dist.get_world_size()
class MLP(nn.Module):
    def __init__(s): super().__init__(); s.up=nn.Linear(8,16); s.down=nn.Linear(16,8)
    def forward(s,x): return s.down(F.relu(s.up(x)))
class Att(nn.Module):
    def __init__(s,h): super().__init__(); s.h=h; s.q=nn.Linear(8,8); s.k=nn.Linear(8,8); s.v=nn.Linear(8,8); s.o=nn.Linear(8,8)
    def forward(s,x):
        b,t,_=x.shape; q,k,v=[f(x).view(b,t,-1,2).transpose(1,2) for f in (s.q,s.k,s.v)]
        return s.o(F.scaled_dot_product_attention(q,k,v,is_causal=True).transpose(1,2).contiguous().view(b,t,-1))
class Block(nn.Module):
    def __init__(s): super().__init__(); s.n1=nn.LayerNorm(8); s.att=Att(4); s.n2=nn.LayerNorm(8); s.mlp=MLP()
    def forward(s,x): x=x+s.att(s.n1(x)); return x+s.mlp(s.n2(x))
class Net(nn.Module):
    def __init__(s): super().__init__(); s.emb=nn.Embedding(12,8); s.layers=nn.ModuleList(Block() for _ in range(2)); s.norm=nn.LayerNorm(8); s.out=nn.Linear(8,12)
    def forward(s,x):
        x=s.emb(x)
        for l in s.layers: x=l(x)
        return s.out(s.norm(x))
torch.manual_seed(0); ref=Net(); torch.manual_seed(0); m=Net()
parallelize_module(m,mesh,{"emb":RowwiseParallel(input_layouts=Replicate(),output_layouts=Shard(1)),"norm":SequenceParallel(),"out":ColwiseParallel(input_layouts=Shard(1),output_layouts=Shard(-1),use_local_output=False)})
for l in m.layers:
    parallelize_module(l,mesh,{"n1":SequenceParallel(),"att":PrepareModuleInput(input_layouts=(Shard(1),),desired_input_layouts=(Replicate(),)),"att.q":ColwiseParallel(),"att.k":ColwiseParallel(),"att.v":ColwiseParallel(),"att.o":RowwiseParallel(output_layouts=Shard(1)),
      "n2":SequenceParallel(),"mlp":PrepareModuleInput(input_layouts=(Shard(1),),desired_input_layouts=(Replicate(),)),"mlp.up":ColwiseParallel(),"mlp.down":RowwiseParallel(output_layouts=Shard(1))})
for k,p in list(m.named_parameters())[:8]: print(r,k,tuple(p.shape),p.placements,tuple(p.to_local().shape),flush=True)
torch.manual_seed(1); x=torch.randint(0,12,(2,8)); t=torch.randint(0,12,(2,8))
o=torch.optim.AdamW(m.parameters(),0.01,foreach=False); ro=torch.optim.AdamW(ref.parameters(),0.01)
for step in range(3):
    y=m(x)
    with loss_parallel(): l=F.cross_entropy(y.flatten(0,1),t.flatten()); l.backward()
    rl=F.cross_entropy(ref(x).flatten(0,1),t.flatten()); rl.backward()
    lv=l.full_tensor().item() if isinstance(l,DTensor) else l.item()
    print(r,step,y.placements,round(lv,5),round(rl.item(),5),flush=True)
    if step==0:
        for (k,p),q in zip(m.named_parameters(),ref.parameters()):
            g=p.grad.full_tensor(); ok=torch.allclose(g,q.grad,atol=1e-5)
            if not ok: print(r,k,"grad differs",(g-q.grad).abs().max().item(),flush=True)
    o.step(); o.zero_grad(); ro.step(); ro.zero_grad()
m2=nn.Sequential(nn.Linear(4,8),nn.ReLU(),nn.Linear(8,4)); torch.manual_seed(3)
for p in m2.parameters(): nn.init.normal_(p)
m2=parallelize_module(m2,mesh,{"0":ColwiseParallel(),"2":RowwiseParallel()}); inp=torch.rand(3,4)
with torch.no_grad(): print(r,m2(inp).sum().item().__round__(4),flush=True)
print(r,{k:tuple(v.shape) for k,v in m2.state_dict().items()},flush=True)
print(r,repr(ColwiseParallel()),m2,flush=True)
try: parallelize_module(nn.Sequential(nn.ReLU()),mesh,{"0":ColwiseParallel()})
except Exception as e: print(r,type(e).__name__,e,flush=True)
dist.destroy_process_group()
