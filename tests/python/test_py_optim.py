# SPDX-License-Identifier: Apache-2.0
"""test_py_optim.py - optimisers, schedules, clipping, nn modules in training. Numbers are compared with PyTorch's by tests/interop/python_training.py."""
import copy
import io
import math
import pickle

import pytest

import ctsc
import ctsc.nn.functional as F
from ctsc import nn, optim

ALL = [optim.SGD, optim.Adagrad, optim.Adadelta, optim.RMSprop, optim.Adam, optim.AdamW, optim.Adamax, optim.NAdam, optim.RAdam, optim.ASGD, optim.Rprop, optim.LBFGS, optim.Adafactor]


def problem():
    ctsc.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    x = ctsc.randn(40, 3, dtype=ctsc.float64)
    return model, x, (x * x).sum(1, keepdim=True)


def go(model, opt, x, y, steps):
    def closure():
        opt.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss
    return [opt.step(closure).item() for _ in range(steps)]


@pytest.mark.parametrize("cls", ALL)
def test_all_of_them(cls):
    model, x, y = problem()
    opt = cls(model.parameters())
    found = go(model, opt, x, y, 12)
    assert found[-1] < found[0] and all(math.isfinite(v) for v in found)
    state = copy.deepcopy(opt.state_dict())
    assert set(state) == {"state", "param_groups"} and state["param_groups"][0]["params"] == [0, 1, 2, 3]
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    want = go(model, opt, x, y, 5)
    for kept in (state, pickle.loads(pickle.dumps(state))):
        again, _, _ = problem()
        again.load_state_dict(weights)
        other = cls(again.parameters())
        other.load_state_dict(kept)
        assert go(again, other, x, y, 5) == pytest.approx(want, rel=1e-6)
    file = io.BytesIO()
    ctsc.save({"opt": state, "model": weights}, file)
    file.seek(0)
    assert ctsc.load(file)["opt"]["param_groups"][0]["lr"] == opt.param_groups[0]["lr"]


def test_groups():
    a, b = nn.Parameter(ctsc.ones(2)), nn.Parameter(ctsc.ones(2))
    opt = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    assert [g["lr"] for g in opt.param_groups] == [0.5, 0.1] and opt.param_groups[1]["params"][0] is b
    (a.sum() + b.sum()).backward()
    opt.step()
    assert a.tolist() == [0.5, 0.5] and b.tolist() == pytest.approx([0.9, 0.9])
    opt.param_groups[1]["lr"] = 1.0
    opt.param_groups[0]["momentum"] = 0.9
    opt.step()
    assert b.tolist() == pytest.approx([-0.1, -0.1])
    c = nn.Parameter(ctsc.zeros(1))
    opt.add_param_group({"params": [c], "weight_decay": 0.1})
    assert len(opt.param_groups) == 3 and "Parameter Group 2" in repr(opt)
    assert a in opt.state and "momentum_buffer" in opt.state[a]
    opt.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0, 0]
    opt.zero_grad()
    assert a.grad is None


def test_refusals():
    p = nn.Parameter(ctsc.ones(2))
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([])
    with pytest.raises(ValueError, match="Invalid learning rate"):
        optim.Adam([p], lr=-1.)
    with pytest.raises(ValueError, match="beta parameter at index 1"):
        optim.Adam([p], betas=(0.9, 1.5))
    with pytest.raises(ValueError, match="Nesterov"):
        optim.SGD([p], nesterov=True)
    with pytest.raises(TypeError, match="iterable of Tensors"):
        optim.SGD(p)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.SGD([p * 2])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    with pytest.raises(NotImplementedError, match="differentiable"):
        optim.SGD([p], differentiable=True)
    with pytest.raises(ValueError, match="per-parameter"):
        optim.LBFGS([{"params": [p]}, {"params": [nn.Parameter(ctsc.ones(1))]}])
    with pytest.raises(ValueError, match="different number"):
        optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(KeyError, match="of the closure"):
        def closure():
            raise KeyError("of the closure")
        optim.LBFGS([p]).step(closure)


def test_an_optimizer_of_ones_own():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @ctsc.no_grad()
        def step(self, closure=None):
            loss = None if closure is None else self._call(closure)
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.state[p]["steps"] = self.state[p].get("steps", 0) + 1
                        p.add_(p.grad.sign(), alpha=-group["lr"])
            return loss
    model, x, y = problem()
    opt = Sign(model.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.StepLR(opt, 10, 0.5)
    found = go(model, opt, x, y, 20)
    for _ in range(10):
        schedule.step()
    assert found[-1] < found[0] and opt.param_groups[0]["lr"] == 0.005
    state = opt.state_dict()
    assert state["state"][0] == {"steps": 20}
    opt.load_state_dict(state)
    assert opt.state[model[0].weight]["steps"] == 20


def test_schedules():
    p = nn.Parameter(ctsc.zeros(1))
    opt = optim.SGD([p], lr=1.0, momentum=0.9)
    s = optim.lr_scheduler.StepLR(opt, 2, 0.1)
    seen = []
    for _ in range(5):
        seen.append(opt.param_groups[0]["lr"])
        opt.step()
        s.step()
    assert seen == pytest.approx([1, 1, 0.1, 0.1, 0.01]) and s.get_last_lr() == [opt.param_groups[0]["lr"]]
    kept = s.state_dict()
    again = optim.lr_scheduler.StepLR(optim.SGD([p], lr=1.0), 2, 0.1)
    again.load_state_dict(kept)
    assert again.last_epoch == 5
    p.grad = ctsc.ones(1)
    opt.step()
    assert p.item() == pytest.approx(-s.get_last_lr()[0]) # the rate that the schedule has set
    with pytest.raises(TypeError, match="is not an Optimizer"):
        optim.lr_scheduler.StepLR(3, 1)


def test_clipping():
    ps = [nn.Parameter(ctsc.zeros(2)), nn.Parameter(ctsc.zeros(1)), nn.Parameter(ctsc.zeros(1))]
    ps[0].grad, ps[1].grad = ctsc.tensor([3., 0.]), ctsc.tensor([4.])
    assert nn.utils.clip_grad_norm_(ps, 1.0).item() == pytest.approx(5)
    assert ps[0].grad.tolist() == pytest.approx([0.6, 0], abs=1e-5) and ps[1].grad.tolist() == pytest.approx([0.8], abs=1e-5)
    nn.utils.clip_grad_value_(ps, 0.7)
    assert ps[1].grad.tolist() == pytest.approx([0.7])
    ps[0].grad = ctsc.tensor([math.inf, 0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([ps[2]], 1.0).item() == 0
    v = nn.utils.parameters_to_vector(ps)
    assert v.shape == (4,)


def test_modes_of_modules():
    m = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    x = ctsc.randn(16, 4) + 3
    m(x)
    assert m[1].num_batches_tracked.item() == 1 and (m[1].running_mean != 0).any()
    m.eval()
    a = m(x)
    assert m[1].num_batches_tracked.item() == 1 and a.tolist() == m(x).tolist() and not m[2].training
    m.train()
    assert m(x).tolist() != m(x).tolist() and m.training
    m(x).sum().backward()
    assert all(p.grad is not None for p in m.parameters())
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())
    weight = m[0].weight
    m(x).sum().backward()
    m.double()
    assert m[0].weight is weight and weight.dtype is ctsc.float64 and weight.grad.dtype is ctsc.float64 and m[1].running_mean.dtype is ctsc.float64
    m.requires_grad_(False)
    assert not m(x.double()).requires_grad
    state = m.state_dict()
    assert not any(v.requires_grad for v in state.values())
    other = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).double()
    assert other.load_state_dict(state).missing_keys == [] and other[0].weight.tolist() == m[0].weight.tolist() and other[0].weight.requires_grad


def test_generators():
    g = ctsc.Generator().manual_seed(5)
    a = ctsc.randn(3, generator=g)
    state = g.get_state()
    b = ctsc.randperm(9, generator=g)
    ctsc.manual_seed(5)
    assert ctsc.randn(3).tolist() == a.tolist() and g.initial_seed() == 5
    g.set_state(state)
    assert ctsc.randperm(9, generator=g).tolist() == b.tolist()
    kept = ctsc.get_rng_state()
    c = ctsc.rand(2)
    ctsc.set_rng_state(kept)
    assert ctsc.rand(2).tolist() == c.tolist()
    x = ctsc.empty(4).normal_(generator=g)
    assert x.isfinite().all()
    with pytest.raises(TypeError, match="Generator"):
        ctsc.randn(3, generator=3)
    with pytest.raises(RuntimeError):
        g.set_state(ctsc.zeros(3, dtype=ctsc.uint8))
