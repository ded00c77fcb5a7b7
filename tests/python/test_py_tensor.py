# SPDX-License-Identifier: Apache-2.0
"""test_py_tensor.py - tensors: making, printing, indexing, operators, errors, pickling. The texts are PyTorch's (tests/interop/python_package.py compares)."""
import copy
import gc
import pickle
import random
import sys

import pytest

import ctsc


def test_prints_as_pytorch():
    assert repr(ctsc.tensor([[1., 2.5], [-3, 4]])) == "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]])"
    assert repr(ctsc.tensor([1e10, 1.])) == "tensor([1.0000e+10, 1.0000e+00])"
    assert repr(ctsc.tensor([True])) == "tensor([True])"
    assert repr(ctsc.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(ctsc.tensor([1], dtype=ctsc.int8)) == "tensor([1], dtype=ctsc.int8)"
    assert repr(ctsc.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    assert repr(ctsc.tensor([1 + 2j])) == "tensor([1.+2.j])"
    assert repr(ctsc.zeros(1, requires_grad=True)) == "tensor([0.], requires_grad=True)"
    assert repr(ctsc.Size([2, 3])) == "ctsc.Size([2, 3])"


def test_makes_tensors_of_lists():
    assert ctsc.tensor([1, 2]).dtype is ctsc.int64
    assert ctsc.tensor([1, 2.5]).dtype is ctsc.float32
    assert ctsc.tensor([[True], [False]]).dtype is ctsc.bool
    assert ctsc.tensor([1j]).dtype is ctsc.complex64
    assert ctsc.tensor([ctsc.tensor(1.), 2]).tolist() == [1., 2.]
    assert ctsc.tensor([1.5], dtype=ctsc.bfloat16).tolist() == [1.5]
    assert ctsc.tensor([]).shape == (0,)
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        ctsc.tensor([[1, 2], [3]])
    with pytest.raises(RuntimeError, match="without overflow"):
        ctsc.tensor([300], dtype=ctsc.uint8)
    with pytest.raises(ValueError):
        loop = []
        loop.append(loop)
        ctsc.tensor(loop)


def test_operators_of_python():
    t = ctsc.tensor([1, 2])
    assert (1 - t).tolist() == [0, -1] and (2 ** t).tolist() == [2, 4] and (7 // t).tolist() == [7, 3] and (7 % t).tolist() == [0, 1]
    assert (1 / t).tolist() == [1., .5] and (~t).tolist() == [-2, -3] and (1 & t).tolist() == [1, 0] and (t << 1).tolist() == [2, 4]
    assert (t == 1).tolist() == [True, False] and (t == None) is False  # noqa: E711
    u = t
    u += 1
    assert u is t and t.tolist() == [2, 3]
    with pytest.raises(TypeError):
        t + "a"
    with pytest.raises(TypeError):
        t @ 2
    assert t in [t] and 2 in t and 5 not in t
    assert hash(t) == hash(t)


def test_calls_of_operators():
    x = ctsc.arange(6.).view(2, 3)
    assert x.sum(dim=1, keepdim=True).shape == (2, 1) and x.sum(axis=0).shape == (3,)
    top = x.max(dim=1)
    assert top.values.tolist() == [2., 5.] and top.indices.tolist() == [2, 2] and top[0] is top.values
    assert ctsc.add(x, 1, alpha=2)[0, 0] == 2 and ctsc.add(input=x, other=x)[1, 2] == 10
    out = ctsc.zeros(2, 3)
    assert ctsc.add(x, x, out=out) is out and out[1, 2] == 10
    assert x.add_(1) is x
    assert x.permute(1, 0).shape == x.permute((1, 0)).shape == (3, 2) and ctsc.zeros((2, 3)).shape == ctsc.zeros(2, 3).shape
    assert isinstance(x.chunk(2), tuple)
    assert ctsc.nn.functional.dropout(x, 1).sum() == 0  # an int for a float
    with pytest.raises(TypeError, match=r"add\(\) received an invalid combination of arguments - got \(Tensor, str\)"):
        ctsc.add(x, "a")
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)"):
        x.sum(5)
    with pytest.raises(RuntimeError, match="shape '\\[7\\]' is invalid for input of size 6"):
        x.view(7)
    assert x.view(dtype=ctsc.int32).dtype is x.view(ctsc.int32).dtype is ctsc.int32 and x.movedim(0, 1).shape == (3, 2)
    with pytest.raises(RuntimeError) as caught:
        x.view(7)
    assert str(caught.value) == "shape '[7]' is invalid for input of size 6"
    with pytest.raises(AttributeError, match="'_OpNamespace' 'nope' object has no attribute 'nope'"):
        ctsc.ops.nope.nope(x)
    with pytest.raises(AttributeError):
        x.nope
    with pytest.raises(AttributeError):
        ctsc.nope
    with pytest.raises(OverflowError):
        x + 2 ** 70


def test_random_numbers_are_pytorchs():
    ctsc.manual_seed(0)
    first = ctsc.randn(3)
    assert repr(first) == "tensor([ 1.5410, -0.2934, -2.1788])"
    assert repr(ctsc.randn(2)) == "tensor([ 0.5684, -1.0845])"
    ctsc.manual_seed(0)
    assert ctsc.equal(ctsc.randn(3), first)


def test_iterates_and_converts():
    t = ctsc.tensor([1, 2, 3])
    assert [int(v) for v in t] == [1, 2, 3] and len(t) == 3
    assert float(ctsc.tensor(2.5)) == 2.5 and int(ctsc.tensor(2.9)) == 2 and [5, 6][ctsc.tensor(1)] == 6
    assert "%d" % ctsc.tensor(3) == "3" and f"{ctsc.tensor(1.5):.2f}" == "1.50"
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(t)
    with pytest.raises(TypeError, match="0-d"):
        len(ctsc.tensor(1))
    with pytest.raises(TypeError):
        [1][ctsc.tensor(0.)]


def test_pickles_and_copies():
    for dtype in ("uint8", "int64", "float16", "bfloat16", "float64", "complex64", "bool"):
        t = ctsc.tensor([[1, 0], [2, 3]]).to(getattr(ctsc, dtype))
        for protocol in (2, 5):
            u = pickle.loads(pickle.dumps(t, protocol))
            assert u.dtype is t.dtype and ctsc.equal(u, t)
    scalar = pickle.loads(pickle.dumps(ctsc.tensor(3.5)))
    assert scalar.shape == () and scalar.item() == 3.5
    assert pickle.loads(pickle.dumps(ctsc.zeros(0, 2))).shape == (0, 2)
    assert pickle.loads(pickle.dumps(ctsc.float32)) is ctsc.float32 and pickle.loads(pickle.dumps(ctsc.device("cuda:1"))) == ctsc.device("cuda", 1)
    t = ctsc.zeros(2)
    u = copy.deepcopy(t)
    u[0] = 1
    assert t[0] == 0
    p = ctsc.nn.Parameter(ctsc.ones(2))
    q = pickle.loads(pickle.dumps(p))
    assert isinstance(q, ctsc.nn.Parameter) and q.requires_grad


def test_assignment():
    x = ctsc.zeros(3, 4)
    x[0] = 1
    x[1, 1:3] = ctsc.tensor([5., 6.])
    x[:, 0] = ctsc.tensor([7., 8., 9.])
    x[x > 6] += 10
    x[[0, 2], [3, 3]] = -1.
    x[..., 1:2] = 0
    assert x.tolist() == [[17., 0., 1., -1.], [18., 0., 6., 0.], [19., 0., 0., -1.]]
    with pytest.raises(TypeError, match="can't assign a str"):
        x[0] = "a"
    with pytest.raises(IndexError):
        x[5] = 1
    with pytest.raises(TypeError):
        del x[0]


def random_index(rng, shape):
    np = pytest.importorskip("numpy")
    index, arrays = [], False
    for n in shape[:rng.randint(0, len(shape))]:
        kind = rng.randrange(7)
        if kind == 0:
            index.append(rng.randrange(-n, n))
        elif kind in (1, 2, 3):
            index.append(slice(rng.choice([None, rng.randint(-n - 2, n + 2)]), rng.choice([None, rng.randint(-n - 2, n + 2)]), rng.choice([None, 1, 2, 3])))
        elif kind == 4:
            index.append(None)
            index.append(slice(None))
        elif not arrays:
            arrays = True
            index.append(np.array([rng.randrange(-n, n) for _ in range(3)]) if kind == 5 else np.array([rng.random() < .5 for _ in range(n)]))
        else:
            index.append(slice(None))
    if arrays: # an int beside an array is one more array to NumPy, and a view first to PyTorch
        index = [slice(i, None) if isinstance(i, int) else i for i in index]
    if rng.random() < .3 and Ellipsis not in [i for i in index if not isinstance(i, np.ndarray)]:
        index.append(Ellipsis)
    return tuple(index)


def test_a_thousand_slices_as_numpy():
    np = pytest.importorskip("numpy")
    rng = random.Random(1)
    for _ in range(1000):
        shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 4)))
        a = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        index = random_index(rng, shape)
        ours = tuple(ctsc.from_numpy(i) if isinstance(i, np.ndarray) and rng.random() < .5 else i for i in index)
        t = ctsc.tensor(a)
        got, want = t[ours], a[index]
        assert got.shape == want.shape and (got.numpy() == want).all(), index
        value = rng.random()
        t[ours] = value
        a[index] = value
        assert (t.numpy() == a).all(), index


def test_only_the_package_makes_these():
    for kind in (ctsc.dtype, ctsc.ScriptModule, ctsc.ScriptMethod, ctsc.ScriptObject, type(ctsc.add)):
        with pytest.raises(TypeError, match="cannot create"):
            kind()


def test_no_references_leak():
    x = ctsc.zeros(4, 4)

    def error():
        try:
            x.view(3)
        except RuntimeError:
            pass
    calls = [lambda: x + 1, lambda: x[1:, None, [0, 1]], lambda: x.shape, lambda: x.max(dim=1), lambda: x.sum(dim=1, keepdim=True), lambda: ctsc.tensor([[1, 2.]]),
             lambda: x.__setitem__((0, slice(None)), 2.), lambda: ctsc.from_dlpack(x), lambda: memoryview(x), lambda: x.tolist(), lambda: x.T, lambda: ctsc.nn.Parameter(x), lambda: ctsc.Tensor(x), error]
    for call in calls:
        for _ in range(50):
            call()
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(5000):
            call()
        gc.collect()
        assert sys.getallocatedblocks() - before < 500


def test_bools_as_operands():
    x, b = ctsc.tensor([1, 0]), ctsc.tensor([True, False])
    assert (b == True).tolist() == [True, False] and (x != False).tolist() == [True, False] and (b & True).tolist() == [True, False] # noqa: E712
    assert (x + True).tolist() == [2, 1] and (x + True).dtype is ctsc.int64 and (True - x).tolist() == [0, 1] and (b | True).dtype is ctsc.bool
    assert ctsc.eq(x, True).tolist() == [True, False] and ctsc.full((2,), True).dtype is ctsc.bool and ctsc.full((1,), True, dtype=ctsc.int32).tolist() == [1]
    assert ctsc.full_like(x, True).tolist() == [1, 1] and (ctsc.ones(2) * True).dtype is ctsc.float32


def test_indices_of_other_kinds():
    np = pytest.importorskip("numpy")
    x, a = ctsc.arange(24).view(4, 6), np.arange(24).reshape(4, 6)
    for index in (np.s_[::-1], np.s_[:, ::-2], np.s_[2:0:-1, 1], np.s_[10:-10:-3, ::2], np.s_[0:3:-1], np.s_[..., ::-1]):
        assert x[index].tolist() == a[index].tolist()
    assert x[ctsc.tensor([0, 2], dtype=ctsc.int32)].tolist() == a[[0, 2]].tolist()
    assert ctsc.zeros(0, 3)[::-1].shape == (0, 3)
    with pytest.raises(ValueError, match="step must be greater"):
        x[::-1] = 0
    with pytest.raises(ValueError):
        x[::0]


def test_singular_values_of_complex_matrices():
    xp = ctsc.ones(1).__array_namespace__()
    a = ctsc.randn(2, 3, 4, dtype=ctsc.complex128)
    s = xp.linalg.svdvals(a)
    assert s.shape == (2, 3) and s.dtype is ctsc.float64 and ctsc.allclose((s ** 2).sum(-1), a.abs().pow(2).sum((1, 2)))
    assert ctsc.equal(xp.linalg.matrix_norm(a, ord=2), s[:, 0]) and xp.linalg.matrix_norm(a, ord="nuc", keepdims=True).shape == (2, 1, 1)
    assert xp.linalg.matrix_rank(a).tolist() == [3, 3] and xp.linalg.matrix_rank(a[:, :1] * a[:, :, :1]).tolist() == [1, 1]


def test_stored_dtypes():
    for d in (ctsc.uint16, ctsc.uint32, ctsc.uint64, ctsc.float8_e5m2, ctsc.float8_e4m3fn, ctsc.float8_e4m3fnuz, ctsc.float8_e5m2fnuz):
        x = ctsc.tensor([1, 2, 3]).to(d)
        assert x.dtype is d and x.tolist() == [1, 2, 3] and x[1].item() == 2 and (x == x).all().item()
        assert ctsc.zeros(2, dtype=d).to(ctsc.float32).tolist() == [0, 0] and ctsc.cat([x, x])[3:].tolist() == [1, 2, 3]
        assert ctsc.tensor([1, 4], dtype=d).tolist() == [1, 4]
        if d in (ctsc.uint16, ctsc.uint32, ctsc.uint64):
            assert (x + x).tolist() == [2, 4, 6] and (x + x).dtype is d
            continue
        with pytest.raises(NotImplementedError, match="not implemented for"):
            x + x
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote Float8_e5m2 and Float"):
        ctsc.ones(2).to(ctsc.float8_e5m2) + ctsc.ones(2)
    assert ctsc.tensor([1000.0, -1000.0]).to(ctsc.float8_e4m3fn).tolist() == [448.0, -448.0]
    assert ctsc.tensor([0.25, 3.0, -1.4]).to(ctsc.float8_e8m0fnu).tolist() == [0.25, 4.0, 1.0]
    assert ctsc.tensor([-1]).to(ctsc.uint64).tolist() == [2**64 - 1]


def test_arrays_of_wide_unsigned_integers_share_memory():
    np = pytest.importorskip("numpy")
    for kind in (np.uint16, np.uint32, np.uint64):
        a = np.array([1, np.iinfo(kind).max], dtype=kind)
        t = ctsc.from_numpy(a)
        a[0] = 7
        assert t.tolist() == [7, int(np.iinfo(kind).max)] and str(t.dtype) == "ctsc." + np.dtype(kind).name
        assert t.numpy().dtype == kind and ctsc.tensor(a).tolist() == a.tolist()
    with pytest.raises(TypeError, match="numpy.str_"):
        ctsc.from_numpy(np.array(["a"]))


def test_unsigned_integers():
    """Of 16 to 64 bits, as in torch 2.15."""
    large = ctsc.tensor([1, 2**64 - 1, 2**63], dtype=ctsc.uint64)
    assert large.tolist() == [1, 2**64 - 1, 2**63] and large.type() == "ctsc.UInt64Tensor"
    with pytest.raises(OverflowError, match="too big"):
        ctsc.tensor([2**64], dtype=ctsc.uint64)
    with pytest.raises(ValueError, match="Overflow"):
        ctsc.tensor([2**63], dtype=ctsc.int64)
    x = ctsc.arange(4).to(ctsc.uint16)
    assert ctsc.outer(x, x)[2].tolist() == [0, 2, 4, 6] and ctsc.msort(x.flip(0)).tolist() == [0, 1, 2, 3]
    assert ctsc.combinations(x[:3]).tolist() == [[0, 1], [0, 2], [1, 2]] and ctsc.block_diag(x, x[:1]).tolist() == [[0, 1, 2, 3, 0], [0, 0, 0, 0, 0]]
    assert ctsc.cartesian_prod(x[:2], x[2:]).tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    assert ctsc.allclose(x, x) and ctsc.positive(x).dtype == ctsc.uint16
    # a number of no dims takes the other's dtype, and only then
    one = ctsc.tensor(3, dtype=ctsc.int16)
    assert (x | one).dtype == ctsc.uint16 and (one.reshape(1) | x[3]).dtype == ctsc.int16 and ctsc.maximum(x, ctsc.tensor(True)).tolist() == [1, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
        x | one.reshape(1)
    # results lie as the arguments do
    turned = ctsc.arange(12).to(ctsc.uint32).reshape(3, 4).t()[1:]
    assert ctsc.tanh(turned).stride() == (turned == turned[0, 0]).stride() == (1, 3)
    assert ctsc.hash_tensor(ctsc.tensor(-2.5), dim=-1).item() == ctsc.hash_tensor(ctsc.tensor([-2.5])).item()


def test_bools_beside_tensors_of_bools_are_bools():
    b, i = ctsc.tensor([True, False]), ctsc.tensor([1, 2], dtype=ctsc.uint8)
    for got, want in ((ctsc.add(b, True), [True, True]), (ctsc.mul(b, True), [True, False]), (ctsc.bitwise_and(b, True), [True, False]), (b.bitwise_or(True), [True, True]),
                      (ctsc.where(b, True, False), [True, False]), (ctsc.where(b, b, True), [True, True]), (b.clone().bitwise_and_(True), [True, False])):
        assert got.dtype is ctsc.bool and got.tolist() == want
    assert ctsc.where(b, i, True).dtype is ctsc.add(i, True).dtype is ctsc.uint8


def test_split_into_a_number_of_parts():
    x = ctsc.arange(24.).reshape(2, 4, 3)
    assert [t.shape for t in x.hsplit(2)] == [t.shape for t in ctsc.hsplit(x, 2)] == [(2, 2, 3)] * 2
    assert [t.shape for t in x.vsplit(2)] == [(1, 4, 3)] * 2 and [t.shape for t in x.dsplit(3)] == [(2, 4, 1)] * 3
    assert [t.shape for t in x.hsplit([1])] == [(2, 1, 3), (2, 3, 3)]


def test_overloads_are_attributes_of_operators():
    x = ctsc.arange(6.).reshape(2, 3)
    assert ctsc.ops.aten.transpose.int(x, 0, 1).shape == (3, 2) and ctsc.ops.aten.relu.default(-x).sum() == 0
    assert ctsc.ops.aten.add.Scalar(x, 1).equal(x + 1)
    with pytest.raises(AttributeError):
        ctsc.ops.aten.transpose.nothing


def test_numbers_in_lists_and_zero_sizes():
    x = ctsc.arange(9.).reshape(3, 3)
    assert [t.tolist() for t in ctsc.gradient(x, spacing=[1.0, 2.0])] == [t.tolist() for t in ctsc.gradient(x, spacing=(1.0, 2.0))]
    assert ctsc.nn.functional.pad(x, (-1, -2, 1, 1)).shape == (5, 0)
    assert ctsc.linspace(0, 4, 50, dtype=ctsc.int64).tolist()[11:15] == [0, 0, 1, 1]
    assert len(ctsc.lu(x + ctsc.eye(3), True, True)) == 3


def test_large_unsigned_numbers_and_ends_of_integers():
    big = ctsc.tensor([1, 2**63 + 5, 2**64 - 1, 0], dtype=ctsc.uint64)
    assert ctsc.relu(big).tolist() == [1, 2**63 + 5, 2**64 - 1, 0]
    assert ctsc.nn.functional.relu6(big).tolist() == [1, 6, 6, 0]
    assert ctsc.signbit(big).tolist() == [False] * 4
    for dtype, most in ((ctsc.uint16, 2**16 - 1), (ctsc.uint32, 2**32 - 1), (ctsc.uint64, 2**64 - 1)):
        x = ctsc.tensor([1, 5, 9], dtype=dtype)
        assert ctsc.clamp(x, ctsc.tensor(-1)).tolist() == [most] * 3  # -1 is converted first
        assert ctsc.clamp(x, ctsc.tensor(2), ctsc.tensor(6)).tolist() == [2, 5, 6]
    assert ctsc.gcd(ctsc.tensor([-2**63, -2**63, 6, 12]), ctsc.tensor([-2**63, 6, -2**63, -18])).tolist() == [-2**63, -2, -2, 6]
    i = ctsc.tensor([1, 2])
    for number in (float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match="without overflow"):
            ctsc.addcmul(i, i, i, value=number)
    assert ctsc.addcmul(i, i, i, value=2.0).tolist() == [3, 10]


def test_0_dim_unsigned_tensors_leave_the_dtype_to_those_with_dims():
    for dtype in (ctsc.uint16, ctsc.uint32, ctsc.uint64):
        one = ctsc.tensor(1, dtype=dtype)
        for x in (ctsc.tensor([3, -4]), ctsc.tensor([], dtype=ctsc.int64)):
            for y in (ctsc.add(x, one), ctsc.bitwise_and(one, x), x * one):
                assert y.dtype is ctsc.int64, (dtype, x)
        assert ctsc.add(ctsc.tensor([3, -4]), one).tolist() == [4, -3]
        assert ctsc.add(ctsc.tensor(3), ctsc.tensor([1], dtype=dtype)).dtype is dtype


def test_sort_into_tensors_of_another_shape():
    x = ctsc.arange(12.).reshape(2, 2, 3).transpose(0, 2)
    for kwargs in ({}, {"dim": 0}, {"dim": 0, "stable": True, "descending": True}):
        values, indices = ctsc.empty(0), ctsc.empty(0, dtype=ctsc.int64)
        want = ctsc.sort(x, **kwargs)
        ctsc.sort(x, out=(values, indices), **kwargs)
        assert values.stride() == indices.stride() == x.stride()
        assert values.tolist() == want[0].tolist() and indices.tolist() == want[1].tolist()
    fits = ctsc.empty(3, 2, 2), ctsc.empty(3, 2, 2, dtype=ctsc.int64)
    ctsc.sort(x, out=fits)
    assert fits[0].stride() == (4, 2, 1)
    with pytest.raises(RuntimeError, match="have dtype float, but got double"):
        ctsc.sort(x, out=(ctsc.empty(0, dtype=ctsc.float64), ctsc.empty(0, dtype=ctsc.int64)))
    with pytest.raises(RuntimeError, match="have dtype long int, but got int"):
        ctsc.sort(x, out=(ctsc.empty(0), ctsc.empty(0, dtype=ctsc.int32)))


def test_tolerances_that_widen_the_batch():
    a = ctsc.arange(12.).reshape(2, 2, 3).mul(1.37).sin()
    few, many = ctsc.tensor([0.1, 0.9]), ctsc.tensor([[0.1], [1.5]])
    assert ctsc.linalg.matrix_rank(a, rtol=few).tolist() == [2, 1]
    assert ctsc.linalg.matrix_rank(a, atol=many).tolist() == [[2, 2], [0, 1]]
    assert ctsc.linalg.matrix_rank(a[0], atol=many).tolist() == [[2], [0]]
    y = ctsc.linalg.pinv(a, atol=many)
    assert y.shape == (2, 2, 3, 2)
    for i in range(2):
        assert ctsc.allclose(y[i], ctsc.linalg.pinv(a, atol=many[i]), atol=1e-6)
    for call in (ctsc.linalg.matrix_rank, ctsc.linalg.pinv):
        with pytest.raises(RuntimeError, match="rtol tensor of complex type is not supported"):
            call(a, rtol=few.to(ctsc.complex64))
    with pytest.raises(RuntimeError, match="must match"):
        ctsc.linalg.pinv(a, rtol=ctsc.ones(3))


def test_whole_quotients_of_sixteen_bits_round_each_step():
    for dtype, mode, a, b, steps, once in (("bfloat16", "trunc", 324., 5., 65, 64), ("bfloat16", "floor", 262., 3., 86, 87), ("bfloat16", "trunc", -324., 5., -65, -64)):
        x, y = ctsc.tensor([a, a], dtype=getattr(ctsc, dtype)), ctsc.tensor([b, b], dtype=getattr(ctsc, dtype))
        assert ctsc.div(x, y, rounding_mode=mode).tolist() == x.clone().div_(y, rounding_mode=mode).tolist() == [steps, steps]
        assert ctsc.div(x, y[:1], rounding_mode=mode).tolist() == ctsc.div(x, b, rounding_mode=mode).tolist() == ctsc.div(x, y[0], rounding_mode=mode).tolist() == [once, once]
        if mode == "floor":
            assert (x // y).tolist() == [steps, steps] and (x // b).tolist() == [once, once]


def test_operators_for_each_tensor_of_a_list():
    a, b = [ctsc.tensor([1.0, 2.0]), ctsc.ones(2, 2) * 2], [ctsc.tensor([3.0, 1.0]), ctsc.ones(2, 2)]
    for name in "abs acos ceil erf exp expm1 floor lgamma log log2 neg reciprocal round rsqrt sigmoid sign sin sqrt tanh trunc".split():
        want = [getattr(ctsc, name)(x) for x in a]
        assert all(x.nan_to_num(7.0).equal(y.nan_to_num(7.0)) for x, y in zip(getattr(ctsc, "_foreach_" + name)(a), want)), name
        into = [x.clone() for x in a]
        assert getattr(ctsc, "_foreach_%s_" % name)(into) is into and all(x.nan_to_num(7.0).equal(y.nan_to_num(7.0)) for x, y in zip(into, want)), name
    for name in ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max"):
        call = getattr(ctsc, name)
        assert all(x.equal(call(y, z)) for x, y, z in zip(getattr(ctsc, "_foreach_" + name)(a, b), a, b)), name
        into = [x.clone() for x in a]
        getattr(ctsc, "_foreach_%s_" % name)(into, b)
        assert all(x.equal(call(y, z)) for x, y, z in zip(into, a, b)), name
        single, several = getattr(ctsc, "_foreach_" + name)(a, 2), getattr(ctsc, "_foreach_" + name)(a, [2, 3.0])
        assert single[0].equal(several[0]) and not single[1].equal(several[1]) or name in ("minimum", "clamp_max"), name
    assert ctsc._foreach_addcmul(a, a, b, ctsc.tensor([1.0, 2.0]))[1].equal(a[1] + 2 * a[1] * b[1])
    assert [x.item() for x in ctsc._foreach_norm(a, 1)] == [3, 8] and [x.item() for x in ctsc._foreach_max(a)] == [2, 2]
    x = ctsc.ones(2, requires_grad=True)
    ctsc._foreach_mul([x], 3.0)[0].sum().backward()
    assert x.grad.tolist() == [3, 3]
    for call, message in ((lambda: ctsc._foreach_add(a, b[:1]), "same number of tensors, got 2 and 1"), (lambda: ctsc._foreach_add(a, [1.0]), "same number of elements as scalar list"),
                          (lambda: ctsc._foreach_abs([]), "at least one tensor"), (lambda: ctsc._foreach_add(a, ctsc.ones(2)), "expected to be 0 dim")):
        with pytest.raises(RuntimeError, match=message):
            call()
    with pytest.raises(TypeError, match="must be tuple of Tensors"):
        ctsc._foreach_abs(a[0])
    with pytest.raises(AttributeError):
        ctsc._foreach_nothing


@pytest.mark.parametrize("dtype,most", [(ctsc.uint8, 2**8), (ctsc.uint16, 2**16), (ctsc.uint32, 2**32)])
def test_ints_wrap_in_unsigned_dtypes(dtype, most):
    assert ctsc.tensor([-1, 1 - most, most - 1, 2.7], dtype=dtype).tolist() == [most - 1, 1, most - 1, 2]
    for number in (most, -most, -1.0, float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match="value cannot be converted to type %s without overflow" % str(dtype)[5:]):
            ctsc.tensor(number, dtype=dtype)


def test_what_is_no_int():
    for number, kind in ((-1, OverflowError), (2**64, OverflowError), (2.0, TypeError), (1j, TypeError)):
        with pytest.raises(kind):
            ctsc.tensor(number, dtype=ctsc.uint64)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        ctsc.tensor(1j, dtype=ctsc.int32)
    with pytest.raises(TypeError, match="must be real number"):
        ctsc.tensor(1j, dtype=ctsc.float16)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ctsc.tensor(2**63, dtype=ctsc.int64)
    with pytest.raises(RuntimeError, match="int8 without overflow"):
        ctsc.tensor(127.5, dtype=ctsc.int8)
    assert ctsc.tensor([1j, 0j], dtype=ctsc.bool).tolist() == [True, False]


def test_attributes():
    import copy
    import gc
    import pickle
    import weakref
    t = ctsc.ones(2)
    t.note = [1]
    assert t.__dict__ == {"note": [1]} and (t * 2).__dict__ == {} and not hasattr(t, "other")
    deep, shallow, pickled = copy.deepcopy(t), copy.copy(t), pickle.loads(pickle.dumps(t))
    assert deep.note == [1] and deep.note is not t.note and shallow.note is t.note and pickled.note == [1]
    del t.note
    with pytest.raises(AttributeError, match="object has no attribute 'note'"):
        t.note
    with pytest.raises(AttributeError):
        t.shape = 3
    with pytest.raises(TypeError, match="must be set to a dictionary"):
        t.__dict__ = 1
    # what a tensor refers to is found by the collector, also through a parameter
    t.itself, t.part = t, ctsc.nn.Parameter(t)
    t.part.whole = t
    gone = [weakref.ref(t), weakref.ref(t.part)]
    del t
    gc.collect()
    assert [g() for g in gone] == [None, None]
