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
    with pytest.raises(NotImplementedError, match="LSTM"):
        ao.quantize_dynamic(m, {nn.LSTM})
    with pytest.raises(NotImplementedError, match="float16"):
        ao.quantize_dynamic(m, dtype=ctsc.float16)


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
