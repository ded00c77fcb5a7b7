"""Objects between ranks, collectives with gradients, and the hooks of DistributedDataParallel: compression, PowerSGD, local steps."""
import torch, torch.distributed as dist, torch.nn as nn
import torch.distributed.nn as dnn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as dh, powerSGD_hook as psgd, post_localSGD_hook
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
def t(name,f):
    try: print(r,name,f())
    except Exception as e: print(r,name,type(e).__name__,str(e)[:60])
o=[None]*n; dist.all_gather_object(o,{"r":r,"t":torch.full((2,),float(r)),"s":"x"*r}); print(r,o)
l=[r,"a",torch.ones(r+1)] if r==0 else [None]*3; dist.broadcast_object_list(l,src=0); print(r,l)
g=[None]*n if r==1 else None; dist.gather_object((r,"g"),g,dst=1); print(r,g)
s=[None]; dist.scatter_object_list(s,[{"i":i} for i in range(n)] if r==0 else None,src=0); print(r,s)
if r==0: dist.send_object_list([1,"z",torch.arange(3)],dst=1)
if r==1: q=[None]*3; print(r, dist.recv_object_list(q,src=0), q)
t("len", lambda: dist.broadcast_object_list([1,2] if r==0 else [None,None], src=0))
x=torch.full((3,),float(r+1),requires_grad=True)
t("ar", lambda: (lambda y:(y.sum().backward(), y.tolist(), x.grad.tolist())[1:])(dnn.all_reduce(x*2)))
x.grad=None
t("ag", lambda: (lambda ys:(sum((i+1)*y.sum() for i,y in enumerate(ys)).backward(), [y.tolist() for y in ys], x.grad.tolist())[1:])(dnn.all_gather(x)))
x.grad=None
t("bc", lambda: (lambda y:(y.sum().backward(), y.tolist(), x.grad.tolist())[1:])(dnn.broadcast(x,0)))
x.grad=None
x.grad=None
t("rd", lambda: (lambda y:(y.pow(2).sum().backward(), x.grad.tolist())[1:])(dnn.reduce(x,0)))
w=torch.arange(2.*n,requires_grad=True)
t("rs", lambda: (lambda y:(y.sum().backward(), y.tolist(), w.grad.tolist())[1:])(dnn.reduce_scatter(torch.empty(2), list(w.chunk(n)))))
w.grad=None
t("a2a", lambda: (lambda ys:(sum((r+1)*y.sum() for y in ys).backward(), w.grad.tolist())[1:])(dnn.all_to_all([torch.empty(2) for _ in range(n)], list(w.chunk(n)))))
w.grad=None
t("a2as", lambda: (lambda y:((y*(r+1)).sum().backward(), y.tolist(), w.grad.tolist())[1:])(dnn.all_to_all_single(torch.empty(2*n), w)))
w.grad=None
t("sc", lambda: (lambda y:(y.sum().backward(), y.tolist(), None if w.grad is None else w.grad.tolist())[1:])(dnn.scatter(list(w.chunk(n)), 0)))
def train(hook,state=None,reg=True):
    torch.manual_seed(0); m=DDP(nn.Sequential(nn.Linear(6,8),nn.Tanh(),nn.Linear(8,4)))
    m.register_comm_hook(state,hook); opt=torch.optim.SGD(m.parameters(),lr=0.1); torch.manual_seed(10+r)
    for _ in range(4):
        opt.zero_grad(); m(torch.randn(5,6)).pow(2).sum().backward(); opt.step()
    return ["%.3f"%p.double().sum().item() for p in m.parameters()]
t("allreduce", lambda: train(dh.allreduce_hook)); t("fp16", lambda: train(dh.fp16_compress_hook)); t("bf16", lambda: train(dh.bf16_compress_hook))
t("wrap16", lambda: train(dh.fp16_compress_wrapper(dh.allreduce_hook))); t("wrapbf", lambda: train(dh.bf16_compress_wrapper(dh.allreduce_hook)))
t("powerSGD", lambda: train(psgd.powerSGD_hook, psgd.PowerSGDState(process_group=None, matrix_approximation_rank=1, start_powerSGD_iter=2)))
t("powerSGD2", lambda: train(psgd.powerSGD_hook, psgd.PowerSGDState(process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=1.2)))
t("local", lambda: train(post_localSGD_hook.post_localSGD_hook, post_localSGD_hook.PostLocalSGDState(process_group=None, subgroup=dist.new_group([r],use_local_synchronization=True), start_localSGD_iter=2)))
def own(state,bucket):
    f=dist.all_reduce(bucket.buffer(),async_op=True).get_future(); k=(bucket.index(),bucket.is_last(),len(bucket.parameters()),len(bucket.gradients()))
    state.append(k); return f.then(lambda f:f.value()[0].div_(n*2))
st=[]; t("own", lambda: (train(own,st), st[:1]))
dist.destroy_process_group()
