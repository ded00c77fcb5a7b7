# SPDX-License-Identifier: Apache-2.0
"""test_py_data.py - data sets, samplers, loaders with and without workers: order, random numbers, failures, what is left behind. Orders are compared with PyTorch's by
tests/interop/python_training.py."""
import glob
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple

import pytest

import ctsc
from ctsc.data import (BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, StackDataset, Subset, SubsetRandomSampler, TensorDataset,
                       WeightedRandomSampler, default_collate, default_convert, get_worker_info, random_split)

Pair = namedtuple("Pair", "a b")


class Noisy(Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, i):
        return {"i": i, "x": ctsc.randn(40, 60) + i, "r": random.random(), "name": str(i)}


class Range(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id if info else 0, 17, info.num_workers if info else 1))


class Fails(Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 5 and self.how == "raise":
            raise KeyError("number five")
        if i == 5 and self.how == "die":
            os._exit(3)
        if i == 5 and self.how == "sleep":
            time.sleep(60)
        return i


def left():
    return glob.glob("/dev/shm/ctsc-data-%d-*" % os.getpid())


def seeds(worker):
    ctsc.zeros(1) # workers can compute
    assert get_worker_info().id == worker and get_worker_info().seed % 2 in (0, 1)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_any_number_of_workers(context):
    def epochs(workers):
        ctsc.manual_seed(3)
        loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=workers, multiprocessing_context=context, worker_init_fn=seeds)
        return [[(b["i"].tolist(), b["x"].double().sum().item(), b["r"].tolist(), b["name"]) for b in loader] for _ in range(2)]
    one = epochs(1)
    assert len(one[0]) == 6 and one[0] != one[1] and sorted(sum((b[0] for b in one[0]), [])) == list(range(23))
    assert epochs(3) == one


def test_memory_is_shared_and_goes():
    before = left()
    loader = DataLoader(Noisy(), batch_size=5, num_workers=2)
    batches = list(loader)
    assert batches[0]["x"].shape == (5, 40, 60) and left() == before
    batches[0]["x"].mul_(2) # ours to write
    assert batches[4]["x"].shape == (3, 40, 60)


def test_persistent_workers_and_epochs_that_are_left():
    before = left()
    loader = DataLoader(Noisy(), batch_size=4, num_workers=2, persistent_workers=True)
    pids = set()
    for epoch in range(3):
        for k, b in enumerate(loader):
            if epoch == 1 and k == 2:
                break
        pids.add(tuple(p.pid for p in loader._kept._processes))
    assert len(pids) == 1 and len(list(loader)) == 6
    for _ in DataLoader(Noisy(), num_workers=2):
        break
    del loader
    assert left() == before


def test_iterable():
    flat = lambda loader: [b.tolist() for b in loader]
    assert flat(DataLoader(Range(), batch_size=5)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16]]
    assert flat(DataLoader(Range(), batch_size=4, num_workers=2)) == [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15], [16]]
    assert flat(DataLoader(Range(), batch_size=5, drop_last=True, num_workers=2)) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert list(DataLoader(Range(), batch_size=None)) == list(range(17))
    assert flat(DataLoader(ChainDataset([Range(), Range()]), batch_size=34)) == [list(range(17)) * 2]


def test_failures():
    before = left()
    with pytest.raises(KeyError, match="number five") as e:
        list(DataLoader(Fails("raise"), batch_size=2, num_workers=2))
    assert "worker process 0" in str(e.value)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(Fails("die"), batch_size=2, num_workers=2))
    with pytest.raises(RuntimeError, match="timed out"):
        list(DataLoader(Fails("sleep"), batch_size=2, num_workers=2, timeout=0.5))
    with pytest.raises(KeyError):
        list(DataLoader(Fails("raise"), batch_size=2))
    with pytest.raises(ZeroDivisionError):
        for _ in DataLoader(Noisy(), num_workers=1):
            1 // 0
    assert left() == before
    for wrong in (dict(num_workers=-1), dict(shuffle=True, sampler=[1]), dict(batch_size=0), dict(batch_size=None, drop_last=True), dict(prefetch_factor=2),
                  dict(persistent_workers=True), dict(batch_sampler=[[1]], batch_size=2)):
        with pytest.raises(ValueError):
            DataLoader(Noisy(), **wrong)
    with pytest.raises(ValueError):
        DataLoader(Range(), shuffle=True)


def test_interrupted(tmp_path):
    script = tmp_path / "wait.py"
    script.write_text("import signal, sys, time\nsignal.signal(signal.SIGINT, signal.default_int_handler) # a shell's background job ignores it\n"
                      "import ctsc\nfrom ctsc.data import DataLoader, Dataset\n"
                      "class Slow(Dataset):\n    def __len__(self):\n        return 1000\n    def __getitem__(self, i):\n        time.sleep(0.05)\n        return ctsc.zeros(5000)\n"
                      "loader = iter(DataLoader(Slow(), num_workers=2))\nnext(loader)\n"
                      "print(loader._folder, *(p.pid for p in loader._processes), flush=True)\nfor b in loader:\n    pass\n")
    p = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    folder, *pids = p.stdout.readline().split()
    os.killpg(p.pid, signal.SIGINT) # as a terminal does
    _, err = p.communicate(timeout=60)
    assert "KeyboardInterrupt" in err and err.count("Traceback") == 1 and not os.path.exists(folder)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_workers_end_with_the_program(tmp_path):
    script = tmp_path / "gone.py"
    script.write_text("import os, ctsc\nfrom ctsc.data import DataLoader, TensorDataset\nloader = iter(DataLoader(TensorDataset(ctsc.zeros(9000, 9)), num_workers=1))\n"
                      "next(loader)\nprint(loader._folder, loader._processes[0].pid, flush=True)\nos.kill(os.getpid(), 9)\n")
    folder, pid = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True).stdout.split()
    until = time.time() + 60
    while time.time() < until and (os.path.exists(folder) or os.path.exists("/proc/%s" % pid) and "Z" not in open("/proc/%s/stat" % pid).read()):
        time.sleep(0.2)
    assert not os.path.exists(folder)


def test_samplers():
    ctsc.manual_seed(0)
    assert sorted(RandomSampler(range(10))) == list(range(10)) and len(list(RandomSampler(range(4), num_samples=11))) == 11
    assert len(list(RandomSampler(range(10), replacement=True, num_samples=70))) == 70
    assert sorted(SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    assert set(WeightedRandomSampler([0., 1., 1.], 50)) == {1, 2}
    assert list(BatchSampler(range(7), 3, False)) == [[0, 1, 2], [3, 4, 5], [6]] and len(BatchSampler(range(7), 3, True)) == 2
    a = list(RandomSampler(range(20), generator=ctsc.Generator().manual_seed(4)))
    assert a == list(RandomSampler(range(20), generator=ctsc.Generator().manual_seed(4)))
    loader = DataLoader(TensorDataset(ctsc.arange(6)), batch_sampler=[[5, 0], [1, 2, 3]])
    assert [b[0].tolist() for b in loader] == [[5, 0], [1, 2, 3]] and len(loader) == 2
    assert list(RandomSampler([])) == []


def test_data_sets():
    x, y = ctsc.arange(6.), ctsc.arange(6) * 2
    both = TensorDataset(x, y) + TensorDataset(x, y)
    assert len(both) == 12 and both[7][1].item() == 2 and both[-1][0].item() == 5 and isinstance(both, ConcatDataset)
    assert StackDataset(a=x, b=y)[2]["b"].item() == 4 and len(StackDataset(x, y)) == 6
    assert Subset(x, [4, 1])[0].item() == 4
    parts = random_split(range(10), [0.5, 0.3, 0.2])
    assert [len(p) for p in parts] == [5, 3, 2] and sorted(sum((list(p.indices) for p in parts), [])) == list(range(10))
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(range(10), [5, 6])
    with pytest.raises(AssertionError):
        TensorDataset(x, y[:3])


def test_collate():
    np = pytest.importorskip("numpy")
    b = default_collate([{"a": 1, "b": (2.5, "x")}, {"a": 2, "b": (3.5, "y")}])
    assert b["a"].tolist() == [1, 2] and b["b"][0].dtype is ctsc.float64 and b["b"][1] == ["x", "y"] or b["b"][1] == ("x", "y")
    p = default_collate([Pair(ctsc.ones(2), np.zeros(3)), Pair(ctsc.zeros(2), np.ones(3))])
    assert isinstance(p, Pair) and p.a.tolist() == [[1, 1], [0, 0]] and p.b.shape == (2, 3) and p.b.dtype is ctsc.float64
    assert default_collate([np.float32(1), np.float32(2)]).dtype is ctsc.float32 and default_collate([True, False]).dtype is ctsc.bool
    assert default_convert({"a": np.arange(3)})["a"].tolist() == [0, 1, 2] and default_convert("x") == "x"
    with pytest.raises(TypeError, match="default_collate"):
        default_collate([object(), object()])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1, 2], [3]])
    loader = DataLoader([1, 2, 3], batch_size=2, collate_fn=lambda items: sum(items))
    assert list(loader) == [3, 3]


def test_computing_in_a_forked_worker():
    ctsc.set_num_threads(2)
    a = ctsc.randn(200, 200)
    (a @ a).sum() # threads there were before the fork
    t = threading.Thread(target=lambda: a @ a)
    t.start()

    class Products(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return (a @ a).sum() + i
    got = [float(v) for v in DataLoader(Products(), num_workers=2, multiprocessing_context="fork", batch_size=None)]
    t.join()
    ctsc.set_num_threads(0)
    assert got == pytest.approx([float((a @ a).sum()) + i for i in range(4)], rel=1e-5)
