# SPDX-License-Identifier: Apache-2.0
"""test_py_module.py - programs: loading, calls, what is in them, limits, threads, fork, signals, profiles, errors, operators in Python."""
import copy
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

import ctsc
from ctsc import nn

LOOP = """
import torch
def forward(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = torch.tanh(x) + 0.001
    return x
"""


@pytest.fixture
def loop():
    return ctsc.compile(LOOP).set_opt(0)


def test_five_lines_classify_the_digits(root):
    np = pytest.importorskip("numpy")
    model = ctsc.load(os.path.join(root, "models", "digits_cnn.pt"))
    images, labels = (ctsc.load(os.path.join(root, "models", "digits_%s.pt" % name)) for name in ("test", "labels"))
    images, labels = (v[0] if isinstance(v, (tuple, list)) else v for v in (images, labels))
    scores = model(images)
    assert (scores.argmax(1) == labels).float().mean() > 0.99
    assert np.allclose(model(images.numpy()).numpy(), scores.numpy(), atol=1e-4)


def test_source_is_compiled_not_loaded(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("def forward(x):\n    return x + 1\n")
    for load in (ctsc.load, ctsc.jit.load):
        with pytest.raises(ctsc.FileError, match=r"net.py is Python source: ctsc.compile\('.*net.py'\) compiles it"):
            load(path)
    assert float(ctsc.compile(path)(ctsc.ones(()))) == 2


def test_loads_from_anything(root, digits):
    path = os.path.join(root, "models", "digits_cnn.pt")
    with open(path, "rb") as f:
        data = f.read()
    for m in (ctsc.load(data), ctsc.load(io.BytesIO(data)), pickle.loads(pickle.dumps(digits)), copy.deepcopy(digits)):
        assert m.code == digits.code and list(m.state_dict()) == list(digits.state_dict())
    with pytest.raises(ctsc.FileError):
        ctsc.load(b"nothing")
    with pytest.raises(ctsc.Error):
        ctsc.load("/nonexistent.pt")
    buffer = io.BytesIO()
    digits.save(buffer)
    assert ctsc.load(buffer.getvalue()).forward.schema == digits.forward.schema


def test_what_is_in_a_module(digits):
    assert "forward" in digits._methods and "conv1" in dir(digits)
    assert isinstance(digits.conv1, ctsc.ScriptModule) and digits.conv1.weight.shape == digits.state_dict()["conv1.weight"].shape
    assert digits.training is False and [n for n, _ in digits.named_children()][0] == "conv1"
    assert sum(p.numel() for p in digits.parameters()) > 1000 and all(p.requires_grad for p in digits.parameters())
    assert "graph(" in digits.graph and "def forward" in digits.code and "prim::" in digits.inlined_graph
    assert digits.signature()[0][0][:2] == ("x", "Tensor")
    assert any(key.startswith("aten::") and ok for key, ok, *_ in digits.operators())
    assert "<pre>" in digits._repr_html_() and repr(digits).startswith("ScriptModule(")
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        digits.nope
    part = digits.fc1
    w = digits.fc1.weight
    y = part(ctsc.ones(1, w.shape[1]))
    assert ctsc.allclose(y, ctsc.nn.functional.linear(ctsc.ones(1, w.shape[1]), w, digits.fc1.bias), rtol=1e-4, atol=1e-5)


def test_submodules_outlive_the_whole():
    m = ctsc.compile("""
import torch
from torch import nn
class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
    def forward(self, x):
        return self.b(self.a(x))
""")
    x = ctsc.ones(1, 2)
    a, b = m.a, m.b
    for _ in range(5): # both have one class, and its code is compiled once
        assert ctsc.allclose(b(a(x)), m(x))
    want = m(x)
    del m
    assert ctsc.allclose(b(a(x)), want)


def test_attributes_are_set(digits):
    x = ctsc.zeros(1, digits.fc1.weight.shape[1])
    digits.fc1(x)
    old = digits.fc1.bias
    digits.fc1.bias = ctsc.ones(*old.shape)
    assert (digits.fc1(x) == 1).all()
    with pytest.raises(RuntimeError, match="expected a value of type 'Tensor'"):
        digits.fc1.bias = "a"
    with pytest.raises(AttributeError):
        digits.other = 1
    state = {k: v * 0 for k, v in digits.state_dict().items()}
    digits.load_state_dict(state)
    assert digits.conv1.weight.abs().sum() == 0
    with pytest.raises(RuntimeError, match="Missing key"):
        digits.load_state_dict({})
    digits.train()
    assert digits.training and digits.bn1.training
    digits.eval()
    assert not digits.bn1.training


def test_keywords_and_values():
    m = ctsc.compile("""
import torch
from typing import Dict, List, Optional, Tuple, NamedTuple
class Point(NamedTuple):
    x: int
    y: float
def forward(a: torch.Tensor, n: int = 2, s: str = "x", more: Optional[List[float]] = None) -> Tuple[Dict[str, torch.Tensor], List[int], str, Optional[int], Point]:
    if more is not None:
        a = a + more[0]
    return {"a": a * n}, [n, n + 1], s + "!", None, Point(n, 0.5)
""")
    d, numbers, text, nothing, point = m(ctsc.ones(1), s="hé", more=[1])
    assert d["a"].tolist() == [4] and numbers == [2, 3] and text == "hé!" and nothing is None and point.y == 0.5 and point == (2, 0.5)
    with pytest.raises(RuntimeError, match="missing value for argument 'a'"):
        m(n=3)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'q'"):
        m(ctsc.ones(1), q=3)
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'n'"):
        m(ctsc.ones(1), "a")
    with pytest.raises(TypeError):
        m(object())


def test_errors_tell_the_place():
    m = ctsc.compile("""import torch
def check(x: torch.Tensor):
    if x.sum() > 0:
        raise ValueError("too large")
    return x
def forward(x: torch.Tensor):
    return check(x).view(7)
""")
    with pytest.raises(ValueError, match="too large") as caught:
        m(ctsc.ones(2))
    assert isinstance(caught.value, ctsc.ScriptError) and 'raise ValueError("too large")' in caught.value.diagnostic
    with pytest.raises(ctsc.Error) as caught:
        m(-ctsc.ones(2))
    assert ":7:" in caught.value.diagnostic and "invalid for input of size 2" in caught.value.message
    with pytest.raises(ctsc.Error, match="SyntaxError|expected|:1:"):
        ctsc.compile("def forward(x:\n    return\n")


def test_print_and_warnings_go_to_python(capsys):
    m = ctsc.compile("import torch\nimport warnings\ndef forward(n: int):\n    print('n is', n)\n    warnings.warn('careful')\n    return n\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m(3)
    assert capsys.readouterr().out == "n is 3\n" and any("careful" in str(w.message) for w in caught)


def test_limits(loop):
    x = ctsc.ones(4)
    for limit in ({"seconds": 0.05}, {"steps": 1000}):
        with ctsc.limits(**limit):
            with pytest.raises(ctsc.LimitError):
                loop(x, 10 ** 9)
    big = ctsc.compile("import torch\ndef forward(n: int):\n    return torch.zeros([n])\n")
    with ctsc.limits(bytes=1000000):
        with pytest.raises(ctsc.LimitError):
            big(10 ** 7)
    assert loop(x, 2).shape == (4,) and big(10 ** 6).shape == (10 ** 6,)


def test_ctrl_c_ends_a_call(loop):
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
    old = signal.signal(signal.SIGINT, signal.default_int_handler) # shells start what runs in the background with SIGINT ignored
    try:
        for _ in range(2):
            timer = threading.Timer(0.2, interrupt)
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                loop(ctsc.ones(4), 10 ** 12)
        # a handler of the program's, put there later
        signal.signal(signal.SIGINT, lambda *_: (_ for _ in ()).throw(ZeroDivisionError()))
        time.sleep(0.01)
        threading.Timer(0.2, interrupt).start()
        with pytest.raises(ZeroDivisionError):
            loop(ctsc.ones(4), 10 ** 12)
    finally:
        signal.signal(signal.SIGINT, old)
    assert loop(ctsc.ones(4), 1).shape == (4,)


def test_threads_run_at_once(loop):
    x, want, seen, wrong = ctsc.ones(8), loop(ctsc.ones(8), 100), set(), []

    def work():
        for _ in range(50):
            if not ctsc.equal(loop(x, 100), want) or not ctsc.equal((x + 1).sum(), ctsc.tensor(16.)):
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    # while one runs, Python goes on
    flag = threading.Event()
    threads.append(threading.Thread(target=lambda: (loop(x, 10 ** 5), flag.set())))
    for t in threads:
        t.start()
    while not flag.is_set():
        seen.add(1)
        time.sleep(0.001)
    for t in threads:
        t.join()
    assert not wrong


def test_fork(loop):
    x = ctsc.ones(8)
    loop(x, 3), x + 1
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if ctsc.equal(loop(x, 3), loop(x, 3)) and (x + 1).sum() == 16 and ctsc.randn(2).shape == (2,) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0


def test_profiler(digits):
    m = ctsc.compile("import torch\ndef forward(x: torch.Tensor):\n    return torch.mm(x, x).relu()\n")
    with ctsc.profiler(timeline=100) as p:
        for _ in range(3):
            m(ctsc.ones(4, 4))
    m(ctsc.ones(4, 4))
    assert p.results["calls"] == 3 and any(e["name"] == "aten::mm" for e in p.results["operators"])
    assert "aten::mm" in p.table() and "<pre>" in p._repr_html_()


def test_operators_in_python():
    @ctsc.register_op("pytest::twice(Tensor x, int n=2) -> Tensor")
    def twice(x, n):
        if n < 0:
            raise KeyError("negative")
        return ctsc.relu(x) * n

    @ctsc.register_op("pytest::both(Tensor x) -> (Tensor, int)")
    def both(x):
        return x + 1, 5
    ctsc.register_op("pytest::clip(Tensor x, float limit) -> Tensor", scalar="x < limit ? x : limit")
    assert ctsc.ops.pytest.twice(ctsc.tensor([1., -1.]), 3).tolist() == [3., 0.]
    assert ctsc.ops.pytest.both(ctsc.ones(1))[1] == 5
    assert ctsc.ops.pytest.clip(ctsc.tensor([1., 5.]), 2.).tolist() == [1., 2.]
    m = ctsc.compile("import torch\ndef forward(x: torch.Tensor, n: int):\n    return torch.ops.pytest.twice(x, n)\n")
    assert m(ctsc.ones(2), 4).tolist() == [4., 4.]
    with pytest.raises(KeyError, match="negative"):
        m(ctsc.ones(2), -1)
    with pytest.raises(KeyError):
        ctsc.ops.pytest.twice(ctsc.ones(1), -1)
    assert m(ctsc.ones(2), 1).tolist() == [1., 1.]


def test_inference_session(root, digits):
    np = pytest.importorskip("numpy")
    session = ctsc.InferenceSession(os.path.join(root, "models", "digits_cnn.pt"))
    images = ctsc.load(os.path.join(root, "models", "digits_test.pt"))
    images = (images[0] if isinstance(images, (list, tuple)) else images)[:3]
    assert [i.name for i in session.get_inputs()] == ["x"]
    out, = session.run(None, {"x": images.numpy()})
    assert isinstance(out, np.ndarray) and np.allclose(out, digits(images).numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="missing"):
        session.run(None, {})
    with pytest.raises(ValueError, match="Invalid"):
        session.run(None, {"x": images.numpy(), "y": 1})


def test_inference_session_onnx(root):
    np = pytest.importorskip("numpy")
    folder = os.path.join(root, "tests", "onnx", "models", "gemm")
    session = ctsc.InferenceSession(os.path.join(folder, "model.onnx"))
    x = ctsc.load(os.path.join(folder, "inputs.pt"))[0]
    assert [i.name for i in session.get_inputs()] == ["x0"]
    out, = session.run(None, {"x0": x.numpy()})
    assert np.allclose(out, ctsc.load(os.path.join(folder, "expected.pt")).numpy(), atol=1e-5)
    assert [(o.name, o.type) for o in session.get_outputs()] == [("y0", "tensor(float)")] and session.run(["y0"], {"x0": x.numpy()})[0].shape == out.shape
    net = ctsc.InferenceSession(os.path.join(root, "tests", "onnx", "models", "convnet", "model.onnx"))
    assert [(i.name, i.type, i.shape) for i in net.get_inputs()] == [("input", "tensor(float)", [None, 3, 8, 8])]


def test_inference_session_exported(root):
    np = pytest.importorskip("numpy")
    session = ctsc.InferenceSession(os.path.join(root, "tests", "pt2", "archives", "EvenDim", "model.pt2"))
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [("x", "tensor(float)", [None, 6])]
    assert [(o.name, o.type, o.shape) for o in session.get_outputs()] == [("mean", "tensor(float)", [None, 6]), ("sym_size_int", "int", None)]
    mean, = session.run(["mean"], {"x": np.ones((4, 6), np.float32)})
    assert mean.shape == (2, 6)
    assert ctsc.InferenceSession(os.path.join(root, "models", "digits_cnn.pt")).get_inputs()[0].shape is None


def test_no_numpy_is_needed(root):
    """The package works where NumPy cannot be imported, and importing it takes little."""
    code = """
import sys
sys.modules["numpy"] = None
import ctsc
from ctsc import nn
m = ctsc.load(sys.argv[1])
assert memoryview(ctsc.ones(2)).tolist() == [1.0, 1.0]
assert not [n for n in sys.modules if n in ("torch", "numpy.core")]
"""
    subprocess.run([sys.executable, "-c", code, os.path.join(root, "models", "digits_cnn.pt")], check=True)


def test_safetensors(tmp_path):
    from ctsc.safetensors import load_file, safe_open, save_file
    x, path = ctsc.arange(6.).view(2, 3), tmp_path / "x.safetensors"
    save_file({"w": x, "h": x.to(ctsc.bfloat16), "tied": x, "t": x.T}, path, {"format": "pt"})
    state = load_file(path)
    assert list(state) == ["t", "tied", "h"] and state["h"].dtype == ctsc.bfloat16
    assert state["tied"].tolist() == x.tolist() and state["t"].tolist() == x.T.tolist()
    with safe_open(path, framework="pt") as f:
        assert f.keys() == ["t", "tied", "h"] and f.metadata() == {"format": "pt", "w": "tied"}
        assert f.get_shape("t") == [3, 2] and f.get_dtype("h") == "BF16"
        t = f.get_tensor("t")
        with pytest.raises(KeyError, match="no tensor w"):
            f.get_tensor("w")
    state["t"] += 1  # a private copy: the file stays as it is
    assert t.tolist() == x.T.tolist() and load_file(path)["t"].tolist() == x.T.tolist()
    with pytest.raises(TypeError):
        save_file({"n": object()}, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ctsc.FileError, match="'h' ends beyond the end of the file"):
        load_file(path)


def test_safetensors_index(tmp_path):
    """Files that have none of the wanted names are not opened: they need not be there."""
    import json
    from ctsc.safetensors import load_index, safe_open, save_file
    x = ctsc.arange(12.).reshape(6, 2)
    save_file({"a": x, "b": x + 1}, str(tmp_path / "one.safetensors"))
    path = tmp_path / "model.safetensors.index.json"
    where = {"a": "one.safetensors", "b": "one.safetensors", "c": "absent.safetensors", "d": "../one.safetensors"}
    path.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    found = load_index(path, ["b", "a"])
    assert list(found) == ["b", "a"] and found["b"].tolist() == (x + 1).tolist() and load_index(str(path), []) == {}
    with pytest.raises(KeyError, match="no tensor e"):
        load_index(path, ["a", "e"])
    with pytest.raises(ValueError, match="not a file beside it"):
        load_index(path, ["d"])
    with pytest.raises(Exception, match="absent.safetensors"):
        load_index(path, ["c"])
    with safe_open(str(tmp_path / "one.safetensors")) as f:
        part = f.get_slice("a")
        assert part.get_shape() == [6, 2] and part.get_dtype() == "F32" and part[2:4].tolist() == x[2:4].tolist() and part[:, 1:].tolist() == x[:, 1:].tolist()
        with pytest.raises(KeyError):
            f.get_slice("z")


def test_files_that_are_not_there():
    for load in (ctsc.load, ctsc.jit.load):
        with pytest.raises(FileNotFoundError) as caught:
            load("nowhere.pt")
        assert isinstance(caught.value, ctsc.FileError) and caught.value.filename == "nowhere.pt"
    for wrong in (3, None):
        with pytest.raises(TypeError, match="takes a path"):
            ctsc.load(wrong)


def test_dtypes_of_programs(digits):
    x = ctsc.rand(2, 1, 8, 8)
    want = digits(x)
    assert digits.double()(x.double()).dtype is ctsc.float64 and ctsc.allclose(digits(x.double()).float(), want, atol=1e-5)
    assert digits.half().conv1.weight.dtype is ctsc.float16 and digits.state_dict()["bn1.num_batches_tracked"].dtype is ctsc.int64
    assert ctsc.allclose(digits.to("cpu", ctsc.float32)(x), want, atol=1e-1)
    with pytest.raises(TypeError, match="floating point"):
        digits.to(ctsc.int32)


def test_notebooks(digits):
    import xml.etree.ElementTree as ET
    svg = ET.fromstring(digits.graph._repr_svg_())
    assert svg.tag.endswith("svg") and len(svg[0]) > 10 and "aten::conv2d" in digits.inlined_graph._repr_svg_()
    loop = ctsc.compile("import torch\ndef forward(x: torch.Tensor, n: int):\n    for i in range(n):\n        x = x + i\n    return x\n")
    assert "block0" in loop.graph._repr_svg_() and isinstance(loop.graph, str)
    assert ctsc.ones(2, 3)._repr_html_().count("<td>1</td>") == 6
    assert "<pre>" in ctsc.ones(2, 3, 4)._repr_html_() and "&lt;" not in digits._repr_html_().partition("<pre>")[0]


def test_names_that_libraries_import():
    from ctsc import ao, fx, hub
    assert fx.wrap(len) is len and fx.wrap("len") == "len" and not isinstance(ctsc.ones(1), fx.Proxy)
    with pytest.raises(NotImplementedError, match="fx.Tracer"):
        fx.symbolic_trace(len)
    stub = ao.quantization.QuantStub()
    x = ctsc.ones(2)
    assert stub(x) is x and isinstance(stub, ctsc.nn.Module)
    with pytest.raises(NotImplementedError, match="prepare_qat"):
        ao.quantization.prepare_qat(stub)
    assert hub.HASH_REGEX.search("resnet18-f37072fd.pth").group(1) == "f37072fd" and list(hub.tqdm(range(3), disable=True)) == [0, 1, 2]
    assert ctsc._C.DispatchKeySet(ctsc._C.DispatchKey.CPU).has(ctsc._C.DispatchKey.CPU) and ctsc._C.Size is ctsc.Size
    with pytest.raises(OSError):
        ctsc.ops.load_library("/nowhere/lib.so")


def test_onnx_export(tmp_path):
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 4)).eval()
    x, path = ctsc.rand(2, 3, 8, 8), str(tmp_path / "net.onnx")
    ctsc.onnx.export(net, x, path, input_names=["image"], output_names=["score"], dynamic_axes={"image": {0: "batch"}, "score": {0: "batch"}})
    back = ctsc.load(path)
    assert [name for name, _, _ in back.signature("forward")[0]] == ["image"]
    more = ctsc.cat([x, x])
    assert ctsc.allclose(back(more), net(more))
    file = io.BytesIO()
    ctsc.onnx.export(lambda a, k: a * k, (x,), file, kwargs={"k": x})
    assert ctsc.equal(ctsc.load(file.getvalue())(x, x), x * x)
    for wrong, message in ((dict(output_names=["a", "b"]), "2 names for 1 outputs"), (dict(input_names=["q"], output_names=["q"]), "'q' is taken"),
                           (dict(opset_version=3), "operator set 3")):
        with pytest.raises(ctsc.Error, match=message):
            ctsc.onnx.export(net, x, str(tmp_path / "wrong.onnx"), **wrong)
    assert not (tmp_path / "wrong.onnx").exists()
