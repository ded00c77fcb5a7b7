"""DTensors: placements that operators choose, their values, redistribution, gradients, meshes of two dimensions."""
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh, DeviceMesh
from torch.distributed.tensor import DTensor, Shard, Replicate, Partial, distribute_tensor, distribute_module, zeros, ones, full, empty
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
mesh=init_device_mesh("cpu",(n,),mesh_dim_names=("tp",))
print(r,mesh,mesh.size(),mesh.ndim,mesh.shape,mesh.mesh_dim_names,mesh.get_local_rank(),mesh.get_coordinate(),mesh.get_rank(),mesh.device_type,mesh.mesh.tolist(),flush=True)
t=torch.arange(32.).reshape(8,4)
d=distribute_tensor(t,mesh,[Shard(0)])
print(r,d.shape,d.placements,d.to_local().shape,d.device_mesh==mesh,d.full_tensor().sum().item(),type(d).__name__,flush=True)
print(r,repr(d).replace("\n"," "),flush=True)
for p in ([Shard(1)],[Replicate()]):
    e=d.redistribute(mesh,p); print(r,e.placements,e.to_local().shape,flush=True)
pt=DTensor.from_local(torch.ones(2,2)*(r+1),mesh,[Partial()]); None and print(r,pt.placements,pt.full_tensor().tolist(),pt.redistribute(placements=[Shard(0)]).to_local().tolist() if n==2 else '',flush=True)
def sh(name,x): print(r,name,getattr(x,'placements',None),tuple(x.shape),x.to_local().shape if isinstance(x,DTensor) else '',round((x.full_tensor() if isinstance(x,DTensor) else x).double().sum().item(),4),flush=True)
w=distribute_tensor(torch.arange(8.).reshape(4,2)/8,mesh,[Shard(1)] if n==2 else [Replicate()])
R=lambda x:distribute_tensor(x,mesh,[Replicate()])
sh("add",d+1); sh("mul",d*d); sh("mm R",d@R(torch.ones(4,3))); sh("mm S1",R(t)@w); sh("mm",d@w)
a=distribute_tensor(t,mesh,[Shard(1)]); b=distribute_tensor(torch.ones(4,3),mesh,[Shard(0)])
sh("mm part",a@b); sh("sum",d.sum()); sh("sum0",d.sum(0)); sh("sum1",d.sum(1)); sh("mean",d.mean());  sh("mean1",d.mean(1,keepdim=True))
sh("t",d.t()); sh("view",d.view(8,2,2)); sh("flatten",d.flatten()); sh("unsq",d.unsqueeze(0)); sh("perm",d.permute(1,0)); sh("softmax",d.softmax(-1)); sh("softmax0",d.softmax(0))
sh("relu",d.relu()); sh("gelu",nn.functional.gelu(d)); sh("cat",torch.cat([d,d],1)); sh("clone",d.clone()); sh("zl",torch.zeros_like(d)); sh("where",torch.where(d>3,d,d*0))
sh("sel",d[:,1]); sh("sel0",d[1]); sh("slice",d[:, :2]); sh("pow",d.pow(2).sum().sqrt()); sh("norm",torch.linalg.vector_norm(d)); sh("Padd",pt+pt); sh("Pmul",pt*2); sh("Pmulp",pt*pt); sh("to",d.to(torch.float64)); sh("expand",d.unsqueeze(1).expand(8,2,4))
sh("chunk",d.chunk(2,1)[0]); sh("split",d.split(2,1)[1]); sh("stack",torch.stack([d,d])); sh("argmax",d.argmax(-1)); sh("cumsum",d.cumsum(1)); sh("Pt",pt.t()); sh("Psum",pt.sum());sh("Pview",pt.view(4))
try: d+t
except Exception as e: print(r,type(e).__name__,str(e)[:400],flush=True)
x=zeros(4,4,device_mesh=mesh,placements=[Shard(0)]); sh("zeros",x); sh("ones",ones(5,3,device_mesh=mesh,placements=[Shard(0)]))
print(r, "uneven", distribute_tensor(torch.arange(5.),mesh,[Shard(0)]).to_local().tolist(),flush=True)
# grads
wt=nn.Parameter(distribute_tensor(torch.arange(8.).reshape(2,4)/8,mesh,[Replicate()])); print(r,type(wt),isinstance(wt,nn.Parameter),wt.requires_grad,wt.is_leaf)
y=nn.functional.linear(d,wt); sh("lin",y); l=y.square().mean(); sh("l",l); l.backward(); sh("g",wt.grad.redistribute(placements=[Replicate()])); print(r,type(wt.grad).__name__,flush=True)
dd=distribute_tensor(t,mesh,[Shard(0)]).requires_grad_(); (dd*dd).sum().backward(); sh("gg",dd.grad)
x=R(torch.ones(3,4)).requires_grad_(); ws=distribute_tensor(torch.arange(16.).reshape(4,4),mesh,[Shard(0)]).requires_grad_(); nn.functional.linear(x,ws).pow(2).sum().backward(); sh("gx",x.grad.redistribute(placements=[Replicate()])); sh("gw",ws.grad)
if n==4:
    m2=init_device_mesh("cpu",(2,2),mesh_dim_names=("dp","tp")); print(r,m2,m2["tp"],m2["dp"].get_local_rank(),m2.get_local_rank("tp"),m2["tp"].mesh.tolist(),m2.get_coordinate(),m2.size(0),flush=True)
    q=distribute_tensor(t,m2,[Shard(0),Shard(1)]); sh("2d",q); print(r,q.to_local().tolist()); sh("2dmm",q@distribute_tensor(torch.ones(4,4),m2,[Replicate(),Shard(0)])); sh("2dr",q.redistribute(placements=[Replicate(),Shard(0)])); sh("2dsum",q.sum())
    q=distribute_tensor(torch.arange(16.),m2,[Shard(0),Shard(0)]); print(r,q.to_local().tolist())
    try: m2["xx"]
    except Exception as e: print(r,type(e).__name__,e)
dist.destroy_process_group()
