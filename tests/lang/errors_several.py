"""Several independent errors in one function; what only follows from them is not reported."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 2)

    def forward(self, x):
        h = F.rleu(self.fc1(x))  # error: module 'torch.nn.functional' has no attribute 'rleu'
        for i in range(3):
            h = h + i
            k = self.fc2(x)  # error: Module 'Net' has no attribute 'fc2'
        n: int = "a"  # error: Variable 'n' is annotated with type int but is being assigned to a value of type str
        return h + k + n
