"""Attributes that a program sets on tensors, as optimisers and misspelt names do."""
import torch
from torch import nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.ones(3))
        self.decay._no_weight_decay = True
        table = torch.zeros(2)
        table.require_grad = False  # not requires_grad
        self.register_buffer("table", table)

    def forward(self):
        return float(self.decay.sum()) + float(self.table.sum())


net = Main()
print([name for name, p in net.named_parameters() if hasattr(p, "_no_weight_decay")])  # expect: ['decay']
table = net.table
print(table.require_grad, getattr(table, "absent", 3), hasattr(table + 1, "require_grad"))  # expect: False 3 False
del table.require_grad
print(hasattr(table, "require_grad"))  # expect: False
net.decay.data = torch.zeros(3)
print(net.decay._no_weight_decay)  # expect: True
for name in ["shape", "T", "is_cuda"]:
    try:
        setattr(table, name, 1)
    except AttributeError as e:
        print(e)
# expect: attribute 'shape' of 'torch._C._TensorBase' objects is not writable
# expect: attribute 'T' of 'torch._C._TensorBase' objects is not writable
# expect: attribute 'is_cuda' of 'torch._C._TensorBase' objects is not writable
# expect: 3.
