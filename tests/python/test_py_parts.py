# SPDX-License-Identifier: Apache-2.0
"""test_py_parts.py - programs (ctsc.script, ctsc.load) as parts of modules of ctsc.nn: walks, state, modes, gradients, saving, compiling again."""
import copy
import io
import pickle

import pytest

import ctsc
from ctsc import nn, optim


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bn, self.drop = nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)

    def forward(self, x: ctsc.Tensor) -> ctsc.Tensor:
        return self.drop(self.bn(self.fc(x)))


class Outer(nn.Module):
    def __init__(self, sub):
        super().__init__()
        self.sub, self.head = sub, nn.Linear(3, 1)

    def forward(self, x: ctsc.Tensor) -> ctsc.Tensor:
        return self.head(self.sub(x))


NAMES = ["sub.fc.weight", "sub.fc.bias", "sub.bn.weight", "sub.bn.bias", "head.weight", "head.bias"]
STATE = NAMES[:4] + ["sub.bn.running_mean", "sub.bn.running_var", "sub.bn.num_batches_tracked"] + NAMES[4:]


def loaded(m):
    data = m.save_to_bytes()
    return ctsc.load(data)


@pytest.fixture(params=["scripted", "loaded"])
def net(request):
    ctsc.manual_seed(0)
    inner = ctsc.script(Inner())
    return Outer(inner if request.param == "scripted" else loaded(inner))


def test_walks(net):
    assert isinstance(net.sub, nn.Module) and isinstance(net.sub, ctsc.jit.ScriptModule) and type(net.sub) is ctsc.ScriptModule
    assert not isinstance(ctsc.ones(1), nn.Module) and not isinstance(net, ctsc.jit.ScriptModule)
    assert [n for n, _ in net.named_parameters()] == NAMES and list(net.state_dict()) == STATE
    assert [n for n, _ in net.named_buffers()] == STATE[4:7]
    assert [n for n, _ in net.named_modules()] == ["", "sub", "sub.fc", "sub.bn", "sub.drop", "head"]
    assert [n for n, _ in net.named_children()] == ["sub", "head"]
    assert net.get_submodule("sub.fc").weight.shape == (3, 2) and net.get_parameter("sub.fc.weight").shape == (3, 2)
    assert net.get_buffer("sub.bn.running_mean").shape == (3,)
    with pytest.raises(AttributeError):
        net.get_parameter("sub.bn.running_mean")
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert len(seen) == 6 and seen.count("ScriptModule") == 4
    assert "(sub): ScriptModule(" in repr(net) and "(fc): ScriptModule(original_name=Linear)" in repr(net)
    assert sum(p.numel() for p in net.parameters()) == 6 + 3 + 3 + 3 + 3 + 1


def test_containers(net):
    m = net.sub
    for made in (nn.Sequential(nn.Linear(2, 2), m), nn.ModuleList([m]), nn.ModuleDict({"a": m})):
        assert len([p for p in made.parameters() if p.shape == (3, 2)]) == 1
    other = nn.Module()
    other.add_module("x", m)
    other.register_module("y", None)
    assert list(other.state_dict())[0] == "x.fc.weight"
    other.x = nn.Identity()
    assert list(other.state_dict()) == []
    with pytest.raises(TypeError, match="not a Module subclass"):
        other.add_module("z", 3)


def test_modes_and_state(net):
    x = ctsc.randn(8, 2)
    net.eval()
    assert not net.sub.training and not net.sub.bn.training
    want = net(x)
    assert ctsc.equal(want, net(x))
    net.train()
    assert net.sub.training and net.sub.bn.training and not ctsc.equal(net(x), net(x))
    assert net.sub.bn.num_batches_tracked.item() == 2
    kept = {k: v.clone() for k, v in net.state_dict().items()}
    other = Outer(ctsc.script(Inner()))
    result = other.load_state_dict(kept)
    assert result.missing_keys == [] and result.unexpected_keys == []
    net.eval(), other.eval()
    assert ctsc.equal(net(x), other(x))
    with pytest.raises(RuntimeError, match="Missing key.*sub.fc.bias"):
        other.load_state_dict({k: v for k, v in kept.items() if k != "sub.fc.bias"})
    with pytest.raises(RuntimeError, match="Unexpected key.*sub.fc.other"):
        other.load_state_dict(dict(kept, **{"sub.fc.other": x}))
    with pytest.raises(RuntimeError, match="size mismatch for sub.fc.weight"):
        other.load_state_dict(dict(kept, **{"sub.fc.weight": x}))
    assert other.load_state_dict({}, strict=False).missing_keys == STATE


def test_gradients_and_steps(net):
    net.train()
    x, y = ctsc.randn(16, 2), ctsc.randn(16, 1)
    opt = optim.Adam(net.parameters(), lr=0.05)
    before, losses = net.sub.fc.weight.detach().clone(), []
    for _ in range(30):
        opt.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        assert all(p.grad is not None for p in net.parameters())
        opt.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < sum(losses[:5]) and not ctsc.equal(before, net.sub.fc.weight)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    assert norm.item() > 0
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters()) and not net(x).requires_grad
    frozen = x.clone().requires_grad_()
    net(frozen).sum().backward()
    assert frozen.grad is not None and all(p.grad is None for p in net.parameters())


def test_programs_in_training_mode_have_gradients_at_once():
    inner = ctsc.script(nn.Linear(2, 2))
    net = nn.Sequential(inner, nn.ReLU())
    net(ctsc.randn(3, 2).abs()).sum().backward()
    assert inner.weight.grad is not None
    copied = copy.deepcopy(net)
    copied(ctsc.ones(3, 2)).sum().backward()
    assert copied[0].bias.grad is not None
    other = nn.Module()
    other.part = ctsc.script(nn.Linear(2, 2))
    assert other.part(ctsc.ones(1, 2)).requires_grad
    other.part = ctsc.script(nn.Linear(2, 2)).eval() # until somebody asks for them
    assert not other.part(ctsc.ones(1, 2)).requires_grad


def test_the_same_steps_as_without_a_program():
    found = []
    for wrap in (lambda m: m, ctsc.script):
        ctsc.manual_seed(3)
        inner = nn.Sequential(nn.Linear(2, 3), nn.Tanh()).double()
        net = Outer(wrap(inner)).double()
        x = ctsc.randn(10, 2, dtype=ctsc.float64)
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(5):
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()
        found.append([v.tolist() for v in net.state_dict().values()])
    assert found[0] == found[1]


def test_conversions(net):
    x = ctsc.randn(4, 2)
    net.eval()
    want = net(x)
    net.double()
    assert all(p.dtype is ctsc.float64 for p in net.parameters()) and net.sub.bn.num_batches_tracked.dtype is ctsc.int64
    assert net(x.double()).dtype is ctsc.float64
    assert ctsc.allclose(net(x.double()).float(), want, atol=1e-6)
    net.to(ctsc.float32).cpu()
    assert ctsc.allclose(net(x), want) and all(p.requires_grad for p in net.parameters())


def test_copies_and_files(net, tmp_path):
    net.eval()
    x = ctsc.randn(4, 2)
    want = net(x)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert ctsc.equal(other(x), want) and list(other.state_dict()) == STATE
    with ctsc.no_grad():
        other.sub.fc.weight.fill_(0)
    assert ctsc.equal(net(x), want)
    file = io.BytesIO()
    ctsc.save(net.state_dict(), file)
    file.seek(0)
    again = Outer(ctsc.script(Inner())).eval()
    again.load_state_dict(ctsc.load(file))
    assert ctsc.equal(again(x), want)
    ctsc.save(net, str(tmp_path / "whole.pt"))
    assert ctsc.equal(ctsc.load(str(tmp_path / "whole.pt"), weights_only=False)(x), want)


def test_compiled_again(net):
    net.eval()
    x = ctsc.randn(4, 2)
    want = net(x)
    whole = ctsc.script(net)
    assert ctsc.allclose(whole(x), want) and list(whole.state_dict()) == STATE
    assert ctsc.allclose(loaded(whole)(x), want)
    assert ctsc.allclose(ctsc.script(nn.Sequential(net, nn.Tanh()))(x), want.tanh())
    traced = ctsc.trace(net, x)
    assert ctsc.allclose(traced(x), want) and ctsc.allclose(loaded(traced)(x), want)
