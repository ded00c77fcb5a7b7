"""Sparse matrices: graph convolutions with normalised adjacency, gradients through values, sums, products, softmax of rows, what is dense and what is refused."""
import pickle

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
i, v = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), torch.tensor([3.0, 4.0, 5.0, 1.0])
s = torch.sparse_coo_tensor(i, v, (2, 3))
print(s, s.shape, s.is_sparse, s.layout, s.dtype, s._nnz(), s.is_coalesced(), s.sparse_dim(), s.dense_dim(), s.device, isinstance(s, torch.Tensor), s.numel(), s.dim())
c = s.coalesce()
print(c, c.indices(), c.values(), c.is_coalesced())
print(s.to_dense(), torch.eye(3).to_sparse(), (s * 2).to_dense(), (s / 2).coalesce().values(), (-s).to_dense(), s.t().to_dense(), (s + s).to_dense(), (s - s).to_dense().sum(), s.double().dtype)
print(torch.sparse.sum(s), torch.sparse.sum(s, 0).to_dense(), torch.sparse.sum(s, dim=1).to_dense(), s.sum(), c.abs().to_dense(), torch.sparse.softmax(c, 1).to_dense(), torch.sparse.log_softmax(c, dim=1).coalesce().values())
print(s[1].to_dense(), (c * torch.arange(6.0).view(2, 3)).to_dense(), torch.ones(2, 3) + s)


def normalised(edges, n):
    edges = torch.cat([edges, edges.flip(0), torch.arange(n).repeat(2, 1)], 1)
    a = torch.sparse_coo_tensor(edges, torch.ones(edges.size(1)), (n, n)).coalesce()
    a = torch.sparse_coo_tensor(a.indices(), torch.ones_like(a.values()), a.shape).coalesce()
    d = torch.sparse.sum(a, 1).to_dense().pow(-0.5)
    row, col = a.indices()
    return torch.sparse_coo_tensor(a.indices(), d[row] * a.values() * d[col], a.size()).coalesce()


class GraphConvolution(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(i, o)), nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.spmm(adj, x @ self.weight) + self.bias


n, x = 12, torch.randn(12, 5)
adj = normalised(torch.randint(0, n, (2, 25)), n)
y = (x[:, 0] > 0).long()
one, two = GraphConvolution(5, 8), GraphConvolution(8, 2)
optimizer = torch.optim.Adam([*one.parameters(), *two.parameters()], 0.05)
for step in range(5):
    loss = F.cross_entropy(two(F.relu(one(x, adj)), adj), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
dense = adj.to_dense()
print(torch.allclose(adj @ x, dense @ x, atol=1e-6), torch.allclose(torch.sparse.mm(adj, x), dense @ x, atol=1e-6), torch.allclose(adj.mm(x), dense @ x, atol=1e-6), torch.allclose(adj @ x[:, 0], dense @ x[:, 0], atol=1e-6),
      torch.allclose(torch.sparse.addmm(torch.ones(12, 5), adj, x), dense @ x + 1, atol=1e-6), torch.allclose((adj @ adj).to_dense(), dense @ dense, atol=1e-6), torch.allclose(adj.t() @ x, dense.t() @ x, atol=1e-6))
w = torch.rand(4, requires_grad=True)
out = torch.sparse.mm(torch.sparse_coo_tensor(i, w, (2, 3)), torch.arange(6.0).view(3, 2)).pow(2).sum()
out.backward()
print(out, w.grad)
h = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
print(h.to_dense(), h.dense_dim(), torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0]).shape, torch.sparse.FloatTensor(i, v, torch.Size([2, 3])).to_dense().sum(), torch.sparse_coo_tensor((2, 2)).to_dense())
again = pickle.loads(pickle.dumps(c))
print(again.to_dense(), c.clone().to_dense().equal(c.to_dense()), c.to(torch.float64).values().dtype)
for bad in ("s.values()", "torch.sparse.mm(s, torch.ones(2, 2))", "torch.eye(2).coalesce()", "s + torch.eye(5).to_sparse()"):
    try:
        eval(bad)
    except RuntimeError as e:
        print(bad, "RuntimeError")
print(s.select(0, 1).to_dense(), s.select(1, 2).to_dense(), s.select(-1, 0).to_dense(), s.clone().coalesce().values(), s.to("cpu", torch.float64).dtype)
