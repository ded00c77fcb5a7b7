# SPDX-License-Identifier: Apache-2.0
"""test_py_names.py - names of torch that ctsc has nothing of are refused where they are called, by name; what stands for several processes works for one; names that come with others."""
import importlib

import pytest

import ctsc
from ctsc import nn

REFUSED = {
    "torch.sparse.spsolve": lambda: ctsc.sparse.spsolve(ctsc.eye(2).to_sparse(), ctsc.ones(2)),
    "exp of sparse tensors": lambda: ctsc.eye(2).to_sparse().exp(),
    "torch.nested.nested_tensor": lambda: ctsc.nested.nested_tensor([ctsc.ones(2)]),
    "torch.export.export": lambda: ctsc.export.export(nn.Linear(2, 2), (ctsc.ones(1, 2),)),
    "torch.masked.masked_tensor": lambda: ctsc.masked.masked_tensor(ctsc.ones(2), ctsc.ones(2)),
    "torch.package.PackageExporter": lambda: ctsc.package.PackageExporter("x"),
    "torch.quasirandom.SobolEngine": lambda: ctsc.quasirandom.SobolEngine(2),
    "torch.nn.quantized.Linear": lambda: nn.quantized.Linear(2, 2),
    "torch.nn.intrinsic.ConvReLU2d": lambda: nn.intrinsic.ConvReLU2d(),
    "torch.utils.cpp_extension.load": lambda: ctsc.utils.cpp_extension.load("x", []),
    "torch.fx.Tracer": lambda: ctsc.fx.symbolic_trace(nn.Linear(2, 2)),
    "torch.lobpcg": lambda: ctsc.lobpcg(ctsc.eye(9)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name):
    with pytest.raises(NotImplementedError, match=name.replace(".", r"\.")):
        REFUSED[name]()


def test_refused_modules_are_imported_and_asked():
    for name in ("sparse", "nested", "export", "masked", "package", "monitor", "quasirandom", "_inductor", "utils.collect_env", "utils.mobile_optimizer", "nn.qat", "nn.quantizable"):
        module = importlib.import_module("ctsc." + name)
        assert not hasattr(module, "__wrapped__") and "ctsc does not have" in repr(module.Anything)
    assert not isinstance(ctsc.ones(1), ctsc.nested.NestedTensor)
    with pytest.raises(AttributeError, match="no_such_name"):
        ctsc.no_such_name # pylint: disable=pointless-statement


def test_what_the_driver_knows():
    if not ctsc.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"get_device_name: no CUDA device"):
            ctsc.cuda.get_device_name(0)
    else:
        with pytest.raises(NotImplementedError, match="get_device_name"):
            ctsc.cuda.get_device_name(0)


def test_a_group_of_one_process():
    dist = ctsc.distributed
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="init_process_group"):
        dist.all_reduce(ctsc.ones(1))
    with pytest.raises(ValueError, match="MASTER_ADDR expected"):
        dist.init_process_group("gloo", rank=0, world_size=2)
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo", rank=0, world_size=1)
        net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        with net.no_sync():
            net(ctsc.ones(1, 2)).sum().backward()
        assert list(net.state_dict()) == ["module.weight", "module.bias"] and net.module.weight.grad is not None
        t, rows, objects = ctsc.arange(3.0), [ctsc.zeros(3)], [None]
        dist.all_reduce(t, op=dist.ReduceOp.SUM)
        assert dist.all_gather(rows, t, async_op=True).wait()
        dist.all_gather_object(objects, {"a": 1})
        dist.broadcast(t, 0)
        dist.barrier()
        assert rows[0].tolist() == [0, 1, 2] and objects == [{"a": 1}] and (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        with pytest.raises(RuntimeError, match="invalid root rank: 1"):
            dist.broadcast(t, 1)
    finally:
        dist.destroy_process_group()


def test_autocast_by_functions():
    a = ctsc.ones(2, 2)
    ctsc.set_autocast_dtype("cpu", ctsc.float16)
    ctsc.set_autocast_enabled("cpu", True)
    try:
        assert (a @ a).dtype is ctsc.float16 and ctsc.is_autocast_enabled("cpu")
    finally:
        ctsc.set_autocast_enabled("cpu", False)
        ctsc.set_autocast_dtype("cpu", ctsc.bfloat16)
    assert (a @ a).dtype is ctsc.float32


def test_make_tensor():
    from ctsc.testing import make_tensor
    for dtype in (ctsc.float32, ctsc.float64, ctsc.int16, ctsc.bool, ctsc.complex64):
        t = make_tensor(3, 4, dtype=dtype, noncontiguous=True)
        assert t.shape == (3, 4) and t.dtype is dtype and not t.is_contiguous()
    assert make_tensor((50,), dtype=ctsc.int64, low=0, high=2, exclude_zero=True).tolist() == [1] * 50


def test_grouped_mm():
    a, b, ends = ctsc.randn(6, 3), ctsc.randn(2, 3, 4), ctsc.tensor([2, 6], dtype=ctsc.int32)
    assert ctsc.allclose(nn.functional.grouped_mm(a, b, offs=ends), ctsc.cat([a[:2] @ b[0], a[2:] @ b[1]]))
    assert ctsc.allclose(nn.functional.grouped_mm(a.T, a, offs=ends), ctsc.stack([a[:2].T @ a[:2], a[2:].T @ a[2:]]))


def test_decoupled_decay():
    for make in (ctsc.optim.RAdam, ctsc.optim.NAdam):
        one, other = (ctsc.nn.Parameter(ctsc.ones(3)) for _ in range(2))
        opt, plain = make([one], lr=0.1, weight_decay=0.5, decoupled_weight_decay=True), make([other], lr=0.1)
        for _ in range(3):
            one.grad = other.grad = ctsc.ones(3)
            opt.step()
            with ctsc.no_grad():
                other.mul_(1 - 0.1 * 0.5)
            plain.step()
        assert ctsc.allclose(one, other)
        assert opt.param_groups[0]["weight_decay"] == 0.5


def test_calls_with_subclasses_are_as_before():
    class Plain(ctsc.Tensor):
        pass
    with pytest.raises(TypeError, match="not a class of tensors"):
        ctsc.ones(1).as_subclass(int)
    t = ctsc.arange(4.0).as_subclass(Plain)
    assert type(t[1:]) is Plain and type(ctsc.ones(4) + t) is Plain and type(t.sum()) is Plain
    assert repr(t) == "Plain([0., 1., 2., 3.])"


def test_operators_named_as_builtins():
    for name in ("set", "sorted", "any", "all", "sum", "max", "getattr"):
        getattr(ctsc, name, None)
    assert "matmul" in dir(ctsc) and ctsc.no_grad and dir(ctsc) == sorted(dir(ctsc))
