# SPDX-License-Identifier: Apache-2.0
"""test_py_denormals.py - set_flush_denormal: this thread's numbers, tensors' and programs' on all threads, gradients, and forked processes."""
import multiprocessing
import threading

import pytest

import ctsc

TINY = 1e-39


def denormal(t):
    """How many elements are not zero, bit by bit."""
    return int(((t.view(ctsc.int32) & 0x7FFFFFFF) != 0).sum())


@pytest.fixture
def flushed():
    assert ctsc.set_flush_denormal(True) is True
    yield
    assert ctsc.set_flush_denormal(False) is True


def test_operators():
    x = ctsc.full((1_000_000,), TINY)
    ctsc.set_flush_denormal(True)
    try:
        check_operators(x)
    finally:
        ctsc.set_flush_denormal(False)


def check_operators(x):
    assert denormal(x.clone()) == x.numel() # copied; what computes with it takes it for zero
    assert denormal(x * 1.0) == 0 and denormal(x[:3] + 0) == 0
    assert bool((x[:3] == 0).all())
    assert float(5e-324) * 1.0 == 0 # as in PyTorch, the thread itself
    assert repr(ctsc.tensor([1e-323], dtype=ctsc.float64)) == "tensor([0.], dtype=ctsc.float64)"


def test_off():
    x = ctsc.full((1_000_000,), TINY)
    ctsc.set_flush_denormal(True)
    assert denormal(x * 1.0) == 0
    ctsc.set_flush_denormal(False)
    assert denormal(x * 1.0) == x.numel() and 5e-324 * 1.0 > 0


def test_other_threads():
    """A thread that was there before has calls that flush, and numbers of its own as they are."""
    go, done, found = threading.Event(), threading.Event(), []

    def work():
        go.wait()
        found.extend([denormal(ctsc.full((100_000,), TINY) * 1.0), 5e-324 * 1.0])
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    ctsc.set_flush_denormal(True)
    try:
        go.set()
        done.wait()
    finally:
        ctsc.set_flush_denormal(False)
    thread.join()
    assert found[0] == 0 and found[1] > 0


@pytest.mark.parametrize("opt", [0, 1, 2, 3])
def test_programs(opt, tmp_path):
    path = tmp_path / "net.py"
    path.write_text("import torch\n\n\nclass Main(torch.nn.Module):\n    def forward(self, x):\n        return torch.mm(x, x) * 0.5 + x\n")
    model, x = ctsc.compile(str(path)), ctsc.full((200, 200), 1e-21)
    model.set_opt(opt)
    for _ in range(3):
        for flush in (False, True):
            ctsc.set_flush_denormal(flush)
            y = model(x * 1e-20)
            ctsc.set_flush_denormal(False)
            assert denormal(y) == (0 if flush else y.numel())


def test_gradients(flushed):
    x = ctsc.ones(8, requires_grad=True)
    (x * 1e-20).sum().backward(gradient=ctsc.tensor(1e-20))
    assert denormal(x.grad) == 0


def child(queue):
    queue.put((denormal(ctsc.full((1000,), TINY) * 1.0), 5e-324 * 1.0))


def test_forked_process(flushed):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get() == (0, 0.0)
    process.join()


@pytest.mark.parametrize("mode", [1, None, "on"])
def test_wrong_mode(mode):
    with pytest.raises(RuntimeError, match="flush_denormal expects a bool, but got %s" % type(mode).__name__):
        ctsc.set_flush_denormal(mode)
