# SPDX-License-Identifier: Apache-2.0
"""test_py_leaks.py - many calls leave no objects and no memory behind."""
import gc
import os
import sys

import pytest

import ctsc
from ctsc import nn
from ctsc.autograd import Function

# a Python with Py_DEBUG, and an extension built with it: NumPy is not
COUNTED = "CTSC_COUNTED" in os.environ
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "") # which keeps what has been freed for a while
MANY = int(os.environ.get("CTSC_CALLS", "20000")) # 1000000 in a long run


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def steady(f, times=MANY):
    """Calls f, and looks at counts of references and at memory."""
    watched = [None, True, ctsc.Tensor, ctsc.float32, ctsc.Size]
    for _ in range(200):
        f()
    gc.collect()
    objects, counts, memory = len(gc.get_objects()), [sys.getrefcount(w) for w in watched], resident()
    all_counted = COUNTED and sys.gettotalrefcount()
    for _ in range(times):
        f()
    gc.collect()
    assert not COUNTED or sys.gettotalrefcount() - all_counted < 100
    assert abs(len(gc.get_objects()) - objects) < 50
    for w, before in zip(watched, counts):
        assert abs(sys.getrefcount(w) - before) < 100, w
    assert SANITIZED or resident() - memory < 20e6


def fails(f):
    try:
        f()
    except Exception:
        return
    raise AssertionError


def y_raises(w):
    y = w * 2
    y.register_hook(lambda g: 1 / 0)
    y.sum().backward()


class Own(ctsc.Tensor):
    """Its functions are asked of it (_subclass.py)."""


def calls():
    x, m = ctsc.ones(2, 3), ctsc.script(nn.Linear(3, 2))
    w, opt = ctsc.ones(3, requires_grad=True), None
    opt = ctsc.optim.SGD([w], lr=0.1)

    class Twice(Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    def hooked():
        y = Twice.apply(w)
        y.register_hook(lambda g: g * 2)
        with w.register_hook(lambda g: g):
            y.sum().backward()
        w.grad = None
    net = nn.Sequential(ctsc.script(nn.Linear(3, 2)), nn.ReLU())
    beta, fwd = ctsc.distributions.Beta(ctsc.ones(2), 2.0), ctsc.autograd.forward_ad

    def walked():
        net(x).sum().backward()
        assert len(list(net.parameters())) == 2 and isinstance(net[0], nn.Module)
        net.load_state_dict(net.state_dict())
        net.zero_grad()

    def directed():
        with fwd.dual_level():
            fwd.unpack_dual(fwd.make_dual(w.detach(), x[0]).exp())

    def packed():
        with ctsc.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda kept: kept[0]):
            y = (w * w).exp()
        y.sum().backward()
        ctsc.utils.checkpoint.checkpoint(lambda t: (t * w).exp(), x, use_reentrant=False).sum().backward()
        w.grad = None

    def graph():
        node = (w * x).sum().grad_fn
        assert node.next_functions[0][0].next_functions[0][0].variable.shape == (3,)
    layer = nn.Linear(3, 2)
    layer.register_full_backward_hook(lambda m, gi, go: None)

    def step():
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
    own = x.as_subclass(Own)
    return {"operator": lambda: x + x, "method": lambda: x.sum(dim=1, keepdim=True), "views": lambda: x[0, 1:].T, "assignment": lambda: x.__setitem__((0, 1), 1.0),
            "shape": lambda: (x.shape, x.stride(), x.dtype, x.device, x.item if False else x.tolist()), "several": lambda: x.max(dim=1), "made": lambda: ctsc.tensor([[1, 2], [3, 4]]),
            "numpy": lambda: ctsc.from_numpy(x.numpy()), "dlpack": lambda: ctsc.from_dlpack(x), "refused": lambda: fails(lambda: x @ x), "unfit": lambda: fails(lambda: x.sum("a")),
            "program": lambda: m(x), "keywords": lambda: m.forward(input=x), "attribute": lambda: m.weight, "random": lambda: ctsc.randn(3), "training": step,
            "grad": lambda: ctsc.autograd.grad((w * w).sum(), [w]), "state": lambda: opt.state_dict(), "hooks": hooked,
            "module hooks": lambda: layer(w).sum().backward(), "raised": lambda: fails(lambda: y_raises(w)), "part": walked, "direction": directed, "saved hooks": packed, "graph": graph,
            "meta": lambda: (ctsc.empty(3, device="meta").t(), nn.Linear(2, 2, device="meta").to_empty(device="cpu")),
            "distribution": lambda: beta.log_prob(beta.sample()), "subclass": lambda: (own + x, own[0], x.as_subclass(Own)), "mode": lambda: ctsc.no_grad().__enter__().__exit__(None, None, None)}


@pytest.mark.parametrize("name", list(calls()))
def test_nothing_is_left(name):
    if name == "numpy" and COUNTED:
        pytest.skip("NumPy's own references are not counted")
    slow = {"refused": 10, "unfit": 20, "state": 5, "training": 4, "made": 2, "shape": 2, "several": 2, "program": 2, "keywords": 2, "grad": 3, "hooks": 10, "module hooks": 10, "raised": 10, "part": 50, "direction": 20, "distribution": 40, "saved hooks": 20, "graph": 10, "meta": 40}
    steady(calls()[name], MANY // slow.get(name, 1))
