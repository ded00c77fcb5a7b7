# SPDX-License-Identifier: Apache-2.0
"""test_py_process.py - other processes: multiprocessing by fork and spawn, programs that travel as bytes or by their file; the examples as programs."""
import multiprocessing
import os
import pickle
import re
import subprocess
import sys

import pytest

import ctsc
from conftest import ROOT

PATH = os.path.join(ROOT, "models", "digits_cnn.pt")


def images():
    return ctsc.load(os.path.join(ROOT, "models", "digits_test.pt"))[0]


def work(model, x):
    out = model(x)
    return os.getpid(), out, ctsc.randn(2).shape, (x * 2).sum().item()


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("kind", ["module", "mapped"])
def test_pools(context, kind, digits):
    model = digits if kind == "module" else ctsc.mapped(PATH)
    parts = images().split(120)
    want = [model(p) for p in parts] # threads and kernels there were before
    with multiprocessing.get_context(context).Pool(2) as pool:
        found = pool.starmap(work, [(model, p) for p in parts])
    assert os.getpid() not in {pid for pid, *_ in found}
    for (_, got, _, total), w, p in zip(found, want, parts):
        assert (got - w).abs().max() < 1e-4 and total == pytest.approx((p * 2).sum().item(), rel=1e-4)


def test_training_in_a_forked_process():
    def train(queue):
        ctsc.manual_seed(1)
        w = ctsc.zeros(3, requires_grad=True)
        opt = ctsc.optim.Adam([w], lr=0.1)
        for _ in range(20):
            opt.zero_grad()
            ((w - 1) ** 2).sum().backward()
            opt.step()
        queue.put(w.detach().tolist())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    (ctsc.ones(3, requires_grad=True) * 2).sum().backward()
    p = context.Process(target=train, args=(queue,))
    p.start()
    got = queue.get(timeout=60)
    p.join()
    train(queue)
    assert queue.get(timeout=60) == got and p.exitcode == 0


def test_mapped():
    m = ctsc.mapped(PATH)
    again = pickle.loads(pickle.dumps(m))
    assert len(pickle.dumps(m)) < 500 and again._module() is m._module() and again.conv1.weight.shape == m.conv1.weight.shape
    assert not m.conv1.weight._writable and "digits_cnn.pt" in repr(m)
    with pytest.raises(FileNotFoundError):
        ctsc.mapped("/nowhere.pt")(1)


def test_mnist(tmp_path):
    out = subprocess.check_output([sys.executable, os.path.join(ROOT, "examples", "python", "mnist.py"), "--save", str(tmp_path / "net.pt"), "--workers", "2"], text=True)
    right = float(re.search(r"\((\d+\.\d)%\)", out).group(1))
    assert right >= 97.5 # 78 of 80 are 97.5, 79 98.75
    saved = ctsc.load(str(tmp_path / "net.pt"))
    labels = ctsc.load(os.path.join(ROOT, "models", "digits_labels.pt"))
    assert (saved(images()).argmax(1) == labels).float().mean() > 0.97


PROGRAM = """
import multiprocessing as mp
import torch

def told(queue):
    queue.put(("ctsc" if "+ctsc" in torch.__version__ else torch.__version__, torch.ones(2).sum().item(), "libtorch" in open("/proc/self/maps").read()))

def nested(queue):
    process = mp.get_context("spawn").Process(target=told, args=(queue,))
    process.start()
    process.join()

if __name__ == "__main__":
    for context in map(mp.get_context, ("fork", "spawn", "forkserver")):
        for function in (told, nested):
            queue = context.Queue() if function is told else mp.get_context("spawn").Queue()
            process = context.Process(target=function, args=(queue,))
            process.start()
            print(*queue.get())
            process.join()
"""


def test_torch_is_ctsc_in_all_processes(tmp_path):
    """Also where PyTorch is installed: a new interpreter finds ctsc in its place before it imports the program."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "ctsc", str(tmp_path / "program.py")], capture_output=True, text=True, timeout=120)
    assert done.stdout == "ctsc 2.0 False\n" * 6, done.stderr
