"""Pipelines: schedules, several stages of a rank, and how batches are cut into parts."""
import torch, torch.distributed as dist, torch.nn as nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B
from torch.distributed.pipelining.microbatch import TensorChunkSpec, split_args_kwargs_into_chunks, merge_chunks
dist.init_process_group("gloo"); r,n=dist.get_rank(),dist.get_world_size()
def layers(k):
    torch.manual_seed(5); return [nn.Sequential(nn.Linear(6,6), nn.Tanh()) for _ in range(k)]
torch.manual_seed(9); x=torch.randn(8,6); y=torch.randn(8,6)
for Sched in (ScheduleGPipe, Schedule1F1B):
    m=layers(n)[r]; stage=PipelineStage(m, r, n, torch.device("cpu"))
    s=Sched(stage, 4, loss_fn=nn.functional.mse_loss)
    opt=torch.optim.SGD(m.parameters(), lr=0.1)
    for step in range(2):
        losses=[]; opt.zero_grad()
        if r==0: out=s.step(x)
        elif r==n-1: out=s.step(target=y, losses=losses)
        else: out=s.step()
        print(r, Sched.__name__, step, None if out is None else tuple(out.shape), ["%.4f"%l.item() for l in losses], "%.5f"%m[0].weight.grad.norm().item(), stage.is_first, stage.is_last)
        opt.step()
    s2=Sched(PipelineStage(layers(n)[r], r, n, torch.device("cpu")), 4)
    with torch.no_grad():
        pass
k=2*n; ms=layers(k); mine=[ms[r], ms[r+n]]
stages=[PipelineStage(mine[i], r+i*n, k, torch.device("cpu")) for i in range(2)]
s=ScheduleInterleaved1F1B(stages, 2*n, loss_fn=nn.functional.mse_loss); losses=[]
if n==4: x=torch.randn(16,6); y=torch.randn(16,6)
out=s.step(x) if r==0 else s.step(target=y, losses=losses) if r==n-1 else s.step()
print(r, "inter", None if out is None else tuple(out.shape), ["%.4f"%l.item() for l in losses], ["%.5f"%m[0].weight.grad.norm().item() for m in mine])
out=s.eval(x) if r==0 else s.eval(target=y, losses=(l2:=[])) if r==n-1 else s.eval()
print(r, "eval", None if out is None else "%.4f"%out.sum().item())
a,k_=split_args_kwargs_into_chunks((x,), {"t":y}, 2, args_chunk_spec=(TensorChunkSpec(0),), kwargs_chunk_spec={"t":TensorChunkSpec(0)})
print(r, len(a), tuple(a[0][0].shape), sorted(k_[0]), tuple(merge_chunks([q[0] for q in a], TensorChunkSpec(0)).shape))
try: ScheduleGPipe(PipelineStage(layers(n)[r], r, n, torch.device("cpu")), 4).step(x[:3]) if False else Schedule1F1B(stages[0], 0)
except Exception as e: print(r, type(e).__name__)
dist.destroy_process_group()
