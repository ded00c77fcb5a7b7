"""Arguments with defaults are not missing."""
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, a, b, c=3, *, d, e=2.0):
        super().__init__()


net = Net(c=1, d=2)  # error: TypeError: Net.__init__() missing 2 required positional arguments: 'a' and 'b' # at: Net(c=1, d=2)
