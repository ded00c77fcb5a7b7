"""Names that the program itself gets wrong while it is run: the place is the program's, not ctsc's."""
import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Liner(4, 4)  # error: AttributeError: module 'torch.nn' has no attribute 'Liner' # note: did you mean 'Linear'? # at: Liner

    def forward(self, x):
        return self.fc(x)
