# SPDX-License-Identifier: Apache-2.0
"""test_py_grad.py - gradients in Python: what is recorded, backward and grad, modes, in-place rules, programs; numbers against differences. tests/interop/python_training.py
compares more with PyTorch."""
import copy
import gc
import os
import pickle
import threading

import pytest

import ctsc
import ctsc.nn.functional as F
from conftest import ROOT
from ctsc import nn

f64 = ctsc.float64


def leaf(*values):
    return ctsc.tensor(values, dtype=f64, requires_grad=True)


def test_backward():
    x = leaf(1., 2., 3.)
    y = (x * x).sum()
    assert y.requires_grad and not y.is_leaf and x.is_leaf and y.grad_fn.name() == "SumBackward0" and x.grad_fn is None
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    (x[1:] * 10).sum().backward()
    assert x.grad.tolist() == [2, 14, 16]
    x.grad.zero_()
    assert x.grad.tolist() == [0, 0, 0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        (x * 2).backward()
    (x * 2).backward(ctsc.ones_like(x))
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="does not require grad"):
        ctsc.ones(1).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(ctsc.ones(2))


def test_several_roots_and_chosen_inputs():
    x, w = leaf(1., 2.), leaf(3., 4.)
    a, b = (x * w).sum(), (x + w) * 2
    ctsc.autograd.backward([a, b], [None, ctsc.ones_like(b)], retain_graph=True)
    assert x.grad.tolist() == [5, 6] and w.grad.tolist() == [3, 4]
    x.grad = w.grad = None
    a.backward(inputs=[w])
    assert x.grad is None and w.grad.tolist() == [1, 2]


def test_grad():
    x, w = leaf(1., 2.), leaf(5.)
    g, = ctsc.autograd.grad((x ** 3).sum(), x, create_graph=True)
    h, = ctsc.autograd.grad((g * g).sum(), x)
    assert g.tolist() == [3, 12] and h.tolist() == [36, 288] and x.grad is None
    assert ctsc.autograd.grad(x.sum(), [x, w], allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        ctsc.autograd.grad(x.sum(), [x, w])
    y = x.exp()
    first, = ctsc.autograd.grad(y.sum(), x, retain_graph=True)
    second, = ctsc.autograd.grad(y.sum(), x)
    assert first.tolist() == second.tolist()
    with pytest.raises(TypeError, match="must be Tensors"):
        ctsc.autograd.grad(x.sum(), [1])


def test_modes():
    x = leaf(1.)
    assert ctsc.is_grad_enabled()
    with ctsc.no_grad():
        assert not ctsc.is_grad_enabled() and not (x * 2).requires_grad
        with ctsc.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    with ctsc.inference_mode():
        assert not (x * 2).requires_grad
    with ctsc.set_grad_enabled(False):
        assert not ctsc.is_grad_enabled()
    ctsc.set_grad_enabled(False)
    assert not ctsc.is_grad_enabled()
    ctsc.set_grad_enabled(True)

    @ctsc.no_grad()
    def without():
        return (x * 2).requires_grad

    @ctsc.no_grad
    def bare():
        return (x * 2).requires_grad

    @ctsc.set_grad_enabled(False)
    def flagged():
        return (x * 2).requires_grad

    @ctsc.no_grad()
    def items():
        for _ in range(2):
            yield ctsc.is_grad_enabled()
    assert not without() and not bare() and not flagged() and ctsc.is_grad_enabled()
    for inner in items():
        assert not inner and ctsc.is_grad_enabled()
    with pytest.raises(ValueError):
        with ctsc.no_grad():
            raise ValueError
    assert ctsc.is_grad_enabled()


def test_the_mode_is_the_threads():
    seen = []
    with ctsc.no_grad():
        t = threading.Thread(target=lambda: seen.append(ctsc.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_in_place():
    x = leaf(1., 2., 3.)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with ctsc.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3, 4]
    y = x.clone()
    y[1] = x[0] * 3
    y *= 2
    assert ctsc.autograd.grad(y.sum(), x)[0].tolist() == [8, 0, 2]
    s = x.sigmoid()
    s.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.sum().backward()
    assert x._version == 1 and x.data.add_(1) is not None and x._version == 1


def test_flags():
    x = leaf(1.)
    y = x * 2
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="floating point"):
        ctsc.arange(3).requires_grad_()
    with pytest.raises(RuntimeError):
        ctsc.ones(2, dtype=ctsc.int64, requires_grad=True)
    assert not y.detach().requires_grad and not y.data.requires_grad and y.detach_().is_leaf
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4]
    with pytest.raises(TypeError, match="assigned grad"):
        x.grad = 3
    with pytest.raises(RuntimeError, match="different size"):
        x.grad = ctsc.zeros(2, dtype=f64)
    assert repr(leaf(1.)) == "tensor([1.], dtype=ctsc.float64, requires_grad=True)" and "grad_fn=<MulBackward" in repr(x * 2)
    with pytest.raises(RuntimeError, match="detach"):
        y.numpy()
    assert ctsc.zeros(2, requires_grad=True).requires_grad


def test_data_is_replaced():
    p = nn.Parameter(ctsc.zeros(3))
    opt = ctsc.optim.SGD([p], lr=1.)
    p.data = ctsc.ones(2, 2, dtype=f64)
    assert p.shape == (2, 2) and p.dtype is f64 and p.requires_grad
    (p * 3).sum().backward()
    opt.step()
    assert p.tolist() == [[-2, -2], [-2, -2]]
    with pytest.raises(RuntimeError, match="floating point"):
        p.data = ctsc.arange(3)


def test_copies():
    x = leaf(1., 2.)
    assert copy.deepcopy(x).requires_grad and pickle.loads(pickle.dumps(x)).requires_grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    a = ctsc.ones(2)
    p = nn.Parameter(a)
    assert p.requires_grad and not a.requires_grad and p.data_ptr() == a.data_ptr()
    both = copy.deepcopy({"p": p, "again": p})
    assert both["p"] is both["again"] and isinstance(both["p"], nn.Parameter)


def test_functional():
    fn = ctsc.autograd.functional
    x, w = leaf(1., 2.), leaf(3., 4.)
    assert fn.jacobian(lambda v: v ** 2, x).tolist() == [[2, 0], [0, 4]]
    assert fn.hessian(lambda v: (v ** 3).sum(), x).tolist() == [[6, 0], [0, 12]]
    assert fn.vjp(lambda v: v ** 2, x, ctsc.ones(2, dtype=f64))[1].tolist() == [2, 4]
    assert fn.jvp(lambda v: v ** 2, x, ctsc.ones(2, dtype=f64))[1].tolist() == [2, 4]
    rows = fn.jacobian(lambda a, b: a * b, (x, w))
    assert rows[0].tolist() == [[3, 0], [0, 4]] and rows[1].tolist() == [[1, 0], [0, 2]]
    assert fn.jacobian(lambda v: ctsc.ones(2), x).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("f", [
    lambda x, w: F.conv2d(x, w, padding=1), lambda x, w: F.max_pool2d(F.relu(F.conv2d(x, w)), 2), lambda x, w: F.softmax(x.flatten(1), 1) * w.sum(),
    lambda x, w: F.layer_norm(x, [4]) + w.mean(), lambda x, w: ctsc.cat([x.exp(), x.sin()], 1)[:, ::2], lambda x, w: ctsc.einsum("bchw,dchw->bd", x, x) @ x[0, 0, :2],
    lambda x, w: F.gelu(x) / (1 + w.pow(2).sum()), lambda x, w: x.var(dim=(2, 3)) + x.logsumexp(3).sum(2), lambda x, w: x.index_select(1, ctsc.tensor([1, 0, 1]))[..., [0, 2]],
    lambda x, w: F.batch_norm(x, None, None, training=True)])
def test_numbers(f):
    ctsc.manual_seed(1)
    x, w = ctsc.randn(2, 2, 4, 4, dtype=f64, requires_grad=True), ctsc.randn(2, 2, 3, 3, dtype=f64, requires_grad=True)
    assert ctsc.autograd.gradcheck(f, (x, w))


def test_gradcheck_finds_errors():
    class Wrong:
        def __call__(self, x):
            return x * x.detach()
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        ctsc.autograd.gradcheck(Wrong(), (leaf(1., 2.),))


def test_graphs_are_freed():
    x = leaf(*range(1000))
    gc.collect()
    y = x
    for _ in range(20000): # deep, and freed without recursion
        y = y + 1
    del y


def test_loaded_programs(digits):
    images = ctsc.load(os.path.join(ROOT, "models", "digits_test.pt"))[0][:8]
    plain = digits(images)
    assert not plain.requires_grad and not digits._records
    x = images.clone().requires_grad_()
    out = digits(x)
    assert digits._records and ctsc.autograd.grad(out.sum(), x)[0].shape == x.shape
    with ctsc.no_grad():
        assert not digits(x).requires_grad
    assert (out.detach() - plain).abs().max() < 1e-4
    digits.requires_grad_(False)
    assert not digits._records and not digits(images).requires_grad


def test_programs_are_trained(digits):
    images, labels = ctsc.load(os.path.join(ROOT, "models", "digits_test.pt"))[0], ctsc.load(os.path.join(ROOT, "models", "digits_labels.pt"))
    opt = ctsc.optim.SGD(digits.parameters(), lr=0.01)
    before = digits(images)
    assert before.requires_grad
    loss = F.nll_loss(before, 9 - labels)
    loss.backward()
    opt.step()
    after = digits(images)
    assert F.nll_loss(after, 9 - labels) < loss
    digits.zero_grad()
    assert all(p.grad is None for p in digits.parameters())
    digits.requires_grad_(False)
    assert (digits(images) - after.detach()).abs().max() < 1e-4 # compiled with the new weights
    state = {k: v.clone() for k, v in digits.state_dict().items()}
    digits.load_state_dict(state)
    part = digits.fc2
    digits.requires_grad_()
    digits.train()
    assert part(ctsc.ones(1, 64)).requires_grad and digits.training and digits.conv1(images[:1]).requires_grad


def test_random_numbers_go_on_while_training():
    m = ctsc.script(nn.Dropout(0.5))
    x = ctsc.ones(100, requires_grad=True)
    m.train()
    ctsc.manual_seed(1)
    a, b = m(x), m(x)
    assert a.tolist() != b.tolist()
    ctsc.manual_seed(1)
    assert m(x).tolist() == a.tolist()
    ctsc.manual_seed(1)
    assert F.dropout(x, 0.5).tolist() == a.tolist()


def test_threads():
    def work(k, out):
        x = ctsc.full((64, 64), float(k), requires_grad=True)
        for _ in range(20):
            y = (x @ x).sum()
            y.backward()
        out[k] = x.grad[0, 0].item()
    out = {}
    threads = [threading.Thread(target=work, args=(k, out)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out == {k: 20 * 128. * k for k in range(1, 5)}


def test_grad_fn_names():
    """PyTorch's names: which formula of derivatives.yaml, words begin after digits, a number is a tensor to add."""
    x, y = ctsc.ones(2, 4, requires_grad=True), ctsc.ones(2, 4)
    names = {"AddBackward0": x + 1, "MulBackward0": x * y, "DivBackward0": x / 2, "RsubBackward1": 1 - x, "PowBackward0": x ** 2, "PowBackward1": x ** y,
             "PowBackward2": 2 ** x, "MaxBackward0": x.max(1)[0], "MaxBackward1": x.max(), "SumBackward1": x.sum(1), "MeanBackward1": x.mean(1),
             "MaskedFillBackward0": x.masked_fill(x > 0, 1.), "ClampBackward1": x.clamp(0, 1), "SelectBackward0": x.select(0, 1),
             "NllLossBackward0": F.nll_loss(x, ctsc.tensor([0, 1])), "MaxPool2DWithIndicesBackward0": F.max_pool2d(x[None], 2),
             "CloneBackward0": x.t().contiguous(), "ToCopyBackward0": x.double(), "SplitBackward0": x.chunk(2)[0]}
    assert {k: t.grad_fn.name() for k, t in names.items()} == {k: k for k in names}


def test_methods_whose_tensor_is_not_first():
    x = ctsc.arange(6.).view(2, 3)
    assert x.select(1, -1).tolist() == [2, 5] and x.select(dim=0, index=1).tolist() == [3, 4, 5]
    assert ctsc.select(x, 0, 0).tolist() == [0, 1, 2]
    assert x.polygamma(1).shape == x.shape


def test_load_state_dict_says_so():
    m = nn.Linear(2, 3)
    assert repr(m.load_state_dict(m.state_dict())) == "<All keys matched successfully>"
    assert "missing_keys=['bias']" in repr(m.load_state_dict({"weight": m.weight}, strict=False))


def test_passes_have_limits():
    x = ctsc.rand(2000, 1000, requires_grad=True)  # too large for memory that is kept for later
    y = ctsc.tanh(x * x).sum()
    with pytest.raises(ctsc.LimitError), ctsc.limits(bytes=1000):
        y.backward(retain_graph=True)
    with pytest.raises(ctsc.LimitError), ctsc.limits(bytes=1000):
        ctsc.autograd.grad(y, x, retain_graph=True)
    with ctsc.limits(bytes=1 << 30, seconds=60):
        g, = ctsc.autograd.grad(y, x, retain_graph=True)
    x.grad = None
    y.backward()
    assert ctsc.equal(x.grad, g)
