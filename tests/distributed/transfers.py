"""Messages that are received later, in another order or in batches; calls that are started together; dtypes, empty tensors, subgroups."""
import time, datetime, torch, torch.distributed as dist
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size(); nx,pv=(r+1)%n,(r-1)%n
b=torch.zeros(4); w=dist.irecv(b,src=pv); t0=time.time(); print(r,"posted",time.time()-t0<0.5, w.is_completed()); 
dist.barrier(); dist.isend(torch.full((4,),float(r)),dst=nx).wait(); print(r, w.wait(), b.tolist(), w.is_completed())
ops=[dist.P2POp(dist.isend,torch.full((3,),r+.5),nx,tag=3),dist.P2POp(dist.irecv,c:=torch.zeros(3),pv,tag=3)]
for x in dist.batch_isend_irecv(ops): x.wait()
print(r,c.tolist())
a=[torch.zeros(2) for _ in range(3)]; ws=[dist.irecv(a[i],src=pv,tag=i) for i in range(3)]
for i in (2,0,1): dist.send(torch.full((2,),float(i*10+r)),dst=nx,tag=i)
for x in ws: x.wait()
print(r,[y.tolist() for y in a])
if r==0:
    got=sorted((lambda z:(dist.recv(z),z.item()))(torch.zeros(1)) for _ in range(n-1)); print(r,got)
else: dist.send(torch.tensor([float(r*r)]),dst=0)
nc=torch.arange(12.).reshape(3,4).t(); z=torch.zeros(3,4).t()
wv=dist.irecv(z,src=pv) if False else None
if n>1:
    h=dist.isend(nc.contiguous(),dst=nx); zz=torch.zeros(4,3); dist.recv(zz,src=pv); h.wait(); print(r,zz[1].tolist())
h=dist.all_reduce(y:=torch.ones(3),async_op=True); f=h.get_future(); print(r,type(h).__name__!="" , h.wait(), f.wait()[0].tolist() if isinstance(f.wait(),list) else f.wait().tolist(), h.is_success())
for dt in (torch.uint8,torch.int8,torch.int32,torch.int64,torch.float16,torch.bfloat16,torch.float64,torch.bool,torch.complex64):
    try:
        v=torch.ones(2).to(dt); dist.broadcast(v,0); q=[torch.zeros(2).to(dt) for _ in range(n)]; dist.all_gather(q,v); dist.all_reduce(v.clone()) ; print(r,dt,q[-1].tolist())
    except Exception as e: print(r,dt,type(e).__name__)
e=torch.empty(0); dist.all_reduce(e); dist.broadcast(e,0); print(r,e.shape)
s=torch.tensor(float(r)); dist.all_reduce(s,op=dist.ReduceOp.MAX); print(r,s.item(), s.shape)
g=[dist.new_group(list(range(i,n,2))) for i in range(2)][r%2]; k=torch.ones(1); dist.all_reduce(k,group=g); print(r,k.item(),dist.get_rank(g),dist.get_process_group_ranks(g))
sub,subs=dist.new_subgroups(n//2 or 1); k=torch.full((1,),float(r)); dist.all_reduce(k,group=sub); print(r,k.item(),len(subs))
with dist._coalescing_manager(): dist.all_reduce(u1:=torch.ones(2)); dist.all_reduce(u2:=torch.full((2,),2.))
print(r,u1.tolist(),u2.tolist())
o1=torch.empty(2*n,2); dist.all_gather_into_tensor(o1,torch.full((2,2),float(r))); print(r,o1[:,0].tolist())
i3=torch.arange(float(3*n)); o3=torch.empty(3); dist.reduce_scatter_tensor(o3,i3,op=dist.ReduceOp.AVG) if False else dist.reduce_scatter_tensor(o3,i3); print(r,o3.tolist())
sp=[i+1 for i in range(n)]; inp=torch.full((sum(sp),),float(r)); out=torch.empty(n*(r+1)); dist.all_to_all_single(out,inp,[r+1]*n,sp); print(r,out.tolist())
print(r,dist.get_backend(),dist.is_initialized(),dist.get_world_size(),dist.group.WORLD.name(),dist.group.WORLD.size())
dist.destroy_process_group(); print(r,dist.is_initialized())
