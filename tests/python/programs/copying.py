"""deepcopy, pickle, clone, copies of modules, and memory that views share."""
import copy
import io
import pickle

import torch
from torch import nn

x = torch.arange(4.)
for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x.detach(), x.view(2, 2), x.contiguous(), torch.tensor(x), x.reshape(4), x.T if x.ndim == 2 else x[:]):
    y[...] = 7
    print(x.eq(7).all().item(), end=" ")
    x.copy_(torch.arange(4.))
print()
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
twin = copy.deepcopy(net)
third = pickle.loads(pickle.dumps(net))
inp = torch.ones(1, 2)
print(torch.equal(net(inp), twin(inp)), torch.equal(net(inp), third(inp)), net[0].weight is twin[0].weight, net[0].weight.data_ptr() == twin[0].weight.data_ptr())
buffer = io.BytesIO()
torch.save(net, buffer)
buffer.seek(0)
fourth = torch.load(buffer, weights_only=False)
print(torch.equal(net(inp), fourth(inp)), type(fourth).__name__)
shared = nn.Linear(2, 2)
tied = nn.ModuleList([shared, shared])
deep = copy.deepcopy(tied)
print(deep[0] is deep[1], len(list(tied.parameters())), [n for n, _ in tied.named_parameters()])
p = nn.Parameter(torch.ones(2))
q = copy.deepcopy(p)
print(type(q).__name__, q.requires_grad, isinstance(q, nn.Parameter), pickle.loads(pickle.dumps(p)), isinstance(p, torch.Tensor))
d = {"a": torch.zeros(2), "b": [torch.ones(1)]}
e = copy.deepcopy(d)
e["a"] += 1
print(d, e)
pair = (x, x)
c = copy.deepcopy(pair)
print(c[0] is c[1])
base = torch.zeros(2, 3)
row, column, t = base[0], base[:, 1], base.t()
row.fill_(1)
column.add_(5)
t[2, 1] = 9
print(base, base.is_contiguous(), t.is_contiguous(), t.stride(), base.storage_offset(), column.storage_offset(), t.contiguous().stride(), base.expand(4, 2, 3).stride(), row.is_set_to(base[0]))
print(base.untyped_storage().data_ptr() == row.untyped_storage().data_ptr(), base.untyped_storage().nbytes())
try:
    t.view(6)
except RuntimeError as err:
    print(str(err)[:60])
try:
    copy.deepcopy(p * 2)
except RuntimeError as err:
    print(str(err)[:60])
print(copy.deepcopy(torch.Generator().manual_seed(3)) is not None if hasattr(torch.Generator, "__deepcopy__") else True, torch.float32 is copy.deepcopy(torch.float32), copy.deepcopy(torch.device("cpu")), pickle.loads(pickle.dumps(torch.int64)), pickle.loads(pickle.dumps(torch.Size([1, 2]))))
h = hash(x)
print(h == hash(x), x in {x}, len({x, x.clone()}), {x: 1}[x], x is not x.clone(), x.__class__.__name__, x.equal(x.clone()))
