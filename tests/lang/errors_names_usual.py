"""Names that everybody imports, and self."""
import torch


class Main(torch.nn.Module):
    def forward(x):
        y = F.relu(x)  # error: undefined value F # note: 'F' usually is 'import torch.nn.functional as F', which the file does not have # at: F
        return self.fc(y)  # error: undefined value self # note: 'self' is the first parameter of methods, which this function does not have # at: self
