"""Names that are those of an imported module, and names that are like no other."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = gelu(self.fc(x))  # error: undefined value gelu # note: did you mean 'F.gelu'? # at: gelu
        z = sel.fc(x)  # error: undefined value sel # note: did you mean 'self'? # at: sel
        return x
