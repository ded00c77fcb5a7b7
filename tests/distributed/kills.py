# SPDX-License-Identifier: Apache-2.0
"""kills.py [COUNT] - trains with DistributedDataParallel and checkpoints, and kills one rank (-9) at a random time, COUNT times (100), each run going on
from the checkpoint of the one before. No rank may outlive the killed one for long, and the checkpoint has to be whole, and no older than was told.

    PYTHONPATH=build/python python3 tests/distributed/kills.py 100        (make test-distributed-kills)"""
import datetime
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

RANKS, LIMIT = 3, 15 # seconds


def train(folder):
    """One rank, until it is killed."""
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as checkpoint
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
    torch.manual_seed(dist.get_rank())
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    state = {"model": model.state_dict(), "step": torch.zeros(1)}
    if os.path.exists(os.path.join(folder, ".metadata")):
        checkpoint.load(state, checkpoint_id=folder)
        model.load_state_dict(state["model"])
    begun = int(state["step"].item())
    print("loaded", begun, float(sum(p.detach().double().sum() for p in model.parameters())), flush=True)
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(begun + 1, 10 ** 9):
        optimiser.zero_grad()
        wrapped(torch.rand(16, 64)).square().mean().backward()
        optimiser.step()
        if step % 5 == 0:
            checkpoint.save({"model": model.state_dict(), "step": torch.tensor([float(step)])}, checkpoint_id=folder)
            print("saved", step, flush=True)


def read(process, told):
    for line in process.stdout:
        word, number = line.split()[:2]
        told.setdefault(word, []).append(int(number))
        told.setdefault("lines", []).append(line.strip())


def once(folder, saved):
    """The last step that was saved, as some rank told it."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(RANKS), OMP_NUM_THREADS="1")
    started = [subprocess.Popen([sys.executable, "-m", "ctsc", os.path.abspath(__file__), "--rank", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=dict(env, RANK=str(r), LOCAL_RANK=str(r))) for r in range(RANKS)]
    told = [{} for _ in started]
    threads = [threading.Thread(target=read, args=(p, t), daemon=True) for p, t in zip(started, told)]
    try:
        for t in threads:
            t.start()
        begun = time.monotonic()
        while not all("loaded" in t for t in told) and time.monotonic() < begun + 60 and all(p.poll() is None for p in started):
            time.sleep(0.02)
        loaded = [t.get("lines", [""])[0] for t in told]
        if len(set(line for line in loaded if saved or not line)) > 1 or not all("loaded" in t for t in told) or min(t["loaded"][0] for t in told) < saved:
            raise SystemExit("after step %d was saved, the ranks loaded %s\n%s" % (saved, loaded, "".join(p.stderr.read()[-1500:] for p in started if p.poll() is not None)))
        time.sleep(random.random() * 0.8)
        victim = random.randrange(RANKS)
        started[victim].kill()
        killed = time.monotonic()
        for r, p in enumerate(started):
            try:
                p.wait(max(0.1, killed + LIMIT - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise SystemExit("rank %d still runs %d s after rank %d was killed" % (r, LIMIT, victim)) from None
            if p.returncode == 0:
                raise SystemExit("rank %d ended as if nothing had happened" % r)
        took = time.monotonic() - killed
    finally:
        for p in started:
            p.kill()
    for t in threads:
        t.join(5)
    return max([saved] + [n for t in told for n in t.get("saved", [])]), took


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    folder, saved, longest = tempfile.mkdtemp(), 0, 0.0
    try:
        for i in range(count):
            saved, took = once(folder, saved)
            longest = max(longest, took)
        print("%d kills: no hang (the others ended within %.1f s), every checkpoint whole (step %d)" % (count, longest, saved))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    train(sys.argv[2]) if sys.argv[1:2] == ["--rank"] else main()
