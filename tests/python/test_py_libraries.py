# SPDX-License-Identifier: Apache-2.0
"""test_py_libraries.py - what libraries that import torch do when they are imported, without these libraries (tests/libraries has them), and `python -m ctsc` as Python."""
import json
import os
import subprocess
import sys

import pytest

import ctsc
from ctsc import _extensions, nn
from ctsc.utils import _pytree
from ctsc.utils.flop_counter import FlopCounterMode


def run(*arguments, **options):
    done = subprocess.run([sys.executable, "-m", "ctsc", *arguments], capture_output=True, text=True, timeout=120, check=False, **options)
    return done.returncode, done.stdout, done.stderr


# ---- as torch

IMPORTS = """
import importlib.metadata, importlib.util, json, torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.placement_types import Shard as same
from torch.fx.experimental.symbolic_shapes import guard_or_false
from torch._dynamo.eval_frame import OptimizedModule
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.nn.parallel.scatter_gather import scatter
from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter
from torch.onnx.symbolic_opset9 import parse_args
from torch.multiprocessing.spawn import ProcessRaisedException
def refused():
    try:
        FullyShardedDataParallel(torch.nn.Linear(1, 1))
    except NotImplementedError as e:
        return str(e)
def missing(name):
    try:
        __import__(name)
    except ModuleNotFoundError as e:
        return e.name
torch._dynamo.config.cache_size_limit = 64
print(json.dumps({
    "versions": [torch.__version__, torch.torch_version.__version__, importlib.metadata.version("torch")], "newer": torch.__version__ >= (2, 6),
    "spec": importlib.util.find_spec("torch") is not None, "instance": isinstance(torch.ones(1), (DTensor, FullyShardedDataParallel)),
    "placements": [repr(Shard(1)), Shard(1) == same(1), Shard(1) == Shard(0), Replicate().is_replicate()], "refused": refused(),
    "missing": missing("torch.no_such_module"), "iterator": isinstance(iter(torch.utils.data.DataLoader([1])), _BaseDataLoaderIter),
    "annotation": str(torch.cuda.CUDAGraph | None)[:1] if hasattr(type, "__or__") else "<", "unpickled": torch._utils._element_size(torch.int64)}))
"""


def test_imports_of_libraries():
    code, out, err = run("-c", IMPORTS)
    assert not code, err
    found = json.loads(out)
    assert len(set(found["versions"])) == 1 and found["versions"][0].startswith("2.15.0+ctsc") and found["newer"] and found["spec"] and not found["instance"]
    assert found["placements"] == ["Shard(dim=1)", True, False, True] and found["iterator"] and found["unpickled"] == 8
    assert found["refused"].startswith("torch.distributed.fsdp.FullyShardedDataParallel: ") and found["missing"] == "torch.no_such_module"


def test_the_version_is_ctsc_elsewhere():
    out = subprocess.check_output([sys.executable, "-c", "import ctsc; print(ctsc.__version__)"], text=True)
    assert not out.startswith("2.15")


# ---- libraries in C++

def test_a_library_of_pytorch_is_left_out(tmp_path):
    path = tmp_path / "_mine.so"
    path.write_bytes(b"\x7fELF" + b"\0" * 60 + b"libc10.so\0libtorch_cpu.so\0")
    ctsc.ops.load_library(path)
    assert "_mine.so" in _extensions.left_out
    with pytest.raises(AttributeError, match="no attribute 'nothing'.*_mine.so"):
        ctsc.ops.mine.nothing # pylint: disable=pointless-statement
    other = tmp_path / "other.so"
    other.write_bytes(b"\x7fELF" + b"\0" * 60)
    with pytest.raises(OSError):
        ctsc.ops.load_library(str(other))
    with pytest.raises(OSError):
        ctsc.ops.load_library(str(tmp_path / "none.so"))


def test_operators_of_torchaudio(tmp_path):
    for name in ("_torchaudio.so", "libtorchaudio.so"):
        (tmp_path / name).write_bytes(b"\x7fELF" + b"\0" * 60 + b"libtorch_cpu.so\0")
        ctsc.ops.load_library(tmp_path / name)
    assert ctsc.ops._torchaudio.cuda_version() is None
    y = ctsc.zeros(1, 1, 4)
    ctsc.ops.torchaudio._lfilter_core_loop(ctsc.tensor([[[1.0, 0, 0]]]), ctsc.tensor([[-0.5, 1.0]]), y)
    assert y.tolist() == [[[0, 1.0, 0.5, 0.25]]]
    scores = ctsc.tensor([[[0.1, 0.9, 0], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]]).log()
    paths, values = ctsc.ops.torchaudio.forced_align(scores, ctsc.tensor([[1, 2]]), ctsc.tensor([3]), ctsc.tensor([2]), 0)
    assert paths.tolist() == [[1, 0, 2]] and values.shape == scores.shape
    with pytest.raises(RuntimeError, match="too long for CTC"):
        ctsc.ops.torchaudio.forced_align(scores, ctsc.tensor([[1, 1, 1]]), ctsc.tensor([3]), ctsc.tensor([3]), 0)


def test_overloads():
    add = ctsc.ops.aten.add
    assert add.Tensor(ctsc.ones(2), ctsc.ones(2)).tolist() == [2, 2] and "Scalar" in add.overloads() and add.Tensor.name() == "aten::add.Tensor"
    assert ctsc.ops.aten.relu.default(ctsc.tensor([-1.0])).item() == 0 and not hasattr(add, "NoSuch")


# ---- pieces

def test_trees():
    tree = {"a": [ctsc.ones(1), 2], "b": (3, None)}
    leaves, spec = _pytree.tree_flatten(tree)
    assert spec.num_leaves == 4 and _pytree.tree_unflatten(leaves, spec) == tree and repr(_pytree.LeafSpec()) == "*"
    with pytest.raises(ValueError, match="has length 1"):
        _pytree.tree_unflatten([1], spec)
    node = _pytree.SUPPORTED_NODES[dict]
    assert node.unflatten_fn(*node.flatten_fn({"x": 1})) == {"x": 1}


def test_flops():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    with FlopCounterMode(display=False) as counter:
        net(ctsc.randn(2, 3, 8, 8)).sum().backward()
    assert counter.get_total_flops() == 39744 and counter.get_flop_counts()["Sequential.3"] == {"addmm": 2880, "mm": 5760}
    with FlopCounterMode(display=False) as counter:
        ctsc.randn(2, 3, 4) @ ctsc.randn(4, 5) # pylint: disable=expression-not-assigned
        nn.functional.conv_transpose2d(ctsc.randn(1, 2, 4, 4), ctsc.randn(2, 3, 2, 2))
    assert counter.get_total_flops() == 2 * 2 * 3 * 4 * 5 + 2 * 16 * 24
    assert "Global" in counter.get_table()


def test_storage_of_a_file(tmp_path):
    path = str(tmp_path / "bytes")
    with open(path, "wb") as f:
        f.write(bytes(range(16)))
    storage = ctsc.UntypedStorage.from_file(path, shared=False, nbytes=16)
    assert ctsc.asarray(storage[4:8], dtype=ctsc.uint8).tolist() == [4, 5, 6, 7]
    storage[0] = 9
    shared = ctsc.UntypedStorage.from_file(path, shared=True, nbytes=20)
    shared[1] = 77
    with open(path, "rb") as f:
        data = f.read()
    assert len(data) == 20 and data[:2] == bytes([0, 77])
    with pytest.raises(RuntimeError, match="unable to mmap"):
        ctsc.UntypedStorage.from_file(path, nbytes=1000)


def test_limits_of_small_floats():
    f = ctsc.finfo(ctsc.float8_e4m3fn)
    assert (f.bits, f.max, f.min, f.eps, f.tiny) == (8, 448.0, -448.0, 0.125, 2.0 ** -6) and ctsc.finfo(ctsc.complex64).dtype == "float32"
    assert repr(ctsc.finfo(ctsc.float32)) == "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    with pytest.raises(TypeError):
        ctsc.finfo(ctsc.int64)


def test_saved_tensors_say_that_they_need_gradients():
    seen = []

    class Product(ctsc.autograd.Function):
        @staticmethod
        def forward(ctx, x, a):
            y = x * a
            ctx.save_for_backward(x, a, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, a, y = ctx.saved_tensors
            seen.append((x.requires_grad, a.requires_grad, y.requires_grad))
            return None, g * x
    a = ctsc.ones(2, requires_grad=True)
    Product.apply(ctsc.ones(2), a * 2).sum().backward()
    assert seen == [(False, True, True)] and a.grad.tolist() == [2, 2]


# ---- python -m ctsc as Python

def test_program(tmp_path):
    path = str(tmp_path / "p.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write("import sys, torch\nprint(__name__, sys.argv[1:], torch.ones(1).item())\ndef f():\n    raise ValueError('x')\nif len(sys.argv) > 2:\n    f()\n")
    assert run(path, "a") == (0, "__main__ ['a'] 1.0\n", "")
    code, _, err = run(path, "a", "b")
    assert code == 1 and err.startswith('Traceback (most recent call last):\n  File "%s", line 6, in <module>' % path) and "runpy" not in err and err.endswith("ValueError: x\n")
    # a relative path is made whole, in __file__ and in tracebacks
    away = os.path.relpath(path)
    assert 'File "%s", line 6' % os.path.join(os.getcwd(), away) in run(away, "a", "b")[2]


def test_command_and_input():
    assert run("-c", "import sys; print(sys.argv)", "x")[1] == "['-c', 'x']\n"
    assert run("-", "x", input="import sys; print(sys.argv, __name__)")[1] == "['-', 'x'] __main__\n"
    assert run(input="1/0")[2].startswith('Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>')
    assert run("-OO", "-c", "import sys; print(sys.flags.optimize)")[1] == "2\n"
    assert run("-c", "import sys; sys.exit(3)")[0] == 3
    assert run("-m", "json.tool", input="[1]")[1] == "[\n    1\n]\n"
    code, _, err = run("-m", "no_such_module")
    assert code == 1 and err.endswith("No module named no_such_module\n")
    code, _, err = run("no_such_file.py")
    assert code == 2 and "can't open file" in err
    assert run("-i", input="import torch\ntorch.ones(2)\n")[1].count("tensor([1., 1.])") == 1


def test_a_folder(tmp_path):
    with open(os.path.join(str(tmp_path), "__main__.py"), "w", encoding="utf-8") as f:
        f.write("import torch; print(torch.ones(1).item())\n")
    assert run(str(tmp_path))[1] == "1.0\n"
