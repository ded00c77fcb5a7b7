"""What fails inside the modules that ctsc brings along is shown at the program's own call."""
import torch
import torch.nn as nn


class Main(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)  # error: AttributeError: cannot assign module before Module.__init__() call # at: self.fc

    def forward(self, x):
        return self.fc(x)
