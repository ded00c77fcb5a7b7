"""Message passing by scatter and index_add, GAT with segment softmax, pooling by graph, adjacency powers, PageRank, label propagation, shortest paths, edges by unique."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(9)
n = 12
edges = torch.randint(0, n, (2, 40))
edges = edges[:, edges[0] != edges[1]]
edges = torch.unique(edges, dim=1)
both = torch.cat([edges, edges.flip(0)], 1)
key = both[0] * n + both[1]
uniq, inv, cnt = torch.unique(key, return_inverse=True, return_counts=True)
edge_index = torch.stack([uniq // n, uniq % n])
print(edge_index.shape, cnt.sum(), inv[:5], edge_index[:, :4])
deg = torch.zeros(n).scatter_add_(0, edge_index[1], torch.ones(edge_index.size(1)))
print(deg)


def scatter_softmax(src, index, num):
    mx = torch.full((num,) + src.shape[1:], float("-inf")).scatter_reduce(0, index[:, None].expand_as(src), src, reduce="amax", include_self=False)
    e = (src - mx[index]).exp()
    z = torch.zeros((num,) + src.shape[1:]).index_add(0, index, e)
    return e / z[index].clamp_min(1e-12)


class GCN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.kaiming_uniform_(self.lin.weight, nonlinearity="relu")

    def forward(self, x, ei):
        row, col = ei
        d = torch.bincount(col, minlength=x.size(0)).to(x.dtype) + 1
        norm = d.rsqrt()
        h = self.lin(x)
        out = torch.zeros_like(h).index_add_(0, col, h[row] * (norm[row] * norm[col])[:, None])
        return out + h / d[:, None] + self.bias


class GAT(nn.Module):
    def __init__(self, i, o, heads=2):
        super().__init__()
        self.heads, self.o = heads, o
        self.lin = nn.Linear(i, heads * o, bias=False)
        self.att = nn.Parameter(torch.empty(2, heads, o))
        nn.init.xavier_normal_(self.att)

    def forward(self, x, ei):
        h = self.lin(x).view(-1, self.heads, self.o)
        alpha = (h[ei[0]] * self.att[0]).sum(-1) + (h[ei[1]] * self.att[1]).sum(-1)
        alpha = scatter_softmax(F.leaky_relu(alpha, 0.2), ei[1], x.size(0))
        out = x.new_zeros(x.size(0), self.heads, self.o)
        out = out.index_add(0, ei[1], h[ei[0]] * alpha.unsqueeze(-1))
        return out.flatten(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = GCN(4, 8), GAT(8, 4), nn.Linear(8, 3)

    def forward(self, x, ei):
        x = F.elu(self.a(x, ei))
        x = F.dropout(x, 0.3, self.training)
        return self.out(F.elu(self.b(x, ei)))


x = torch.randn(n, 4)
y = torch.randint(0, 3, (n,))
mask = torch.rand(n) < 0.7
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
for epoch in range(30):
    net.train()
    opt.zero_grad()
    out = net(x, edge_index)
    loss = F.nll_loss(F.log_softmax(out[mask], 1), y[mask])
    loss.backward()
    opt.step()
    if epoch % 10 == 9:
        print(epoch, round(loss.item(), 4), (out.argmax(1) == y)[mask].float().mean().item())
graph = torch.tensor([0] * 5 + [1] * 4 + [2] * 3)
h = net.a(x, edge_index).detach()
for reduce in ("sum", "mean", "amax", "amin", "prod"):
    print(reduce, torch.zeros(3, 8).scatter_reduce(0, graph[:, None].expand(-1, 8), h, reduce, include_self=False)[:, :3])
print(torch.zeros(3, 8).index_reduce_(0, graph, h, "mean", include_self=False)[0, :3], torch.segment_reduce(h, "sum", lengths=torch.tensor([5, 4, 3]))[0, :3])
A = torch.zeros(n, n)
A[edge_index[0], edge_index[1]] = 1
print(torch.linalg.matrix_power(A, 3).diag(), torch.equal(A, A.T), torch.count_nonzero(A))
P = A / A.sum(1, keepdim=True).clamp(min=1)
r = torch.full((n,), 1 / n)
for _ in range(50):
    r = 0.15 / n + 0.85 * (P.T @ r)
print(r, r.sum())
D = torch.where(A > 0, 1.0, float("inf"))
D.fill_diagonal_(0)
for k in range(n):
    D = torch.minimum(D, D[:, k:k + 1] + D[k:k + 1])
print(D[0], D[D.isfinite()].max())
L = torch.diag(A.sum(1)) - A
ev = torch.linalg.eigvalsh(L)
print(ev[:3], (ev.abs() < 1e-4).sum())
print(A.nonzero().shape, A.nonzero(as_tuple=True)[0][:4], torch.tril_indices(3, 3), torch.triu_indices(3, 3, 1), torch.argwhere(A[:2])[:2])
print(torch.combinations(torch.arange(4), 2)[:3], torch.cartesian_prod(torch.arange(2), torch.arange(3))[-1], torch.block_diag(torch.ones(1, 2), 2 * torch.ones(2, 1)))
print(torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([0, 3, 6]), right=True), torch.bucketize(torch.tensor([0.5, 2.5]), torch.tensor([1.0, 2.0])), torch.histc(h, 4), torch.isin(torch.arange(5), torch.tensor([1, 3])))
print(torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 1]), return_counts=True), torch.take_along_dim(h[:2], h[:2].argsort(1), 1)[:, 0], torch.repeat_interleave(torch.arange(3), torch.tensor([1, 0, 2])))
print(torch.cdist(x[:3], x[:3]), F.pairwise_distance(x[:2], x[1:3]), torch.pdist(x[:3]), F.cosine_similarity(x[:2], x[1:3]))
print(torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[0], [2]]), 5.0), torch.zeros(3).put_(torch.tensor([1]), torch.tensor([2.0])), x.take(torch.tensor([0, 5])), torch.index_select(x, 0, torch.tensor([1]))[0, 0], torch.zeros(3, 2).index_fill_(0, torch.tensor([1]), 4.0), torch.zeros(3).masked_scatter(torch.tensor([True, False, True]), torch.tensor([1.0, 2.0])))
