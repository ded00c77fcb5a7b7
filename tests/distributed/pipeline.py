"""Pipelines: the losses and gradients of three schedules."""
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
torch.manual_seed(0); parts=[nn.Sequential(nn.Linear(4,4),nn.Tanh()) for _ in range(2*n)]
torch.manual_seed(1); x,t=torch.rand(16,4),torch.rand(16,4)
loss=lambda y,t: nn.functional.mse_loss(y,t)
for S in (ScheduleGPipe,Schedule1F1B):
    stage=PipelineStage(parts[r],r,n,torch.device("cpu")); s=S(stage,n_microbatches=8,loss_fn=loss); o=torch.optim.SGD(parts[r].parameters(),0.1)
    for step in range(2):
        o.zero_grad()
        if r==0: s.step(x)
        elif r==n-1: ls=[]; y=s.step(target=t,losses=ls); print(r,S.__name__,tuple(y.shape),round(y.sum().item(),4),[round(l.item(),5) for l in ls],flush=True)
        else: s.step()
        print(r,S.__name__,step,[round(float(p.grad.sum()),5) for p in parts[r].parameters()],flush=True); o.step()
stages=[PipelineStage(parts[i],i,2*n,torch.device("cpu")) for i in (r,r+n)]
s=ScheduleInterleaved1F1B(stages,n_microbatches=4,loss_fn=loss)
for p in parts: p.zero_grad()
if r==0: s.step(x)
elif r==n-1: ls=[]; s.step(target=t,losses=ls); print(r,[round(l.item(),5) for l in ls],flush=True)
else: s.step()
print(r,[[round(float(p.grad.sum()),5) for p in parts[i].parameters()] for i in (r,r+n)],flush=True)
dist.barrier(); dist.destroy_process_group()
