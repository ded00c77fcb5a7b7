# SPDX-License-Identifier: Apache-2.0
"""test_py_script.py - @ctsc.script, ctsc.trace, @ctsc.jit, ctsc.explain, ctsc.nn."""
import io
import math
import os
import sys
import threading
import warnings
from typing import Dict, List, Optional, Tuple

import pytest

import ctsc
import ctsc.nn.functional as F
from ctsc import Tensor, nn

SCALE = 3
SHAPE = (2, -1)


def helper(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by + SCALE


class Net(nn.Module):
    def __init__(self, width: int, act: str = "relu"):
        super().__init__()
        self.fc, self.bn, self.act = nn.Linear(3, width), nn.BatchNorm1d(width), act

    def forward(self, x):
        x = self.bn(self.fc(x))
        if self.act == "relu":
            return F.relu(x)
        return ctsc.tanh(x)


def test_functions():
    @ctsc.script
    def f(x: Tensor, n: int = 2) -> Tensor:
        """Loops."""
        for i in range(n):
            if bool(x.sum() > 100):
                return x
            x = helper(x) + math.pi * 0
        return x.reshape(SHAPE).to(ctsc.float64)
    assert f(ctsc.ones(2, 2)).tolist() == [[13., 13.], [13., 13.]] and f.__name__ == "f" and f.__doc__ == "Loops."
    assert "def forward" in f.code and "prim::Loop" in f.graph


def test_closures_and_recursion_of_names():
    factor = 4

    def inner(x: Tensor) -> Tensor:
        return x * factor

    @ctsc.script
    def outer(x: Tensor) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for n in ["a", "b"]:
            out[n] = inner(x)
        return out
    assert outer(ctsc.ones(1))["b"].tolist() == [4.]


def test_errors_have_the_lines_of_the_file():
    with pytest.raises(ctsc.Error) as caught:
        @ctsc.script
        def bad(x):
            y = x + 1
            return y.nope()
    with open(__file__, encoding="utf-8") as f:
        line = [n for n, text in enumerate(f, 1) if "y.nope" in text][0]
    assert "test_py_script.py:%d:" % line in caught.value.diagnostic and "nope" in caught.value.message


def test_modules_run_in_python_and_compiled():
    ctsc.manual_seed(0)
    for act in ("relu", "tanh"):
        net = Net(4, act=act).eval()
        x = ctsc.randn(5, 3)
        scripted = ctsc.script(net)
        assert ctsc.allclose(scripted(x), net(x), atol=1e-5)
        assert list(scripted.state_dict()) == list(net.state_dict())
    made = ctsc.script(Net)(6)
    assert made(x).shape == (5, 6) and made.training


def test_nn_layers():
    ctsc.manual_seed(1)
    x = ctsc.randn(2, 3, 8, 8)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(dim=1)).eval()
    y = net(x)
    assert y.shape == (2, 10) and abs(float(y.sum()) - 2) < 1e-5
    assert ctsc.allclose(ctsc.trace(net, x)(x), y, atol=1e-5)
    lstm = nn.LSTM(3, 5, batch_first=True).eval()
    assert lstm(ctsc.zeros(2, 4, 3))[0].shape == (2, 4, 5)
    assert nn.Embedding(10, 4)(ctsc.tensor([[1, 2]])).shape == (1, 2, 4)
    assert nn.MultiheadAttention(4, 2, batch_first=True).eval()(ctsc.ones(1, 3, 4), ctsc.ones(1, 3, 4), ctsc.ones(1, 3, 4))[0].shape == (1, 3, 4)
    net.load_state_dict(net.state_dict())
    assert "Conv2d(3, 4" in repr(net)


def test_trace_follows_sizes():
    def f(x):
        y = x * 2
        return y.view(y.shape[0], -1).sum(0) / x.size(0), x.reshape(x.shape[0] * x.shape[1]), y[:, :x.size(1) - 1], ctsc.cat([x, y], 1)
    m = ctsc.trace(f, (ctsc.randn(2, 3),))
    for sizes in ((2, 3), (4, 5)):
        x = ctsc.randn(*sizes)
        assert all(ctsc.allclose(a, b) for a, b in zip(m(x), f(x)))
    assert "torch.size" in m.code


def test_trace_warns():
    def f(x):
        if x.sum() > 0:
            return x * float(x[0])
        return -x
    with pytest.warns(ctsc.TracerWarning, match="Converting a tensor to a Python boolean") as caught:
        ctsc.trace(f, (ctsc.ones(2),))
    assert caught[0].filename == __file__ and any("Python float" in str(w.message) for w in caught)


def test_trace_checks():
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)
    with pytest.raises(RuntimeError, match="sanity checks"):
        ctsc.trace(f, (ctsc.ones(2),))
    with pytest.raises(RuntimeError, match="nested"):
        ctsc.trace(lambda x: ctsc.trace(lambda y: y, (x,), check_trace=False)(x), (ctsc.ones(1),), check_trace=False)
    assert not ctsc.jit.is_tracing()


def test_trace_of_a_module_keeps_parameters():
    net = Net(4).eval()
    m = ctsc.trace(net, ctsc.ones(1, 3))
    assert [n for n, _ in m.named_parameters()] == ["fc.weight", "fc.bias", "bn.weight", "bn.bias"]
    assert m.fc.weight.data_ptr() == net.fc.weight.data_ptr() and not m.training
    again = ctsc.load(m.save_to_bytes())
    assert ctsc.allclose(again(ctsc.ones(2, 3)), net(ctsc.ones(2, 3)), atol=1e-5)


def test_in_place_and_indexed_assignment_are_traced():
    def f(x):
        y = x.clone()
        y[0] = 5.
        y[:, 1] += x[:, 0]
        y.relu_()
        return y
    m = ctsc.trace(f, (ctsc.randn(3, 3),))
    x = ctsc.randn(3, 3)
    assert ctsc.equal(m(x), f(x))


def test_jit_traces_per_kind_of_arguments():
    runs = []

    @ctsc.jit
    def f(x, power=2, flip=False):
        runs.append(1)
        y = x ** power
        return -y if flip else y
    assert f(ctsc.tensor([2.])).tolist() == [4.] and f(ctsc.tensor([3.])).tolist() == [9.] and len(runs) == 1
    assert f(ctsc.tensor([2.]), 3).tolist() == [8.] and f(ctsc.tensor([2.]), flip=True).tolist() == [-4.] and len(f.traces) == 3
    assert f(ctsc.tensor([[2]])).tolist() == [[4]] and len(f.traces) == 4


def test_explain():
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x
    said = ctsc.explain(f, ctsc.ones(1))
    assert said.script_error is None and len(said.warnings) == 1 and "can be compiled" in repr(said)

    def g(x):
        return [x.undefined_thing() for _ in {1, 2}]
    assert ctsc.explain(g).script_error is not None


def test_types_of_scripts():
    @ctsc.script
    def f(a: List[int], b: Optional[Tensor] = None) -> Tuple[int, bool]:
        return sum(a), b is None
    assert f([1, 2]) == (3, True) and f([], ctsc.ones(1)) == (0, False)


def test_trace_of_a_matrix():
    assert ctsc.eye(3).trace() == 3


def test_from_torch_needs_torch():
    import sys
    if "torch" not in sys.modules:
        with pytest.raises(RuntimeError, match="PyTorch"):
            ctsc.from_torch(object())


class Wraps(nn.Module):
    def __init__(self, inner, cfg, act=nn.functional.relu):
        super().__init__()
        self.inner, self.cfg, self.act = inner, cfg, act
        self.scale, self.where = cfg.scale, ctsc.device("cpu")
        self.table = ctsc.arange(3.0)
        self.register_buffer("shift", cfg.shift, persistent=False)
        self.register_parameter("none", None)

    def forward(self, x):
        y = self.act(self.inner(x)) * self.scale + self.table[0] + self.shift
        if self.none is not None:
            y = y + self.none
        return y + ctsc.zeros(1, device=self.where)


class Settings:
    def __init__(self, scale, shift):
        self.scale, self.shift = scale, shift


def test_instances_are_compiled_as_they_are():
    ctsc.manual_seed(3)
    x = ctsc.randn(2, 3)
    grown = nn.Sequential(nn.Linear(3, 4))
    grown.append(nn.Tanh())
    grown.append(nn.Linear(4, 2))
    shared = nn.Linear(3, 3)
    settings = Settings(2.0, ctsc.full([1], 0.5))
    for net in (grown, nn.Sequential(shared, nn.ReLU(), shared), Wraps(nn.Linear(3, 3), settings), Wraps(grown, settings, nn.functional.gelu), nn.Linear(3, 5)):
        got = ctsc.script(net)
        assert ctsc.allclose(got(x), net(x), atol=1e-5) and set(got.state_dict()) - {"shift"} == set(net.state_dict())
    net = Net(4)
    net.fc1 = nn.Linear(3, 4, bias=False)
    net.train()
    list(net.children())[-1].eval()
    got = ctsc.script(net)
    assert got.training and not list(got.children())[-1].training and "fc1.bias" not in got.state_dict()
    before = got(x)
    with ctsc.no_grad():
        net.fc1.weight.zero_() # a copy was taken
    assert got(x).tolist() == before.tolist()
    made = [Net(4) for _ in range(2)]
    for m in made: # of one class, twice
        m.eval()
    assert ctsc.allclose(ctsc.script(nn.Sequential(made[0]))(x), made[0](x), atol=1e-5)


def test_parts_that_cannot_be_compiled(digits):
    net = nn.Sequential(nn.ReLU())
    net[0].part = digits # a program, beside what is compiled
    assert ctsc.script(net)(-ctsc.ones(1)).item() == 0
    with pytest.raises(TypeError, match="not dict"):
        ctsc.script({})


def test_jit_falls_back():
    @ctsc.jit
    def decides(x):
        return x * 2 if x.sum() > 0 else x * 3
    assert decides(ctsc.ones(2)).tolist() == [2, 2] and decides(-ctsc.ones(2)).tolist() == [-3, -3]
    reason, = decides.reasons.values()
    assert "Python boolean" in reason and "test_py_script.py" in reason and not decides.traces

    @ctsc.jit
    def raises(x):
        raise KeyError("mine")
    with pytest.raises(KeyError):
        raises(ctsc.ones(1))
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    compiled = ctsc.compile(net) # as torch.compile
    with ctsc.no_grad():
        for _ in range(2):
            assert ctsc.allclose(compiled(ctsc.ones(1, 3)), net(ctsc.ones(1, 3)))
    assert len(compiled.traces) == 1 and not compiled.reasons and list(compiled.parameters())
    with pytest.raises(RuntimeError, match="functions that def makes"):
        ctsc.script(lambda x: x + 1)


@pytest.mark.parametrize("level", range(4))
def test_none_for_a_tensor(level):
    """An undefined tensor: passed on, no None to the program, refused by operators, also inside of fused kernels."""
    class Part(nn.Module):
        def forward(self, x, mask):
            return x * 2 + 1

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x, mask, use: bool):
            y = self.part(x, mask)
            if use:
                y = (y * mask + 1).relu()
            return y, mask is None

    m = ctsc.jit.script(Net())
    m.set_opt(level)
    x = ctsc.ones(2)
    for _ in range(3):
        assert m(x, x, True)[0].tolist() == [4, 4]
        y, none = m(x, None, False)
        assert y.tolist() == [3, 3] and none is False
        with pytest.raises(RuntimeError, match="Expected a proper Tensor but got None"):
            m(x, None, True)


def test_exported_programs_are_loaded():
    """torch.export.load(path).module() runs; the program itself is not called."""
    folder = os.path.join(os.path.dirname(__file__), "..", "pt2", "archives", "Autocast")
    program = ctsc.export.load(os.path.join(folder, "model.pt2"))
    inputs, want = (ctsc.load(os.path.join(folder, name)) for name in ("inputs.pt", "expected.pt"))
    got = program.module()(*inputs)
    assert type(got) is type(want) and set(program.state_dict) == {n for n, _ in program.named_parameters()} | {n for n, _ in program.named_buffers()}
    with pytest.raises(RuntimeError, match="module()"):
        program(*inputs)


def test_instances_with_bases_of_another_file_and_plain_objects(tmp_path, monkeypatch):
    (tmp_path / "script_bases.py").write_text("""
from typing import Dict, List, Tuple

Lengths = List[Tuple[str, int]]


class Recipe:
    def __init__(self, order: List[int], sizes: Dict[str, int]):
        self.order = order
        self.sizes = sizes


class Mixin:
    def __init__(self, order):
        super().__init__()
        self._recipes = {n: Recipe(order[:n], {"n": n}) for n in (2, 3)}
        self._first = self._recipes[2]


def turned(recipe: Recipe, x, lengths: Lengths):
    x = x.permute(recipe.order)
    for name, n in lengths:
        x = x * n + recipe.sizes["n"]
    return x
""")
    (tmp_path / "script_parts.py").write_text("""
import torch
from script_bases import Mixin, turned


class Turn(Mixin, torch.nn.Module):
    def forward(self, x):
        return turned(self._recipes[x.ndim], x, self._lengths) + self._first.sizes["n"]

    def __init__(self, order):
        super().__init__(order)
        self._lengths = (("a", 2), ("b", 5))
""")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "torch", ctsc)
    import script_parts
    module = ctsc.nn.Sequential(script_parts.Turn([1, 0, 2]), ctsc.nn.Linear(3, 2))
    scripted = ctsc.jit.script(module)
    for shape in ((3, 2), (3, 4, 3)):
        x = ctsc.randn(*shape)
        assert ctsc.equal(scripted(x), module(x))


def test_script_function_saved(tmp_path):
    @ctsc.jit.script
    def twice(x: ctsc.Tensor) -> ctsc.Tensor:
        return x * 2
    data = io.BytesIO()
    ctsc.jit.save(twice, data)
    data.seek(0)
    assert ctsc.jit.load(data)(ctsc.ones(2)).tolist() == [2.0, 2.0]


def test_script_future():
    """A future that a script gives is one of torch.futures, one of torch.futures is a script's."""
    @ctsc.jit.script
    def twice(x: ctsc.Tensor) -> ctsc.Tensor:
        return x * 2

    @ctsc.jit.script
    def forked(x: ctsc.Tensor):
        return ctsc.jit.fork(twice, x)
    given = forked(ctsc.ones(2))
    assert isinstance(given, ctsc.futures.Future) and given.done() and given.wait().tolist() == [2.0, 2.0]
    waiting = ctsc.futures.Future()
    ctsc.register_op("test_futures::later(int n) -> Future(int)", lambda n: waiting, effects=True)

    @ctsc.jit.script
    def waits(n: int) -> int:
        return ctsc.ops.test_futures.later(n).wait() + n
    threading.Timer(0.05, lambda: waiting.set_result(40)).start()
    assert waits(2) == 42
    broken = waiting = ctsc.futures.Future()
    broken.set_exception(KeyError("nobody"))
    with pytest.raises(KeyError, match="nobody"):
        waits(2)
