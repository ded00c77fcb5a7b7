"""Compressed sparse layouts: construction, conversions, printing, products and their gradients, element-wise functions, what is refused."""
import torch

d = torch.tensor([[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4.0], [5, 0, 0, 6]])
r, c, o = d.to_sparse_csr(), d.to_sparse_csc(), d.to_sparse()
b, bc = d.to_sparse_bsr((2, 2)), d.to_sparse(layout=torch.sparse_bsc, blocksize=(2, 1))
for t in (r, c, o, b, bc):
    print(t, t.layout, t.shape, t._nnz(), t.is_sparse, t.is_sparse_csr, t.sparse_dim(), t.dense_dim(), t.dtype, len(t))
    print(t.to_dense().equal(d), t.t().to_dense().equal(d.t()))
for t in (r, c, o, b):
    print((t @ d).equal(d @ d), (t @ torch.ones(4)).equal(d.sum(1)), torch.mm(t, d).equal(d @ d))
print((d @ r).equal(d @ d), (d @ c).equal(d @ d), (d @ o).equal(d @ d))
print(r.crow_indices(), r.col_indices(), r.values(), c.ccol_indices(), c.row_indices(), b.values().shape)
print(r.t(), r.mT.layout, b.t(), r.transpose(0, 0).layout, r.to_sparse_csr() is r)
for t in (r, c):
    for u in (t.to_sparse(), t.to_sparse_csr(), t.to_sparse_csc(), t.to_sparse_bsr((1, 4)), t.to_sparse_bsc((4, 2))):
        print(u.layout, u.to_dense().equal(d), u._nnz())
print(o.to_sparse_csr(), o.to_sparse_bsr((2, 4)).values())
print(r * 2, 2 * r, -r, r.sin(), r.abs().relu(), r + r, r + d, r * r, r * d, r.sum(), r.sum(1, keepdim=True), r.double(), torch.ones_like(r), torch.zeros_like(r), r.isnan(), r[0], r[2, 3])
print(torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0]), torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1, 2], (2, 3), dtype=torch.float64))
print(torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)), torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2)), torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.ones(2, 1, 3)))
print(torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), layout=torch.sparse_csr), torch.zeros(2, 3).to_sparse_csr(), torch.zeros(0, 3).to_sparse_csr())
small = torch.sparse_csr_tensor(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1.0, 2.0]))
print(small, small.crow_indices().dtype, small @ torch.ones(2, 3), small.to_sparse_csc().row_indices().dtype)
print(torch.sparse.mm(r, d), torch.sparse.mm(r, d, "mean"), torch.sparse.mm(r, d, "amax"), torch.sparse.mm(r, r).to_dense(), torch.sparse.mm(o, o), torch.mv(r, torch.arange(4.0)))
print(torch.addmm(d, r, d), torch.addmm(d, r, d, beta=2, alpha=3), torch.sparse.addmm(d, o, d, beta=2, alpha=3), torch.nn.functional.linear(d, r))
print(torch.sparse.sampled_addmm(r, d, d), torch.sparse.sampled_addmm(r, d, d, beta=0.5, alpha=2), d.sparse_mask(r), d.sparse_mask(o))
print(torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 3)).to_dense())
for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64):
    e = d.to(dtype)
    print(dtype, e.to_sparse_csr().values(), e.to_sparse_bsr((2, 2)).to_dense().equal(e))

# gradients of both factors
for layout in ("coo", "csr"):
    a = (d.to_sparse() if layout == "coo" else d.to_sparse_csr()).detach().requires_grad_()
    x = torch.arange(12.0).reshape(4, 3).requires_grad_()
    torch.sparse.mm(a, x).pow(2).sum().backward()
    print(layout, a.grad.layout, a.grad.to_dense(), x.grad)
v = torch.tensor([1.0, 2, 3], requires_grad=True)
torch.sparse.mm(torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], v, (2, 2)), torch.eye(2)).exp().sum().backward()
print(v.grad)

for bad in ("r.coalesce()", "r.indices()", "r.ccol_indices()", "c.crow_indices()", "d.crow_indices()", "o.col_indices()", "d.to_sparse_bsr((3, 2))", "r / 2", "r.exp()", "r - r", "r.stride()", "r.numpy()", "r @ d[:3]",
            "torch.sparse_compressed_tensor([0, 1], [0], [1.0])", "torch.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0, 3.0], (2, 3))", "r.sum(0)", "torch.sparse.sum(r)", "r + 1"):
    try:
        eval(bad)
        print(bad, "ran")
    except (RuntimeError, TypeError, NotImplementedError) as e:
        print(bad, type(e).__name__, e)
