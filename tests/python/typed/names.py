# SPDX-License-Identifier: Apache-2.0
"""A program as users write it, which mypy --strict accepts: names of many modules, and operators whose overloads differ (test_py_types.py)."""
import io
from typing import Dict
import ctsc
import ctsc as torch
from ctsc import nn, optim, Tensor
import ctsc.nn.functional as F
from ctsc.utils.data import DataLoader, Dataset, TensorDataset
from ctsc import linalg, fft, special

class Net(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.l = nn.Linear(d, 4)
        self.emb = nn.Embedding(3, d, max_norm=1.0)
        self.drop = nn.Dropout(0.1)
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.drop(F.gelu(self.l(x)))
        return y
net = Net(3)
opt = optim.Muon([p for p in net.parameters() if p.ndim == 2], lr=0.1)
sched = optim.lr_scheduler.ReduceLROnPlateau(opt)
x = torch.randn(8, 3)
loader = DataLoader(TensorDataset(x), batch_size=4)
for (b,) in loader:
    loss = net(b).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    sched.step(loss.item())
u, s, v = linalg.svd(x)
f: Tensor = fft.fft(x)
i: Tensor = special.i0(x)
inv: Tensor = linalg.inv(torch.eye(2))
e = torch.einsum("ij,kj->ik", x, x)
state: Dict[str, Tensor] = net.state_dict()
torch.save(state, io.BytesIO())
w = x.index_put((torch.tensor([0]),), torch.tensor([1.0]))
print(e.shape, torch.linalg.norm(x), x[0, 1:].sum(dim=0, keepdim=True), torch.where(x > 0, x, 0.0), x.max(dim=1).values, torch.stack([x, x]), x.view(-1, 1), x.reshape(3, 8))
with torch.no_grad(), torch.autocast("cpu"):
    pass

