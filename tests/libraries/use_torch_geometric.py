# SPDX-License-Identifier: Apache-2.0
"""torch_geometric: five kinds of graph layers, batches of graphs, five steps of training."""
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


def p(*a):
    print(*[("%.4f" % float(x)) if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in a], flush=True)


from torch_geometric.data import Data, Batch
from torch_geometric.nn import GCNConv, GATConv, SAGEConv, GINConv, global_mean_pool, TransformerConv, MessagePassing
from torch_geometric.loader import DataLoader
e = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]); x = torch.randn(4, 5); d = Data(x=x, edge_index=e, y=torch.tensor([0, 1, 0, 1])); print(d, d.num_nodes, d.is_undirected())
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a = GCNConv(5, 8); self.b = GATConv(8, 4, heads=2); self.c = SAGEConv(8, 6); self.d = GINConv(nn.Linear(6, 6)); self.e = TransformerConv(6, 2)
    def forward(self, x, e): return self.e(self.d(self.c(self.b(self.a(x, e).relu(), e).relu(), e).relu(), e), e)
net = Net(); print(net); opt = torch.optim.Adam(net.parameters(), 0.01)
for i in range(5):
    opt.zero_grad(); l = nn.functional.cross_entropy(net(d.x, d.edge_index), d.y); l.backward(); opt.step(); p("loss", l.detach())
for b in DataLoader([d, d, d], batch_size=2): print(b, tuple(global_mean_pool(b.x, b.batch).shape))
