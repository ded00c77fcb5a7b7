"""Attributes of modules whose type is not what the code needs: a note at the place that made it so."""
from typing import Optional

import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3)]  # note: a list of modules is not part of the model: make it an nn.ModuleList
        self.cache = {}  # note: it is empty here: declare its type in the class body, as in 'cache: Dict[str, Tensor]'
        self.last = None  # note: 'last' is None here, so that its type is NoneType: declare last: Optional[Tensor] in the class body
        self.count = 1  # note: 'count' gets its type, int, here

    def forward(self, x):
        for layer in self.layers:  # error: Module 'Main' has no attribute 'layers' (This attribute exists on the Python module, but we failed to convert Python type: 'list' to a TorchScript type. Could not infer type of list element: Cannot infer concrete type of torch.nn.Module. Its type was inferred; try adding a type annotation for the attribute.)
            x = layer(x)
        self.cache["x"] = x  # error: Module 'Main' has no attribute 'cache' (This attribute exists on the Python module, but we failed to convert Python type: 'dict' to a TorchScript type. Dictionary inputs must have entries. Its type was inferred; try adding a type annotation for the attribute.)
        self.last = torch.ones(2)  # error: Wrong type for attribute assignment. Expected NoneType but got Tensor
        self.count = 1.5  # error: Wrong type for attribute assignment. Expected int but got float
        return 1
