# SPDX-License-Identifier: Apache-2.0
"""test_py_onnx.py - models of ONNX that are written: some of the calls of tests/onnx/calls.txt, and the check of what was written."""
import os
import subprocess
import sys

import pytest

import ctsc
from ctsc import nn


def test_calls(root):
    """One in nine; make test-onnx runs all, with PyTorch and ONNX Runtime."""
    script, package = os.path.join(root, "tests", "onnx", "calls.py"), os.path.dirname(os.path.dirname(ctsc.__file__))
    for opset in ("13", "20"):
        done = subprocess.run([sys.executable, script, "--package", package, "--every", "9", "--opset", opset, "-q"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode in (0, 77), done.stdout


def test_check(tmp_path, monkeypatch):
    net, x, path = nn.Sequential(nn.Linear(3, 4), nn.GELU()), ctsc.randn(2, 3), str(tmp_path / "net.onnx")
    ctsc.onnx.export(net, x, path, dynamic_axes={"input": {0: "batch"}}, check=True)
    assert os.path.exists(path) and os.listdir(str(tmp_path)) == ["net.onnx"]
    monkeypatch.setattr(ctsc.onnx, "_has_runtime", lambda: False)
    ctsc.onnx.export(net, x, path, dynamic_axes={"input": {0: "batch"}}, check=True)
    os.unlink(path)
    with pytest.raises(ctsc.Error, match="gives other results: output 0"):
        ctsc.onnx.export(lambda x: nn.functional.logsigmoid(x) * 1e5, ctsc.randn(1000), path, check=True, check_tolerance=1e-30)
    assert os.listdir(str(tmp_path)) == []
    with pytest.raises(ctsc.Error, match="random numbers"):
        ctsc.onnx.export(lambda x: x + ctsc.rand(3), ctsc.ones(3), path)


def test_check_by_runtime(tmp_path):
    pytest.importorskip("onnxruntime")
    path = str(tmp_path / "net.onnx")
    ctsc.onnx.export(lambda x: (x.sum(0), x > 0), ctsc.randn(3, 4), path)
    with pytest.raises(RuntimeError, match="gives other results: output 0 has .* of elements up to"):
        ctsc.onnx.export(lambda x: nn.functional.logsigmoid(x) * 1e5, ctsc.randn(1000), path + "2", check_tolerance=1e-30)
    assert os.listdir(str(tmp_path)) == ["net.onnx"]
    ctsc.onnx.export(lambda x: nn.functional.logsigmoid(x) * 1e5, ctsc.randn(1000), path, check=False, check_tolerance=1e-30)
