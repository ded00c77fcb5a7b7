"""Graph networks without a library: GCN with a normalised adjacency, message passing by scatter_add and index_add, GAT, pooling over graphs, link prediction."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_mean(src, index, n):
    out = src.new_zeros(n, src.size(1)).scatter_add_(0, index.unsqueeze(1).expand_as(src), src)
    count = torch.bincount(index, minlength=n).clamp(min=1)
    return out / count.unsqueeze(1)


def segment_softmax(scores, index, n):
    top = torch.full((n,) + scores.shape[1:], float("-inf")).scatter_reduce(0, index[:, None].expand_as(scores), scores, reduce="amax", include_self=False)
    e = (scores - top[index]).exp()
    return e / torch.zeros_like(top).index_add(0, index, e)[index]


class GraphConvolution(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.FloatTensor(cin, cout)), nn.Parameter(torch.FloatTensor(cout))
        stdv = 1. / self.weight.size(1) ** 0.5
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, x, adj):
        return torch.mm(adj, torch.mm(x, self.weight)) + self.bias

    def __repr__(self):
        return self.__class__.__name__ + " (" + " -> ".join(map(str, self.weight.shape)) + ")"


class GATLayer(nn.Module):
    def __init__(self, cin, cout, heads):
        super().__init__()
        self.heads, self.cout = heads, cout
        self.lin = nn.Linear(cin, heads * cout, bias=False)
        self.att_src, self.att_dst = nn.Parameter(torch.empty(1, heads, cout)), nn.Parameter(torch.empty(1, heads, cout))
        nn.init.xavier_uniform_(self.att_src, gain=1.414)
        nn.init.xavier_uniform_(self.att_dst, gain=1.414)

    def forward(self, x, edges):
        src, dst = edges
        h = self.lin(x).view(-1, self.heads, self.cout)
        score = F.leaky_relu((h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst], 0.2)
        alpha = segment_softmax(score, dst, x.size(0))
        out = torch.zeros_like(h).index_add_(0, dst, h[src] * alpha.unsqueeze(-1))
        return out.flatten(1)


class SAGE(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.self_, self.neigh = nn.Linear(cin, cout), nn.Linear(cin, cout, bias=False)

    def forward(self, x, edges):
        return F.normalize(self.self_(x) + self.neigh(scatter_mean(x[edges[0]], edges[1], x.size(0))), p=2.0, dim=-1)


torch.manual_seed(42)
pairs = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6), (6, 7), (5, 7)]
edges = torch.tensor(pairs + [(b, a) for a, b in pairs], dtype=torch.long).t().contiguous()
labels = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])
adj = torch.zeros(8, 8)
adj[edges[0], edges[1]] = 1.0
adj = adj + torch.eye(8)
d = adj.sum(1).pow(-0.5)
norm = torch.diag(d) @ adj @ torch.diag(d)
print(norm[0], edges.shape, adj.nonzero(as_tuple=False).shape, adj.count_nonzero(dim=1))
x = torch.eye(8)
train, test = torch.tensor([0, 3, 6]), torch.tensor([1, 2, 4, 5, 7])
gc1, gc2 = GraphConvolution(8, 6), GraphConvolution(6, 3)
print(gc1, gc2)
opt = torch.optim.Adam(list(gc1.parameters()) + list(gc2.parameters()), lr=0.05, weight_decay=5e-4)
for epoch in range(12):
    h = F.dropout(F.relu(gc1(x, norm)), 0.2, training=True)
    out = F.log_softmax(gc2(h, norm), dim=1)
    loss = F.nll_loss(out[train], labels[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 4 == 3:
        print("Epoch: {:04d} loss: {:.4f} acc: {:.3f}".format(epoch + 1, loss.item(), out[test].max(1)[1].eq(labels[test]).double().mean()))
gat, head = GATLayer(8, 4, 2), SAGE(8, 3)
opt = torch.optim.Adagrad([*gat.parameters(), *head.parameters()], lr=0.1)
for epoch in range(4):
    out = head(F.elu(gat(x, edges)), edges)
    loss = F.cross_entropy(out[train] * 5, labels[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, "%.4f" % loss)
with torch.no_grad():
    score = torch.randn(edges.size(1), 2)
    print(torch.zeros(8, 2).index_add(0, edges[1], segment_softmax(score, edges[1], 8))[:3])
graph_of = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])
print(scatter_mean(x, graph_of, 2), torch.zeros(2, 8).index_reduce(0, graph_of, x, "amax").sum())
z = out.detach()
negatives = (adj == 0).nonzero().t()
scores = torch.cat([(z[edges[0]] * z[edges[1]]).sum(-1), (z[negatives[0]] * z[negatives[1]]).sum(-1)])
truth = torch.cat([torch.ones(edges.size(1)), torch.zeros(negatives.size(1))])
print("%.4f" % F.binary_cross_entropy_with_logits(scores, truth), torch.triu(adj, 1).nonzero().tolist() == sorted(map(list, pairs)))
reach, power = adj.bool(), adj.bool()
while True:
    power = (reach.float() @ adj).bool()
    if torch.equal(power, reach):
        break
    reach = power
print(reach.all())
