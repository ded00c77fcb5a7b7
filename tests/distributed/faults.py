"""faults.py KIND - what the others say when rank 1 is killed, hangs, brings another shape or calls something else, or does not come at all."""
import datetime
import os
import signal
import sys
import time
import torch
import torch.distributed as dist

kind, r = sys.argv[1], int(os.environ["RANK"])
if kind == "absent" and r == 1:
    sys.exit(0)
begun = time.monotonic()
try:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=2 if kind == "absent" else 60))
    dist.barrier()
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=2))
    if r == 1:
        if kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "hangs":
            time.sleep(4)
            sys.exit(0)
    if r == 1 and kind == "other call":
        dist.broadcast(torch.ones(5), src=1 - r)
    elif r == 1 and kind == "other model":
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 3))
    elif kind == "other model":
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    else:
        x = torch.ones(5 + (r == 1))
        for _ in range(3):
            dist.all_reduce(x)
    print(r, "no error", flush=True)
except RuntimeError as e:
    print(r, "within" if time.monotonic() - begun < 12 else "after", str(e), flush=True)
os._exit(0)
