# SPDX-License-Identifier: Apache-2.0
"""test_py_arguments.py - arguments of Python's functions are honoured or refused: none is dropped."""
import io
import warnings

import pytest

import ctsc
from ctsc import nn


def test_load_and_save():
    t, data = ctsc.arange(3.0), io.BytesIO()
    ctsc.save({"t": t}, data)
    for where in ("cpu", ctsc.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, lambda storage, location: storage, lambda storage, location: None):
        data.seek(0)
        assert ctsc.load(data, map_location=where)["t"].equal(t)
    data.seek(0)
    with pytest.raises(TypeError, match="map_locaton"):
        ctsc.load(data, map_locaton="cpu")
    import json
    for call in (lambda: ctsc.load(data, pickle_module=json), lambda: ctsc.save(t, io.BytesIO(), pickle_module=json)):
        with pytest.raises(NotImplementedError, match="pickle_module"):
            call()
    data.seek(0)
    with pytest.raises(ctsc.Error, match="libcuda|CUDA|device"): # on a machine with a GPU these tests are not run
        ctsc.load(data, map_location={"cpu": "cuda:7"})


def test_made_of_memory():
    assert ctsc.frombuffer(bytearray(8), dtype=ctsc.float32, requires_grad=True).requires_grad
    assert ctsc.from_dlpack(ctsc.ones(2), device="cpu").sum() == 2
    out = ctsc.empty(0)
    assert ctsc.norm(ctsc.ones(4), out=out) is out and out == 2
    m, lu, pivots = ctsc.eye(2) * 3, ctsc.empty(0), ctsc.empty(0, dtype=ctsc.int32)
    ctsc.lu(m, out=(lu, pivots))
    assert lu.equal(m) and pivots.shape == (2,)


def test_checks():
    from ctsc._legacy import _check_is_size
    _check_is_size(3, max=3)
    with pytest.raises(RuntimeError):
        _check_is_size(4, max=3)
    with pytest.raises(TypeError):
        ctsc.autograd.gradcheck(lambda x: x, ctsc.ones(1, dtype=ctsc.float64, requires_grad=True), atoll=1)
    ctsc.set_anomaly_enabled(True)
    try:
        x = ctsc.zeros(1, requires_grad=True)
        with pytest.raises(RuntimeError, match="nan"):
            (x.sqrt() * 0).backward()
    finally:
        ctsc.set_anomaly_enabled(False)


def test_compile():
    def reads(x):
        return x + float(x.sum())
    assert ctsc.compile(reads)(ctsc.ones(2)).sum() == 6
    with pytest.raises(RuntimeError, match="trace"):
        ctsc.compile(reads, fullgraph=True)(ctsc.ones(2))
    with pytest.raises(RuntimeError, match="trace"):
        ctsc.compile(fullgraph=True)(reads)(ctsc.ones(2))
    with pytest.raises(NotImplementedError, match="fx"):
        ctsc.compile(reads, backend=lambda graph, inputs: graph)
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        ctsc.compile(reads, mode="fastest")
    with pytest.raises(TypeError):
        ctsc.compile(reads, fulgraph=True)
    assert ctsc.jit.trace(lambda x, y: x - y, example_kwarg_inputs={"x": ctsc.ones(1), "y": ctsc.zeros(1)})(ctsc.ones(1), ctsc.ones(1)) == 0
    with pytest.raises(TypeError):
        ctsc.trace(lambda x: x, ctsc.ones(1), chek_trace=False)


def test_onnx():
    net, x = nn.Linear(2, 2).eval(), ctsc.ones(1, 2)
    ctsc.onnx.export(net, x, io.BytesIO(), verbose=True, dynamo=False, do_constant_folding=True)
    for name, value in (("dynamic_shapes", {"x": {0: "n"}}), ("custom_opsets", {"my": 1}), ("export_modules_as_functions", True)):
        with pytest.raises(NotImplementedError, match=name):
            ctsc.onnx.export(net, x, io.BytesIO(), **{name: value})
    ctsc.onnx.register_custom_op_symbolic("my::op", lambda g: g, 9) # to register is free
    with pytest.raises(ValueError, match="domain::name"):
        ctsc.onnx.register_custom_op_symbolic("op", lambda g: g, 9)


def test_programs():
    program = ctsc.script(nn.Linear(2, 2))
    assert program.to("cpu", ctsc.float64).weight.dtype is ctsc.float64 and program.to(ctsc.ones(1)).weight.dtype is ctsc.float32
    for call in (lambda: program.to("cpu", copy=True), lambda: program.to("cpu", "cpu", copy=True)):
        with pytest.raises(RuntimeError, match="copy"):
            call()
    with pytest.raises(TypeError):
        program.to(3.5)


def test_one_device():
    with pytest.raises(AssertionError, match="device"):
        ctsc.testing.assert_close(ctsc.empty(2, device="meta"), ctsc.ones(2))
    image = ctsc.testing.make_tensor(1, 3, 4, 4, dtype=ctsc.float32, memory_format=ctsc.channels_last)
    assert image.is_contiguous(memory_format=ctsc.channels_last)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError):
            ctsc.random.fork_rng(unknown=1).__enter__()


KINDS = [
    (NotImplementedError, lambda: ctsc.tensor([1.0]) & 1), (NotImplementedError, lambda: ctsc.tensor([1j]) > 0), (NotImplementedError, lambda: ctsc.tensor([1.0]) << 1),
    (NotImplementedError, lambda: ctsc.tensor([1, 2]).mean()), (NotImplementedError, lambda: ctsc.std(ctsc.tensor([1, 2]))),
    (NotImplementedError, lambda: ctsc.linalg.inv(ctsc.ones(2, 2, dtype=ctsc.long))), (NotImplementedError, lambda: ctsc.tensor([1j]).clamp(0)),
    (NotImplementedError, lambda: ctsc.logcumsumexp(ctsc.tensor([1, 2]), 0)), (NotImplementedError, lambda: ctsc.signbit(ctsc.tensor([1j]))),
    (ValueError, lambda: nn.functional.cross_entropy(ctsc.zeros(2, 3), ctsc.tensor([0]))), (NotImplementedError, lambda: nn.functional.pad(ctsc.zeros(1, 1, 2, 2), (1, 1), "reflect")),
    (IndexError, lambda: ctsc.zeros(0).argmax()), (IndexError, lambda: ctsc.zeros(0).take(ctsc.tensor([0]))), (IndexError, lambda: ctsc.zeros(2).sum(3)),
    (TypeError, lambda: ctsc.isposinf(ctsc.tensor([1j]))), (TypeError, lambda: ctsc.maximum(ctsc.tensor([1j]), ctsc.tensor([1j]))),
]


@pytest.mark.parametrize("kind,call", KINDS)
def test_kinds_of_exceptions(kind, call):
    with pytest.raises(kind):
        call()


def test_none_for_an_empty_list():
    """Where a list's default is empty, as stride's of the average pools."""
    x = ctsc.arange(32.).reshape(1, 2, 4, 4)
    pool = nn.functional.avg_pool2d
    assert ctsc.equal(pool(x, 2, None, 1), pool(x, 2, 2, 1)) and ctsc.equal(pool(x, 2, stride=None, ceil_mode=True), pool(x, 2))
    assert nn.functional.avg_pool3d(x, (2, 2, 2), None).shape == (1, 1, 2, 2)
    with pytest.raises((TypeError, RuntimeError)):
        pool(x, None)
    with pytest.raises((TypeError, RuntimeError)):
        x.reshape(None)
