# SPDX-License-Identifier: Apache-2.0
"""torch.ao.quantization and torchao's quantize_: prepare and convert, dynamic, weights alone; what is refused."""
import pytest

import ctsc
from ctsc import nn
from ctsc.ao import quantization as ao


def net():
    ctsc.manual_seed(0)
    return nn.Sequential(ao.QuantStub(), nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 16, 64), nn.ReLU(),
                         nn.Linear(64, 10), ao.DeQuantStub()).eval()


def error(a, b):
    return ((a - b).norm() / b.norm()).item()


def images(n=8):
    ctsc.manual_seed(1)
    return ctsc.randn(n, 3, 8, 8)


def test_static():
    m, x = net(), images()
    with ctsc.no_grad():
        y = m(x)
    m.qconfig = ao.get_default_qconfig("onednn")
    fused = ao.fuse_modules(m, [["1", "2", "3"], ["6", "7"]])
    ready = ao.prepare(fused)
    for i in range(len(x)):
        ready(x[i:i + 1])
    q = ao.convert(ready)
    assert 0 < error(q(x), y) < 0.05
    code = q.code
    assert code.count("ops.quantized.conv2d(") == 1 and code.count("ops.quantized.linear(") == 2 and code.count("torch.dequantize(") == 1 and "relu" not in code
    assert error(m(x), y) == 0


def test_static_in_place_and_parts(tmp_path):
    m, x = net(), images()
    y = m(x).detach()
    m.qconfig, m[8].qconfig = ao.get_default_qconfig("x86"), None
    ao.prepare(m, inplace=True)
    m(x)
    assert ao.convert(m, inplace=True) is m
    assert 0 < error(m(x), y) < 0.1
    program = ctsc.jit.script(m)
    assert program.code.count("ops.quantized.linear(") == 1
    program.save(str(tmp_path / "q.pt"))
    assert error(ctsc.jit.load(str(tmp_path / "q.pt"))(x), m(x)) == 0


def test_dynamic():
    m, x = net(), images()
    y = m(x).detach()
    q = ao.quantize_dynamic(m, {nn.Linear}, dtype=ctsc.qint8)
    assert 0 < error(q(x), y) < 0.05 and q.code.count("linear_dynamic") == 2
    q = ao.quantize_dynamic(m, {"6"})
    assert q.code.count("linear_dynamic") == 1
    with pytest.raises(NotImplementedError, match="class Conv2d"):
        ao.quantize_dynamic(m, {nn.Conv2d})
    with pytest.raises(NotImplementedError, match="class RNN;"):
        ao.quantize_dynamic(m, {nn.RNN})
    with pytest.raises(NotImplementedError, match="float16"):
        ao.quantize_dynamic(m, dtype=ctsc.float16)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.bag = nn.Embedding(50, 32), nn.EmbeddingBag(50, 32, mode="sum")
        self.lstm, self.gru = nn.LSTM(32, 24, 2, batch_first=True, bidirectional=True), nn.GRU(48, 24)
        self.cell, self.out = nn.LSTMCell(24, 16), nn.Linear(16, 4)

    def forward(self, x):
        y = self.gru(self.lstm(self.table(x) + self.bag(x).unsqueeze(1))[0])[0]
        return self.out(self.cell(y[:, -1])[0])


def test_dynamic_recurrent(tmp_path):
    ctsc.manual_seed(0)
    m, x = Words().eval(), ctsc.randint(0, 50, (5, 7))
    y = m(x).detach()
    q = ao.quantize_dynamic(m)
    assert 0 < error(q(x), y) < 0.05
    code = q.code
    assert all(code.count(name) == 1 for name in ("torch.quantized_lstm(", "torch.quantized_gru(", "quantized_lstm_cell_dynamic(", "linear_dynamic(")) and "embedding_byte" not in code
    q.save(str(tmp_path / "q.pt"))
    assert error(ctsc.jit.load(str(tmp_path / "q.pt"))(x), q(x)) == 0
    q = ao.quantize_dynamic(m, {nn.LSTM: ao.default_dynamic_qconfig, nn.EmbeddingBag: ao.float_qparams_weight_only_qconfig, nn.GRU: None})
    code = q.code
    assert "torch.quantized_lstm(" in code and "embedding_bag_byte(" in code and "torch.gru(" in code and "linear_dynamic" not in code and "embedding_byte(" not in code
    assert 0 < error(q(x), y) < 0.05
    q = ao.quantize_dynamic(m, dtype=ctsc.quint8)
    assert q.code.count("embedding_byte(") == 1 and q.code.count("embedding_bag_byte(") == 1 and "torch.lstm(" in q.code and 0 < error(q(x), y) < 0.02
    assert ao.quantize_dynamic(m, {"gru"}, inplace=True) is m and 0 < error(m(x), y) < 0.02


def test_dynamic_refused():
    report = ctsc.jit.script(nn.Sequential(nn.Linear(8, 8), nn.RNNCell(8, 8)).eval()).quantize((), "dynamic")
    assert [row["quantized"] for row in report["layers"]] == [True, True]

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.narrow, self.out = nn.RNN(8, 8), nn.LSTM(8, 8, proj_size=4), nn.Linear(4, 2)

        def forward(self, x):
            return self.out(self.narrow(self.rnn(x)[0])[0])
    report = ctsc.jit.script(Both().eval()).quantize((), "dynamic")
    assert [(row["name"], row["quantized"], row["reason"]) for row in report["layers"]] == [("rnn", False, "its kind"), ("narrow", False, "its kind"), ("out", True, None)]
    report = ctsc.jit.script(Both().eval()).quantize((), "int8w")
    assert report["quantized"] == 3


@pytest.mark.parametrize("config, most", [(ao.Int8WeightOnlyConfig(), 0.02), (ao.Int4WeightOnlyConfig(group_size=32), 0.2), (ao.Int4WeightOnlyConfig(64, zeros=False), 0.25),
                                          (ao.Int8DynamicActivationInt8WeightConfig(), 0.05)])
def test_quantize_(config, most):
    m, x = net(), images()
    y = m(x).detach()
    assert ao.quantize_(m, config) is None
    assert 0 < error(m(x), y) < most


def test_filter():
    m, x = net(), images()
    y = m(x).detach()
    ao.quantize_(m, ao.Int8WeightOnlyConfig(), lambda module, name: name == "8")
    few = error(m(x), y)
    m = net()
    ao.quantize_(m, ao.Int8WeightOnlyConfig())
    assert 0 < few < error(m(x), y)


def test_program():
    program, x = ctsc.jit.script(net()), images()
    y = program(x).detach()
    report = program.quantize([(x[:4],), x[4:]], observer="percentile:99.9", timed_calls=1)
    assert report["quantized"] == 3 and report["examples"] == 2 and 0 < report["error"] < 0.1
    assert [row["kind"] for row in report["layers"]] == ["conv2d", "linear", "linear"]
    assert all(row["bytes_quantized"] < row["bytes"] and row["us"] >= 0 for row in report["layers"])
    assert 0 < error(program(x), y) < 0.1


def test_refused():
    m = net()
    with pytest.raises(ValueError, match="no module has a qconfig"):
        ao.prepare(m)
    with pytest.raises(ValueError, match="has not been prepared"):
        ao.convert(m)
    m.qconfig = ao.QConfig()
    with pytest.raises(ValueError, match="has not been called"):
        ao.convert(ao.prepare(m))
    with pytest.raises(NotImplementedError, match="not supported"):
        ao.prepare_qat(m)
    with pytest.raises(AttributeError, match="no module 'x'"):
        ao.fuse_modules(m, [["x"]])
    with pytest.raises(RuntimeError, match="needs examples"):
        ctsc.jit.script(net()).quantize()
    with pytest.raises(TypeError, match="list of patterns"):
        ctsc.jit.script(net()).quantize(keep_float="fc")
    with pytest.raises(RuntimeError, match="no layer that could be quantised"):
        ctsc.jit.script(nn.ReLU().eval()).quantize([(ctsc.ones(2),)])
    with pytest.raises(AttributeError):
        ao.no_such_name


# ---- recurrent layers with packed weights, step by step ------------------------------------------


def packed_linear(rows, columns):
    w = ctsc.randn(rows, columns)
    q = ctsc.quantize_per_channel(w, w.abs().amax(1) / 127 + 1e-3, ctsc.zeros(rows, dtype=ctsc.int64), 0, ctsc.qint8)
    return ctsc.ops.quantized.linear_prepack(q, ctsc.randn(rows))


def cell(kind, x, y, state):
    """The state after a step, in float64; x, y: the input's and the hidden state's share of the gates."""
    x, y, h = x.double(), y.double(), state[0].double()
    if kind == "lstm":
        i, f, g, o = (x + y).chunk(4, 1)
        c = f.sigmoid() * state[1].double() + i.sigmoid() * g.tanh()
        return [(o.sigmoid() * c.tanh()).float(), c.float()]
    (a, b, c), (d, e, f) = x.chunk(3, 1), y.chunk(3, 1)
    n = (c + (a + d).sigmoid() * f).tanh()
    return [((h - n) * (b + e).sigmoid() + n).float()]


def reference(kind, data, sizes, state, weights, reduce_range, backward):
    """One direction of a layer over rows of steps of these sizes: rows and the last state."""
    linear = ctsc.ops.quantized.linear_dynamic
    x, out = linear(data, weights[0], reduce_range), [None] * len(sizes)
    state = [s.clone() for s in state]
    for t in reversed(range(len(sizes))) if backward else range(len(sizes)):
        n, at = sizes[t], sum(sizes[:t])
        now = cell(kind, x[at:at + n], linear(state[0][:n], weights[1], reduce_range), [s[:n] for s in state])
        for s, new in zip(state, now):
            s[:n] = new
        out[t] = now[0]
    return ctsc.cat(out), state


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("seed", range(12))
def test_packed_layers(kind, seed):
    ctsc.manual_seed(seed)
    steps, batch, features, hidden, layers = (int(ctsc.randint(1, most, ())) for most in (7, 6, 40, 70, 3))
    both, packed, reduce_range = seed % 2 == 0, seed % 3 == 0, seed % 4 < 2
    gates, directions, states = 4 if kind == "lstm" else 3, 1 + both, 2 if kind == "lstm" else 1
    sizes = sorted(ctsc.randint(1, batch + 1, (steps,)).tolist(), reverse=True) if packed else [batch] * steps
    batch = sizes[0]
    data = ctsc.randn(sum(sizes), features)
    first = [ctsc.randn(layers * directions, batch, hidden) for _ in range(states)]
    weights = [(packed_linear(gates * hidden, features if k < directions else hidden * directions), packed_linear(gates * hidden, hidden)) for k in range(layers * directions)]
    make, zeros = ctsc.ops.quantized.make_quantized_cell_params_dynamic, ctsc.zeros(gates * hidden)
    params = [make(ih, hh, zeros, zeros, reduce_range) for ih, hh in weights]
    want, last = data, [[] for _ in range(states)]
    for layer in range(layers):
        parts = []
        for side in range(directions):
            k = layer * directions + side
            y, state = reference(kind, want, sizes, [s[k] for s in first], weights[k], reduce_range, side == 1)
            parts.append(y)
            for to, s in zip(last, state):
                to.append(s)
        want = ctsc.cat(parts, 1)
    call = getattr(ctsc.ops.aten, "quantized_" + kind)
    hx = first if kind == "lstm" else first[0]
    if packed:
        found = call(data, ctsc.tensor(sizes), hx, params, True, layers, 0.0, False, both)
    else:
        found = call(data.view(steps, batch, features), hx, params, True, layers, 0.0, False, both, False)
    assert ctsc.allclose(found[0].reshape(want.shape), want, atol=2e-2) and (found[0].reshape(want.shape) - want).abs().mean() < 1e-3
    for a, b in zip(found[1:], last):
        assert (a - ctsc.stack(b)).abs().mean() < 1e-3
    if layers == 1:  # nothing in between that a rounding could move by a step
        assert ctsc.allclose(found[0].reshape(want.shape), want, atol=2e-5) or steps > 1


def test_packed_cells():
    ctsc.manual_seed(3)
    ops, linear = ctsc.ops.quantized, ctsc.ops.quantized.linear_dynamic
    for gates, name in ((4, "lstm"), (3, "gru"), (1, "rnn_tanh"), (1, "rnn_relu")):
        ih, hh, b = packed_linear(gates * 9, 5), packed_linear(gates * 9, 9), ctsc.zeros(gates * 9)
        x, h, c = ctsc.randn(3, 5), ctsc.randn(3, 9), ctsc.randn(3, 9)
        gx, gh = linear(x, ih, True), linear(h, hh, True)
        want = cell(name, gx, gh, [h, c]) if gates > 1 else [(gx + gh).tanh() if name == "rnn_tanh" else (gx + gh).relu()]
        found = getattr(ops, "quantized_%s_cell_dynamic" % name)(x, [h, c] if gates == 4 else h, ih, hh, b, b)
        for a, w in zip(found if gates == 4 else [found], want):
            assert ctsc.allclose(a, w, atol=1e-5)


def test_packed_layers_refused():
    ih, hh, b = packed_linear(16, 3), packed_linear(16, 4), ctsc.zeros(16)
    params = [ctsc.ops.quantized.make_quantized_cell_params_dynamic(ih, hh, b, b, False)]
    lstm, x, h = ctsc.ops.aten.quantized_lstm, ctsc.randn(2, 1, 3), ctsc.zeros(1, 1, 4)
    rest = (True, 1, 0.0, False, False, False)
    assert lstm(x, [h, h], params, *rest)[0].shape == (2, 1, 4)
    for args, what in (((x.double(), [h.double()] * 2, params), "should be float"), ((x, [h, ctsc.zeros(1, 1, 5)], params), "projections"), ((x, [h, h], params * 2), "hidden states"),
                       ((ctsc.randn(2, 1, 5), [h, h], params), "input size"), ((x, [ctsc.zeros(1, 1, 6)] * 2, params), "must match the size")):
        with pytest.raises(Exception, match=what):
            lstm(*args, *rest)
    with pytest.raises(Exception, match="two dims"):
        ctsc.ops.quantized.quantized_gru_cell_dynamic(x, h, ih, hh, b, b)


def test_the_older_name():
    """torch.quantization is torch.ao.quantization; what neither has is refused where it is called."""
    import importlib
    old = importlib.import_module("ctsc.quantization")
    assert old.prepare is ao.prepare and old.QuantStub is ao.QuantStub and old.quantize_dynamic is ao.quantize_dynamic
    assert importlib.import_module("ctsc.quantization.observer").get_default_qconfig is ao.get_default_qconfig
    for name in ("HistogramObserver", "QuantWrapper", "FakeQuantize"):
        with pytest.raises(NotImplementedError, match="torch.quantization." + name):
            getattr(old, name)()
