# SPDX-License-Identifier: Apache-2.0
"""test_py_sparse.py - sparse tensors: archives of PyTorch's (sparse_tensors.pt) and our own, indices that a file may claim, gradients against dense ones, products of all dtypes and shapes.

programs/sparse_compressed.py and sparse_graphs.py compare what is printed with PyTorch."""
import copy
import io
import os
import pickle
import zipfile

import pytest

import ctsc

LAYOUTS = ("coo", "csr", "csc", "bsr", "bsc")
DENSE = [[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4.0], [5, 0, 0, 6]]


def made(dense, layout, blocksize=(2, 2)):
    return dense.to_sparse() if layout == "coo" else dense.to_sparse(layout=getattr(ctsc, "sparse_" + layout), **({"blocksize": blocksize} if layout[0] == "b" else {}))


def test_archive_of_pytorch():
    there = ctsc.load(os.path.join(os.path.dirname(__file__), "sparse_tensors.pt"))
    dense = ctsc.tensor(DENSE)
    for layout in LAYOUTS:
        assert str(there[layout]) == str(made(dense, layout)) and there[layout].to_dense().equal(dense)
    assert not there["u"].is_coalesced() and there["u"].coalesce().values().tolist() == [3.0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [ctsc.float32, ctsc.float64, ctsc.bfloat16, ctsc.int64])
def test_saved_and_copied(layout, dtype):
    x = made(ctsc.tensor(DENSE).to(dtype), layout)
    file = io.BytesIO()
    ctsc.save({"a": x, "again": x}, file)
    back = ctsc.load(io.BytesIO(file.getvalue()))
    assert back["a"] is back["again"]
    for y in (back["a"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone()):
        assert str(y) == str(x) and y.layout is x.layout


def test_a_file_may_say_anything():
    """Indices of elements that the matrix does not have are refused when it is read."""
    file = io.BytesIO()
    ctsc.save(ctsc.tensor(DENSE).to_sparse_csr(), file)
    with zipfile.ZipFile(file) as z:
        records = {i.filename: z.read(i) for i in z.infolist()}
    for number, value in (("0", 7), ("0", -1), ("1", 4), ("1", -1)):
        changed = dict(records)
        name = next(n for n in changed if n.endswith("data/" + number))
        changed[name] = changed[name][:-8] + (value % 2 ** 64).to_bytes(8, "little")
        bad = io.BytesIO()
        with zipfile.ZipFile(bad, "w") as z:
            for n, data in changed.items():
                z.writestr(n, data)
        with pytest.raises(Exception, match="is not satisfied"):
            ctsc.load(io.BytesIO(bad.getvalue()))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [ctsc.float32, ctsc.float64, ctsc.float16, ctsc.int64, ctsc.complex64])
@pytest.mark.parametrize("sizes", [(6, 8, 5), (4, 2, 1), (2, 4, 40), (0, 4, 3), (4, 0, 3), (4, 4, 0)])
def test_products(layout, dtype, sizes):
    ctsc.manual_seed(0)
    m, k, n = sizes
    whole = (ctsc.randint(-3, 4, (m, k)) * (ctsc.rand(m, k) < 0.4)).to(dtype)
    right = ctsc.randint(-3, 4, (k, n)).to(dtype)
    sparse = made(whole, layout)
    assert (sparse @ right).equal(whole @ right)
    assert (sparse @ right.t().contiguous().t()).equal(whole @ right)
    if n:
        assert (sparse @ right[:, 0]).equal(whole @ right[:, 0])
    assert (right.t() @ sparse.t()).equal(right.t() @ whole.t())
    assert (sparse @ sparse.t()).to_dense().equal(whole @ whole.t())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout):
    ctsc.manual_seed(1)
    whole = ctsc.randn(6, 8, dtype=ctsc.float64) * (ctsc.rand(6, 8) < 0.4)
    x, y = ctsc.randn(8, 3, dtype=ctsc.float64, requires_grad=True), ctsc.randn(8, 3, dtype=ctsc.float64, requires_grad=True)
    with ctsc.no_grad():
        y.copy_(x)
    a, b = made(whole, layout).detach().requires_grad_(), whole.clone().requires_grad_()
    (a @ x).sin().sum().backward()
    (b @ y).sin().sum().backward()
    assert ctsc.allclose(x.grad, y.grad)
    stored = made(ctsc.ones_like(whole) * (whole != 0), layout).to_dense() != 0 if layout[0] != "b" else a.to_dense() == a.to_dense()
    want = b.grad * stored
    got = a.grad.to_dense()
    assert ctsc.allclose(got[whole != 0], want[whole != 0])
    v = ctsc.randn(8, dtype=ctsc.float64, requires_grad=True)
    assert ctsc.autograd.gradcheck(lambda t: made(whole, layout) @ t, (v,))


def test_second_derivatives():
    crow, columns = ctsc.tensor([0, 2, 2, 3]), ctsc.tensor([0, 3, 1])
    values, dense = ctsc.randn(3, dtype=ctsc.float64, requires_grad=True), ctsc.randn(4, 2, dtype=ctsc.float64, requires_grad=True)
    left, right = ctsc.randn(3, 2, dtype=ctsc.float64, requires_grad=True), ctsc.randn(4, 2, dtype=ctsc.float64, requires_grad=True)
    mm, sampled = ctsc.ops.ctsc.sparse_mm, ctsc.ops.ctsc.sparse_sampled
    assert ctsc.autograd.gradcheck(lambda v, d: mm(crow, columns, v, d), (values, dense))
    assert ctsc.autograd.gradgradcheck(lambda v, d: mm(crow, columns, v, d), (values, dense))
    assert ctsc.autograd.gradcheck(lambda a, b: sampled(crow, columns, a, b), (left, right))


def test_uncoalesced_products():
    x = ctsc.sparse_coo_tensor([[2, 0, 2, 0], [1, 3, 1, 0]], [1.0, 2, 3, 4], (3, 4))
    assert (x @ ctsc.eye(4)).equal(x.to_dense()) and (x @ ctsc.ones(4)).equal(x.to_dense().sum(1))
    assert x.to_sparse_csr().to_dense().equal(x.to_dense())


def test_refused():
    with pytest.raises(RuntimeError, match="is not satisfied"):
        ctsc.sparse_csr_tensor([0, 2, 1], [0], [1.0], (2, 3))
    with pytest.raises(RuntimeError, match="0 <= col_indices < 3"):
        ctsc.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 3))
    with pytest.raises(RuntimeError, match="number of compressed dims plus one"):
        ctsc.sparse_csr_tensor([0, 1], [0], [1.0], (2, 3))
    with pytest.raises(NotImplementedError, match="batches"):
        ctsc.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]])
    with pytest.raises(NotImplementedError, match="3 dims"):
        ctsc.ones(2, 2, 2).to_sparse_csr()
